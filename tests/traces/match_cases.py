#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""heapmark match on kdump texts whose answers are known (see the .answer.txt beside them), and on unusable input.

Usage: match_cases.py HEAPMARK
"""
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parent
# Trace -> leaks as (line, address, bytes), words of the totals, addresses in warnings
ANSWERS = {
    "22-kdump-plain.txt": (
        {(10, 0x800a0c000, 3500), (14, 0x800a09040, 32)},
        ["total: 2 blocks, 3532 bytes leaked", "5 allocations, 3 reallocations, 3 releases"], []),
    "23-kdump-zero-size-and-failures.txt": (
        {(6, 0x2a200000, 5000), (11, 0x2a400000, 9000), (10, 0x2a1b0c18, 1)},
        ["total: 3 blocks, 14001 bytes leaked", "2 failed calls", "2 frees of unknown addresses"],
        ["0x2a1b0c10", "0x2a500000"]),
    "24-kdump-two-processes.txt": (
        {(10, 0x801006100, 48), (21, 0x801007000, 256), (16, 0x801006100, 300)},
        ["process 4100 parent: 2 blocks, 304 bytes leaked", "process 4101 child: 1 block, 300 bytes leaked"], []),
}
CLEAN = "  7 a USER malloc_init()\n  7 a USER 0x10 = malloc(5)\n  7 a USER free(0x10)\n"
LEAK = "  7 a USER 0x10 = malloc(5)\n"
ONE = "  7 a USER malloc_init()\n" + LEAK


def run(program: str, *arguments: str, text: str = "") -> subprocess.CompletedProcess:
    return subprocess.run([program, "match", *arguments], input=text, capture_output=True, text=True, check=False)


def leaks_of(name: str, output: str) -> set:
    found = re.findall(rf"^\S*{re.escape(name)}:(\d+): (\d+) bytes? at (0x[0-9a-f]+) leaked\n  (.*)$", output, re.M)
    lines = (FOLDER / name).read_text().splitlines()
    for line, _, _, record in found:
        assert lines[int(line) - 1] == record, (lines[int(line) - 1], record)
    return {(int(line), int(address, 16), int(size)) for line, size, address, _ in found}


def check_answers(program: str) -> None:
    for name, (leaks, words, warned) in ANSWERS.items():
        done = run(program, str(FOLDER / name))
        assert done.returncode == 1, done
        assert leaks_of(name, done.stdout) == leaks, done.stdout
        assert all(word in done.stdout for word in words), done.stdout
        assert re.findall(r"warning: .*: (0x[0-9a-f]+) in", done.stderr) == warned, done.stderr
        # The same from standard input.
        again = run(program, text=(FOLDER / name).read_text())
        assert again.stdout == done.stdout.replace(str(FOLDER / name), "standard input"), again.stdout


def check_processes(program: str) -> None:
    # A second trace is another run, though the process has the same number; a continued one is not.
    files = [FOLDER / "22-kdump-plain.txt"] * 2
    assert "total: 4 blocks, 7064 bytes" in run(program, *map(str, files)).stdout
    # exec without its system calls; exit before the number is used again.
    done = run(program, text=ONE + ONE)
    assert "total: 1 block, 5 bytes" in done.stdout and not done.stderr, done
    done = run(program, text=ONE + "  7 a CALL exit(0)\n" + ONE)
    assert "total: 2 blocks, 10 bytes" in done.stdout, done
    # The child's first record comes before its parent's fork returns.
    fork = ONE + "  7 a CALL fork\n  8 a USER free(0x10)\n  7 a RET fork 8/0x8\n  7 a USER free(0x10)\n"
    done = run(program, text=fork)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done


def check_statuses(program: str) -> None:
    done = run(program, text=CLEAN)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done
    for text in ["", "hello\n", "  7 a CALL fork\n", "\x01\x02\x7f" * 1000, "  7 a USER 0x10 = mal\n"]:
        done = run(program, text=text)
        assert done.returncode == 2 and done.stderr and not done.stdout, done
    assert run(program, "/nonexistent").returncode == 2
    assert run(program, str(FOLDER)).returncode == 2
    assert run(program, "--nonsense").returncode == 2
    done = run(program, "-", "/nonexistent", text=ONE)
    assert done.returncode == 2 and "total: 1 block" in done.stdout and "/nonexistent" in done.stderr, done

    done = run(program, text=CLEAN + "  7 a USER 0x20 = malloc(\n" * 100 + "  7 a USER free(0x)\n")
    assert done.returncode == 0 and "standard input:4: warning: skipped" in done.stderr, done
    assert "101 malformed lines were skipped" in done.stderr and done.stderr.count("warning") == 20, done


def check_verbosity(program: str) -> None:
    text = CLEAN + "  7 a NAMI \"/etc/malloc.conf\"\n" + LEAK
    expected = [  # what each level adds
        ["standard input:2: allocated 0x10, 5 bytes, process 7", "standard input:3: released 0x10, 5 bytes"],
        ["standard input:0: reading", "record: malloc of 5", "record: free"],
        ["standard input:2:   7 a USER 0x10 = malloc(5)"],
        ["standard input:4:   7 a NAMI"],
    ]
    for level in range(5):
        done = run(program, *(["-" + "v" * level] if level else []), text=text)
        assert done.returncode == 1
        for index, words in enumerate(expected, 1):
            for word in words:
                assert (word in done.stderr) == (index <= level), (level, word, done.stderr)
    done = run(program, "-v", text=CLEAN)
    assert done.returncode == 0 and "total: 0 blocks, 0 bytes leaked" in done.stdout, done


if __name__ == "__main__":
    for check in (check_answers, check_processes, check_statuses, check_verbosity):
        check(sys.argv[1])
