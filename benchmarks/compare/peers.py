# SPDX-License-Identifier: BSL-1.0
"""Who is measured: how each is put in front of a program, whether it is here, and which version."""
import glob
import os
import shutil
import subprocess
from dataclasses import dataclass, field

from machine import package_version

LIBRARY_FOLDERS = ["/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"]


@dataclass
class Peer:
    name: str
    version: str = ""
    missing: str = ""  # why it cannot run here; "" when it can
    variant: str = "bare"  # which build of the workloads it watches
    environment: dict[str, str] = field(default_factory=dict)
    wrapper: list[str] = field(default_factory=list)
    slow: bool = False  # measured in one round of three, and only once where that took long
    ours: bool = False  # a failure is ours
    foreign: dict[str, str] | None = None  # environment for a program not built by us; None: as environment
    no_foreign: str = ""  # why it cannot watch such a program
    no_question: str = ""  # why nobody can ask it for survivors from inside the process


def library(name: str) -> str:
    for folder in LIBRARY_FOLDERS:
        if found := sorted(glob.glob(f"{folder}/{name}")):
            return found[0]
    return ""


def of_compiler(compiler: str, name: str) -> str:
    """Path of a run-time library of the compiler; "" when it has none."""
    done = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=False)
    path = done.stdout.strip()
    return os.path.realpath(path) if os.path.isabs(path) and os.path.exists(path) else ""


def all_peers(build: dict, built: str, scratch: str) -> list[Peer]:
    """In the order in which they take turns; the bare program comes first."""
    compiler = build["compiler"]
    linked_only = "has to be linked in; the row of the preload library has the figure"

    def sanitizer(name: str, variant: str, runtime: str, options: str, note: str = "", **rest) -> Peer:
        missing = "" if os.path.exists(f"{built}/bench_{variant}") else f"the compiler does not link -fsanitize={note}"
        path = of_compiler(build["compiler_path"], runtime)
        settings = {f"{variant.upper()}_OPTIONS": f"exitcode=0:detect_leaks={1 if variant == 'lsan' else 0}{options}"}
        # At exit a compiler has many reachable and lost blocks; a report of them is not what is measured.
        foreign = {f"{variant.upper()}_OPTIONS": f"detect_leaks=0{options}", "LD_PRELOAD": path}
        return Peer(name, compiler, missing, variant, settings, foreign=foreign,
                    no_foreign="" if path else "no shared run-time library to preload", **rest)

    def preloaded(name: str, package: str, path: str, environment: dict[str, str], **rest) -> Peer:
        missing = "" if path else f"package {package} is not installed"
        return Peer(name, package_version(package), missing, "bare", {"LD_PRELOAD": path, **environment}, **rest)

    def wrapped(name: str, program: str, command: list[str], **rest) -> Peer:
        missing = "" if shutil.which(program) else f"{program} is not installed"
        return Peer(name, package_version(program), missing, "bare", {}, command, **rest)

    tcmalloc = library("libtcmalloc.so.4")
    no_marks = "no way to ask from inside the process"
    return [
        Peer("bare", no_question="nobody watches"),
        Peer("heapmark, linked", variant="heapmark", ours=True, no_foreign=linked_only),
        Peer("heapmark, linked, depth=1", variant="heapmark", ours=True, environment={"HEAPMARK_OPTIONS": "depth=1"},
             no_foreign=linked_only),
        Peer("heapmark, linked, accounting", variant="heapmark", ours=True,
             environment={"HEAPMARK_OPTIONS": "accounting=callers"}, no_foreign=linked_only),
        Peer("heapmark, preloaded", ours=True, environment={"LD_PRELOAD": build["preload"]},
             no_question="the C API has no snapshots; the row of the linked library has the figure"),
        sanitizer("LeakSanitizer, fast unwinder", "lsan", "liblsan.so", "", "leak"),
        sanitizer("LeakSanitizer, slow unwinder", "lsan", "liblsan.so", ":fast_unwind_on_malloc=0", "leak", slow=True),
        sanitizer("AddressSanitizer", "asan", "libasan.so", "", "address",
                  no_question="its leak check is LeakSanitizer's, which has a row of its own"),
        wrapped("heaptrack", "heaptrack", ["heaptrack", "-o", f"{scratch}/heaptrack"], no_question=no_marks),
        preloaded("gperftools heap checker", "libgoogle-perftools4", tcmalloc, {"HEAPCHECK": "local"}, slow=True),
        preloaded("gperftools heap profiler", "libgoogle-perftools4", tcmalloc,
                  {"HEAPPROFILE": f"{scratch}/profile", "HEAP_PROFILE_ALLOCATION_INTERVAL": "0",
                   "HEAP_PROFILE_INUSE_INTERVAL": "0"}, slow=True, no_question=no_marks + ", but to write a file"),
        preloaded("jemalloc profiling, every block", "libjemalloc2", library("libjemalloc.so.2"),
                  {"MALLOC_CONF": "prof:true,lg_prof_sample:0"}, slow=True),
        preloaded("dmalloc", "libdmalloc5", library("libdmallocthcxx.so.5"),
                  {"DMALLOC_OPTIONS": f"debug=0x403,lockon=20,log={scratch}/dmalloc.log"}, slow=True),
        wrapped("Valgrind memcheck", "valgrind",
                ["valgrind", "-q", "--leak-check=no", "--num-callers=32", f"--log-file={scratch}/valgrind.log"],
                slow=True),
    ]
