#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Failures inside the kernel: a kernel that cannot do it says which one can; one that can fails each
# call that it is told, and ext4 and exfat pass.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
export LC_ALL=C

printf 'mkdir /a 0755\n$0 = open /a/f O_RDWR|O_CREAT 0644\npwrite $0 len=100 at=0 fill=1\n' \
	>"$WORK/w.txt"
printf 'close $0\n' >>"$WORK/w.txt"
# Of a library, there is no kernel in which something could fail.
"$ASSAY" run --target lab --fault kalloc:9x:1 "$WORK/w.txt" >"$WORK/out" 2>"$WORK/err"
tap_is "a rule that is none" $? 2
tap_like "a rule that is none: why" "$WORK/err" "expected kalloc:OP:N"

for rule in kalloc:all:0 kalloc:all:x kalloc:allx kalloc:all: kio:all:1:2; do
	"$ASSAY" run --target lab --fault "$rule" "$WORK/w.txt" >"$WORK/out" 2>"$WORK/err"
	tap_is "a rule that is none: $rule" $? 2
	tap_like "a rule that is none: $rule: why" "$WORK/err" "or k[a-z]*:all"
done

for rules in "kalloc:1:1 kalloc:1:2" "kalloc:1:1 kio:2:1" "kalloc:all kalloc:1:1" \
	"kalloc:1:1 kalloc:all:3" "kalloc:all kalloc:all"; do
	read -r one two <<<"$rules"
	"$ASSAY" run --target lab --fault "$one" --fault "$two" "$WORK/w.txt" >"$WORK/out" \
		2>"$WORK/err"
	tap_is "two rules that exclude each other: $rules" $? 2
done
"$ASSAY" run --target lab --sweep write --max-faults 2 "$WORK/w.txt" >"$WORK/out" 2>"$WORK/err"
tap_is "pairs of a library" $? 2
tap_like "pairs of a library: why" "$WORK/err" "needs --sweep kalloc"

"$ASSAY" run --target lab --sweep write --sweep-op 1 "$WORK/w.txt" >"$WORK/out" 2>"$WORK/err"
tap_is "one operation of a library" $? 2
tap_like "one operation of a library: why" "$WORK/err" "needs --sweep kalloc"
for op in 0 -1 1x "" 99999999999999999999; do
	"$ASSAY" run --target ext4 --sweep kalloc --sweep-op "$op" "$WORK/w.txt" >"$WORK/out" \
		2>"$WORK/err"
	tap_is "no operation: '$op'" $? 2
	tap_like "no operation: '$op': why" "$WORK/err" "number of an operation"
done
"$ASSAY" run --target ext4 --sweep kio --sweep-op 1 --max-faults 2 "$WORK/w.txt" >"$WORK/out" \
	2>"$WORK/err"
tap_is "pairs of one operation" $? 2

# Hunts have a sweep of their own.
for words in "--sweep alloc" "--sweep kalloc --faults" "--sweep kalloc --crash" "--sweep="; do
	# shellcheck disable=SC2086 # several words
	"$ASSAY" hunt --target ext4 $words --for 1s -o "$WORK/h" >"$WORK/out" 2>"$WORK/err"
	tap_is "a hunt with $words" $? 2
	tap_like "a hunt with $words: why" "$WORK/err" "sweep"
done
"$ASSAY" hunt --target lab --sweep kalloc --max-workloads 4 -o "$WORK/lab" >"$WORK/out" \
	2>"$WORK/err"
tap_is "a hunt with a sweep inside a kernel, of a library" $? 3
if tap_uml ext4; then
	"$ASSAY" hunt --target ext4 --sweep kalloc --max-workloads 4 -o "$WORK/ext4" >"$WORK/out" \
		2>"$WORK/err"
	tap_is "a hunt in a kernel that cannot do it" $? 3
	tap_like "a hunt in a kernel that cannot do it: the one that can" "$WORK/err" \
		"assay kernel build debug.*--kernel debug"
	tap_is "a hunt in a kernel that cannot do it: is not begun" \
		"$(find "$WORK/ext4" -type f 2>/dev/null)" ""
else
	tap_skip "a hunt in a kernel that cannot do it" "the sandbox uml does not run here"
fi

# Several kinds are swept one after the other.
for words in "--sweep write,,read" "--sweep write," "--sweep write,none" "--sweep write,x" \
	"--sweep write,read,write,read,write,read,write,read,write" \
	"--sweep write --faults read" "--sweep kalloc,write --sweep-op 1"; do
	# shellcheck disable=SC2086 # several words
	"$ASSAY" run --target lab --no-store $words "$WORK/w.txt" >"$WORK/out" 2>"$WORK/err"
	tap_is "run $words" $? 2
	tap_like "run $words: why" "$WORK/err" "sweep"
done
for kind in write read alloc; do
	"$ASSAY" run --target lab --no-store --sweep $kind "$WORK/w.txt" >"$WORK/out" 2>&1
	sed -n 's/^all \([0-9]*\) failures.*/\1/p' "$WORK/out"
done | paste -sd + | bc >"$WORK/sum"
"$ASSAY" run --target lab --no-store --faults write,read,alloc "$WORK/w.txt" >"$WORK/out" 2>&1
tap_is "three kinds" $? 0
tap_like "three kinds: all of each" "$WORK/out" \
	"^all $(cat "$WORK/sum") failures of these workloads"

# "All" is said of a sweep that came to its end, and of no other.
"$ASSAY" run --target lab --no-store --sweep write "$WORK/w.txt" >"$WORK/out" 2>&1
tap_is "a sweep to its end" $? 0
tap_like "a sweep to its end: all" "$WORK/out" "^all [0-9]* failures of this workload were tried"
printf '$0 = open /f O_WRONLY|O_CREAT 0644\n$1 = open /f O_WRONLY|O_APPEND\n' >"$WORK/bad.txt"
printf 'write $0 len=1 fill=1\nwrite $1 len=1 fill=1\nclose $0\nclose $1\n' >>"$WORK/bad.txt"
"$ASSAY" run --target lab:bug=2 --no-store --sweep write "$WORK/bad.txt" "$WORK/w.txt" \
	>"$WORK/out" 2>&1
tap_is "a workload that fails without a failure is not swept" $? 1
tap_like "then they are not all" "$WORK/out" "but not all: 1 of 2 sweeps did not come to their end"

"$ASSAY" run --target lab:bug=2 -o "$WORK/o" "$WORK/bad.txt" >"$WORK/out" 2>&1
id=$(ls "$WORK/o/findings" | head -n 1)
"$ASSAY" replay -o "$WORK/o" --times 3 "$id" >"$WORK/out" 2>&1
tap_is "a replay of several runs" $? 1
tap_like "a replay of several runs: how often" "$WORK/out" "reproduced in 3 of 3 runs"
"$ASSAY" replay -o "$WORK/o" --times 2 --target lab "$id" >"$WORK/out" 2>&1
tap_is "a replay on what has not got the bug" $? 0
tap_like "a replay on what has not got the bug: said" "$WORK/out" \
	"did not reproduce in any of the runs"

if tap_uml ext4; then
	"$ASSAY" run --target ext4 --sweep kalloc "$WORK/w.txt" >"$WORK/out" 2>"$WORK/err"
	tap_is "a kernel that cannot do it" $? 3
	tap_like "the one that can" "$WORK/err" "assay kernel build debug.*--kernel debug"
else
	tap_skip "a kernel that cannot do it" "the sandbox uml does not run here"
fi

kernel=$("$ASSAY" kernel list --json | grep '"patches":\[\]' | grep '"with":"[^"]*faults' |
	sed -n 's/^{"name":"\([^"]*\)".*/\1/p' | head -n 1)
tap_uml ext4 || kernel=
for target in ext4 exfat; do
	if [ -z "$kernel" ]; then
		tap_skip "sweep of $target" "no kernel with faults runs here: make kernels"
		continue
	fi
	for fault in kalloc:mount:1 kalloc:1:2 kalloc:2:1 kio:mount:1 "kalloc:1:1 kalloc:2:2"; do
		# shellcheck disable=SC2086 # two rules are two options
		"$ASSAY" run --kernel "$kernel" --target "$target" --no-store \
			$(printf -- '--fault %s ' $fault) "$WORK/w.txt" >"$WORK/out" 2>"$WORK/err"
		tap_is "$fault of $target" $? 0
	done
done
# What reads into a large buffer for the first time gets pages for it, whatever fails.
printf '$0 = open /f O_RDWR|O_CREAT 0644\n$1 = open /g O_RDWR|O_CREAT 0644\n' >"$WORK/large.txt"
printf 'ftruncate $0 1000000\nsendfile $0 $1 len=1000000 at=0\n' >>"$WORK/large.txt"
printf 'pread $0 len=1000000 at=0\nclose $0\n' >>"$WORK/large.txt"
for fault in kpage:5:5 kpage:5:40; do
	if [ -z "$kernel" ]; then
		tap_skip "$fault of a large read" "no kernel with faults runs here: make kernels"
		continue
	fi
	"$ASSAY" run --kernel "$kernel" --target ext4 --no-store --fault $fault \
		"$WORK/large.txt" >"$WORK/out" 2>"$WORK/err"
	tap_is "$fault of a large read" $? 0
done
# Each operation meets all failures, one after the other, in one run.
for target in ext4 minix3; do
	if [ -z "$kernel" ]; then
		tap_skip "all failures of $target" "no kernel with faults runs here: make kernels"
		continue
	fi
	for fault in kalloc:all kalloc:all:7; do
		"$ASSAY" run --kernel "$kernel" --target "$target" --no-store --fault $fault \
			"$WORK/w.txt" >"$WORK/out" 2>"$WORK/err"
		tap_is "$fault of $target" $? 0
		tap_like "$fault of $target: some were tried" "$WORK/out" \
			"[1-9][0-9]* failures tried"
	done
done
if [ -z "$kernel" ]; then
	tap_skip "a hunt with a sweep" "no kernel with faults runs here: make kernels"
else
	"$ASSAY" hunt --kernel "$kernel" --target minix3 --sweep kalloc --seed 1 --no-reduce \
		--max-workloads 8 -o "$WORK/swept" >"$WORK/out" 2>"$WORK/err"
	tap_like "a hunt with a sweep: failures" "$WORK/out" "[1-9][0-9]* failures tried"
fi
# What could not be written is lost. Who called fsync was told, and sync cannot tell; exfat has no
# journal, so its checker may repair it. (syncfs is told nothing by exfat: docs/FOUND.md.)
for call in 'fsync $0' 'fdatasync $0' sync; do
	if [ -z "$kernel" ]; then
		tap_skip "lost in $call" "no kernel with faults runs here: make kernels"
		continue
	fi
	{
		sed '$d' "$WORK/w.txt"
		printf '%s\nstat /a/f\n' "$call"
	} >"$WORK/lost.txt"
	"$ASSAY" run --kernel "$kernel" --target exfat --sweep kio --sweep-op 4 --no-store \
		"$WORK/lost.txt" >"$WORK/out" 2>"$WORK/err"
	tap_is "lost in $call" $? 0
	tap_like "lost in $call: tried" "$WORK/out" "^all [1-9][0-9]* failures of this workload"
done
# Linux 6.1: munmap(2) needs memory, and a mapping of ours that stays keeps the mount busy. A
# look-up of reiserfs that gets none for an inode answers EACCES.
old=$("$ASSAY" kernel list --json | grep '"patches":\[\]' | grep '"with":"[^"]*faults' |
	grep '"version":"6\.1\.' | sed -n 's/^{"name":"\([^"]*\)".*/\1/p' | head -n 1)
tap_uml ext4 || old=
printf 'create /f 0644\n$0 = open /f O_RDWR\nmmap $0 len=5000 at=0\n' >"$WORK/5.txt"
printf 'close $0\nmunmap $0\numount\n' >>"$WORK/5.txt"
printf 'mkdir /i 0755\nmknod /i/a chr 0644\numount\nmount\nstat /i\nreaddir /i\n' >"$WORK/6.txt"
for job in "ext4 5" "reiserfs 6"; do
	read -r target op <<<"$job"
	if [ -z "$old" ] || ! PATH="$PATH:/usr/sbin" command -v "mkfs.$target" >/dev/null; then
		tap_skip "6.1: operation $op of $target" "no such kernel with faults, or no mkfs"
		continue
	fi
	"$ASSAY" run --kernel "$old" --target "$target" --sweep kalloc --sweep-op "$op" \
		--no-store "$WORK/$op.txt" >"$WORK/out" 2>"$WORK/err"
	tap_is "6.1: operation $op of $target" $? 0
done
# The sweep of a mount has an end: a run in which nothing fails is seen as one.
if [ -z "$kernel" ]; then
	tap_skip "a whole sweep of minix3" "no kernel with faults runs here: make kernels"
else
	printf 'mkdir /a 0755\n' >"$WORK/one.txt"
	"$ASSAY" run --kernel "$kernel" --target minix3 --sweep kalloc --no-store "$WORK/one.txt" \
		>"$WORK/out" 2>"$WORK/err"
	tap_is "a whole sweep of minix3" $? 0
	tap_like "a whole sweep of minix3: all" "$WORK/out" \
		"^all [1-9][0-9][0-9]* failures of this workload were tried"
	all=$(sed -n 's/^all \([0-9]*\) failures.*/\1/p' "$WORK/out")
	for op in 1 mount; do
		"$ASSAY" run --kernel "$kernel" --target minix3 --sweep kalloc --sweep-op $op \
			--no-store "$WORK/one.txt" >"$WORK/out" 2>"$WORK/err"
		tap_is "a sweep of minix3, $op" $? 0
		part=$(sed -n 's/^all \([0-9]*\) failures.*/\1/p' "$WORK/out")
		all=$((all - ${part:-0}))
	done
	tap_is "both parts together are the whole" "$all" 0
fi
tap_done
