# SPDX-License-Identifier: BSL-1.0
# Forks beside running threads.
# needs: /usr/bin/python3
# processes: 1
cat > work.py <<'PYTHON'
import multiprocessing
import threading

def square(n):
    return sum(len(str(i)) for i in range(n * 1000)), n * n

def churn(stop):
    while not stop.is_set():
        [bytearray(n) for n in range(1000)]

if __name__ == "__main__":
    stop = threading.Event()
    threads = [threading.Thread(target=churn, args=(stop,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for method, workers in ("fork", 4), ("spawn", 2):
        pool = multiprocessing.get_context(method).Pool(workers)
        print(pool.map(square, range(24)))
        pool.close() # leaving a with block would kill the workers while they exit
        pool.join()
    stop.set()
    for thread in threads:
        thread.join()
PYTHON
/usr/bin/python3 work.py
