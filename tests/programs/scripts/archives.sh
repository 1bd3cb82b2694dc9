# SPDX-License-Identifier: BSL-1.0
# tar, and xz with several threads.
# needs: tar xz gzip
# processes: 5
mkdir files
for i in $(seq 60); do seq "$i" 20000 > "files/$i"; done
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf files.tar files
xz -T4 --block-size=500KiB -k files.tar
xz -dT4 -c files.tar.xz | cmp - files.tar
cksum < files.tar.xz
tar --sort=name --mtime=@0 -czf again.tar.gz files
tar -tzf again.tar.gz | cksum
xz -t again.tar.gz || echo "status $?"
