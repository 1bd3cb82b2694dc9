# SPDX-License-Identifier: BSL-1.0
# needs: git
# processes: 20
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_AUTHOR_DATE='1700000000 +0000'
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_COMMITTER_DATE='1700000000 +0000'
git init -q -b main repository
cd repository
for i in 1 2 3 4 5 6 7 8; do
    seq $i 2000 > "numbers $i"
    echo "line $i" >> log
    git add .
    git commit -q -m "commit $i"
done
git log --stat --format='%H %s'
git diff HEAD~3 --word-diff | tail -20
git checkout -q -b side HEAD~2
echo side > side
git add side
git commit -q -m side
git merge -q --no-edit main
git gc -q --prune=now
git fsck --full
git clone -q . ../clone
git -C ../clone log --oneline --graph | cat
git show nothing || echo "status $?"
