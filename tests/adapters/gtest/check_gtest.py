#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the suites for Google Test and checks what they say: output, exit status, XML and JSON.

Usage: check_gtest.py CASE LEAKY CLEAN
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

SOURCE = pathlib.Path(__file__).with_name("leaky_suite.cpp")
FOUND = re.compile(r"^(\S+):(\d+): Failure\nheapmark: (.+?) left (\d+ blocks?)", re.M)


def run(program: str, *arguments: str, options: str = "") -> subprocess.CompletedProcess:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GTEST_", "HEAPMARK_"))}
    if options:
        environment["HEAPMARK_OPTIONS"] = options
    return subprocess.run([program, *arguments], env=environment, text=True, check=False, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def seeded(words: str = "LEAKS") -> set[tuple[str, int]]:
    """(test, line) of each leak, from the comments in the source."""
    leaks = set()
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
        if found := re.search(rf"// (?:{words}) (.*)", line):
            for test in re.findall(r"suite \S+|\S+", found[1]):
                leaks.add(("the environment" if test == "environment" else test, number))
    return leaks


def found(output: str) -> set[tuple[str, int]]:
    return {(test, int(line)) for file, line, test, _ in FOUND.findall(output) if file.endswith(SOURCE.name)}


def expect(wrong: list[str], condition: bool, text: str, output: str = "") -> None:
    if not condition:
        wrong.append(text + ("\n" + output if output else ""))


def leaks(leaky: str, _clean: str) -> list[str]:
    """Each seeded leak is told of, where it is, and nothing else is."""
    wrong: list[str] = []
    expect(wrong, len(seeded()) > 20, "too few leaks are seeded")
    for policy, arguments in (("lost", []), ("survivors", []), ("survivors", ["--gtest_repeat=2"]),
                              ("survivors", ["--gtest_shuffle", "--gtest_random_seed=7"])):
        expected = seeded("LEAKS|SURVIVES" if policy == "survivors" else "LEAKS")
        done = run(leaky, *arguments, options=f"policy={policy}")
        if policy == "lost":
            expect(wrong, re.search(r"^heapmark: Held.ByGlobal left memory that is still held:\n.*global .*registry",
                                    done.stdout, re.M) is not None, "the holder is not told", done.stdout)
        told = found(done.stdout)
        expect(wrong, told == expected, f"{policy} {arguments}: missed {sorted(expected - told)}, "
               f"invented {sorted(told - expected)}", done.stdout)
        expect(wrong, done.returncode == 1, f"{arguments}: ended with {done.returncode}")
        for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
            if fault := re.search(r"// FAULT (.*)", line):
                told_of = re.search(rf"{SOURCE.name}:{number}: Failure\nheapmark: {re.escape(fault[1])}\n", done.stdout)
                expect(wrong, told_of is not None, f"{arguments}: not told: {fault[1]}", done.stdout)
        if policy == "lost":
            expect(wrong, "lost: on a cycle that nothing else points to" in done.stdout, "no word of a cycle")
        for text in re.findall(r"^heapmark: .*? left \d+ blocks?, \d+ bytes?.*?\n\n", done.stdout, re.M | re.S):
            expect(wrong, "suppressions=FILE" in text or "expectation" in text or "correct the number" in text,
                   "a finding does not end with what to do", text)
    one = run(leaky, "--gtest_filter=Fixture.IsClean")
    expect(wrong, "[       OK ] Fixture.IsClean" in one.stdout, "a clean test fails", one.stdout)
    return wrong


def clean(_leaky: str, clean_suite: str, at_least: int = 15) -> list[str]:
    """No finding, all at once and each test as the first of its process."""
    wrong: list[str] = []
    for policy in ("lost", "survivors"):
        done = run(clean_suite, options=f"policy={policy}")
        expect(wrong, done.returncode == 0 and not FOUND.search(done.stdout), f"{policy}: findings", done.stdout)
    listed = run(clean_suite, "--gtest_list_tests").stdout
    suite, tests = "", []
    for line in listed.splitlines():
        if line.endswith("."):
            suite = line
        elif line.startswith("  "):
            tests.append(suite + line.split()[0])
    expect(wrong, len(tests) >= at_least, f"only {len(tests)} tests listed", listed)
    for test in tests:
        done = run(clean_suite, f"--gtest_filter={test}", options="policy=survivors")
        expect(wrong, done.returncode == 0 and "[==========] 1 test " in done.stdout, f"{test} alone", done.stdout)
    return wrong


def mocks(leaky: str, mock_suite: str) -> list[str]:
    """Google Mock's own memory is no test's, and its flags are taken though the main is heapmark's."""
    wrong = clean(leaky, mock_suite, 4)
    warning = "Uninteresting mock function call"
    expect(wrong, warning in run(mock_suite).stdout, "no warning to silence")
    done = run(mock_suite, "--gmock_verbose=error")
    expect(wrong, done.returncode == 0 and warning not in done.stdout, "--gmock_verbose is not taken", done.stdout)
    return wrong


def files(leaky: str, _clean: str) -> list[str]:
    """Properties in XML and JSON; SARIF; annotations."""
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        run(leaky, f"--gtest_output=xml:{folder}/out.xml")
        cases = {f"{case.get('classname')}.{case.get('name')}": case
                 for case in xml.parse(f"{folder}/out.xml").getroot().iter("testcase")}
        case = cases["Plain.Malloc"]
        properties = {p.get("name"): p.get("value") for p in case.iter("property")}
        expect(wrong, properties.get("heapmark_blocks") == "3" and properties.get("heapmark_bytes") == "30",
               f"XML has {properties}")
        # With those of the fixture that Google Test makes for each test; an empty one has no others.
        used = [int(properties[f"heapmark_{name}"]) for name in ("allocations", "allocated_bytes", "peak_bytes")]
        empty = {p.get("name"): int(p.get("value")) for p in cases["Plain.Empty"].iter("property")}
        expect(wrong, used == [empty["heapmark_allocations"] + 3, empty["heapmark_allocated_bytes"] + 30,
                               empty["heapmark_peak_bytes"] + 30], f"XML has {properties}, and {empty} of an empty test")
        expect(wrong, len(case.findall("failure")) == 1, "XML has no failure")
        expect(wrong, not list(cases["Fixture.IsClean"].iter("failure")), "XML fails a clean test")

        # Without the environment's finding: Google Test 1.12 writes a failure outside of suites without its comma.
        suppressions = pathlib.Path(folder, "list.txt")
        suppressions.write_text("site:*Environment::SetUp\n")
        run(leaky, f"--gtest_output=json:{folder}/out.json", "--gtest_filter=Plain.Malloc",
            options=f"suppressions={suppressions}")
        case = json.loads(pathlib.Path(folder, "out.json").read_text())["testsuites"][0]["testsuite"][0]
        expect(wrong, case.get("heapmark_bytes") == "30" and len(case["failures"]) == 1, f"JSON has {case}")

        done = run(leaky, options=f"policy=survivors:sarif={folder}/out.sarif:github=1:source_root={SOURCE.parent}")
        log = json.loads(pathlib.Path(folder, "out.sarif").read_text())
        results = log["runs"][0]["results"]
        places = {(r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
                   r["locations"][0]["physicalLocation"]["region"]["startLine"]) for r in results}
        lines = {line for _, line in seeded("LEAKS|SURVIVES|FAULT")}
        expect(wrong, log["version"] == "2.1.0" and places == {(SOURCE.name, line) for line in lines},
               f"SARIF has {sorted(places)}")
        expect(wrong, all(r["message"]["text"] for r in results), "SARIF results without a text")
        rules = {r["ruleId"] for r in results}
        expect(wrong, rules == {"survivors", "faults"} == {r["id"] for r in log["runs"][0]["tool"]["driver"]["rules"]},
               f"SARIF has rules {sorted(rules)}")
        annotations = set(re.findall(rf"^::error file={SOURCE.name},line=(\d+),title=heapmark%3A [^:]+::", done.stdout, re.M))
        expect(wrong, annotations == {str(line) for line in lines}, f"annotations of {sorted(annotations)}")
    return wrong


def suppressing(leaky: str, _clean: str) -> list[str]:
    """Suppression files, and the baseline."""
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "list.txt")

        def passes(test: str, *lines: str) -> subprocess.CompletedProcess:
            file.write_text("\n".join(lines) + "\n")
            return run(leaky, f"--gtest_filter={test}", options=f"suppressions={file}")

        for line in ("site:copy_of", "function:*HelperFunction_Test::TestBody", "function:TestBody", "leak:copy_",
                     "leak:^*copy_of", "file:leaky_suite.cpp", "file:*suite.cpp", "module:adapter_gtest_leaky", "site:*"):
            done = passes("Plain.HelperFunction", "# a reason", line)
            expect(wrong, done.returncode in (0, 1) and "[  PASSED  ] 1 test." in done.stdout, f"{line} does not match",
                   done.stdout)
        for line in ("site:copy", "site:TestBody", "function:opy_of", "leak:^opy_of", "file:suite.cpp", "module:other",
                     "tag:*", "leak:opy$"):
            done = passes("Plain.HelperFunction", line)
            expect(wrong, "[  FAILED  ] Plain.HelperFunction" in done.stdout, f"{line} matches", done.stdout)
        done = passes("Plain.*", "nonsense")
        expect(wrong, done.returncode == 2 and f"{file}:1" in done.stdout, "a wrong line is taken", done.stdout)
        done = run(leaky, options=f"suppressions={folder}")
        expect(wrong, done.returncode == 2 and f"{folder}: Is a directory" in done.stdout, "a folder is read", done.stdout)
        done = run(leaky, options="update_baseline=1")
        expect(wrong, done.returncode == 2 and "needs baseline=FILE" in done.stdout, "no baseline to update", done.stdout)
        done = run(leaky, options=f"suppressions={folder}/none")
        expect(wrong, done.returncode == 2 and "none" in done.stdout, "a missing file is no mistake", done.stdout)
        done = passes("*", "", "function:no_such_function", "file:leaky_suite.cpp")
        expect(wrong, f'{file}:2: "no_such_function" matched nothing' in done.stdout, "unused is not told", done.stdout)
        expect(wrong, f'{file}:3: "leaky_suite.cpp" hides' in done.stdout, "too broad is not told", done.stdout)

        baseline = pathlib.Path(folder, "baseline.txt")
        record = f"baseline={baseline}:update_baseline=1"
        done = run(leaky, "--gtest_filter=Plain.Malloc:Plain.TwoSites", options=record)
        expect(wrong, done.returncode == 0, "recording a baseline fails", done.stdout)
        done = run(leaky, "--gtest_filter=Plain.Malloc:Plain.TwoSites", options=f"baseline={baseline}")
        expect(wrong, done.returncode == 0, "the baseline does not hold", done.stdout)
        done = run(leaky, "--gtest_filter=Plain.New:Plain.Malloc", options=f"baseline={baseline}")
        expect(wrong, found(done.stdout) == {leak for leak in seeded() if leak[0] == "Plain.New"},
               "more than the baseline passes", done.stdout)
        baseline.write_text(baseline.read_text().replace("3\tPlain.Malloc", "2\tPlain.Malloc"))
        done = run(leaky, "--gtest_filter=Plain.Malloc", options=f"baseline={baseline}")
        expect(wrong, done.returncode == 1, "more blocks than the baseline has pass", done.stdout)
        baseline.write_text(baseline.read_text().replace("2\tPlain.Malloc", "9\tPlain.Malloc"))
        done = run(leaky, options=f"baseline={baseline}")
        expect(wrong, "Plain.Malloc" in done.stdout.split("less is left than")[-1], "no word of less", done.stdout)
    return wrong


def growing(leaky: str, _clean: str) -> list[str]:
    """What is left each time fails, held or not; what is left once does not."""
    wrong: list[str] = []
    done = run(leaky, "--gtest_filter=Held.*:Plain.New:Fixture.IsClean", options="policy=growth")
    expected = {leak for leak in seeded("LEAKS|SURVIVES") if leak[0] in ("Held.ByGlobal", "Plain.New")}
    expect(wrong, done.returncode == 1, "growth passes", done.stdout)
    expect(wrong, found(done.stdout) == expected, f"found {found(done.stdout)}", done.stdout)
    expect(wrong, "iteration 4" in done.stdout, "not repeated by itself", done.stdout)

    done = run(leaky, "--gtest_filter=Plain.New", "--gtest_repeat=2", options="policy=growth")
    expect(wrong, "policy=growth judges a test from its run 3 on" in done.stdout, "two runs pass in silence", done.stdout)

    # Once it is known to grow it fails in each run, also in those in which its vector needs no new buffer.
    done = run(leaky, "--gtest_filter=Held.ByGlobal", "--gtest_repeat=9", options="policy=growth")
    failed = ["[  FAILED  ] Held.ByGlobal (" in text for text in done.stdout.split("Repeating all tests")[1:]]
    expect(wrong, failed == [False] * 2 + [True] * 7, f"growth fails runs {failed}", done.stdout)

    # Its stacks are told once, and then a line each; files have what they have to.
    with tempfile.TemporaryDirectory() as folder:
        done = run(leaky, "--gtest_filter=Held.ByGlobal:Plain.New", "--gtest_repeat=6",
                   options=f"policy=growth:junit={folder}/out.xml:sarif={folder}/out.sarif:github=1")
        for test in ("Held.ByGlobal", "Plain.New"):
            titles = re.findall(rf"^heapmark: {test} left \d+ blocks?, \d+ bytes, and more each time(.*)\n(.*)", done.stdout,
                                re.M)
            stacks = [text for title, text in titles if not title]
            again = [text for title, text in titles if title == ", as an earlier run has told"]
            expect(wrong, stacks and len(set(stacks)) == len(stacks) and len(again) == 3 and
                   all(re.fullmatch(rf"  \d+ blocks?, \d+ bytes  \S.*{SOURCE.name}:\d+", text) for text in again),
                   f"{test} is told {titles}", done.stdout)
        results = json.loads(pathlib.Path(folder, "out.sarif").read_text())["runs"][0]["results"]
        expect(wrong, len(results) == 2 == done.stdout.count("::error"),
               f"SARIF has {len(results)}", done.stdout)
        failures = [f for f in xml.parse(f"{folder}/out.xml").getroot().iter("failure")]
        expect(wrong, len(failures) == len(results) and all("suppressions=FILE" in f.text for f in failures),
               f"JUnit has {[f.text for f in failures]}")
    return wrong


def ways_to_run(leaky: str, _clean: str) -> list[str]:
    """In shards, and stopping where a test fails."""
    wrong: list[str] = []
    told: set[tuple[str, int]] = set()
    for shard in range(3):
        environment = dict(os.environ, GTEST_TOTAL_SHARDS="3", GTEST_SHARD_INDEX=str(shard))
        done = subprocess.run([leaky], env=environment, text=True, check=False, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        of_tests = {leak for leak in found(done.stdout) if not leak[0].startswith(("suite ", "the environment"))}
        expect(wrong, not told & of_tests and of_tests, f"shard {shard}: {sorted(of_tests)}", done.stdout)
        told |= of_tests
    expected = {leak for leak in seeded() if not leak[0].startswith(("suite ", "the environment"))}
    expect(wrong, told == expected, f"shards: missed {sorted(expected - told)}, invented {sorted(told - expected)}")

    done = run(leaky, "--gtest_filter=Plain.Malloc:Plain.New", "--gtest_break_on_failure")
    expect(wrong, done.returncode < 0, f"goes on after a failure, and ends with {done.returncode}", done.stdout)
    expect(wrong, len(found(done.stdout)) == 1, "does not stop at the first", done.stdout)
    done = run(leaky, "--gtest_filter=Plain.Malloc", "--gtest_throw_on_failure")
    expect(wrong, done.returncode != 0, "a failure as an exception passes", done.stdout)
    return wrong


def main(case: str, leaky: str, clean_suite: str) -> int:
    wrong = globals()[case](leaky, clean_suite)
    print("\n\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
