#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compares the stacks that heapmark takes in real programs with those of the compiler's unwinder (stacks.cpp).

Usage: stacks.py STACKS_LIBRARY WORK_FOLDER [EVERY]

Each program below runs under the library, which compares the stack of each EVERY-th allocation of a thread (50 unless
told; 1 for the full run, which takes minutes). Prints the share of identical stacks of each process and, where there
are any, the first differences. Exit status: 0 all stacks are identical, 1 not, 77 none of the programs is there.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

SKIP = 77

CPP = "#include <iostream>\n#include <map>\nint main() { std::map<int, int> m; std::cout << m.size(); }\n"
SQL = """create table item (id integer primary key, name text, price real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
insert into item (name, price) select printf('item %05d', i), i * 0.25 from n;
create index by_name on item (name);
delete from item where id % 7 = 0;
select substr(name, 1, 8) as start, count(*) from item group by start order by start;
select json_group_array(json_object('id', id, 'name', name)) from item where id < 40;
"""
PYTHON = """import collections, json, re, threading
def work():
    return json.loads(json.dumps([{"number": i, "text": str(i) * 9} for i in range(300)]))
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(sorted(work(), key=lambda d: d["text"])), re.sub("(a|b)+", "c", "abab" * 100))
"""
PROGRAMS = [
    (["sqlite3", ":memory:"], SQL),
    (["python3", "-c", PYTHON], ""),
    (["clang++", "-O0", "-c", "program.cpp", "-o", "program.o"], ""),
    (["git", "init", "-q", "tree"], ""),
    (["git", "-C", "tree", "add", "program.cpp"], ""),
    (["git", "-C", "tree", "-c", "user.name=n", "-c", "user.email=n@localhost", "commit", "-q", "-m", "first"], ""),
    (["git", "-C", "tree", "log", "-p", "--stat"], ""),
]


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__)
        return 2
    library = pathlib.Path(sys.argv[1]).resolve()
    folder = pathlib.Path(sys.argv[2])
    every = sys.argv[3] if len(sys.argv) > 3 else "50"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "tree").mkdir(parents=True)
    (folder / "program.cpp").write_text(CPP)
    (folder / "tree" / "program.cpp").write_text(CPP)
    output = folder.resolve() / "stacks.txt"
    environment = dict(os.environ, STACKS_OUTPUT=str(output), STACKS_EVERY=every, HOME=str(folder.resolve()),
                       PYTHONMALLOC="malloc")
    ran = 0
    failed = False
    for command, text in PROGRAMS:
        if shutil.which(command[0]) is None:
            print(f"{command[0]}: not installed")
            continue
        # LD_PRELOAD is set by env, so that only the program has it.
        ended = subprocess.run(["env", f"LD_PRELOAD={library}", *command], cwd=folder, env=environment,
                               input=text.encode(), capture_output=True, check=False)
        ran += 1
        if ended.returncode != 0:
            print(f"{command[0]}: exit status {ended.returncode}\n{ended.stderr.decode(errors='replace')}")
            failed = True
    if ran == 0:
        return SKIP
    told = output.read_text() if output.exists() else ""
    compared = 0
    for line in re.findall(r"^stacks .*$", told, re.MULTILINE):
        found = dict(re.findall(r" (\w+) (\d+)", line))
        all_, same = int(found["compared"]), int(found["same"])
        compared += all_
        share = 100 * same / all_ if all_ else 100
        print(f"{share:7.3f} % of {all_:8} identical, {found['by_cache']} by the cache: {line.split()[1]}")
        failed |= same != all_ or found["cache_differs"] != "0"
    if failed:
        print(told)
    if compared < 100:
        print(f"only {compared} stacks were compared")
        failed = True
    return 1 if failed else 0


sys.exit(main())
