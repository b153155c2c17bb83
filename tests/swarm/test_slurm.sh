#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay swarm run --slurm` on a real Slurm of one node, which the test starts: an array of jobs,
# rounds, a node that vanishes, a leader that is killed, a folder that is not shared.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
. tests/lib/slurm.sh

if ! slurm_start; then
	tap_skip "campaigns by Slurm" "$SLURM_WHY"
	tap_done
	exit
fi

cat >"$WORK/file" <<'FILE'
campaign small
time 2s
rounds 2
memory 64M
cells check --target lab --nodes 1 --depth 2 --no-crash
cells hunt --target lab:bug={bug} --seed {seed} --no-reduce
    bug 2 7
    seed 1 2
FILE
# In its slice, each hunt has to come to a finding, and the check to its end: that takes part of a
# second of a processor.
slow=$((TAP_SLOWER * $(tap_slowness)))
sed -i "s/^time 2s/time $((4 * slow))s/" "$WORK/file"

tap_run "a campaign by Slurm" 1 "$ASSAY" swarm run "$WORK/file" --slurm -o "$WORK/c"
tap_like "says what was found" "$WORK/out" '^[0-9]+ kinds of findings in 4 of 5 cells$'
"$ASSAY" swarm status "$WORK/c" --json >"$WORK/status"
tap_is "every cell had its slice" "$(grep -c '"slices":0' "$WORK/status")" 0
tap_is "and none has failed" "$(grep -c '"status":[2-9]' "$WORK/status")" 0
tap_like "the check is complete" "$WORK/status" '"state":"complete"'
tap_like "a job has merged them" "$WORK/c/report.html" 'id="campaign-data"'
before=$(cat "$WORK"/c/swarm/*.jsonl | wc -l)
tap_run "the same again" 1 "$ASSAY" swarm run "$WORK/file" --slurm -o "$WORK/c"
tap_is "runs nothing twice" "$(cat "$WORK"/c/swarm/*.jsonl | wc -l)" "$before"

# ---- Work in place of time ----

sed '/^cells check/d; s/^time .*/work 6/' "$WORK/file" >"$WORK/counted"
tap_run "work in place of time" 1 "$ASSAY" swarm run "$WORK/counted" --slurm -o "$WORK/w" --static
tap_is "each cell did its work in each round" \
	"$(cat "$WORK"/w/swarm/*.jsonl | grep -o '"round":[12],"\|"work":[0-9]*' | tr -d '\n')" \
	"$(printf '"round":1,""work":3"round":2,""work":3%.0s' 1 2 3 4)"

# ---- A node that vanishes ----

sed "s/^time .*/time $((6 * slow))s/; s/^rounds .*/rounds 1/" "$WORK/file" >"$WORK/file2"
"$ASSAY" swarm run "$WORK/file2" --slurm -o "$WORK/d" >"$WORK/out2" 2>&1 &
leader=$!
runs() { squeue -h -t R -o %i | grep -q .; }
tap_wait_until $((60 * slow)) runs
kill -9 "$(cat "$SLURM_DIR/slurmd.pid")"
pgrep -f "swarm cell $WORK/d/" | xargs -r kill -9
slurmd_start
tap_wait_until $((120 * slow)) slurm_is_gone "$leader"
wait "$leader"
tap_is "goes on after the node is back" $? 1
"$ASSAY" swarm status "$WORK/d" --json >"$WORK/status"
tap_is "no cell is left out" "$(grep -c '"slices":0' "$WORK/status")" 0

# ---- A leader that is killed ----

"$ASSAY" swarm run "$WORK/file2" --slurm -o "$WORK/e" >/dev/null 2>&1 &
leader=$!
tap_wait_until $((60 * slow)) runs
kill -9 "$leader"
wait "$leader" 2>/dev/null
tap_run "another leader goes on" 1 "$ASSAY" swarm run "$WORK/file2" --slurm -o "$WORK/e"
"$ASSAY" swarm status "$WORK/e" --json >"$WORK/status"
tap_is "and nothing is run twice" "$(grep -cv '"slices":1,' "$WORK/status")" 0

# ---- Without a shared folder ----

tap_run "archives are brought" 1 "$ASSAY" swarm run "$WORK/file2" --slurm -o "$WORK/f" \
	--bring "cp {} $WORK/f/inbox/"
tap_is "all of them" "$(cat "$WORK"/f/swarm/*.jsonl | wc -l)" 5
tap_is "and taken" "$(ls "$WORK/f/inbox" | wc -l)" 0
"$ASSAY" swarm status "$WORK/f" >"$WORK/out"
tap_like "with their findings" "$WORK/out" ' [1-9][0-9]* different kinds of findings$'

tap_done
