#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs a script of programs plainly and under the preload library, and compares.

Usage: run_program.py PRELOAD_LIBRARY TALLY_LIBRARY WORK_FOLDER SCRIPT [VARIABLE=VALUE...]

SCRIPT is a bash script; its lines "# needs: WORD..." name programs and files without which it cannot run. It runs in
an empty folder, all its processes under heapmark with a report at exit, and tally underneath (tally.cpp). Checked:
  - standard output, standard error and exit status are the same as without heapmark;
  - in each process that ended through exit(), heapmark's totals equal tally's to the byte;
  - each of them wrote a report, and it tells of no fault; one of them has what each "# reported: PATTERN" wants. What
    those write that left by _exit() is passed over;
  - as many processes told their totals, or wrote a report, as the line "# processes: AT_LEAST" says.
With a line "# no-tally", tally is not preloaded, and nothing is said about totals.
Exit status: 0 all well, 1 not, 77 it cannot run here.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

SKIP = 77
TIMEOUT_S = 280


def directive(script: str, word: str) -> list[str]:
    return [item for line in re.findall(rf"^# {word}:(.*)$", script, re.MULTILINE) for item in line.split()]


def run(script: pathlib.Path, folder: pathlib.Path, environment: dict[str, str], preload: str):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "home").mkdir()
    # LD_PRELOAD is set by a shell, so that only the script's processes have it.
    command = ["env", f"LD_PRELOAD={preload}"] if preload else []
    ended = subprocess.run([*command, "bash", "-eu", str(script)], cwd=folder, env=environment, capture_output=True,
                           stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False)
    return ended.returncode, ended.stdout, ended.stderr


def read_tally(path: pathlib.Path) -> dict:
    words = path.read_text().split()
    return {"tally": (int(words[1]), int(words[2])), "heapmark": (int(words[4]), int(words[5])),
            "handed_out": int(words[7]), "strangers": int(words[9]), "name": " ".join(words[11:]),
            "pid": path.suffix[1:]}


def heapmarks_own(environment: dict[str, str], preload: str, folder: pathlib.Path) -> tuple[int, int]:
    """What heapmark itself keeps on the heap in a program that allocates nothing: the C++ library inside the preload
    library keeps one block for exceptions thrown when memory is out."""
    out = folder.parent / "own.tally"
    subprocess.run(["env", f"LD_PRELOAD={preload}", f"TALLY_OUTPUT={out}", "true"], env=environment, check=True)
    found = [read_tally(path) for path in folder.parent.glob("own.tally.*")]
    for path in folder.parent.glob("own.tally.*"):
        path.unlink()
    own = tuple(ours - theirs for ours, theirs in zip(found[0]["tally"], found[0]["heapmark"]))
    if len(found) != 1 or own[0] not in (0, 1):
        raise SystemExit(f"a program that does nothing: {found}")
    return own


def show(name: str, plain: bytes, preloaded: bytes) -> str:
    for number, (one, other) in enumerate(zip((plain + b"\n").splitlines(), (preloaded + b"\n").splitlines()), 1):
        if one != other:
            return f"{name} differs in line {number}: {one[:200]!r} became {other[:200]!r}"
    return f"{name} differs in length: {len(plain)} became {len(preloaded)}; {preloaded[len(plain):][:300]!r}"


def main(library: str, tally: str, work: pathlib.Path, script: pathlib.Path, settings: list[str]) -> int:
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
                   "TZ": "UTC", "HOME": str(work / "run" / "home")}
    environment.update(setting.split("=", 1) for setting in settings)
    text = script.read_text()
    for need in directive(text, "needs"):
        if need.startswith("$"):
            need = environment.get(need[1:], f"/the folder in {need}")
        if not (os.path.exists(need) if "/" in need else shutil.which(need, path=environment["PATH"])):
            print(f"cannot run here: {need} is not there")
            return SKIP

    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    folder = work / "run"
    tallied = not re.search("^# no-tally$", text, re.MULTILINE)
    preload = f"{library} {tally}" if tallied else library
    own = heapmarks_own(environment, preload, folder) if tallied else (0, 0)
    plain = run(script, folder, environment, "")
    reports = work / "report"
    environment["HEAPMARK_OPTIONS"] = ":".join([f"report_at_exit=1:color=never:output={reports}.%p",
                                                *directive(text, "options")])
    environment["TALLY_OUTPUT"] = str(work / "tally")
    preloaded = run(script, folder, environment, preload)

    mistakes = [] if plain[0] == 0 else [f"without heapmark too it fails: {plain}"]
    for name, one, other in zip(("exit status", "standard output", "standard error"), plain, preloaded):
        if one != other:
            mistakes.append(f"exit status {one} became {other}" if isinstance(one, int) else show(name, one, other))
    tallies = [read_tally(path) for path in work.glob("tally.*")]
    for found in tallies:
        expected = tuple(theirs + ours for theirs, ours in zip(found["heapmark"], own))
        if found["tally"] != expected:
            mistakes.append(f"{found['name']} {found['pid']}: blocks and bytes by tally {found['tally']}, "
                            f"by heapmark {expected}, its own {own} included")
        if found["strangers"] != 0:
            mistakes.append(f"{found['name']} {found['pid']}: {found['strangers']} releases that tally never handed out")
        if not (work / f"report.{found['pid']}").exists():
            mistakes.append(f"{found['name']} {found['pid']}: told its totals, but wrote no report")
    left = re.compile(r"heapmark: process \d+ \(.*\) ended by _exit, so there is no report; .*\n")
    written = [path for path in work.glob("report.*") if not left.fullmatch(path.read_text(errors="replace"))]
    for report in written:
        lines = report.read_text(errors="replace").splitlines() or ["(an empty report)"]
        if "no faults" not in lines:
            mistakes.append("\n".join([*lines[:1], "...", *lines[-40:]]))
    for wanted in re.findall("^# reported: (.*)$", text, re.MULTILINE):
        if not any(re.search(wanted, report.read_text(errors="replace")) for report in written):
            mistakes.append(f"no report has {wanted}")
    ended = len(tallies) if tallied else len(written)
    least = int(directive(text, "processes")[0])
    if ended < least:
        mistakes.append(f"{ended} processes ended through exit(), at least {least} should")
    handed_out = sum(found["handed_out"] for found in tallies)
    print(f"{ended} processes ended through exit(), {handed_out} blocks handed out by tally, "
          f"{len(plain[1])} bytes of output, exit status {plain[0]}")
    print("\n".join(mistakes))
    return bool(mistakes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]).resolve(),
                  pathlib.Path(sys.argv[4]).resolve(), sys.argv[5:]))
