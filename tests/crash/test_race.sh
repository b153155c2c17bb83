#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Power cuts during races: a sound labfs has nothing, bugs that take both a race and a power cut are
# found, brought back and reduced, and neither a race nor a power cut alone finds them.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
. tests/hunt/hunts.sh
export LC_ALL=C
export ASAN_OPTIONS=detect_leaks=0

refuses "threads without a race" "--threads needs --race" --target lab --crash --threads 2
refuses "two rounds of a race" "there is one round" --target lab --crash --race --rounds 2
tap_run "threads without a race, of named workloads" 2 "$ASSAY" crash --target lab --threads 2 \
	labfs/cases/02-append.txt
tap_run "faults in a race" 2 "$ASSAY" crash --target lab --race --fault write:2:eio \
	labfs/cases/02-append.txt

# ---- Sound ----

want=${STATES:-10000} states=0 seed=0 found=0 unjudged=0
count() { grep -Eo "\"($1)\":[0-9]*" "$WORK/out" | awk -F: '{ n += $2 } END { print n + 0 }'; }
while [ "$states" -lt "$want" ] && [ "$found" = 0 ]; do
	seed=$((seed + 1))
	"$ASSAY" gen -p crash --seed $seed -n 3 >"$WORK/w.txt"
	"$ASSAY" crash --target lab --race --no-store --json "$WORK/w.txt" >"$WORK/out" \
		2>"$WORK/err" || found=1
	states=$((states + $(count 'generated|again')))
	unjudged=$((unjudged + $(count unjudged)))
done
if [ "$found" = 0 ]; then
	tap_ok "a sound labfs: nothing in $states crash states, $unjudged of them not judged"
else
	tap_not_ok "a sound labfs" "seed $seed" "$(head -c 2000 "$WORK/out" "$WORK/err")"
fi
if [ $((unjudged * 20)) -lt "$states" ]; then
	tap_ok "nearly all of them are judged"
else
	tap_not_ok "nearly all of them are judged" "$unjudged of $states are not"
fi

# ---- Bugs ----

for bug in 71 72; do
	tap_run "a race alone does not find bug $bug" 0 "$ASSAY" hunt --race \
		--target "lab:bug=$bug" --max-workloads 20 -o "$WORK/race-$bug"
	tap_run "nor do power cuts alone" 0 "$ASSAY" hunt --crash --target "lab:bug=$bug" \
		--max-workloads 20 -o "$WORK/crash-$bug"
	tap_run "power cuts during races find it" 1 "$ASSAY" hunt --crash --race --no-reduce \
		--target "lab:bug=$bug" --max-workloads 100 --max-findings 1 -o "$WORK/both-$bug"
	id=$(ls "$WORK/both-$bug/findings" | head -n 1)
	tap_run "and it is brought back" 1 "$ASSAY" replay -o "$WORK/both-$bug" "$id"
	tap_like "with its seed" "$WORK/both-$bug/findings/$id/finding.json" \
		'crash:view=.*threads=3.*seed='
done
before=$(grep -c . "$WORK/both-72/findings/$id/workload.txt")
tap_run "it is reduced" 1 "$ASSAY" reduce -o "$WORK/both-72" --for 10 "$id"
after=$(grep -c . "$WORK/both-72/findings/$id/workload.reduced.txt")
if [ "$after" -lt "$before" ]; then
	tap_ok "from $before to $after lines"
else
	tap_not_ok "to fewer lines" "$before, then $after"
fi
tap_run "and still brought back" 1 "$ASSAY" replay -o "$WORK/both-72" "$id"
tap_done
