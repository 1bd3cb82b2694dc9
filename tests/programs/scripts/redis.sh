# SPDX-License-Identifier: BSL-1.0
# A server that is linked with jemalloc and uses functions of its own of it: no other allocator may come between, so
# tally stays out.
# needs: redis-server redis-cli
# no-tally
# processes: 3
redis-server --port 0 --unixsocket "$PWD/socket" --save '' --daemonize no --logfile server.log &
server=$!
for i in $(seq 400); do [ -S socket ] && break; sleep 0.05; done
for i in $(seq 500); do echo "set key:$i $i"; echo "rpush list $i"; done | redis-cli -s socket | sort | uniq -c | cksum
redis-cli -s socket lrange list 0 5
redis-cli -s socket eval 'return redis.call("llen", "list")' 0
redis-cli -s socket shutdown nosave
wait $server
