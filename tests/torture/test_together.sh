#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Several processes in one run folder at a time: every finding is kept once and counted as often as
# it came, nobody fails, nothing is left; and a hunt keeps other hunts out, until it is dead.
# TORTURE_SECONDS=N: rounds with other mixtures for about that long.
set -u
cd "$(dirname "$0")/../.."
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
cases=$(realpath labfs/cases)
cd "$WORK" || exit 1
found=$cases/02-append.txt
other=$cases/01-rename-over.txt

count() { sed -E 's/.*"count":([0-9]+).*/\1/' "$1"/findings/"$2"*/finding.json; }
leftovers() { find "$1" -name '.part-*' -o -name '.box-*' -o -name '*.tmp'; }

# round NAME PROCESSES TIMES: half of the runs find one thing, the others another or nothing.
round() {
	local name=$1 n=$2 times=$3 i pids=()
	rm -rf all answers && mkdir answers
	for ((i = 0; i < n; i++)); do
		(
			for ((k = 0; k < times; k++)); do
				t=lab
				case $(((i + k * 3) % 4)) in
				0 | 2) t=lab:bug=2 ;;
				1) t=lab:bug=1 ;;
				esac
				got=0
				"$ASSAY" run --target $t -o all "$found" "$other" \
					>"answers/$i.$k.out" 2>"answers/$i.$k.err" || got=$?
				echo "$t $got" >"answers/$i.$k"
				# What was said is there.
				sed -n 's/.*again: assay replay \([^ ]*\).*/\1/p' \
					"answers/$i.$k.out" |
					while read -r id; do
						[ -f "all/findings/$id/finding.json" ] ||
							echo "$id" >>answers/lost
					done
			done
		) &
		pids+=($!)
	done
	wait "${pids[@]}"
	cat answers/[0-9]*.[0-9] | sort | uniq -c >summary
	local two one clean
	two=$(awk '$2 == "lab:bug=2" && $3 == 1 {print $1}' summary)
	one=$(awk '$2 == "lab:bug=1" && $3 == 1 {print $1}' summary)
	clean=$(awk '$2 == "lab" && $3 == 0 {print $1}' summary)
	tap_is "$name: everybody ends well" "$((${two:-0} + ${one:-0} + ${clean:-0}))" \
		"$((n * times))"
	tap_is "$name: nobody complains" "$(cat answers/*.err | head -n 3)" ""
	tap_is "$name: nothing that was said is lost" "$(cat answers/lost 2>/dev/null)" ""
	tap_is "$name: one finding of the first kind, counted right" \
		"$(count all lab-data-6c4080d6)" "${two:-0}"
	tap_is "$name: all others, too" \
		"$(cat all/findings/*/finding.json | grep -o '"count":[0-9]*' | cut -d: -f2 |
			paste -sd+ | bc)" "$(cat answers/*.out | grep -c '^FOUND')"
	tap_is "$name: nothing is left" "$(leftovers all)" ""
}
command -v bc >/dev/null || bc() { local s; read -r s; echo $((s)); }
round "8 at a time" 8 4
round "3 at a time" 3 4

# A folder that comes and goes: who finds nothing removes what he made while others come.
rm -rf all answers && mkdir answers
for i in 1 2 3 4 5 6; do
	for k in 1 2 3 4 5 6; do
		"$ASSAY" run --target lab -o all "$found" >/dev/null 2>"answers/$i.$k" ||
			echo $? >"answers/bad.$i.$k"
	done &
done
wait
tap_is "a folder that comes and goes: nobody fails" "$(cat answers/* | head -n 3)" ""
tap_is "and in the end it holds nothing of theirs" \
	"$(ls -A all 2>/dev/null | grep -v '^\.assay-run$')" ""

# Crash runs of several processes in one folder, several of them.
printf '%s\n' 'create /a 0644' 'sync' 'rename /a /b' 'sync' >r1.txt
for i in 2 3 4; do cp r1.txt r$i.txt; done
pids=()
for i in 1 2 3; do
	"$ASSAY" crash --target lab:bug=26 --again 0 --view 1 --jobs 2 -o crashed r?.txt \
		>crash.$i 2>&1 &
	pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || echo $?; done >summary
tap_is "crash runs: each finds it" "$(xargs <summary)" "1 1 1"
tap_is "crash runs: counted right" "$(count crashed lab-crash)" 12

# ---- Hunts ----
"$ASSAY" hunt --target lab:bug=2 --for 600s --no-reduce -o hunted >first.out 2>&1 &
first=$!
tap_wait_until 60 test -f hunted/hunt/state.json
for option in "--target lab --max-workloads 1" "--resume --max-workloads 1"; do
	tap_run "a second hunt: ${option%% *}" 2 "$ASSAY" hunt $option -o hunted
	tap_is "is refused in one line" "$(wc -l <err)" 1
	tap_like "which says why" err "another hunt is running there"
done
tap_run "a run in the folder of a hunt" 1 "$ASSAY" run --target lab:bug=2 -o hunted "$found"
kill -KILL $first
wait $first 2>/dev/null
tap_run "after kill -9 the hunt goes on" 1 "$ASSAY" hunt --resume --max-workloads 10 -o hunted
tap_is "what the run found is still there" "$(count hunted lab-data-6c4080d6)" 1
tap_is "nothing is left of the dead one" "$(ls -A hunted/hunt | grep -E '^job-|^reduce|tmp$')" ""

# ---- Guests: each has a folder of its own ----
if "$ASSAY" run --sandbox uml --target lab:bug=2 -o boxed "$found" >out 2>err; [ $? = 1 ]; then
	pids=()
	for i in 1 2; do
		"$ASSAY" run --sandbox uml --target lab:bug=2 -o boxed "$found" "$found" \
			>box.$i 2>&1 &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid" || echo $?; done >summary
	tap_is "guests: each finds it" "$(xargs <summary)" "1 1"
	tap_is "guests: counted right" "$(count boxed lab-data-6c4080d6)" 5
	tap_is "guests: nothing is left" "$(leftovers boxed)" ""
else
	tap_skip "guests" "no sandbox here: $(head -n 1 err | cut -c 1-100)"
fi

end=$((SECONDS + ${TORTURE_SECONDS:-0}))
while [ $SECONDS -lt $end ]; do round "$RANDOM" $((RANDOM % 12 + 2)) $((RANDOM % 6 + 1)); done
tap_done
