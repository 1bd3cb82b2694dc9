#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""heapmark run: which programs it refuses, because they would go unwatched, whose arguments are whose, and what is said of
a process that ends without a report.

Usage: run_command.py HEAPMARK PRELOAD ENDINGS ENDINGS_STATIC WORK_FOLDER
"""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

heapmark, preload, endings, endings_static = sys.argv[1:5]
work = pathlib.Path(sys.argv[5]).resolve()


def run(*words, options: str = "", **more) -> subprocess.CompletedProcess:
    environment = {key: value for key, value in os.environ.items() if key != "HEAPMARK_OPTIONS"}
    if options:
        environment["HEAPMARK_OPTIONS"] = options
    return subprocess.run([heapmark, "run", *map(str, words)], env=environment | more.pop("env", {}), capture_output=True,
                          text=True, check=False, **more)


def program_file(name: str, data: bytes, mode: int = 0o755) -> pathlib.Path:
    path = work / name
    path.write_bytes(data)
    path.chmod(mode)
    return path


def elf(kind: int, bits: int, machine: int) -> bytes:
    """A header without any segment."""
    return struct.pack("<4sBBBB8xHHIQQQIHHHHHH", b"\x7fELF", bits, 1, 1, 0, kind, machine, 1, 0, 64, 0, 0, 64, 56, 0, 64, 0,
                       0) + bytes(300)


def check_unwatched() -> None:
    """It would say nothing of them, so it says so, with the remedy, and does not start them."""
    script = program_file("script", f"#! {endings_static} return\n".encode())
    script_of_script = program_file("script_of_script", f"#!{script}\n".encode())
    for program in (endings_static, script, script_of_script, program_file("static_pie", elf(3, 2, 62))):
        done = run("--", program, "return")
        assert done.returncode == 2 and not done.stdout, (program, done)
        assert "is statically linked" in done.stderr and "link it dynamically" in done.stderr, done
    assert f"{endings_static}, which runs {script}, is statically" in run("--", script).stderr
    for data in (elf(2, 1, 3), elf(2, 2, 183)):
        done = run("--", program_file("foreign", data))
        assert done.returncode == 2 and "not of the architecture" in done.stderr, done
    # Found as execvp does.
    done = run("--", "static_pie", env={"PATH": f"/nonexistent:{work}"})
    assert done.returncode == 2 and f"{work}/static_pie is statically" in done.stderr, done


def check_set_uid() -> None:
    if os.getuid() != 0:
        print("not root: no set-uid program can be made")
        return
    other = work / "other"
    shutil.copy(endings, other)
    os.chown(other, 65534, 0)
    other.chmod(0o4755)
    done = run("--", other, "return")
    if done.returncode == 0:
        assert "ended\n" in done.stderr, done # a folder where set-uid does nothing
        return
    assert done.returncode == 2 and "is set-uid" in done.stderr, done
    os.chown(other, 0, 0) # one's own is not
    other.chmod(0o4755)
    assert "ended\n" in run("--", other, "return").stderr


def check_arguments() -> None:
    """All after the program is the program's, whatever it looks like; -- may come before it."""
    words = ["--trace", "-x", "--help", "match", "run", "--", "[a,b]", "[]", "", "++", "%%", "-", "a b", "--no-such=1"]
    code = "import sys; print(sys.argv[1:])"
    for own in ([], ["--"], ["--options", "depth=3"], ["--options=depth=3", "--trace", work / "arguments", "--"]):
        done = run(*own, sys.executable, "-c", code, *words, options="report_at_exit=0")
        assert done.returncode == 0 and done.stdout == f"{words}\n", (own, done)
    for name in ("match", "-dashed"): # names of commands, and such as look like options
        shutil.copy(endings, work / name)
        path = {"PATH": f"{work}:{os.environ['PATH']}"}
        assert run("--", name, "exit", env=path).returncode == 5
    assert run("match", "exit", env=path).returncode == 5
    for wrong in ([], ["--"], ["--trace"], ["--trace", "x"], ["--no-such", "true"]):
        done = run(*wrong)
        assert done.returncode == 2 and done.stderr.startswith("heapmark: "), (wrong, done)
    done = run("--help")
    assert done.returncode == 0 and "PROGRAM" in done.stdout, done


def check_suppressions() -> None:
    """Known leaks of somebody else's program, in a file that is named from where heapmark run is."""
    (work / "known.supp").write_text("# it is somebody else's\nsite:main\n")
    (work / "elsewhere").mkdir()
    script = f"cd elsewhere && {endings} lose && {endings} exit"
    options = "explain_at_exit=1:lost_exit_code=7:suppressions="
    done = run("sh", "-c", script, options=options + "known.supp", cwd=work)
    assert done.returncode == 5 and done.stderr.count("suppressed: 1 block, 321 bytes") == 2, done
    assert f"1 block, 321 bytes  by {work}/known.supp:2: \"main\"  (it is somebody else's)\n" in done.stderr, done
    assert run(endings, "lose", options=options).returncode == 7
    done = run(endings, "lose", options=options + "nowhere", cwd=work)
    assert done.returncode == 2 and f"cannot be read from {work}/nowhere: No such file" in done.stderr, done
    done = run("--options", "policy=survivors", endings)
    assert done.returncode == 0 and "none ran here: policy\n" in done.stderr, done


def check_watched() -> None:
    plain = program_file("plain", b"#!/bin/sh -e\nexec " + endings.encode() + b" return\n")
    for words in ((endings, "return"), (plain,), ("/lib64/ld-linux-x86-64.so.2", endings, "return")):
        done = run("--", *words)
        assert done.returncode == 0 and "1 block, 321 bytes" in done.stderr, (words, done)


def check_endings() -> None:
    """A report, or a line that says why there is none; the exit status is the program's own."""
    no_report = r"heapmark: process \d+ \(programs_endings\) ended by {}, so there is no report; .*\n"
    traced = work / "trace"
    for way in ("exit", "quick_exit"):
        done = run("--", endings, way)
        assert done.returncode == 5 and "ended\n" in done.stderr and "1 block, 321 bytes" in done.stderr, (way, done)
    for way, by in {"_exit": "_exit", "_Exit": "_Exit", "handler": "_exit", "thread": "_exit", "exit_handler": "_exit"}.items():
        done = run("--", endings, way)
        assert done.returncode == 5 and re.fullmatch(no_report.format(by), done.stderr), (way, done)
        assert "heapmark run --trace FILE" in done.stderr, done
    done = run("--trace", traced, "--", endings, "_exit")
    assert re.fullmatch(no_report.format("_exit"), done.stderr) and "heapmark match" in done.stderr, done
    matched = subprocess.run([heapmark, "match", str(traced)], capture_output=True, text=True, check=False)
    assert matched.returncode == 1 and "321 bytes" in matched.stdout, matched
    # Where the report would have been.
    done = run("--", endings, "_exit", options=f"output={work}/report.%p")
    written, = work.glob("report.*")
    assert not done.stderr and re.fullmatch(no_report.format("_exit"), written.read_text()), done
    # Children that leave so say nothing.
    for way in ("fork", "vfork"):
        done = run("--", endings, way)
        assert done.returncode == 5 and "_exit" not in done.stderr and done.stderr.count("ended\n") == 1, (way, done)
    assert not run("--options", "report_at_exit=0", "--", endings, "_exit").stderr
    # The report's own way to end the process is not told.
    done = run("--", endings, "lose", options="explain_at_exit=1:lost_exit_code=7")
    assert done.returncode == 7 and "no report" not in done.stderr, done


if __name__ == "__main__":
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for check in [value for name, value in sorted(globals().items()) if name.startswith("check_")]:
        check()
        print(f"{check.__name__}: well")
