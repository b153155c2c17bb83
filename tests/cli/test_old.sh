#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What an older assay has left is still read: findings of every kind, a hunt and a check that were
# stopped (tests/golden/old).
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
export ASAN_OPTIONS=detect_leaks=0

OLD=tests/golden/old
for folder in run check race hunt; do
	cp -r "$OLD/$folder" "$WORK/$folder"
done
zstd -dq --rm "$WORK/check/check/states.zst"

ids() { # FOLDER
	local id
	for id in "$WORK/$1"/findings/*/; do
		basename "$id"
	done
}

# ---- Each finding ----
for folder in run check race hunt; do
	for id in $(ids $folder); do
		at=$WORK/$folder/findings/$id
		kind=$(sed -n 's/.*"kind":"\([^"]*\)".*/\1/p' "$at/finding.json")
		tap_run "$folder: $kind comes back" 1 "$ASSAY" replay -o "$WORK/$folder" "$id"
		tap_like "$folder: $kind, by its id" "$WORK/out" "$id"
		tap_run "$folder: $kind is explained" 0 "$ASSAY" explain -o "$WORK/$folder" "$id"
		tap_like "$folder: $kind, in words" "$WORK/out" "^ *[A-Z0-9].* .* "
		tap_run "$folder: $kind as a letter" 0 "$ASSAY" report --mail "$at"
		cp "$WORK/out" "$WORK/letter"
		tap_run "$folder: the letter of $kind is what it was" 0 \
			diff "$OLD/$folder/findings/$id/report.txt" "$WORK/letter"
	done
done

# ---- All of them ----
tap_run "the report" 0 "$ASSAY" report "$WORK/run" "$WORK/check" "$WORK/race" "$WORK/hunt" \
	-o "$WORK/report.html"
tap_run "the report, as JSON" 0 "$ASSAY" report --json "$WORK/run" "$WORK/check" "$WORK/race" \
	"$WORK/hunt"
cp "$WORK/out" "$WORK/json"
tap_run "joined" 0 "$ASSAY" merge "$WORK/run" "$WORK/check" "$WORK/race" "$WORK/hunt" \
	-o "$WORK/joined"
for folder in run check race hunt; do
	for id in $(ids $folder); do
		tap_like "reported: $id" "$WORK/json" "\"$id\""
		tap_like "on the page: $id" "$WORK/report.html" "$id"
		tap_is "joined: $id" "$(test -d "$WORK/joined/findings/$id" && echo yes)" yes
	done
done

# ---- Reduced ----
for id in $(ids run | grep -v -e -fsck-); do
	tap_run "$id is reduced" 1 "$ASSAY" reduce -o "$WORK/run" "$id"
	tap_is "to something" \
		"$(test -s "$WORK/run/findings/$id/workload.reduced.txt" && echo yes)" yes
	tap_run "and comes back" 1 "$ASSAY" replay -o "$WORK/run" "$id"
done

# ---- Gone on with ----
tap_run "the hunt goes on" 1 "$ASSAY" hunt --resume -o "$WORK/hunt"
tap_is "and comes to what it was to come to" \
	"$(sed -n 's/.*"id":"\([^"]*\)".*"count":\([0-9]*\).*/\1 \2/p' \
		"$WORK"/hunt/findings/*/finding.json)" "$(cat "$OLD/hunt.whole.txt")"
before=$(ids check)
tap_run "the check goes on" 1 "$ASSAY" check --resume -o "$WORK/check" --target lab:bug=73 \
	--no-crash --nodes 1 --faults alloc --max-faults 2 --max-states 256 \
	--max-transitions 400 --for 1h --json
tap_like "from where it was" "$WORK/out" '"event":"check".*"states":[1-9]'
tap_is "with what it had found" "$(comm -23 <(echo "$before") <(ids check))" ""
tap_done
