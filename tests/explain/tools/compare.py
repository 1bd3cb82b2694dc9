# SPDX-License-Identifier: BSL-1.0
"""What heapmark, LeakSanitizer and Valgrind call the blocks of situations.cpp, as the table of docs/explain.md.

compare.py FOLDER_OF_LIBRARIES WORK_FOLDER            prints the table
compare.py FOLDER_OF_LIBRARIES WORK_FOLDER --write    puts it into docs/explain.md
compare.py FOLDER_OF_LIBRARIES WORK_FOLDER --check    runs heapmark alone, and fails where it differs from docs/explain.md
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
DOCS = ROOT / "docs" / "explain.md"
BEGIN = "<!-- made by tests/explain/tools/compare.py -->\n"
END = "<!-- end -->\n"
COMPILER = os.environ.get("CXX", "g++")
LARGE = 200 << 20

# In the order of the table: what the block's pointer is, and why tools differ.
MEANING = {
    "forgotten": ("nothing", ""),
    "chain": ("nothing; a lost block holds the second", ""),
    "cycle": ("each other", "LeakSanitizer calls no block of a cycle the first"),
    "shared_cycle": ("itself, by `shared_ptr`", ""),
    "by_global": ("a global variable", ""),
    "by_static": ("a static variable of a function", ""),
    "chain_of_global": ("a global; a held block holds the second", ""),
    "interior": ("a pointer into its middle", "Valgrind does not trust those"),
    "past_the_end": ("a pointer one past its end", ""),
    "unaligned_place": ("a pointer at an odd address", "none reads those"),
    "from_freed_block": ("a word in freed memory", ""),
    "low_tag": ("a pointer with its lowest bit set", "Valgrind takes it for one into the middle"),
    "high_tag": ("a pointer with a tag on top", "`pointer_mask` is heapmark's option for it"),
    "by_thread_local": ("`thread_local` of the first thread", ""),
    "by_other_thread_local": ("`thread_local` of another thread", ""),
    "by_key": ("`pthread_setspecific`", ""),
    "by_late_key": ("the same, after 100 keys", ""),
    "by_other_stack": ("a local variable of a running thread", ""),
    "by_ended_thread": ("`thread_local` of a thread that ended", ""),
    "fiber_on_heap": ("a swapped-out stack from `malloc`", ""),
    "fiber_on_pages": ("a swapped-out stack from `mmap`", "`add_root` is heapmark's way to name it"),
    "by_mapped_memory": ("memory from `mmap`", "the same"),
    "by_loaded_library": ("a variable of a loaded library", ""),
    "by_unloaded_library": ("a variable of a library after `dlclose`", ""),
    "large": ("nothing; 200 MiB", "Valgrind finds a word that looks like a pointer into it"),
    "large_held": ("a global; 200 MiB", ""),
    "in_child": ("nothing; in a forked child", ""),
    "disabled": ("nothing; inside `heapmark::ignore` or `ScopedDisabler`", "Valgrind has no such scope"),
}


def build(libraries, work):
    work.mkdir(parents=True, exist_ok=True)
    base = [COMPILER, "-std=c++17", "-O1", "-g", "-fno-omit-frame-pointer", "-I", str(ROOT / "include")]
    source = str(HERE / "situations.cpp")
    end = ["-ldl", "-lpthread"]
    subprocess.run([COMPILER, "-shared", "-fPIC", str(HERE / "library.cpp"), "-o", str(work / "library.so")], check=True)
    programs = {"heapmark": work / "with_heapmark", "bare": work / "bare", "leak": work / "with_lsan"}
    archive = [str(libraries / "libheapmark.a"), str(libraries / "libheapmark_backtrace.a")]
    archive = [name for name in archive if pathlib.Path(name).exists()]
    subprocess.run(base + ["-DWITH_HEAPMARK", source, "-o", str(programs["heapmark"]),
                           "-Wl,--undefined=heapmark_anchor"] + archive + end, check=True)
    if "--check" not in sys.argv:
        subprocess.run(base + [source, "-o", str(programs["bare"])] + end, check=True)
        subprocess.run(base + ["-DWITH_LSAN", "-fsanitize=leak", source, "-o", str(programs["leak"])] + end, check=True)
    return programs


def run(command, work, **variables):
    environment = {**os.environ, "SITUATIONS_LIBRARY": str(work / "library.so"), **variables}
    environment.pop("HEAPMARK_OPTIONS", None)
    return subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", timeout=120)


def is_asked(size):
    return 7001 <= size <= 7008 or size == LARGE


def heapmark_classes(programs, name, work):
    done = run([programs["heapmark"], name], work)
    if "incomplete" in done.stdout:
        return ["could not check"]
    found = []
    for size, answer in re.findall(r"^(\d+) (.+)$", done.stdout, re.M):
        if is_asked(int(size)):
            found.append((int(size), answer))
    return [answer for _, answer in sorted(found)] or ["not listed"]


def leak_sanitizer_classes(programs, name, work):
    done = run([programs["leak"], name], work, LSAN_OPTIONS="max_leaks=0")
    if "LeakSanitizer has encountered a fatal error" in done.stderr:
        return ["could not run"]
    found = []
    for kind, size in re.findall(r"^(Direct|Indirect) leak of (\d+) byte", done.stderr, re.M):
        if is_asked(int(size)):
            found.append((int(size), "lost" if kind == "Direct" else "indirectly lost"))
    return [answer for _, answer in sorted(found)] or ["not listed"]


def valgrind_classes(programs, name, work):
    done = run(["valgrind", "--leak-check=full", "--show-leak-kinds=all", "--trace-children=yes", programs["bare"], name],
               work)
    found = []
    pattern = r"([\d,]+) (?:\([^)]*\) )?bytes in \d+ blocks are (definitely lost|indirectly lost|possibly lost|still reachable)"
    for size, kind in re.findall(pattern, done.stderr):
        # A root's line has what it leads to in brackets: "14,003 (7,001 direct, 7,002 indirect) bytes".
        number = int(size.replace(",", ""))
        direct = re.search(size + r" \(([\d,]+) direct", done.stderr)
        if direct:
            number = int(direct.group(1).replace(",", ""))
        if is_asked(number):
            found.append((number, kind))
    return [answer for _, answer in sorted(set(found))] or ["not listed"]


def in_words(classes):
    unique = list(dict.fromkeys(classes))
    return unique[0] if len(unique) == 1 else ", ".join(classes)


def table(programs, work):
    rows = [BEGIN, "| what points there | heapmark | LeakSanitizer | Valgrind | |\n", "| --- | --- | --- | --- | --- |\n"]
    for name, (meaning, remark) in MEANING.items():
        cells = [in_words(tool(programs, name, work))
                 for tool in (heapmark_classes, leak_sanitizer_classes, valgrind_classes)]
        rows.append(f"| {meaning} | {' | '.join(cells)} | {remark} |\n")
    return "".join(rows) + END


def check(programs, work):
    text = DOCS.read_text()
    rows = re.findall(r"^\| (.+?) \| (.+?) \| .+ \|.*\|$", text[text.index(BEGIN):text.index(END)], re.M)
    documented = dict(rows)
    wrong = 0
    for name, (meaning, _) in MEANING.items():
        found = in_words(heapmark_classes(programs, name, work))
        if documented.get(meaning) != found:
            print(f"{name}: docs/explain.md says {documented.get(meaning)!r}, heapmark says {found!r}")
            wrong += 1
    names = run([programs["heapmark"]], work).stdout.split("\n")
    if sorted(MEANING) != sorted(name for name in names if re.fullmatch(r"[a-z_]+", name)):
        print("situations.cpp and compare.py list different situations")
        wrong += 1
    return wrong


def main():
    libraries, work = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    programs = build(libraries, work)
    if "--check" in sys.argv:
        return 1 if check(programs, work) else 0
    if shutil.which("valgrind") is None:
        print("valgrind is not installed")
        return 77
    made = table(programs, work)
    print(made)
    if "--write" in sys.argv:
        text = DOCS.read_text()
        start, stop = text.index(BEGIN), text.index(END) + len(END)
        DOCS.write_text(text[:start] + made + text[stop:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
