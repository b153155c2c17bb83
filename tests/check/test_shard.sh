#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay check --shard`: checks that share nothing visit together just the states of one check; each
# transition and each power cut is looked at by one of them, and so each mistake is found by one.
set -u
. "$(dirname "$0")/../tap.sh"

count() { grep -o "\"$1\":[0-9]*" "$2" | tail -n 1 | cut -d: -f2; } # NAME FILE

# whole FIELD and parts FIELD: of one check, and the sum over the shards.
whole() { count "$1" "$WORK/whole"; }
parts() {
	local sum=0 k
	for k in $(seq "$n"); do
		sum=$((sum + $(count "$1" "$WORK/part.$k")))
	done
	echo $sum
}

# The same check as a whole and in parts; they end with this status.
both() { # NAME STATUS OPTION...
	local name=$1 status=$2 k
	shift 2
	tap_run "$name" "$status" "$ASSAY" check --no-store --json "$@"
	cp "$WORK/out" "$WORK/whole"
	for k in $(seq "$n"); do
		"$ASSAY" check --no-store --json --shard "$k/$n" "$@" >"$WORK/part.$k" 2>"$WORK/err"
	done
}
same() { # NAME FIELD...
	local name=$1 field
	shift
	for field; do
		tap_is "$name: $field" "$(parts "$field")" "$(whole "$field")"
	done
}

# ---- A sound file system ----

n=3
# Shards do not go on after a power cut.
both "power cuts" 0 --target lab --nodes 2 --depth 2 --crashes 0
same "power cuts" owned owned_sum transitions
tap_is "all of them reach the end" "$(grep -l '"all":true' "$WORK"/part.* | wc -l)" $n
tap_is "each has states of its own" "$(grep -l '"owned":0,' "$WORK"/part.* | wc -l)" 0
tap_is "each knows all states" "$(parts states)" $((n * $(whole states)))
tap_is "and follows those of others" "$(parts followed)" $(((n - 1) * $(whole transitions)))
"$ASSAY" check --target lab --nodes 2 --depth 1 --shard 1/3 --no-store >"$WORK/out" 2>&1
tap_like "that no trace goes on after a power cut is said" "$WORK/out" \
	'^no trace went on after .*--shard'
tap_run "what cannot be done is refused" 2 "$ASSAY" check --target lab --shard 1/3 \
	--crashes 1 --no-store
tap_like "with its reason" "$WORK/err" '^assay: --crashes 1: with --shard, no trace'
n=2
both "a third level" 0 --target lab --nodes 2 --depth 3 --no-crash
same "a third level" owned owned_sum transitions
both "all operations" 0 --target lab --nodes 1 --depth 2 --ops all --no-crash
same "all operations" owned owned_sum transitions
both "two jobs each" 0 --target lab --nodes 2 --depth 2 --no-crash --jobs 2
same "two jobs each" owned owned_sum transitions
both "a start" 0 --target lab --start names --nodes 1 --depth 2 --no-crash
same "a start" owned owned_sum transitions
both "no room for attributes" 0 --target lab --start attributes --nodes 1 --depth 1 --no-crash
same "no room for attributes" owned owned_sum transitions
both "a full disk" 0 --target lab --start full --nodes 1 --depth 2 --no-crash
same "a full disk" owned owned_sum transitions
both "calls that fail" 0 --target lab --nodes 1 --depth 1 --faults all --no-crash
same "calls that fail" failures

# ---- A mistake is found by its owner ----

n=3
both "a wrong answer" 1 --target lab:bug=1 --nodes 2 --depth 3 --ops create,rename --no-crash
same "a wrong answer" suspects
tap_run "there are some" 0 test "$(whole suspects)" -gt 0
both "a power cut" 1 --target lab:bug=26 --nodes 1 --depth 1 --ops create,rename
same "a power cut" wrong suspects
tap_run "there is one" 0 test "$(whole wrong)" -gt 0
tap_run "not everybody finds it" 0 test "$(grep -l '"wrong":0,' "$WORK"/part.* | wc -l)" -gt 0

# ---- What is said ----

tap_run "a shard" 0 "$ASSAY" check --target lab --nodes 1 --depth 2 --no-crash --shard 1/2 \
	-o "$WORK/s"
tap_like "whose states they are" "$WORK/out" '^all [0-9]+ states of shard 1/2 within bounds'
tap_like "what it costs" "$WORK/out" '^overlap: [0-9]+ states of other shards, with [0-9]+ trans'
tap_run "go on" 0 "$ASSAY" check --target lab --nodes 1 --depth 2 --no-crash --shard 1/2 \
	-o "$WORK/s" --resume
tap_run "go on as another" 2 "$ASSAY" check --target lab --nodes 1 --depth 2 --no-crash \
	--shard 2/2 -o "$WORK/s" --resume
tap_like "is refused" "$WORK/err" 'made with other settings'
for bad in 0/3 4/3 1/0 x 1/ /2 1/2/3 -1/2 1/999999 ''; do
	tap_run "--shard '$bad'" 2 "$ASSAY" check --shard "$bad" --no-store
	tap_like "--shard '$bad': is said" "$WORK/err" 'expected K/N'
done

# An answer that is right, but not the one that the others expect (no room for an attribute): then
# nobody says "all".
echo 'create /f 0644' >"$WORK/most.txt"
for i in $(seq 25); do echo "write_xattr /f user.$i len=20 fill=1"; done >>"$WORK/most.txt"
tap_run "an answer that others do not expect" 0 "$ASSAY" check --target lab --nodes 1 --depth 1 \
	--ops write_xattr --start "$WORK/most.txt" --no-crash --shard 1/1 --no-store
tap_like "is said" "$WORK/out" '^not all states were explored: answers were not those that other'

tap_done
