# SPDX-License-Identifier: BSL-1.0
# needs: /usr/bin/python3
# processes: 5
cat > work.py <<'PYTHON'
import concurrent.futures
import ctypes
import hashlib
import json
import re
import subprocess
import sys
import threading
import zlib

text = json.dumps({"list": list(range(2000)), "text": "\u00e4" * 300})
print(json.dumps(json.loads(text), sort_keys=True)[-400:-200])
totals = []
lock = threading.Lock()

def work(seed):
    table = {str(i * seed): [i] * (i % 17) for i in range(4000)}
    with lock:
        totals.append(sum(len(value) for value in table.values()))

threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 9)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(totals))

with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print(sum(pool.map(lambda n: len(zlib.compress(bytes([n]) * 200000)), range(64))))
print(subprocess.run(["sh", "-c", "echo from a shell"], capture_output=True, text=True, check=True).stdout.strip())
print(subprocess.run([sys.executable, "-c", "print(len({i: str(i) for i in range(30000)}))"], capture_output=True,
                     text=True, check=True).stdout.strip())

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.realloc.restype = ctypes.c_void_p
libc.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
for size in range(1, 5000, 7):
    libc.free(libc.realloc(libc.malloc(size), size * 3))
order = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
numbers = (ctypes.c_int * 500)(*[(i * 7919) % 500 for i in range(500)])
libc.qsort(numbers, 500, ctypes.sizeof(ctypes.c_int), order(lambda a, b: a[0] - b[0]))
print(list(numbers) == list(range(500)), hashlib.sha256(bytes(numbers)).hexdigest())
print(len(re.findall(r"(\w+)-(\d+)", "word-12 " * 5000)))
sys.exit(3)
PYTHON
/usr/bin/python3 work.py || echo "status $?"
PYTHONMALLOC=malloc /usr/bin/python3 work.py || echo "status $?"
