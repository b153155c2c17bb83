#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a kernel says of its own mistakes: tests/kernel/broken.patch makes one for each name of a
# directory. Each is a finding with its row of kmsg.def and the function that made it; a directory
# of another name is none, and the kernel without the patch says nothing of any of them.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
export LC_ALL=C
ASSAY=$(realpath "$ASSAY")
PATCH=$PWD/tests/kernel/broken.patch
cd "$WORK" || exit 2

named() { # PATCHES: a kernel with them, and what it was built with
	"$ASSAY" kernel list --json | grep -F "\"patches\":[$1]" | grep kasan | grep lockdep |
		sed -n 's/.*"name":"\([^"]*\)".*"with":"\([^"]*\)".*/\1 \2/p' | head -n 1
}

read -r clean _ <<<"$(named '')"
read -r broken with <<<"$(named '"broken.patch"')"
if [ -z "$broken" ] || [ -z "$clean" ] || ! tap_uml ext2; then
	tap_skip "a kernel that tells of its mistakes" \
		"none is built: assay kernel build debug --patch ${PATCH##*/tests/}"
	tap_done
	exit
fi

names=""
while IFS='|' read -r name needs signature; do
	if [[ ,$with, != *,$needs,* ]]; then
		tap_skip "$name" "the kernel $broken has no $needs"
		continue
	fi
	printf 'mkdir /%s 0755\n' "$name" >"$name.txt"
	names="$names $name.txt"
	tap_run "$name" 1 "$ASSAY" run --kernel "$broken" --target ext2 --deadline 5 -o "$name" \
		"$name.txt"
	cat "$name"/findings/*/finding.json >"$WORK/finding" 2>/dev/null
	tap_like "$name: how it is told" "$WORK/finding" "\"signature\":\"$signature\""
	tap_is "$name: it is told once" "$(ls "$name/findings" | wc -l)" 1
done <<'END'
freed|kasan|crash: kasan: broken_freed
bounds|kasan|crash: kasan: broken_bounds
twice|kasan|crash: list: broken_add_twice
gone|kasan|crash: (list|kasan): (broken_remove_twice|__list_del_entry_valid.*)
shift|ubsan|warning: ubsan: broken_shift
index|ubsan|warning: ubsan: broken_index
order|lockdep|crash: lockdep: broken_order
held|lockdep|crash: lockdep: .*
sleep|lockdep|warning: atomic: broken_sleep
count|kasan|warning: refcount: broken_count
warn|kasan|warning: warning: ext2_broken
bug|kasan|crash: bug: .*ext2_broken.*
null|kasan|crash: (kasan|bad-address): ext2_(broken|mkdir)
hang|kasan|hang: mkdir: hang
stack|kasan|crash: kasan: broken_stack
global|kasan|crash: kasan: broken_global
free|kasan|crash: kasan: broken_free_twice
clear|kasan|crash: kasan: broken_clear
later|kasan|crash: kasan: broken_work
recurse|lockdep|crash: lockdep: broken_recurse
spin|lockdep|crash: lockdep: broken_spin_twice
context|lockdep|crash: lockdep: broken_timer
locked|lockdep|crash: lockdep: broken_free_locked
unlock|lockdep|crash: lockdep: broken_unlock
rcu|lockdep|warning: rcu-usage: broken_rcu
schedule|lockdep|warning: atomic: broken_schedule
uncount|kasan|warning: refcount: broken_uncount
once|kasan|warning: warning: broken_once
divide|kasan|crash: division: Kernel panic .*
jump|kasan|crash: bad-address: broken_jump
wild|kasan|crash: bad-address: broken_wild
panic|kasan|crash: panic: Kernel panic - not syncing: broken on purpose
bug_on|kasan|crash: bug: .*ext2_broken.*
loop|kasan|hang: mkdir: .*
END

# A warning that a kernel gives once, and lockdep, which turns itself off: the next workload finds
# both again.
tap_run "in one run" 1 "$ASSAY" run --kernel "$broken" --target ext2 -o again once.txt once.txt \
	order.txt spin.txt order.txt
tap_is "each is found each time" "$(grep -c '^FOUND' "$WORK/out")" 5

echo 'mkdir /other 0755' >other.txt
tap_run "another name" 0 "$ASSAY" run --kernel "$broken" --target ext2 -o other other.txt
# shellcheck disable=SC2086 # several words
tap_run "a kernel without the patch" 0 "$ASSAY" run --kernel "$clean" --target ext2 -o clean $names
tap_done
