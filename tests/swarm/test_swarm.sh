#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay swarm` on this machine: plans, rounds, kills, cells that fail, what is refused.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

cat >"$WORK/file" <<'FILE'
campaign small
time 4s
rounds 2
cells check --target lab --nodes 1 --depth 2 --no-crash
cells hunt --target lab:bug={bug} --no-reduce
    bug 2 7
FILE

# ---- plan ----

tap_run "a plan" 0 "$ASSAY" swarm plan "$WORK/file"
tap_like "tells what it costs" "$WORK/out" '^small: 3 cells, 2 rounds, 12 s in all; with --jobs '
tap_is "and runs nothing" "$(ls "$WORK" | sort | tr '\n' ' ')" "err file out "
tap_run "a plan for machines" 0 "$ASSAY" swarm plan "$WORK/file" --json
tap_is "has a line for each cell" "$(grep -c '"event":"cell"' "$WORK/out")" 3
printf 'cells hunt -t lab -s {a}{b}\n a 1..400\n b 1..250\n' >"$WORK/large"
tap_run "a hundred thousand cells" 0 "$ASSAY" swarm plan "$WORK/large"
tap_like "are planned" "$WORK/out" '^campaign: 1?[0-9]{5} cells'

# ---- run ----

tap_run "a campaign" 1 "$ASSAY" swarm run "$WORK/file" -o "$WORK/c" -j 2
tap_like "says what was found" "$WORK/out" '^[0-9]+ kinds of findings in 2 of 3 cells$'
tap_run "status" 0 "$ASSAY" swarm status "$WORK/c"
tap_like "knows the cell that is complete" "$WORK/out" ' complete .* check --target lab '
tap_like "and those that found something" "$WORK/out" ' goes on .* [1-9][0-9]*  hunt '
cell=$(ls "$WORK/c/cells" | head -n 1)
for cell in "$WORK"/c/cells/*; do
	[ -d "$cell/findings" ] && break
done
id=$(ls "$cell/findings" | head -n 1)
tap_run "a finding of a cell" 1 "$ASSAY" replay -o "$cell" "$id"
lines=$(cat "$WORK"/c/swarm/*.jsonl | wc -l)
tap_run "the same campaign again" 1 "$ASSAY" swarm run "$WORK/file" -o "$WORK/c" -j 2
tap_is "runs nothing twice" "$(cat "$WORK"/c/swarm/*.jsonl | wc -l)" "$lines"

# ---- kills ----

sed 's/^time .*/time 6s/' "$WORK/file" >"$WORK/file6"
"$ASSAY" swarm run "$WORK/file6" -o "$WORK/k" -j 2 >/dev/null 2>&1 &
leader=$!
has_lines() { cat "$WORK"/k/swarm/*.jsonl 2>/dev/null | grep -q .; }
tap_wait_until 60 has_lines
kill -9 "$leader"
wait "$leader" 2>/dev/null
printf '{"version":1,"round":1,"pla' >>"$(ls "$WORK"/k/swarm/*.jsonl | head -n 1)"
nobody_left() { ! pgrep -f -- "-o $WORK/k/cells" >/dev/null; }
tap_wait_until 30 nobody_left
tap_run "goes on after a kill, and after half a line" 1 "$ASSAY" swarm run "$WORK/file6" \
	-o "$WORK/k" -j 2
tap_is "every cell had its slices" \
	"$("$ASSAY" swarm status "$WORK/k" --json | grep -c '"slices":0')" 0
tap_is "no line is broken" "$(cat "$WORK"/k/swarm/*.jsonl | grep -vc '^{.*}$')" 0

"$ASSAY" swarm run "$WORK/file6" -o "$WORK/t" -j 1 >/dev/null 2>&1 &
leader=$!
is_running() { pgrep -f -- "-o $WORK/t/cells" >/dev/null; }
tap_wait_until 60 is_running
tap_run "two at once" 2 "$ASSAY" swarm run "$WORK/file6" -o "$WORK/t"
tap_like "are refused" "$WORK/err" 'another process runs this campaign'
kill -TERM "$leader"
wait "$leader"
tap_is "SIGTERM ends it" $? 143
tap_is "and its cells" "$(pgrep -f -- "-o $WORK/t/cells" | wc -l)" 0

# ---- cells that fail ----

printf 'campaign fails\ntime 1s\ncells run %s\ncells check -t lab --nodes 1 --depth 1 --no-crash\n' \
	"$WORK/missing.txt" >"$WORK/fails"
tap_run "a cell that fails" 2 "$ASSAY" swarm run "$WORK/fails" -o "$WORK/f" -j 1
tap_like "is tried three times and given up" "$WORK/out" '1 cell failed and was given up'
tap_is "three times" "$(cat "$WORK"/f/swarm/*.jsonl | grep -c '"status":2')" 3
tap_run "its status" 0 "$ASSAY" swarm status "$WORK/f"
tap_like "says why" "$WORK/out" 'missing.txt'
tap_like "the other one is complete" "$WORK/out" ' complete '

# ---- what is refused ----

printf 'cells hunt --target plugin:./x.so\n' >"$WORK/plugin"
tap_run "a plugin that the file names" 2 "$ASSAY" swarm run "$WORK/plugin" -o "$WORK/p"
tap_like "needs trust" "$WORK/err" 'would load and run the plugin ./x.so.*--trust'
tap_is "and nothing was made" "$(ls "$WORK" | grep -cx p)" 0
sed 's/small/other/' "$WORK/file" >"$WORK/other"
tap_run "the folder of another campaign" 2 "$ASSAY" swarm run "$WORK/other" -o "$WORK/c"
tap_like "is refused" "$WORK/err" "is of the campaign 'small', not of 'other'"
tap_run "a folder of something else" 2 "$ASSAY" swarm run "$WORK/file" -o /usr
tap_run "no file" 2 "$ASSAY" swarm run "$WORK/nothing"
tap_run "no folder" 2 "$ASSAY" swarm status "$WORK/nothing"
tap_run "no verb" 2 "$ASSAY" swarm frob x
tap_run "no operand" 2 "$ASSAY" swarm plan
tap_run "no such cell" 2 "$ASSAY" swarm cell "$WORK/file" c-0 -o "$WORK/z"
head -c 3000 /dev/urandom >"$WORK/garbage"
tap_run "garbage" 2 "$ASSAY" swarm plan "$WORK/garbage"
tap_like "is told by line and column" "$WORK/err" 'garbage:1:[0-9]+: '
PATH=/nonexistent tap_run "no Slurm" 3 "$(realpath "$ASSAY")" swarm run "$WORK/file" --slurm -o "$WORK/s"

tap_done
