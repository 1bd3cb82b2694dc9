# SPDX-License-Identifier: BSL-1.0
"""Runs one program once, and reads its figures."""
import os
import re
import signal
import subprocess
import tempfile
import time


class NoFigure(Exception):
    """The run gave none; the text says why."""


def without_paths(text: str) -> str:
    return re.sub(r"(?<![\w.])/(?:[\w.+-]+/)*([\w.+-]+)", r"\1", text)


def last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("RESULT ")]
    return without_paths(lines[-1])[:160] if lines else "it said nothing"


def run(command: list[str], environment: dict[str, str], folder: str, timeout: float) -> dict[str, float]:
    """The "RESULT name number" lines of the program, and `wall_seconds` and `tree_peak_bytes` as seen from outside.
    Variables that steer an allocator or a checker are not handed on from the caller's environment."""
    inherited = {key: value for key, value in os.environ.items()
                 if not re.match(r"HEAPMARK|LD_PRELOAD|MALLOC_|GLIBC_TUNABLES|.SAN_OPTIONS|HEAP|DMALLOC", key)}
    with tempfile.TemporaryFile("w+") as output:
        started = time.monotonic()
        child = subprocess.Popen(command, env={**inherited, **environment}, cwd=folder, stdin=subprocess.DEVNULL,
                                 stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        status, usage = None, None
        # Not Popen.wait: only wait4 tells the peak memory of this child alone.
        while status is None:
            pid, code, usage = os.wait4(child.pid, os.WNOHANG)
            if pid != 0:
                status = code
            elif time.monotonic() - started > timeout:
                os.killpg(child.pid, signal.SIGKILL)
                os.wait4(child.pid, 0)
                child.returncode = -signal.SIGKILL
                raise NoFigure(f"no end within {timeout:.0f} s")
            else:
                time.sleep(0.001)
        wall_seconds = time.monotonic() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if child.returncode < 0:
        raise NoFigure(f"killed by {signal.Signals(-child.returncode).name}: {last_words(text)}")
    if child.returncode != 0:
        raise NoFigure(f"ended with {child.returncode}: {last_words(text)}")
    figures = {name: float(value) for name, value in re.findall(r"^RESULT (\S+) (\S+)$", text, re.M)}
    figures["wall_seconds"] = wall_seconds
    figures["tree_peak_bytes"] = usage.ru_maxrss * 1024.0
    return figures
