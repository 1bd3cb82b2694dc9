#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks that README.md, and the pages of docs/, tell the truth.

Code     a ```cpp block of README.md occurs word for word in examples/
Commands in a ```console block, `$ ./dev X` is a command of dev; anything else is run in the root of the project with
         build/demo/ standing for this build, and what follows it is what it prints, where a line "..." stands for any
         lines, and addresses, durations, process ids and the project's path are not compared; an `export` holds
         for the rest of its block
Links    a relative link leads to a file

Usage: readme.py ROOT BUILD
"""
import pathlib
import re
import subprocess
import sys


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def commands(block: str) -> list[tuple[str, str]]:
    """(command, expected output) of a console block."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.M)
    found, exports = [], ""
    for command, expected in zip(parts[1::2], parts[2::2]):
        if command.startswith("export "):
            exports += command + "; "
        else:
            found.append((exports + command, expected))
    return found


def normalised(text: str, root: str) -> str:
    text = text.replace(root + "/", "")
    text = re.sub(r"0x[0-9a-f]+", "0x#", text)
    text = re.sub(r"\bprocess \d+\b", "process #", text)
    text = re.sub(r"\b\d+(\.\d+)? (ns|us|µs|ms|s)\b", "# s", text)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def agrees(expected: str, actual: str) -> bool:
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line) + r"\n"
                      for line in expected.rstrip("\n").split("\n"))
    return re.fullmatch(pattern, actual.rstrip("\n") + "\n") is not None


def check_command(command: str, expected: str, root: str, build: str) -> list[str]:
    if command.startswith("./dev "):
        usage = subprocess.run(["./dev"], cwd=root, capture_output=True, text=True, check=True).stdout
        name = command.split()[1]
        return [] if re.search(rf"^  {re.escape(name)} ", usage, re.M) else [f"dev knows no command {name}"]
    command_here = command.replace("$PWD/build/demo/", build + "/").replace("build/demo/", build + "/")
    done = subprocess.run(["bash", "-c", command_here], cwd=root, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if not expected.strip():
        return [] if done.returncode == 0 else [f"$ {command}\nended with {done.returncode}:\n{done.stdout}"]
    if agrees(normalised(expected, root), normalised(done.stdout, root)):
        return []
    return [f"$ {command}\nprints\n{done.stdout}\nand the page says\n{expected}"]


def check_page(page: pathlib.Path, root: str, build: str) -> list[str]:
    """Commands and links of one page; blocks of C++ in docs are cut short for the reader."""
    text = page.read_text()
    wrong = []
    for command, expected in [pair for block in blocks(text, "console") for pair in commands(block)]:
        wrong += check_command(command, expected, root, build)
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)#]+)\)", prose):
        if "://" not in link and not (page.parent / link).exists():
            wrong.append(f"{page.name}: link to {link}, which is not there")
    return wrong


def check(root: str, build: str) -> list[str]:
    readme = pathlib.Path(root, "README.md")
    text = readme.read_text()
    examples = [path.read_text() for path in sorted(pathlib.Path(root, "examples").glob("*.cpp"))]
    wrong = [f"not in any example:\n{block}" for block in blocks(text, "cpp")
             if not any(block in example for example in examples)]
    pairs = [pair for block in blocks(text, "console") for pair in commands(block)]
    if len(pairs) < 3 or not any(expected.strip() for _, expected in pairs):
        wrong.append("README.md has too few commands, or none with its output")
    for page in [readme, *sorted(pathlib.Path(root, "docs").glob("*.md"))]:
        wrong += check_page(page, root, build)
    return wrong


if __name__ == "__main__":
    assert agrees("a\n...\nd\n", "a\nb\nc\nd\n") and not agrees("a\n...\nd\n", "a\nb\n")
    assert commands("$ one\n$ two\nout\n") == [("one", ""), ("two", "out\n")]
    assert commands("$ export a=b\n$ two\nout\n") == [("export a=b; two", "out\n")]
    mistakes = check(*sys.argv[1:3])
    print("\n\n".join(mistakes))
    sys.exit(bool(mistakes))
