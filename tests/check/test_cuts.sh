#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay check`: traces that go on after a power cut and a recovery, and meet another power cut.
set -u
. "$(dirname "$0")/../tap.sh"

count() { grep -o "\"$1\":[0-9]*" | tail -n 1 | cut -d: -f2; } # NAME
few=(--nodes 2 --depth 5 --ops mkdir,sync)

# ---- A sound file system ----

tap_run "a sound labfs that goes on" 0 "$ASSAY" check --target lab "${few[@]}" --no-store --json
tap_like "all of it" "$WORK/out" '"all":true'
tap_like "some trees were recovered to" "$WORK/out" '"recovered":[1-9]'
with=$(count states <"$WORK/out")
tap_run "with two processes" 0 "$ASSAY" check --target lab "${few[@]}" --jobs 2 --no-store --json
tap_is "the same states" "$(count states <"$WORK/out")" "$with"
tap_run "after two power cuts" 0 "$ASSAY" check --target lab --nodes 1 --depth 6 --ops mkdir,sync \
	--crashes 2 --no-store --json
two=$(count states <"$WORK/out")
tap_run "after one" 0 "$ASSAY" check --target lab --nodes 1 --depth 6 --ops mkdir,sync \
	--no-store --json
tap_is "are less" "$(($(count states <"$WORK/out") < two))" 1
tap_run "after none" 0 "$ASSAY" check --target lab "${few[@]}" --crashes 0 --no-store --json
tap_is "no tree is gone on from" "$(count recovered <"$WORK/out")" 0
tap_is "are less still" "$(($(count states <"$WORK/out") < with))" 1
tap_run "without power cuts" 0 "$ASSAY" check --target lab "${few[@]}" --no-crash --no-store --json
tap_is "there is nothing to recover" "$(count recovered <"$WORK/out")" 0

# ---- A mistake that shows only then ----

tap_run "a journal that is not marked after a replay" 1 "$ASSAY" check --target lab:bug=67 \
	"${few[@]}" --max-findings 1 -o "$WORK/f"
tap_like "is found in the second round" "$WORK/out" 'in round 2, power cut'
tap_is "all was confirmed" "$(grep -c 'not confirmed' "$WORK/out")" 0
id=$(ls "$WORK/f/findings" | head -n 1)
tap_like "its workload has the power cut" "$WORK/f/findings/$id/workload.txt" '^crash$'
tap_like "its options name it" "$WORK/f/findings/$id/finding.json" 'rounds=2,from=1:[0-9]+:'
tap_run "replay" 1 "$ASSAY" replay -o "$WORK/f" "$id"
tap_like "comes back" "$WORK/out" ': reproduced$'
tap_run "reduce" 1 "$ASSAY" reduce -o "$WORK/f" "$id"
tap_like "is shorter" "$WORK/out" 'from 5 to [2-4] operations'
tap_run "it is not found without going on" 0 "$ASSAY" check --target lab:bug=67 "${few[@]}" \
	--crashes 0 --no-store

# ---- Killed, and gone on ----

kill_soon() { # FOLDER OPTION...: when the first power cut is a step
	local folder=$1 pid
	shift
	"$ASSAY" check --target lab "$@" -o "$folder" >/dev/null 2>&1 &
	pid=$!
	until grep -aq 'crash # from' "$folder/check/states" 2>/dev/null ||
		! kill -0 $pid 2>/dev/null; do :; done
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
}
kill_soon "$WORK/k" "${few[@]}"
tap_run "after SIGKILL" 0 "$ASSAY" check --target lab "${few[@]}" -o "$WORK/k" --resume --json
tap_is "all states are found" "$(count states <"$WORK/out")" "$with"
tap_run "another number of power cuts" 2 "$ASSAY" check --target lab "${few[@]}" --crashes 0 \
	-o "$WORK/k" --resume
tap_like "is refused" "$WORK/err" 'made with other settings'
# So many states that it is not at its end when it is killed.
kill_soon "$WORK/d" --nodes 3 --ops mkdir,create,rename,sync --max-states 65536
for bad in 'from=0:' 'from=1x' 'frox=1:' 'from=1:9'; do
	cp -r "$WORK/d" "$WORK/bad"
	sed -i "s/crash # from=1:/crash # $bad/" "$WORK/bad/check/states"
	tap_run "a step that names nothing ($bad)" 2 "$ASSAY" check --target lab \
		--nodes 3 --ops mkdir,create,rename,sync --max-states 65536 -o "$WORK/bad" --resume
	tap_is "is said in a line" "$(wc -l <"$WORK/err")" 1
	rm -r "$WORK/bad"
done

tap_done
