#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""heapmark diff of two runs of a suite, of Google Test's XML and of what the option junit writes.

Usage: check_diff.py HEAPMARK GTEST_SUITE DOCTEST_SUITE
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, env=dict(os.environ, **environment), text=True, check=False, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def main(heapmark: str, gtest: str, doctest: str) -> int:
    wrong = []

    def expect(condition: bool, what: str, shown: object = "") -> None:
        if not condition:
            wrong.append(f"{what}\n{shown}")

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        before = {"GROWS": "4", "SHRINKS": "8"}
        after = {"GROWS": "6", "SHRINKS": "2"}
        for when, amounts in (("one", before), ("two", after)): # the path is copied for each test, so of one length
            run([gtest, f"--gtest_output=xml:{folder}/gtest_{when}.xml"], **amounts)
            run([doctest], HEAPMARK_OPTIONS=f"junit={folder}/doctest_{when}.xml", **amounts)
        for kind, grown in (("gtest", "Parser.Grows"), ("doctest", 'Parser <grows> & "more"')):
            old, new = (f"{folder}/{kind}_{when}.xml" for when in ("one", "two"))
            done = run([heapmark, "diff", old, new])
            lines = done.stdout.splitlines()
            expect(done.returncode == 1 and done.stderr == "", f"{kind}: status {done.returncode}", done)
            expect(len(lines) == 3 and lines[1].endswith("  " + grown), f"{kind}: one test has grown", done.stdout)
            # What the fixture and heapmark's glue take besides is the same in both.
            numbers = re.match(r"(\d+) -> (\d+) \(\+\d+ %\) +(\d+) -> (\d+) ", lines[1])
            expect(numbers is not None and int(numbers[2]) - int(numbers[1]) == 2
                   and int(numbers[4]) - int(numbers[3]) == 20, f"{kind}: by two blocks of 10 bytes", lines[1])
            expect(re.match(r"compared: \d tests, of which 1 allocate more and 1 less$", lines[2]) is not None,
                   f"{kind}: totals", lines[2])
            done = run([heapmark, "diff", new, new])
            expect(done.returncode == 0 and done.stdout.startswith("no test allocates more\n"), f"{kind}: alike", done)

        cases = list(xml.parse(f"{folder}/doctest_two.xml").getroot().iter("testcase"))
        expect({case.get("name") for case in cases} >= {'Parser <grows> & "more"', "Parser shrinks", "Parser stays"},
               "JUnit has the names as they are")

        # A file without tests of heapmark, one that is no XML, and one that is not there.
        plain = folder / "plain.xml"
        plain.write_text('<testsuites><testsuite><testcase name="A" classname="B"/></testsuite></testsuites>')
        broken = folder / "broken.xml"
        broken.write_text('{"testsuites": []}')
        good = f"{folder}/gtest_one.xml"
        for bad, message in ((plain, "no test has the property heapmark_allocations"), (broken, "is needed"),
                             (folder / "none.xml", "File was not found")):
            done = run([heapmark, "diff", good, str(bad)])
            expect(done.returncode == 2 and done.stdout == "" and message in done.stderr and str(bad) in done.stderr,
                   f"{bad.name}: status {done.returncode}", done)
        done = run([heapmark, "diff", good, f"{folder}/doctest_one.xml"])
        expect(done.returncode == 2 and "no test in common" in done.stderr, "nothing in common", done)
        for words, message in ((["foo"], 'no command "foo"'), (["diff", good], "heapmark: NEW is required")):
            done = run([heapmark, *words])
            expect(done.returncode == 2 and message in done.stderr, f"{words}", done)
        done = run([doctest], HEAPMARK_OPTIONS=f"junit={folder}/no/such/folder.xml")
        expect(done.returncode != 0 and "cannot be written: No such file" in done.stdout + done.stderr, "no folder", done)
    print("\n\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
