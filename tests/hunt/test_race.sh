#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay hunt --race`: clean targets pass, a broken one is found, reduced and brought back by its
# seed; a target that hangs or dies within a race is named; bad input gets one line.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
. tests/hunt/hunts.sh
export LC_ALL=C
export ASAN_OPTIONS=detect_leaks=0

refuses "one thread" "--threads: 1 is out of range" --target lab --race --threads 1
refuses "no repetition" "--repeat: 0 is out of range" --target lab --race --repeat 0
refuses "threads without a race" "--threads needs --race" --target lab --threads 3
refuses "a race and a comparison" "exclude each other" --race --diff lab,lab
refuses "a parameter nobody knows" "unknown parameter 'thread=3'" \
	--target lab --scenario race:thread=3
refuses "a parameter out of range" "'threads=99': expected a number" \
	--target lab --scenario race:threads=99

# ---- Clean ----
tap_run "labfs passes" 0 "$ASSAY" hunt --target lab --race --max-workloads 60 -o "$WORK/clean"
tap_like "each workload ran ten times" "$WORK/out" "^60 workloads, [0-9]{4,} operations, 0 findings"
tap_like "calls of a library are all judged in full" "$WORK/out" \
	", ([0-9]{4,}) of \\1 calls in races judged in full,"
tap_run "the same seed" 0 "$ASSAY" hunt --target lab --race --max-workloads 60 --json \
	-o "$WORK/clean2"
again=$(sed -n 's/.*"ops":\([0-9]*\).*/\1/p' "$WORK/out" | tail -n 1)
"$ASSAY" hunt --target lab --race --max-workloads 60 -o "$WORK/clean3" --json >"$WORK/out"
tap_is "does the same" "$(sed -n 's/.*"ops":\([0-9]*\).*/\1/p' "$WORK/out" | tail -n 1)" "$again"

mkdir "$WORK/tree"
if can --target "dir:$WORK/tree"; then
	tap_run "a directory passes" 0 "$ASSAY" hunt --target "dir:$WORK/tree" --race --threads 4 \
		--max-workloads 15 -o "$WORK/dir"
	tap_like "and the summary says how much was judged" "$WORK/out" \
		", [0-9]{3,} of [0-9]{3,} calls in races judged in full,"
	tap_run "large reads and writes of two files pass" 0 "$ASSAY" run \
		--target "dir:$WORK/tree" --scenario race:threads=4,repeat=5,delay=20 --json \
		-o "$WORK/shares" tests/race/shares.txt
	tap_like "and their answers are counted by kind" "$WORK/out" \
		'"event":"done".*"raced":\{"calls":515,"lost":0,"reads":1[0-9]{2},"reads_open":'
	tap_is "and is left empty" "$(ls -A "$WORK/tree")" ""
else
	tap_skip "a directory passes" "$(head -n 1 "$WORK/err")"
fi

if can --target ext4 --sandbox host; then
	tap_run "ext4 on the running kernel passes" 0 "$ASSAY" hunt --target ext4 --race \
		--sandbox host --repeat 3 --max-workloads 4 -o "$WORK/ext4"
else
	tap_skip "ext4 on the running kernel passes" "$(head -n 1 "$WORK/err")"
fi
if can --target ext4; then
	tap_run "ext4 in a sandbox passes" 0 "$ASSAY" hunt --target ext4 --race --repeat 3 \
		--max-workloads 4 -o "$WORK/uml"
else
	tap_skip "ext4 in a sandbox passes" "$(head -n 1 "$WORK/err")"
fi

# ---- Found, reduced, brought back ----
tap_run "a bug is found" 1 "$ASSAY" hunt --target lab:bug=1 --race --max-workloads 40 -o "$WORK/bug"
id=$(basename "$(find "$WORK/bug/findings" -name 'lab-race-*' | head -n 1)")
tap_like "as a race that no order explains" "$WORK/bug/findings/$id/README.md" \
	"no order of the calls that overlapped explains it"
tap_like "with its seed" "$WORK/bug/findings/$id/finding.json" 'scenario=race:[^ ]*seed=[1-9]'
tap_like "and the calls as they overlapped" "$WORK/bug/findings/$id/README.md" \
	'^\* thread [0-9] +[0-9]+-[0-9]+ '
tap_run "comes back" 1 "$ASSAY" replay "$id" -o "$WORK/bug"
tap_like "by its name" "$WORK/out" "^$id: reproduced"
tap_run "as it was found, too" 1 "$ASSAY" replay --original "$id" -o "$WORK/bug"
lines=$(grep -vc '^@' "$WORK/bug/findings/$id/workload.reduced.txt")
if [ "$lines" -le 8 ]; then tap_ok "reduced"; else tap_not_ok "reduced" "to $lines operations"; fi
tap_run "reduced once more" 1 "$ASSAY" reduce "$id" -o "$WORK/bug"

# ---- Dead within a race ----
# broken NAME: a plugin whose mkdir does that
broken() {
	"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O1 -fPIC -shared -fvisibility=hidden -Iinclude \
		-DBREAK_mkdir="op_$1" tests/target/plugins/broken.c -o "$WORK/$1.so" ||
		tap_not_ok "building $1"
}
printf 'mkdir /a 0755\nstat /a\nstat /b\nmkdir /b 0755\nmkdir /c 0755\n' >"$WORK/mkdirs.txt"
broken abort
tap_run "one that dies" 1 "$ASSAY" run --target "plugin:$WORK/abort.so" --scenario race \
	-o "$WORK/dead" "$WORK/mkdirs.txt"
tap_like "is told with the call in flight" "$WORK/out" \
	"mkdir /[abc] 0755: the target died of SIGABRT"
broken hang
tap_run "one that hangs" 1 "$ASSAY" run --target "plugin:$WORK/hang.so" --scenario race \
	--deadline 1 -o "$WORK/hung" "$WORK/mkdirs.txt"
tap_like "is told with the call in flight" "$WORK/out" \
	"mkdir /[abc] 0755: the target did not come back"

tap_done
