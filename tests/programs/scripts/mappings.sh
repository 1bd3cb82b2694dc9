# SPDX-License-Identifier: BSL-1.0
# needs: /usr/bin/python3 sqlite3 git
# processes: 10
# no-tally
# options: mappings=1
# reported: memory that is still mapped:\nno survivors since the process began
# reported: \n2 blocks, 5.9 KiB  mmap  generation 0
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_AUTHOR_DATE='1700000000 +0000'
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_COMMITTER_DATE='1700000000 +0000'
cat > work.py <<'PYTHON'
import ctypes
import mmap
import multiprocessing
from multiprocessing import shared_memory

with open("file", "wb") as file:
    file.write(bytes(range(256)) * 100)
with open("file", "r+b") as file, mmap.mmap(file.fileno(), 0) as view:
    print(view[1000:1010], view.find(b"\xff\x00"))
    view[0:4] = b"text"
    view.flush()
memory = mmap.mmap(-1, 10000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.resize(30000)
memory[29999] = 7
print(len(memory), memory[29999])
memory.close()

def fill(name):
    shared = shared_memory.SharedMemory(name=name)
    shared.buf[:4] = b"done"
    shared.close()

shared = shared_memory.SharedMemory(create=True, size=5000)
child = multiprocessing.get_context("fork").Process(target=fill, args=(shared.name,))
child.start()
child.join()
print(bytes(shared.buf[:4]), child.exitcode)
shared.close()
shared.unlink()
for size in (1000, 5000):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(mmap.mmap(-1, size)))  # never unmapped
PYTHON
/usr/bin/python3 work.py
sqlite3 shop.db 'create table item (id integer primary key, name text)'
sqlite3 shop.db <<'SQL'
pragma mmap_size = 100000000;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into item (name) select printf('item %05d', i) from n;
delete from item where id % 7 = 0;
vacuum;
select count(*), min(name), max(name) from item;
pragma integrity_check;
SQL
git init -q -b main repository
cd repository
for i in 1 2 3 4; do
    seq $i 2000 > "numbers $i"
    git add .
    git commit -q -m "commit $i"
done
git gc -q --prune=now
git log --stat --format='%H %s' | cat
git fsck --full
