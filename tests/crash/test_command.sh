#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay crash`: what it says, what it keeps, what it refuses, and file systems that die of what a
# power cut has left.
set -u
. "$(dirname "$0")/../tap.sh"

cat >"$WORK/w.txt" <<'END'
mkdir /a 0755
create /a/f 0644
rename /a/f /g
sync
END

# ---- A sound file system, and one that is not ----

tap_run "a sound labfs" 0 "$ASSAY" crash --target lab --no-store "$WORK/w.txt"
tap_like "counts are said" "$WORK/out" \
	'crash states, [0-9]+ distinct, [0-9]+ checked, [0-9]+ memoised; during recovery [0-9]+'
tap_run "--json" 0 "$ASSAY" crash --target lab --no-store --json "$WORK/w.txt"
tap_like "counts in JSON" "$WORK/out" '"generated":[0-9]+,"distinct":[0-9]+,"checked":[0-9]+,"memo'

printf '@workload one\nmkdir /a 0755\n@workload two\nmkdir /b 0755\n' >"$WORK/two.txt"
tap_run "a stream on standard input" 0 "$ASSAY" crash --target lab --again 0 --no-store - \
	<"$WORK/two.txt"
tap_like "each by its name" "$WORK/out" '^ok +two '

tap_run "a rename in two steps" 1 "$ASSAY" crash --target lab:bug=26 -o "$WORK/out.d" "$WORK/w.txt"
tap_like "is found" "$WORK/out" 'rename: .*half done'
id=$(ls "$WORK/out.d/findings" | head -n 1)
tap_is "its disk is kept" "$(ls "$WORK/out.d/findings/$id" | grep -c disk.img.zst)" 1
tap_run "replay" 1 "$ASSAY" replay -o "$WORK/out.d" "$id"
tap_like "shows the same" "$WORK/out" "^$id .*lab:bug=26"
tap_run "reduce" 1 "$ASSAY" reduce -o "$WORK/out.d" "$id"
tap_is "to two operations" "$(grep -c . "$WORK/out.d/findings/$id/workload.reduced.txt")" 2
tap_run "replay of the reduced" 1 "$ASSAY" replay -o "$WORK/out.d" "$id"
tap_like "shows it, too" "$WORK/out" "^$id "

# ---- Answers from memory, and crashes that are left out ----

for memo in on off verify; do
	tap_run "--memo $memo" 1 "$ASSAY" crash --target lab:bug=35 --memo $memo --again 0 --json \
		--no-store "$WORK/w.txt"
	grep -o '"signature":"[^"]*"' "$WORK/out" | sort >"$WORK/found.$memo"
	grep -o '"generated":[0-9]*,"distinct":[0-9]*' "$WORK/out" >>"$WORK/found.$memo"
done
tap_is "memory changes no verdict" "$(cat "$WORK/found.on")" "$(cat "$WORK/found.off")"
tap_is "nor does verifying it" "$(cat "$WORK/found.verify")" "$(cat "$WORK/found.off")"

# ---- A budget ----

tap_run "--budget" 0 "$ASSAY" crash --target lab --budget 20 --no-store "$WORK/w.txt"
tap_like "the share is said" "$WORK/out" \
	'^looked at [0-9]+ of [0-9]+ states \([0-9.]+ %\), .*; --budget 0 for all$'
tap_like "and in the last line" "$WORK/out" ', [0-9]+ of [0-9]+ crash states looked at \('
tap_run "--budget 0" 0 "$ASSAY" crash --target lab --budget 0 --no-store "$WORK/w.txt"
tap_is "nothing is left out" "$(grep -c 'looked at' "$WORK/out")" 0
tap_run "--budget --json" 0 "$ASSAY" crash --target lab --budget 20 --no-store --json "$WORK/w.txt"
tap_like "JSON of the workload" "$WORK/out" '"possible":[0-9]+,"again_possible":[0-9]+'
tap_like "JSON of all" "$WORK/out" '"event":"done".*"looked":[0-9]+,"possible":[0-9]+'
tap_run "a bug within a budget" 1 "$ASSAY" crash --target lab:bug=26 --budget 40 -o "$WORK/few" \
	"$WORK/w.txt"
id=$(ls "$WORK/few/findings" | head -n 1)
tap_is "its options name a state and no budget" \
	"$(grep -c 'scenario=crash:view=[^"]*budget' "$WORK/few/findings/$id/finding.json")" 0
tap_run "replay of it" 1 "$ASSAY" replay -o "$WORK/few" "$id"
tap_run "a hunt within a budget" 0 "$ASSAY" hunt --crash --budget 10 --target lab --seed 1 \
	--max-workloads 3 -o "$WORK/hunt"
tap_like "says the share" "$WORK/out" \
	'3 workloads, .* of [0-9]+ crash states looked at \([0-9.]+ %\)'
cp "$WORK/out" "$WORK/first"
tap_run "the same hunt again" 0 "$ASSAY" hunt --crash --budget 10 --target lab --seed 1 \
	--max-workloads 3 -o "$WORK/hunt2"
tap_is "looks at as many" "$(grep -o '[0-9]* of [0-9]* crash states' "$WORK/out")" \
	"$(grep -o '[0-9]* of [0-9]* crash states' "$WORK/first")"
tap_run "--budget without --crash" 2 "$ASSAY" hunt --budget 5 --target lab -o "$WORK/no"
tap_like "is refused" "$WORK/err" 'budget needs --crash'
# What a hunt spends on which states depends on nothing but its seed, and is told.
for i in 1 2; do
	"$ASSAY" hunt --crash --target lab --seed 9 --max-workloads 6 --jobs 2 --json \
		-o "$WORK/shares$i" 2>/dev/null | grep '"event":"done"' |
		grep -o '"shares":.*' >"$WORK/shares$i.txt"
done
tap_is "shares of equal seeds" "$(cat "$WORK/shares2.txt")" "$(cat "$WORK/shares1.txt")"
tap_is "every view has a share" \
	"$(grep -o '"view [1-5]":{"states":[1-9]' "$WORK/shares1.txt" | wc -l)" 5

tap_run "options of old findings" 0 "$ASSAY" hunt --scenario crash:every=64 --target lab --seed 1 \
	--max-workloads 3 -o "$WORK/old"

# ---- A write that is made stable by a second call, which fails: the bytes may be there ----
printf '%s\n' '$0 = open /b O_RDWR|O_CREAT 0644' \
	'pwritev2 $0 len=16385 at=0 fill=4 flags=RWF_DSYNC' \
	'pwrite $0 len=8192 at=1972 fill=6' 'fsync $0' >"$WORK/two.txt"
tap_run "a write, then a sync that fails" 0 "$ASSAY" crash --target lab --fault write:3:eio \
	--view 1 --again 0 --no-store "$WORK/two.txt"

# ---- A run with several findings: each comes back by its own id ----
printf 'create /c 0644\nsync\ncrash\n$0 = open /c O_RDWR\n' >"$WORK/several.txt"
tap_run "several findings" 1 "$ASSAY" crash --target lab:bug=48 --fault write:3:eio \
	-o "$WORK/several" "$WORK/several.txt"
tap_is "of more than one kind" \
	"$(ls "$WORK/several/findings" | sed 's/-[^-]*$//' | sort -u | xargs)" \
	"lab-crash lab-outcome"
for id in $(ls "$WORK/several/findings"); do
	"$ASSAY" replay -o "$WORK/several" "$id" | tail -n 1
done >"$WORK/ids"
tap_is "all come back" "$(grep -vc ': reproduced$' "$WORK/ids")" 0

# ---- Refused in one line ----

refused() { # NAME REGEX OPTION...
	local name=$1 regex=$2
	shift 2
	tap_run "$name: refused" 2 "$ASSAY" crash "$@" --no-store "$WORK/w.txt"
	tap_like "$name: why" "$WORK/err" "$regex"
	tap_is "$name: one line" "$(wc -l <"$WORK/err")" 1
}
refused "a directory" "a directory's disk is not ours" --target "dir:$WORK"
refused "a disk too small" "too small" --target lab --size 64K
refused "t" "17 is out of range" --target lab --t 17
refused "trials" "out of range" --target lab --trials 1000000
refused "a view" "'6' is no view" --target lab --view 6
refused "a way" "no way to recover" --target lab --recover magic
refused "again" "out of range" --target lab --again 3
refused "a sector" "not one of" --target lab --sector 1024
refused "a rule" "expected proved, all, none" --target lab --again-prune some

# ---- File systems that die or hang ----

here=$(cd "$(dirname "$0")/../.." && pwd)
build() { # NAME FLAG
	cc -shared -fPIC -I"$here/include" $2 \
		-DLABFS_SO="\"$(realpath "$ASSAY_BUILD/plugins/labfs.so")\"" \
		"$here/tests/crash/dying_plugin.c" -o "$WORK/$1.so" -ldl 2>"$WORK/cc.log"
}
if ! command -v cc >/dev/null; then
	tap_skip "a mount that dies" "no C compiler here"
elif ! build dies "" || ! build hangs -DHANGS; then
	tap_skip "a mount that dies" "the plugin cannot be built: $(head -n 1 "$WORK/cc.log")"
else
	printf 'mkdir /a 0755\nsync\n' >"$WORK/s.txt"
	tap_run "a mount that dies" 1 "$ASSAY" crash --target "plugin:$WORK/dies.so" --again 0 \
		--recover mount -o "$WORK/dead" "$WORK/s.txt"
	tap_like "is a finding" "$WORK/out" 'recovery: died of SIGABRT'
	states=$(grep -o '[0-9]* distinct' "$WORK/out" | cut -d' ' -f1)
	[ "${states:-0}" -gt 30 ] && tap_ok "and not the end ($states states)" ||
		tap_not_ok "and not the end" "$states states"
	tap_run "the same within a budget" 1 "$ASSAY" crash --target "plugin:$WORK/dies.so" \
		--recover mount --budget 40 --no-store "$WORK/s.txt"
	tap_like "is found, too" "$WORK/out" 'recovery: died of SIGABRT'
	states=$(grep -o '[0-9]* distinct' "$WORK/out" | cut -d' ' -f1)
	[ "${states:-0}" -gt 20 ] && tap_ok "and goes on ($states states)" ||
		tap_not_ok "and goes on" "$states states"
	tap_run "one that promises nothing" 1 "$ASSAY" crash \
		--target "plugin:$WORK/dies.so:nobarrier" --again 0 --recover mount --no-store \
		"$WORK/s.txt"
	tap_like "must not die either" "$WORK/out" 'recovery: died of SIGABRT'
	id=$(ls "$WORK/dead/findings" | head -n 1)
	tap_run "replay of a death" 1 "$ASSAY" replay -o "$WORK/dead" "$id"
	tap_like "dies again" "$WORK/out" 'died of SIGABRT'
	tap_run "a mount that hangs" 1 "$ASSAY" crash --target "plugin:$WORK/hangs.so" --view 1 \
		--again 0 --recover mount --deadline 1 --no-store "$WORK/s.txt"
	tap_like "is a finding, too" "$WORK/out" 'did not come back'
	# Not every first workload leaves a disk that the mount hangs on.
	for seed in 1 2 3 4 5 6 7 8; do
		rm -rf "$WORK/none"
		got=0
		"$ASSAY" hunt --crash --target "plugin:$WORK/hangs.so" --deadline 60 --for 1s \
			--seed $seed -o "$WORK/none" >"$WORK/out" 2>"$WORK/err" || got=$?
		[ $got = 0 ] || break
	done
	tap_is "a hunt that ends before its first workload does" $got 2
	tap_like "says so" "$WORK/err" 'no workload was run: .*--budget'
fi

# An operation that failed because its commit did may be on the disk: what a crash operation after
# it finds there is not judged.
printf 'create /a 0170\ncrash\nsync\n' >"$WORK/failed.txt"
tap_run "a crash operation after one that failed" 0 "$ASSAY" crash --no-store \
	--target lab:commit=every --fault flush:2:eio "$WORK/failed.txt"

tap_done
