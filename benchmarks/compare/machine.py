# SPDX-License-Identifier: BSL-1.0
"""What the figures were measured on, in words that name no host and no folder."""
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path


def first_match(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.M)
    return found.group(1).strip() if found else "unknown"


def read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def package_version(package: str) -> str:
    """Version of an installed Debian package; "" when it is not one."""
    if shutil.which("dpkg-query") is None:
        return ""
    done = subprocess.run(["dpkg-query", "-W", "-f=${db:Status-Abbrev}${Version}", package],
                          capture_output=True, text=True, check=False)
    return done.stdout[3:].strip() if done.stdout.startswith("ii") else ""


def available_bytes() -> int:
    return int(first_match(r"^MemAvailable:\s*(\d+)", read("/proc/meminfo")).replace("unknown", "0")) * 1024


def describe(build: dict) -> dict[str, str]:
    memory = int(first_match(r"^MemTotal:\s*(\d+)", read("/proc/meminfo")).replace("unknown", "0"))
    return {
        "CPU": first_match(r"^model name\s*:\s*(.*)$", read("/proc/cpuinfo")),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory / 1024**2:.0f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "system": first_match(r'^PRETTY_NAME="?([^"\n]*)', read("/etc/os-release")),
        "C library": " ".join(platform.libc_ver()),
        "compiler": f"{build['compiler']}, {build['options']}",
        "load average before the run": f"{os.getloadavg()[0]:.2f}",
    }
