#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hunt --faults: in each workload calls fail. A sound file system passes, with and without power
# cuts. What is found names its faults, comes again with them, and keeps them when it is reduced.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

FLASHFS=${FLASHFS:-$(dirname "$ASSAY")/plugins/flashfs.so}

# hunt NAME STATUS TARGET OPTIONS...
hunt() {
	local name=$1 status=$2 target=$3
	shift 3
	rm -rf "$WORK/out.d"
	tap_run "$name" "$status" "$ASSAY" hunt --faults --target "$target" -o "$WORK/out.d" "$@"
}

hunt "labfs passes" 0 lab --max-workloads 64
tap_like "power cuts were tried after what failed" "$WORK/out" 'crash states looked at'
hunt "labfs passes with power cuts" 0 lab --crash --max-workloads 12
hunt "flashfs passes" 0 "plugin:$FLASHFS" --max-workloads 32
hunt "a race has no faults" 2 lab --scenario race --max-workloads 1
tap_like "that is said" "$WORK/err" 'cannot be combined'

# An fsync that succeeds after one that failed; what was synced before; what is not undone.
for bug in 128 129 21 65; do
	hunt "bug $bug is found" 1 "lab:bug=$bug" --max-workloads 256 --max-findings 1 --no-reduce
done

# The same again, and what it keeps.
hunt "bug 129 once more" 1 lab:bug=129 --max-workloads 64 --reduce-for 4
cp "$WORK/out" "$WORK/first"
signs() { grep -o 'lab-[a-z]*-[0-9a-f]\{8\}' "$1" | sort -u; }
hunt "and again" 1 lab:bug=129 --max-workloads 64 --reduce-for 4
tap_is "the same seed finds the same" "$(signs "$WORK/out")" "$(signs "$WORK/first")"
for dir in "$WORK"/out.d/findings/*/; do
	id=$(basename "$dir")
	tap_like "$id names what failed" "$dir/finding.json" ' fault=[a-z]*:[0-9]'
	tap_like "$id was reduced" "$dir/finding.json" '"reduced": *{'
	tap_run "$id replays" 1 "$ASSAY" replay -o "$WORK/out.d" "$id"
	tap_like "$id: the fault is shown" "$WORK/out" 'failed: [a-z]*:[0-9]'
	tap_run "$id is not there in a sound labfs" 0 "$ASSAY" replay -o "$WORK/out.d" \
		--target lab "$id"
done
hunt "a silent failure is found" 1 lab:bug=48 --max-workloads 64 --max-findings 1 --reduce-for 10
id=$(grep -o 'lab-silent-[0-9a-f]*' "$WORK/out" | head -n 1)
ops=$(grep -c '^[a-z$]' "$WORK/out.d/findings/$id/workload.reduced.txt")
tap_is "reduced to a few operations" "$((ops <= 6))" 1
tap_run "the short one replays, with the fault at another call" 1 "$ASSAY" replay \
	-o "$WORK/out.d" "$id"
tap_done
