#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Programs of the system, accounted by the preload library and counted by Valgrind: allocations, frees, the bytes asked
for and what is left must be the same, to the last one.

Usage: accounting.py PRELOAD_LIBRARY FOLDER
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SQL = "create table t(a, b); " + "".join(f"insert into t values({i}, 'row number {i}');" for i in range(500)) + \
      "select sum(a), max(b) from t group by a % 7 order by 1;"
XML = "<list>" + "".join(f"<item id='{i}'>text of item {i}<sub/></item>" for i in range(300)) + "</list>"


def commands(folder: Path) -> list[list[str]]:
    document = folder / "document.xml"
    document.write_text(XML)
    lines = folder / "lines.txt"
    lines.write_text("".join(f"{i * 7919 % 5000} line\n" for i in range(5000)))
    return [["ls", "-l", "/usr/lib"], ["xmllint", "--format", str(document)], ["sqlite3", ":memory:", SQL],
            ["sort", "--parallel=1", "-n", str(lines)], ["grep", "-E", "-c", "1[0-9]+ l(i|x)ne", str(lines)],
            ["sed", "-E", "s/([0-9]+) (.*)/\\2 \\1/", str(lines)], ["bc", "-l", "-q", "/dev/null"]]


def by_valgrind(command: list[str]) -> dict[str, int]:
    done = subprocess.run(["valgrind", "--run-libc-freeres=no", "--run-cxx-freeres=no", *command], text=True, check=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    text = done.stderr.replace(",", "")
    left = re.search(r"in use at exit: (\d+) bytes in (\d+) blocks", text)
    usage = re.search(r"total heap usage: (\d+) allocs (\d+) frees (\d+) bytes allocated", text)
    return {"allocations": int(usage[1]), "frees": int(usage[2]), "requested": int(usage[3]), "left": int(left[2])}


def by_heapmark(command: list[str], library: str, folder: Path) -> dict[str, int]:
    output = folder / "report.txt"
    options = f"accounting=callers:report_at_exit=1:max_groups=0:output={output}"
    subprocess.run(command, env=os.environ | {"LD_PRELOAD": library, "HEAPMARK_OPTIONS": options}, check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    text = output.read_text()
    value = lambda name: int(re.search(rf"^{name}: +(-?\d+)$", text, re.M)[1])  # noqa: E731
    for name in ("unrecorded callers", "unrecorded allocs", "unknown frees"):
        assert value(name) == 0, name
    caller_rows = re.findall(r"^ *(\d+) +(\d+) +(-?\d+) +(\d+)/(\d+) +\S.*  \S.*$", text, re.M)
    sums = [sum(int(row[column]) for row in caller_rows) for column in range(5)]
    header = [value("total bytes allocated"), value("slack bytes allocated"), value("net bytes allocated"),
              value("number of allocs"), value("number of frees")]
    assert sums == header, f"rows {sums}, header {header}"
    assert len(caller_rows) == value("number of callers")
    return {"allocations": header[3], "frees": header[4], "requested": header[0] - header[1],
            "left": header[3] - header[4]}


def main(library: str, folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    if shutil.which("valgrind") is None:
        print("cannot run here: valgrind is not installed")
        return 77
    compared = wrong = 0
    for command in commands(folder):
        if shutil.which(command[0]) is None:
            print(f"{command[0]}: not installed")
            continue
        theirs, ours = by_valgrind(command), by_heapmark(command, library, folder)
        compared += 1
        wrong += theirs != ours
        print(f"{command[0]}: valgrind {theirs}, heapmark {ours}{'' if theirs == ours else ': DIFFERENT'}")
    return 77 if compared < 3 else int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
