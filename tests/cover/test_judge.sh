#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What CI asks of coverage: --fail-under for the whole, calls and arguments, --baseline; and what
# people ask of two files: diff with sums, as JSON, as a page.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
export LC_ALL=C
cd "$WORK" || exit 2

cat >new.strace <<-'END'
	10 openat(AT_FDCWD, "/mnt/a", O_RDWR|O_CREAT|O_EXCL, 0644) = 3
	10 write(3, "x"..., 4096) = 4096
	10 write(3, "x"..., 4095) = -1 ENOSPC (No space left on device)
	10 close(3) = 0
END
cp new.strace old.strace
cat >>old.strace <<-'END'
	10 openat(AT_FDCWD, "/mnt/a", O_RDONLY|O_NOATIME) = 3
	10 read(3, "x"..., 4096) = 4095
	10 close(3) = 0
	10 mkdir("/mnt/d", 0700) = -1 ENOENT (No such file or directory)
	10 mkdir("/mnt/d", 0700) = -1 ESTALE (Stale file handle)
END
"$ASSAY" cov read --under /mnt new.strace -o new.cov >/dev/null
"$ASSAY" cov read --under /mnt old.strace -o old.cov >/dev/null

# wants NAME STATUS LINES ARGUMENT...: so many lines on stderr.
wants() {
	local name=$1 status=$2 lines=$3
	shift 3
	tap_run "$name" "$status" "$ASSAY" cov "$@"
	tap_is "$name: a line for each" "$(wc -l <err)" "$lines"
}

# ---- --fail-under ----
of=$("$ASSAY" cov show new.cov --csv --syscall open --arg flags --spaces values |
	awk -F, 'NR > 1 && $5 { of++; met += $4 > 0 } END { printf "%d of %d", met, of }')
wants "an argument that is too little tested" 1 1 show new.cov --fail-under open.flags=80%
tap_like "with its numbers" "$WORK/err" "^assay: coverage of open.flags is .* \($of\), below 80 %$"
wants "a call by one of its variants" 1 1 show new.cov --fail-under openat.flags=80
wants "an argument that is tested enough" 0 0 show new.cov --fail-under open.flags=10
wants "results" 1 1 show new.cov --fail-under write:outputs=30
wants "several" 1 3 show new.cov \
	--fail-under 'open=90,close:outputs=5,inputs=50%,outputs=0.1,write.count=99'
wants "exactly as much as wanted is enough" 0 0 show new.cov --fail-under close.fd=20
wants "a little more is not" 1 1 show new.cov --fail-under close.fd=20.01
for part in untested merge; do
	wants "$part judges, too" 1 1 $part new.cov --fail-under 50
done
wants "read judges, too" 1 1 read --under /mnt new.strace -o again.cov --fail-under 50
wants "tcd judges, too" 1 1 tcd new.cov --target 10 --fail-under 50
wants "a page judges, too" 1 1 show new.cov --html page.html --fail-under 50
for bad in open.nope=3 brk=3 high open=101 open= , open.flags 0x10 nan -1 'open=5 0' '50;' =50; do
	wants "not understood: $bad" 2 1 show new.cov "--fail-under=$bad"
done
wants "where it means nothing" 2 1 diff new.cov new.cov --fail-under 5

# ---- --baseline ----
wants "nothing is lost" 0 0 show old.cov --baseline new.cov
"$ASSAY" cov diff old.cov new.cov --json >diff.json
lost=$(grep -o '"met_by":"only-1","call":"[a-z]*","space":"[a-z]*"[^}]*}' diff.json |
	grep -v '"space":"variants"\|"expected":false' | wc -l)
wants "each that is lost is named" 1 "$lost" show new.cov --baseline old.cov
tap_like "a flag" "$WORK/err" '^assay: no longer met: open flags O_NOATIME \(1 times in the base'
tap_like "a result" "$WORK/err" 'no longer met: mkdir output ENOENT'
if grep -q ESTALE err; then
	tap_not_ok "what no manual page lists is not asked for" "$(cat err)"
else
	tap_ok "what no manual page lists is not asked for"
fi
wants "of one call" 1 1 show new.cov --baseline old.cov --syscall mkdir --arg path
tap_run "a small drop is allowed" 0 "$ASSAY" cov show new.cov --baseline old.cov --max-drop 5
tap_run "a large one is not" 1 "$ASSAY" cov show new.cov --baseline old.cov --max-drop 0.1
tap_like "and said in numbers" "$WORK/err" 'lower by .*, more than 0.1$'
tap_run "in JSON" 1 "$ASSAY" cov show new.cov --baseline old.cov --fail-under 50 --json
tap_is "all that is lost" "$(grep -o '"baseline":[0-9]' out | wc -l)" "$lost"
tap_like "and what is below" "$WORK/out" '"scope":"everything".*"enough":false'
"$ASSAY" cov read --under /mnt/x new.strace -o x.cov >/dev/null 2>&1
tap_run "another filter" 1 "$ASSAY" cov show x.cov --baseline new.cov
tap_like "is said" "$WORK/err" 'another filter: /mnt, here it is /mnt/x'
wants "no such baseline" 2 1 untested new.cov --baseline nowhere.cov
wants "a drop below nothing" 2 1 show new.cov --max-drop 3

# ---- diff ----
tap_run "diff" 0 "$ASSAY" cov diff old.cov new.cov
tap_like "line by line" "$WORK/out" '^only-1 +open flags O_NOATIME 1 0$'
tap_like "what both have, not as often" "$WORK/out" '^both +close fd regular 2 1$'
tap_like "the sums of a call" "$WORK/out" '^mkdir +0 +[1-9][0-9]* +0 +0 +1 +0$'
tap_like "of all" "$WORK/out" "^all +[0-9]+ +[0-9]+ +0 +[0-9]+ +[0-9]+ +0$"
tap_run "the sums alone" 0 "$ASSAY" cov diff old.cov new.cov --summary
tap_is "are short" "$(grep -c only-1 out)" 1
sum=$(awk '$1 == "all" { print $3 + $6 }' out)
tap_is "and are the sums" "$sum" "$lost"
tap_run "files that are alike" 0 "$ASSAY" cov diff old.cov old.cov --summary
tap_is "have no calls in it" "$(grep -c '^[a-z]' out)" 2
tap_run "a page" 0 "$ASSAY" cov diff old.cov new.cov --html diff.html
tap_is "has each that is lost" \
	"$(sed -n '/<h2>Lost</,/<h2>Gained</p' diff.html | grep -o '<code>' | wc -l)" "$lost"
tap_like "and nothing gained" diff.html '<p>Nothing.</p>'
tap_is "needs nothing else" "$(grep -c 'src=\|href=\|<script' diff.html)" 0
tap_done
