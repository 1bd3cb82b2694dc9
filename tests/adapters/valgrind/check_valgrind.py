#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Has Valgrind write suppressions for the leaks of a program, and checks that they silence the same leaks of the same
program with heapmark in it, each one of them and nothing else.

Usage: check_valgrind.py BARE HEAPMARK
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


def findings(program: str, options: str) -> tuple[int, int, str]:
    """Exit status, number of findings, and what was printed."""
    done = subprocess.run([program], env=dict(os.environ, HEAPMARK_OPTIONS=options), text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    return done.returncode, len(re.findall(r"heapmark: leaks left ", done.stdout)), done.stdout


def main(bare: str, with_heapmark: str) -> int:
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        return SKIPPED
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "valgrind.log")
        subprocess.run(["valgrind", "--leak-check=full", "--show-leak-kinds=definite,indirect,possible",
                        "--gen-suppressions=all", f"--log-file={log}", bare], check=True, timeout=300)
        entries = re.findall(r"^\{\n.*?^\}\n", log.read_text(), re.MULTILINE | re.DOTALL)
        status, _, text = findings(with_heapmark, "max_groups=0")
        # heapmark puts together what looks alike without the frames of the C++ library.
        told = [sum(int(number) for number in numbers) for numbers in
                zip(*re.findall(r"heapmark: leaks left (\d+) blocks?, (\d+) bytes", text))]
        lost = [sum(int(number) for number in numbers) for numbers in
                zip(*re.findall(r" lost: ([\d,]+) bytes in ([\d,]+) blocks", log.read_text().split("LEAK SUMMARY")[1])[:3])]
        if status == 0 or len(entries) < 12 or told != lost[::-1]:
            wrong.append(f"of blocks and bytes heapmark told of {told}, Valgrind of {lost[::-1]}:\n{text}")

        file = pathlib.Path(folder, "valgrind.supp")
        others = ("# Valgrind keeps all kinds in one file.\n{\n  cond\n  Memcheck:Cond\n  fun:strlen\n}\n"
                  "{\n  syscall\n  Memcheck:Param\n  write(buf)\n  fun:write\n}\n"
                  "{\n  held\n  Memcheck:Leak\n  match-leak-kinds: reachable\n  ...\n}\n")
        file.write_text(others + "".join(entries))
        status, told, text = findings(with_heapmark, f"suppressions={file}")
        if status != 0 or told != 0 or "matched nothing" in text:
            wrong.append(f"with all entries {told} are told, status {status}:\n{text}\n{file.read_text()}")

        for left_out in range(len(entries)): # each silences its own
            file.write_text(others + "".join(entry for i, entry in enumerate(entries) if i != left_out))
            status, told, text = findings(with_heapmark, f"suppressions={file}")
            if status == 0 or told != 1 or "matched nothing" in text:
                wrong.append(f"without {entries[left_out]} {told} are told, status {status}:\n{text}")
    print("\n\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
