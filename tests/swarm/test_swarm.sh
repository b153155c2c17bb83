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

# ---- progress ----

tap_like "the folder has its progress" "$WORK/c/progress.json" \
	'"command":"swarm".*"target":"small"'
tap_run "watch" 1 "$ASSAY" watch "$WORK/c"
tap_like "shows it" "$WORK/out" '^assay swarm small: .*; states [1-9]'
if command -v script >/dev/null; then
	script -qec "stty cols 100 rows 30; $ASSAY swarm run $WORK/file -o $WORK/tty -j 2" \
		/dev/null </dev/null >"$WORK/screen" 2>&1
	tap_like "a terminal shows the block" "$WORK/screen" 'assay swarm  small  2 jobs .* % done'
else
	tap_skip "a terminal shows the block" "there is no script(1)"
fi
tap_run "no progress, no summary" 1 "$ASSAY" swarm run "$WORK/file" -o "$WORK/c" -q
tap_is "are printed" "$(cat "$WORK/out" "$WORK/err")" ""

# ---- scales, and work in place of time ----

tap_run "a factor" 0 "$ASSAY" swarm plan "$WORK/file" --scale 1/4
tap_like "makes all of it shorter" "$WORK/out" '^small: 3 cells, 1 round, 3 s in all'
tap_run "a factor that is none" 2 "$ASSAY" swarm plan "$WORK/file" --scale 1/0
tap_run "a factor with more after it" 2 "$ASSAY" swarm plan "$WORK/file" --scale '2
cells'
tap_run "a factor for what is there" 2 "$ASSAY" swarm status "$WORK/c" --scale 2
sed '/^cells check/d; s/^time .*/work 6/' "$WORK/file" >"$WORK/counted"
tap_run "work in place of time" 1 "$ASSAY" swarm run "$WORK/counted" -o "$WORK/w" -j 2 --static
tap_is "each cell did its work in each round" \
	"$(cat "$WORK"/w/swarm/*.jsonl | grep -o '"round":[12],\|"work":[0-9]*' | tr -d '\n')" \
	'"round":1,"work":3"round":2,"work":3"round":1,"work":3"round":2,"work":3'
tap_run "its status" 0 "$ASSAY" swarm status "$WORK/w"
tap_like "counts it" "$WORK/out" '12 workloads or transitions of 12 workloads or transitions used'

# ---- tables ----

cat >"$WORK/paper" <<'FILE'
campaign paper
work 4
cells hunt --target lab:bug={bug} --no-reduce --seed {seed}
    bug 2 5000
    seed 1 2
    exclude bug=5000
    coverage
    table "Table 7" workloads kinds flags
    rows bug
    then bug=2 "seven | bugs"
FILE
tap_run "a campaign with a table" 1 "$ASSAY" swarm run "$WORK/paper" -o "$WORK/p7"
tap_run "prints it" 0 "$ASSAY" swarm table "$WORK/p7"
tap_like "with the paper's number, and ours" "$WORK/out" \
	'^\| 2 \| seven \\| bugs \| 8 \| [1-9][0-9]* \| [0-9]+ of 20 \|$'
tap_run "a campaign without one" 2 "$ASSAY" swarm table "$WORK/c"
sed 's/ kinds flags/ kinds frob/' "$WORK/paper" >"$WORK/frob"
tap_run "a column that does not exist" 2 "$ASSAY" swarm plan "$WORK/frob"
tap_like "is refused by line" "$WORK/err" "frob:8: there is no column 'frob'"

# ---- merge ----

tap_run "merge" 0 "$ASSAY" swarm merge "$WORK/c"
tap_like "joins the cells" "$WORK/out" \
	'merged: [1-9][0-9]* findings? of [1-3] cells; .*report.html$'
tap_like "the page has the matrix" "$WORK/c/report.html" 'id="campaign-data">.*"axes":\["bug"\]'
cell=$(basename "$cell")
tap_is "a cell with findings has a page of its own" "$(ls "$WORK/c/cells/$cell/report.html")" \
	"$WORK/c/cells/$cell/report.html"
tap_like "which the matrix opens" "$WORK/c/report.html" "\"cell\":\"$cell\"[^}]*\"page\":true"
n=$(ls "$WORK/c/merged/findings" | wc -l)
tap_run "merge again" 0 "$ASSAY" swarm merge "$WORK/c"
tap_is "counts nothing twice" "$(ls "$WORK/c/merged/findings" | wc -l)" "$n"
tap_run "a finding of the whole" 1 "$ASSAY" replay -o "$WORK/c/merged" "$id"

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

sed 's/^time .*/time 10m/' "$WORK/file" >"$WORK/file600"
"$ASSAY" swarm run "$WORK/file600" -o "$WORK/t" -j 1 >/dev/null 2>&1 &
leader=$!
is_running() { pgrep -f -- "-o $WORK/t/cells" >/dev/null; }
tap_wait_until 60 is_running
tap_run "two at once" 2 "$ASSAY" swarm run "$WORK/file600" -o "$WORK/t"
tap_like "are refused" "$WORK/err" 'another process runs this campaign'
kill -TERM "$leader"
wait "$leader"
tap_is "SIGTERM ends it" $? 143
tap_is "and its cells" "$(pgrep -f -- "-o $WORK/t/cells" | wc -l)" 0

# ---- cells that fail ----

{
	printf 'campaign fails\ntime 1s\ncells run %s\n' "$WORK/missing.txt"
	echo 'cells check -t lab --nodes 1 --depth 1 --no-crash'
} >"$WORK/fails"
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
PATH=/nonexistent tap_run "no Slurm" 3 "$(realpath "$ASSAY")" swarm run "$WORK/file" --slurm \
	-o "$WORK/s"

tap_done
