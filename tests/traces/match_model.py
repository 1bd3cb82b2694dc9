#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Random kdump texts of several processes, with every sort of mistake in them: what heapmark match says of each against
a model that is written as plainly as can be.

Usage: match_model.py HEAPMARK [TEXTS]
"""
import random
import re
import subprocess
import sys


class Model:
    """What should be found. Blocks are (line, bytes), or None for a parent's."""

    def __init__(self):
        self.live, self.released, self.left = {}, {}, []
        self.double = self.unknown = self.twice = self.failed = 0

    def begin(self, process):
        self.live.setdefault(process, {})
        self.released.setdefault(process, set())

    def allocate(self, process, address, size, line):
        self.twice += address in self.live[process]
        self.live[process][address] = (line, size)

    def release(self, process, address):
        if address in self.live[process]:
            del self.live[process][address]
            self.released[process].add(address)
        elif address in self.released[process]:
            self.double += 1
        else:
            self.unknown += 1

    def fork(self, parent, child):
        self.live[child] = {address: None for address in self.live[parent]}
        self.released[child] = set()

    def exec(self, process):
        self.live[process], self.released[process] = {}, set()

    def exit(self, process):
        self.left += [(line, address, size) for address, block in self.live[process].items() if block
                      for line, size in [block]]
        self.exec(process)

    def leaks(self):
        for process in self.live:
            self.exit(process)
        return sorted(self.left)


def make_text(chance: random.Random) -> tuple[str, Model]:
    model, lines, processes = Model(), [], [100]
    columns = chance.choice(["{} prog    USER  ", "{} 100{} my prog 17.25 USER  ", "  {} prog 1224066908.225938 USER "])
    addresses = [0x1000 + 16 * i for i in range(chance.choice([5, 40, 400]))]

    def say(process, kind, text):
        lines.append(columns.format(process, process).replace("USER", kind) + text)

    model.begin(100)
    say(100, "USER", "malloc_init()")
    for _ in range(chance.randrange(1, 800)):
        process = chance.choice(processes)
        address, old, size = chance.choice(addresses), chance.choice(addresses), chance.randrange(1, 10_000)
        action = chance.random()
        if action < 0.4:
            say(process, "USER", f"{address:#x} = malloc({size})")
            model.allocate(process, address, size, len(lines))
        elif action < 0.7:
            say(process, "USER", f"free({address:#x})")
            model.release(process, address)
        elif action < 0.85:
            say(process, "USER", f"{address:#x} = realloc({old:#x}, {size})")
            model.release(process, old)
            model.allocate(process, address, size, len(lines))
        elif action < 0.9:
            failing = chance.choice([f"0x0 = malloc({size})", f"0x0 = realloc({old:#x}, {size})"])
            say(process, "USER", failing)
            model.failed += 1
        elif action < 0.95:
            say(process, *chance.choice([("NAMI", '"USER free(0x1000)"'), ("CALL", "break(0x1)"), ("USER", "free(0x0)"),
                                         ("USER", "0x1000 = dlopen(x) ref 1"), ("RET", "fork -1 errno 35"),
                                         ("RET", "execve -1 errno 2")]))
        elif action < 0.975 and len(processes) < 8:
            child = processes[-1] + 1
            processes.append(child)
            say(process, "CALL", "fork")
            model.fork(process, child)
            returns = [(process, f"fork {child}/{child:#x}"), (child, "fork 0")]
            chance.shuffle(returns)
            for who, text in returns:
                say(who, "RET", text)
        elif action < 0.985:
            say(process, "RET", "execve JUSTRETURN")
            say(process, "USER", "malloc_init()")
            model.exec(process)
        elif action < 0.99:
            say(process, "CALL", "exit(0)")
            model.exit(process)
    return "\n".join(lines) + "\n", model


def number(pattern: str, output: str) -> int:
    found = re.search(r"(\d+) " + pattern, output)
    return int(found.group(1)) if found else 0


def check(program: str, seed: int) -> None:
    text, model = make_text(random.Random(seed))
    done = subprocess.run([program, "match", "-v"], input=text, capture_output=True, text=True, check=False)
    found = re.findall(r"^standard input:(\d+): (\d+) bytes? at (0x[0-9a-f]+) leaked$", done.stdout, re.M)
    leaks = model.leaks()
    assert sorted((int(line), int(address, 16), int(size)) for line, size, address in found) == leaks, (seed, text)
    assert done.returncode == (1 if leaks else 0), seed
    assert f"total: {len(leaks)} block" in done.stdout and f"{sum(leak[2] for leak in leaks)} byte" in done.stdout, seed
    counted = [number(words, done.stdout) for words in ("double free", "frees? of unknown", "allocations? at addresses",
                                                        "failed call")]
    assert counted == [model.double, model.unknown, model.twice, model.failed], (seed, counted, vars(model))


if __name__ == "__main__":
    for seed in range(int(sys.argv[2]) if len(sys.argv) > 2 else 300):
        check(sys.argv[1], seed)
