#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# assay gen: the same seed gives the same bytes, layers, folders, C programs, streams that assay run
# reads; and every bad input gets one line and exit status 2.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
CC=${CC:-cc}
export LC_ALL=C
export ASAN_OPTIONS=detect_leaks=0

# refuses NAME REGEX ARGUMENT...: status 2, one line that matches, nothing on standard output.
refuses() {
	local name=$1 regex=$2 got=0
	shift 2
	(cd "$WORK" && "$ASSAY" gen "$@") >"$WORK/out" 2>"$WORK/err" </dev/null || got=$?
	if [ "$got" = 2 ] && [ "$(wc -l <"$WORK/err")" = 1 ] && [ ! -s "$WORK/out" ] &&
		grep -Eq "^assay: .*($regex)" "$WORK/err"; then
		tap_ok "$name"
	else
		tap_not_ok "$name" "exit status $got, wanted /$regex/" "$(head -n 5 "$WORK/err")"
	fi
}

# refuses_profile NAME REGEX LINE: a profile of this one line.
refuses_profile() {
	echo "$3" >"$WORK/bad.profile"
	refuses "$1" "$2" --profile bad.profile
}

refuses "unknown profile" "unknown profile 'nobody'; built in are paper, crash" --profile nobody
refuses "profile file that is not there" "nosuch.profile" --profile nosuch.profile
refuses_profile "negative weight" "bad.profile:1:14: the weight of mkdir is negative" \
	"weight mkdir -1"
refuses_profile "unknown command" "bad.profile:1:8: unknown command 'frob'" "weight frob 1"
refuses_profile "k is 17" "bad.profile:1:3: expected a number from 0 to 16, found '17'" "k 17"
refuses_profile "length.max is 0" "bad.profile:1:12: expected a number from 1" "length.max 0"
for op in mkdir create mknod hardlink symlink rename remove open chcwd; do
	echo "weight $op 0"
done >"$WORK/empty.profile"
refuses "no possible command left" "no possible command is left" --profile empty.profile
echo "weight close 0" >>"$WORK/empty.profile"
refuses "no command at all" "no core command has a weight" --profile empty.profile
refuses "feedback that is not there" "nosuch.jsonl" --feedback nosuch.jsonl
echo '{"op": "frob", "count": 1}' >"$WORK/bad.jsonl"
refuses "feedback about an unknown operation" "bad.jsonl:1:1: unknown operation 'frob'" \
	--feedback bad.jsonl
refuses "unknown layer" "'abstract' is not one of" --layer abstract
refuses "count of 0" "out of range" --count 0
refuses "several C programs at once" "needs a folder" --emit c --count 2
refuses "folder that cannot be made" "nosuch/folder" -o nosuch/folder
refuses "unknown target" "unknown target 'zfs'" --target zfs

tap_run "generate" 0 "$ASSAY" gen --count 30
cp "$WORK/out" "$WORK/first"
"$ASSAY" gen --count 30 >"$WORK/again"
tap_is "the same again" "$(cmp "$WORK/first" "$WORK/again" && echo same)" same
"$ASSAY" gen --count 30 --seed 2 >"$WORK/again"
tap_is "another seed, other workloads" "$(cmp -s "$WORK/first" "$WORK/again" || echo other)" other
tap_is "thirty of them" "$(grep -c '^@workload paper-1-' "$WORK/first")" 30

"$ASSAY" gen --layer core --count 50 >"$WORK/core"
core='mkdir|create|mknod|hardlink|symlink|rename|remove|\$[0-9]+ = open|close|chcwd'
tap_is "core has the ten commands only" \
	"$(grep -v '^@' "$WORK/core" | grep -cvE "^($core)")" 0
"$ASSAY" gen --layer ext --count 100 >"$WORK/ext"
tap_is "ext has others, too" "$([ "$(grep -cE '^(sync|statfs|write)' "$WORK/ext")" -gt 20 ] &&
	echo many)" many
tap_is "arguments are plain above the syntax layer" \
	"$(grep '^mkdir' "$WORK/ext" | grep -cv ' 0755$')" 0

tap_run "a stream runs" 0 "$ASSAY" run --no-store --target lab - <"$WORK/first"
tap_like "as thirty workloads" "$WORK/out" '^30 workloads'
tap_run "a folder" 0 "$ASSAY" gen --count 5 --profile crash -o "$WORK/folder"
tap_is "five files" "$(find "$WORK/folder" -name 'crash-1-*.txt' | wc -l)" 5
tap_run "whose files run" 0 "$ASSAY" run --no-store --target lab "$WORK"/folder/*.txt
tap_run "a C program" 0 "$ASSAY" gen --emit c
cp "$WORK/out" "$WORK/prog.c"
tap_run "that compiles" 0 "$CC" "$WORK/prog.c" -o "$WORK/prog"
tap_run "C programs in a folder" 0 "$ASSAY" gen --emit c --count 3 -o "$WORK/c"
tap_is "three of them" "$(find "$WORK/c" -name '*.c' | wc -l)" 3

tap_run "exhaustively" 0 "$ASSAY" gen --profile small --exhaustive 2 --layer core
tap_is "every workload is another one" \
	"$(awk 'BEGIN{RS="@workload"} {sub(/^[^\n]*\n/, ""); print $0 ";"}' "$WORK/out" |
		tr '\n' ' ' | tr ';' '\n' | sort | uniq -d | grep -c .)" 0
tap_run "a profile is shown" 0 "$ASSAY" gen --show --profile race
cp "$WORK/out" "$WORK/shown.profile"
"$ASSAY" gen --profile "$WORK/shown.profile" --count 20 >"$WORK/by_file"
"$ASSAY" gen --profile race --count 20 >"$WORK/by_name"
tap_is "and is read as what it was" "$(cmp "$WORK/by_file" "$WORK/by_name" && echo same)" same

# What an fsync has to make stable is also an owner, and fdatasync has paths of its own in kernels.
tap_run "workloads for power cuts" 0 "$ASSAY" gen --profile crash --count 200
tap_is "many of them change owners" \
	"$(grep -c '^chown' "$WORK/out" | awk '{ print ($1 >= 30) ? "yes" : $1 }')" yes
tap_is "and use fdatasync" \
	"$(grep -c '^fdatasync' "$WORK/out" | awk '{ print ($1 >= 90) ? "yes" : $1 }')" yes
tap_done
