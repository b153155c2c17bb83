#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The campaign of the Dogfood paper, scaled from hours to a minute: the file that is shipped runs,
# on every file system that it names, and its table is made of what was measured. On a busy machine
# a cell may not come to its first workload in two seconds; that is no failure of the cell.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

tap_run "the plan" 0 "$ASSAY" swarm plan campaigns/dogfood.campaign --scale 1/300
tap_like "is as long as said" "$WORK/out" '^dogfood: 23 cells, 1 round, 46 s in all'
"$ASSAY" run --target ext4 --no-store examples/smoke.txt >"$WORK/out" 2>"$WORK/err"
if [ $? = 3 ]; then
	tap_skip "the campaign of the paper" "$(head -n 1 "$WORK/err")"
	tap_done
	exit
fi
"$ASSAY" swarm run campaigns/dogfood.campaign --local -j 2 --scale 1/300 -o "$WORK/d" \
	>"$WORK/out" 2>"$WORK/err"
status=$?
tap_is "the campaign ends, with or without findings" "$((status <= 1))" 1
"$ASSAY" swarm status "$WORK/d" --json >"$WORK/status"
tap_is "all cells are there" "$(grep -c '"event":"cell"' "$WORK/status")" 23
tap_is "every one had its slice" "$(grep -c '"slices":0' "$WORK/status")" 0
tap_is "none was given up" "$(grep -c '"state":"given up"' "$WORK/status")" 0
tap_is "kernels were tested" "$(grep -qv '"ops":0,' "$WORK/status" && echo yes)" yes
tap_run "going on" "$status" "$ASSAY" swarm run campaigns/dogfood.campaign --local -j 2 \
	--scale 1/300 -o "$WORK/d"
tap_is "runs nothing twice" "$(cat "$WORK"/d/swarm/*.jsonl | wc -l)" 23
tap_run "merge" 0 "$ASSAY" swarm merge "$WORK/d"
tap_run "the table" 0 "$ASSAY" swarm table "$WORK/d"
for type in ext4 btrfs f2fs reiserfs gfs2 jfs; do
	tap_like "has $type" "$WORK/out" "^\| $type \|.*\| [0-9]"
done
tap_like "with what the paper says" "$WORK/out" '^\| f2fs \|.* 456 '
tap_like "and how it was run" "$WORK/out" '23 cells, 2 s each .*; load [0-9.]+'
tap_done
