# SPDX-License-Identifier: BSL-1.0
# bash itself: substitutions, arrays, traps, here-documents, jobs, pipes; and the tools that scripts are made of.
# needs: bash grep sed awk sort xargs
# processes: 20
declare -A seen
for word in a b c a b a; do seen[$word]=$(( ${seen[$word]:-0} + 1 )); done
for word in a b c; do printf '%s %d\n' "$word" "${seen[$word]}"; done
text=$(for i in $(seq 300); do echo "line $i of many"; done)
echo "${text//many/a few}" | cksum
trap 'echo leaving' EXIT
(exit 7) || echo "status $?"
sleep 0 & wait $!
read -r first second <<< "$(seq 2 | tr '\n' ' ')"
echo "$first $second"
seq 5000 | grep -E '7.*3' | sed -E 's/([0-9])([0-9])/\2\1/g' | awk '{ sum += $1; last[$1 % 10] = $0 } END { print sum, length(last) }'
seq 20000 | sort -R --random-source=/bin/sh | sort -n --parallel=4 -S 1M | cksum
seq 40 | xargs -n 4 echo | cksum
grep -rc . /etc/passwd
find /usr/include -maxdepth 1 -name 's*.h' | sort | tail -3
cut -d: -f1 /etc/passwd | paste -sd, | cksum
sh -c 'set -- a b c; shift; echo "$@"'
ls no-such-file || echo "status $?"
