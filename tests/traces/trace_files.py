#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Traces that programs under the preload library write: read here by docs/trace.md alone, compared with what the program
counted itself and with heapmark match; after kill -9, without space, in children, with many threads.

Usage: trace_files.py HEAPMARK PRELOAD TRACED
"""
import collections
import os
import pathlib
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time

HEADER, CHUNK, RECORD = 4096, 65536, 24
ALLOCATE, RELEASE, RESIZE_BEGIN, RESIZE_END, THREAD, SITE, MODULE = range(1, 8)
Trace = collections.namedtuple("Trace", "events sites modules parent clean dropped process chunks")
Event = collections.namedtuple("Event", "time kind thread address size site wrong")


def read_trace(path: pathlib.Path) -> Trace:
    data = path.read_bytes()
    assert data[:16] == b"heapmark trace\n\0", data[:16]
    version, record, chunk, process, parent, clean = struct.unpack_from("<6I", data, 16)
    assert (version, record, chunk) == (1, RECORD, CHUNK)
    dropped, = struct.unpack_from("<Q", data, 56)
    events, sites, modules, chunks = [], set(), set(), 0
    for offset in range(HEADER, len(data), CHUNK):
        if data[offset:offset + 8] != b"hapchunk":
            continue
        chunks += 1
        thread, last = 0, 0
        for at in range(offset + 48, min(offset + CHUNK, len(data)) - RECORD + 1, RECORD):
            first, second, third = struct.unpack_from("<3Q", data, at)
            kind = first & 15
            if kind == THREAD:
                thread = second & 0xffffffff
            elif kind == SITE:
                sites.add(first >> 4 & 0x1ffffff)
            elif kind == MODULE:
                modules.add(first >> 4 & 0xffff)
            elif kind:
                last = max(last, first >> 4)
                site = second >> 48 | (third >> 48 & 0x1ff) << 16
                events.append(Event(last, kind, thread, second & 0xffffffffffff, third & 0xffffffffffff, site,
                                    third >> 57 & 1))
    return Trace(events, sites, modules, parent, clean, dropped, process, chunks)


class Tools:
    def __init__(self, heapmark: str, preload: str, traced: str):
        self.heapmark, self.preload, self.traced = heapmark, preload, traced

    def environment(self, options: str) -> dict:
        return os.environ | {"LD_PRELOAD": self.preload, "HEAPMARK_OPTIONS": options}

    def run(self, options: str, *command: str, **more) -> subprocess.CompletedProcess:
        return subprocess.run(command, env=self.environment(options), capture_output=True, text=True, check=False, **more)

    def match(self, *paths: pathlib.Path) -> subprocess.CompletedProcess:
        return subprocess.run([self.heapmark, "match", *map(str, paths)], capture_output=True, text=True, check=False)


def counts(trace: Trace) -> list[int]:
    kinds = collections.Counter(event.kind for event in trace.events)
    return [kinds[kind] for kind in (ALLOCATE, RESIZE_END, RELEASE)]


def check_counts(tools: Tools, folder: pathlib.Path) -> None:
    """Lossless: the program's own counts, but for what the C library and the thread library do besides."""
    path = folder / "counts"
    for threads in (1, 8, 200):
        # What is done without any rounds is done with them too.
        idle = counts_of_run(tools, path, threads, 0)
        done, own = run_traced(tools, path, threads, 20_000 // threads)
        trace = read_trace(path)
        assert [a - b for a, b in zip(counts(trace), idle)] == [a - b for a, b in zip(own, [1, 0, 0])], (threads, own)
        assert trace.dropped == 0 and not done.stderr, done
        assert {event.site for event in trace.events if event.site > 1} <= trace.sites
        assert trace.modules
        # A thread that ends leaves its chunk to the next one.
        assert trace.chunks <= len(trace.events) // 2000 + 40, trace.chunks

        matched = tools.match(path)
        assert matched.returncode == 1 and not matched.stderr, matched
        assert re.search(r": 77 bytes at 0x[0-9a-f]+ leaked\n.*= malloc\(77\)\n(   .*\n)*.*traced\.cpp:\d+", matched.stdout), \
            matched.stdout


def run_traced(tools: Tools, path: pathlib.Path, threads: int, rounds: int):
    done = tools.run(f"trace={path}", tools.traced, str(threads), str(rounds))
    assert done.returncode == 0, done
    return done, [int(number) for number in done.stdout.split()]


def counts_of_run(tools: Tools, path: pathlib.Path, threads: int, rounds: int) -> list[int]:
    run_traced(tools, path, threads, rounds)
    return counts(read_trace(path))


def check_order(tools: Tools, folder: pathlib.Path) -> None:
    """By time alone, an address that wanders between threads is never given out twice."""
    path = folder / "order"
    run_traced(tools, path, 4, 20_000)
    live, resizing = set(), {}
    for event in sorted(read_trace(path).events, key=lambda e: (e.time, e.kind == ALLOCATE)):
        if event.kind == RELEASE:
            live.remove(event.address)
        elif event.kind == RESIZE_BEGIN:
            live.remove(event.address)
            resizing[event.thread] = event.address
        else:
            assert event.address not in live, event
            live.add(event.address)


def check_kill(tools: Tools, folder: pathlib.Path) -> None:
    """What was done before kill -9 is in the file, to the last record."""
    path = folder / "killed"
    with subprocess.Popen([tools.traced, "3", "0", "endless"], env=tools.environment(f"trace={path}"),
                          stdout=subprocess.PIPE, text=True) as running:
        reported = [int(running.stdout.readline()) for _ in range(100)]
        running.send_signal(signal.SIGKILL)
        reported += [int(line) for line in running.stdout if line.endswith("\n")]
    # Each thread tells its rounds in thousands, in order.
    done = sum(1000 for _ in reported)
    allocated, resized, _ = counts(read_trace(path))
    assert allocated >= done and resized >= done // 10, (allocated, done)
    matched = tools.match(path)
    assert matched.returncode == 1 and not matched.stderr, matched.stderr


def check_no_space(tools: Tools, folder: pathlib.Path) -> None:
    """A limit of the file's size: no signal, the program's own way to its end, and every missing record counted."""
    path = folder / "limited"
    limit = HEADER + 20 * CHUNK
    idle = counts_of_run(tools, folder / "idle", 4, 0)
    done = tools.run(f"trace={path}", tools.traced, "4", "20000",
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert done.returncode == 0, done
    assert done.stderr.count("cannot grow: the limit of file sizes is reached") == 1, done.stderr
    own = [int(number) for number in done.stdout.split()]
    trace = read_trace(path)
    assert path.stat().st_size <= limit
    expected = sum(own) + sum(idle) - 1 + own[1]  # a resize is two records
    written = len(trace.events)
    # Definitions and the first record of each chunk may be dropped too.
    assert expected <= written + trace.dropped <= expected + 5000, (expected, written, trace.dropped)
    matched = tools.match(path)
    assert f"{trace.dropped} records are missing" in matched.stderr, matched.stderr


def check_full_disk(tools: Tools, folder: pathlib.Path) -> None:
    small = folder / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(small)], capture_output=True, check=False)
    if mounted.returncode != 0:
        print("no tmpfs can be mounted: a full disk is not tried")
        return
    try:
        done = tools.run(f"trace={small}/full", tools.traced, "4", "20000")
        assert done.returncode == 0 and "cannot grow: no space left" in done.stderr, done
        assert read_trace(small / "full").dropped > 0
    finally:
        subprocess.run(["umount", str(small)], check=True)


def check_processes(tools: Tools, folder: pathlib.Path) -> None:
    """Children that fork, and programs that are started, have files of their own."""
    path = folder / "family"
    code = ("import os\nheld = [bytearray(1000) for _ in range(1000)]\n"
            "if os.fork() == 0:\n    del held\n    more = [bytearray(2000) for _ in range(10)]\n    os._exit(0)\n"
            "os.wait()\nos.spawnv(os.P_WAIT, '/bin/true', ['true'])\n")
    done = tools.run(f"trace={path}", sys.executable, "-c", code)
    assert done.returncode == 0, done
    parent = read_trace(path)
    others = [read_trace(other) for other in folder.glob("family.*")]
    assert [other.parent for other in others if other.parent] == [parent.process], [other.parent for other in others]
    for other in folder.glob("family.*"):
        assert other.name == f"family.{read_trace(other).process}"
        matched = tools.match(other)
        assert matched.returncode in (0, 1) and not matched.stderr, matched.stderr # what it was born with is no unknown free
    # A second run empties the file, since nobody writes it now; %p gives each its own.
    run_traced(tools, path, 1, 0)
    assert read_trace(path).process != parent.process
    tools.run(f"trace={folder}/own.%p", tools.traced, "1", "0")
    own, = folder.glob("own.*")
    assert own.name == f"own.{read_trace(own).process}"


def check_closed(tools: Tools, folder: pathlib.Path) -> None:
    """A program that closes all descriptors, and opens files of its own, has these files left alone and its trace whole;
    unless the trace has been moved away."""
    for moved in (False, True):
        path, other = folder / f"closed{moved}", folder / "innocent"
        code = ("import os\nos.closerange(3, 4096)\n"
                f"mine = os.open({str(other)!r}, os.O_CREAT | os.O_RDWR)\n"
                "for number in range(600, 1000): os.dup2(mine, number)\n"
                f"if {moved}: os.rename({str(path)!r}, {str(path)!r} + '.moved')\n"
                "os.write(mine, b'mine')\nheld = [bytearray(1000 + i % 100) for i in range(20000)]\n")
        done = tools.run(f"trace={path}", sys.executable, "-c", code)
        assert done.returncode == 0 and ("cannot grow: the program has closed it" in done.stderr) == moved, done
        assert other.read_bytes()[:4] == b"mine"
        trace = read_trace(pathlib.Path(str(path) + ".moved") if moved else path)
        assert (trace.dropped > 0) == moved
        if not moved:
            assert counts(trace)[0] > 20000


def check_unwritable(tools: Tools, folder: pathlib.Path) -> None:
    for path, reason in [(folder / "no" / "such", "no such folder"), (folder, "no regular file"),
                         ("/dev/null", "no regular file")]:
        done = tools.run(f"trace={path}", tools.traced, "1", "0")
        assert done.returncode == 0 and f"no trace is written to {path}: " in done.stderr, done
        assert reason in done.stderr, done


def check_damaged(tools: Tools, folder: pathlib.Path) -> None:
    """Cut anywhere, or with bytes changed, a trace is read or refused, and never the end of the program."""
    path, damaged = folder / "whole", folder / "damaged"
    run_traced(tools, path, 2, 300)
    whole = path.read_bytes()
    for step in range(60):
        data = bytearray(whole[:len(whole) * step // 60] if step % 2 else whole)
        for change in range(step * 7 if data else 0):
            place = (change * 7919 * (step + 1)) % len(data)
            data[place] = (data[place] * 31 + step) % 256
        damaged.write_bytes(data)
        done = tools.match(damaged)
        assert done.returncode in (0, 1, 2), (step, done.returncode, done.stderr[-500:])
    with open(path, "rb") as file:
        done = subprocess.run([tools.heapmark, "match"], stdin=file, capture_output=True, check=False)
        assert done.returncode == 1, done
    done = subprocess.run(f"cat {path} | {tools.heapmark} match", shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "not from a pipe" in done.stderr, done


def check_run(tools: Tools, folder: pathlib.Path) -> None:
    path = folder / "run"
    done = subprocess.run([tools.heapmark, "run", "--trace", path.name, "--options", "max_groups=1", "--options",
                           "color=never", "--", tools.traced, "1", "5"], cwd=folder, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0 and "ended\n" in done.stderr and "survivor" in done.stderr, done
    assert read_trace(path).dropped == 0
    quiet = [tools.heapmark, "run", "--options", "report_at_exit=0", "--"]
    for command, status in [(["sh", "-c", "exit 7"], 7), (["/nonexistent"], 127), (["/etc/passwd"], 126)]:
        assert subprocess.run([*quiet, *command], capture_output=True, check=False).returncode == status, command
    done = subprocess.run([tools.heapmark, "run"], capture_output=True, check=False)
    assert done.returncode == 2, done
    done = subprocess.run([*quiet, "printenv", "HEAPMARK_OPTIONS", "LD_PRELOAD"], capture_output=True, text=True, check=False,
                          env=os.environ | {"HEAPMARK_OPTIONS": "depth=3"})
    assert done.stdout.splitlines()[0] == "report_at_exit=1:depth=3:report_at_exit=0", done
    assert pathlib.Path(done.stdout.splitlines()[1]).samefile(tools.preload), done


if __name__ == "__main__":
    all_tools = Tools(*sys.argv[1:4])
    for check in [value for name, value in sorted(globals().items()) if name.startswith("check_")]:
        with tempfile.TemporaryDirectory() as name:
            begun = time.monotonic()
            check(all_tools, pathlib.Path(name))
            print(f"{check.__name__}: {time.monotonic() - begun:.1f} s")
