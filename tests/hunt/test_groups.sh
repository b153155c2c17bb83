#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Groups by likely cause, on seeded bugs of labfs: one bug gives at most two groups, and no group
# comes from two bugs. `scripts/groups.sh` counts all bugs from three seeds (docs/SCORE.md).
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

# A list of signatures in the old form is refused, and one in the new form is read.
printf 'data: read: byte at offset # is #, model says #\n' >"$WORK/known"
tap_run "a known list in the old form is refused" 2 "$ASSAY" run --target lab --no-store \
	--known "$WORK/known" labfs/cases/01-rename-over.txt
"$ASSAY" run --json --target lab:bug=7 --no-store labfs/cases/07-link-count.txt |
	sed -n 's/.*"signature":"\([^"]*\)".*/\1/p' | head -n 1 >"$WORK/known"
tap_like "a signature has its side, its object and its operation" "$WORK/known" \
	'^state: link count of a file; after hardlink$'
"$ASSAY" run --json --target lab:bug=7 --no-store --known "$WORK/known" \
	labfs/cases/07-link-count.txt >"$WORK/out"
tap_like "a known list in the new form is read" "$WORK/out" '"event":"again"'

# One bug, many kinds: findings have the causes that the summary shows.
"$ASSAY" hunt --crash --target lab:bug=35 --seed 5 --max-workloads 12 --reduce-for 3 \
	--jobs 1 --json -o "$WORK/run" >"$WORK/out"
kinds=$(grep -c '"event":"signature"' "$WORK/out")
grep '"event":"signature"' "$WORK/out" | grep -o '"group":"[^"]*"' | sort -u >"$WORK/said"
cat "$WORK"/run/findings/*/finding.json | grep -o '"group":"[^"]*"' | sort -u >"$WORK/kept"
tap_is "several kinds" "$((kinds > 2))" 1
tap_is "have the causes of the summary" "$(cat "$WORK/kept")" "$(cat "$WORK/said")"
tap_is "which are fewer" "$(($(wc -l <"$WORK/kept") < kinds))" 1

ASSAY=$ASSAY SEEDS=3 WORKLOADS=32 REDUCE=4 scripts/groups.sh 7 9 10 13 14 >"$WORK/table" 2>&1
tap_is "one bug, one or two groups; one group, one bug" "$?" 0
tap_like "every bug was met" "$WORK/table" '^5 bugs, 0 without a finding, 0 with more than 2 groups'
tap_done
