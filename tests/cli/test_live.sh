#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Live progress: in a real terminal (tmux) of 80 and 120 columns, in a pipe, as JSON, and from
# another terminal (assay watch).
. "$(dirname "$0")/../tap.sh"
assay=$(realpath "$ASSAY")
run=$WORK/run
export TERM=${TERM:-xterm}
[ "$TERM" != dumb ] || TERM=xterm

# ---- In a pipe ----------------------------------------------------------------------------------

"$assay" check -t lab --for 2s -o "$run" >"$WORK/plain" 2>"$WORK/plain.err"
tap_is "no sequences in a pipe" "$(cat "$WORK/plain" "$WORK/plain.err" | grep -c $'\033')" 0
tap_like "the run has kept its progress" "$run/progress.json" '"state":"ended".*"states":[0-9]+'
tap_like "and its counters over time" "$run/history.csv" '^wall_us,.*states,.*memory_bytes'
tap_is "in rows of numbers" "$(tail -n +2 "$run/history.csv" | grep -cvE '^[0-9]+(,[0-9]*)+$')" 0
tap_like "and a page" "$run/report.html" 'id="data"'
"$assay" check -t lab --for 2s -o "$WORK/json" --json --no-report >"$WORK/out.json" 2>&1
tap_like "JSON lines of progress" "$WORK/out.json" \
	'^\{"event":"progress","command":"check","target":"lab.*"state":"running","states":[0-9]+'
tap_is "nothing but JSON" "$(grep -cv '^{.*}$' "$WORK/out.json")" 0
tap_is "--no-report" "$(ls "$WORK/json" | grep -c report.html)" 0
"$assay" check -t lab --for 1s --no-store --quiet >"$WORK/out" 2>&1
tap_is "--quiet prints nothing where nothing is found" "$(wc -c <"$WORK/out")" 0
"$assay" run -t lab:bug=3 labfs/cases/03-size-seen.txt --no-store -q >"$WORK/out" 2>&1
tap_like "--quiet prints findings" "$WORK/out" '^lab-'
tap_is "and no summary" "$(grep -cE 'workload|FOUND' "$WORK/out")" 0
"$assay" run -t lab labfs/cases/03-size-seen.txt -o "$WORK/clean" >/dev/null 2>&1
tap_is "a run that found nothing leaves no folder" "$(ls -d "$WORK/clean" 2>/dev/null)" ""

# ---- In a terminal ------------------------------------------------------------------------------

if ! command -v tmux >/dev/null; then
	tap_skip "progress in a terminal" "tmux is not installed"
	tap_done
	exit 0
fi
# The path of its socket must be short.
socket=$(mktemp -u "/tmp/assay-live-XXXXXX")
echo 'set -g history-limit 50000' >"$WORK/tmux.conf"
mux() { tmux -S "$socket" -f "$WORK/tmux.conf" "$@"; }
trap 'mux kill-server 2>/dev/null; rm -rf "$socket" "$WORK"' EXIT
# terminal COLUMNS COMMAND: a shell runs it there, and then stays.
terminal() {
	mux kill-server 2>/dev/null
	tap_wait_until 10 eval '! mux ls'
	mux new-session -d -x "$1" -y 40 \
		"env TERM=xterm sh -c '$2; echo STATUS=\$?; exec sleep 600'"
}
screen() { mux capture-pane -p -S -; }
shows() { screen | grep -Eq -- "$1"; }
widest() { screen | awk '{ n = length($0); if (n > most) most = n } END { print most + 0 }'; }
leader() { sed -n 's/.*"pid":\([0-9]*\),.*/\1/p' "$1/progress.json"; }

for columns in 80 120; do
	rm -rf "$WORK/t"
	terminal $columns "$assay hunt -t lab:bug=3 --no-reduce --for 300s -o $WORK/t"
	if tap_wait_until 60 shows '^  findings [1-9][0-9]*: .* [1-9]'; then
		tap_ok "$columns columns: it finds something"
	else
		tap_not_ok "$columns columns: it finds something" "$(screen | tail -n 30)"
	fi
	tap_wait_until 60 shows '^  workloads [1-9].*operations [0-9,]+, [0-9,]+/s'
	screen >"$WORK/screen"
	tap_like "$columns columns: what runs, and the time left" "$WORK/screen" \
		'^assay hunt  lab:bug=3.* [0-9:]+, [0-9:]+ left$'
	tap_like "$columns columns: findings by kind" \
		"$WORK/screen" '^  findings [0-9]+: [a-z]+ [0-9]+'
	tap_like "$columns columns: the newest finding" "$WORK/screen" '^  newest .* ago  lab-'
	tap_like "$columns columns: a finding stands above it" \
		"$WORK/screen" '^lab-[a-z]+-[0-9a-f]{8}  '
	tap_is "$columns columns: one block" "$(grep -c '^assay hunt' "$WORK/screen")" 1
	tap_is "$columns columns: the block fits" \
		"$(grep -cE '^(assay hunt|  newest).{'$columns'}' \
		"$WORK/screen")" 0
	kill -INT "$(leader "$WORK/t")"
	tap_wait_until 60 shows '^STATUS='
	screen >"$WORK/screen"
	tap_is "$columns columns: after SIGINT the block is gone" \
		"$(grep -cE '^assay hunt  |^  newest' \
		"$WORK/screen")" 0
	tap_like "$columns columns: and the findings are there" \
		"$WORK/screen" '^lab-[a-z]+-[0-9a-f]{8}  '
done

# Every finding that was announced is still on the screen, whole.
announced=$(ls "$WORK/t/findings" | wc -l)
tap_is "no finding was overwritten" \
	"$(screen | grep -cE '^lab-[a-z]+-[0-9a-f]{8}  lab:bug=3  hunt-')" "$announced"

rm -rf "$WORK/t"
terminal 80 "$assay check -t lab --for 300s -o $WORK/t"
tap_wait_until 60 shows '^  states [0-9,]+.* to go [0-9]'
screen >"$WORK/screen"
tap_like "a check shows states and what is to go" "$WORK/screen" '^  states [0-9,]+.* to go [0-9]'
tap_is "in one block, at the top of the screen" "$(grep -c '^assay check' "$WORK/screen")" 1

# The other commands draw the same block; each has long enough to do for it.
for ((i = 0; i < 4000; i++)); do cat labfs/cases/02-append.txt; done >"$WORK/long.txt"
"$assay" hunt -t lab:bug=3 --seed 1 --max-workloads 40 --no-reduce -o "$WORK/found" >/dev/null 2>&1
id=$(grep -c . "$WORK"/found/findings/*/workload.txt | sort -t: -k2n | tail -n 1 |
	sed 's,/workload.txt.*,,; s,.*/,,')
while IFS='|' read -r wants command; do
	rm -rf "$WORK/t"
	terminal 80 "$assay ${command//WORK/$WORK}"
	name=${command%% *}
	if tap_wait_until 60 shows "^assay $name  .*[0-9]:[0-9]"; then
		tap_ok "$name draws the block"
	else
		tap_not_ok "$name draws the block" "$(screen | tail -n 30)"
	fi
	if tap_wait_until 60 shows "^  .*$wants"; then
		tap_ok "$name: $wants"
	else
		tap_not_ok "$name: $wants" "$(screen | tail -n 30)"
	fi
done <<-END
	findings 0|run -t lab --no-store WORK/long.txt
	crash states [0-9]|crash -t lab --no-store labfs/cases/17-deep.txt
	disks [0-9]|fsck labfs-fsck --no-store --for 300s
	operations left [0-9]|reduce -o WORK/found $id --runs 1000
END
# A race has a scenario without parameters.
rm -rf "$WORK/t"
terminal 80 "$assay hunt --race -t lab --for 300s -o $WORK/t"
tap_wait_until 60 shows '^  race'
tap_like "a race" <(screen) '^  race$'

# ---- Narrower, wider ----------------------------------------------------------------------------

rm -rf "$WORK/t"
# As on a terminal that was used before: a screen that is nearly empty is moved by tmux itself.
terminal 120 "seq 25; echo BEFORE; $assay check -t lab --for 300s -o $WORK/t"
tap_wait_until 60 shows '^  .*crash states [0-9]'
mux resize-window -x 80 -y 40
tap_wait_until 20 eval '[ $(widest) -le 80 ] && shows "^assay check"'
sleep 1.2
screen >"$WORK/screen"
tap_is "narrower: one block" "$(grep -c '^assay check' "$WORK/screen")" 1
tap_like "narrower: what stood above is there" "$WORK/screen" '^BEFORE$'
mux resize-window -x 150 -y 40
sleep 1.2
tap_is "wider: one block" "$(screen | grep -c '^assay check')" 1

# ---- From another terminal, and the end by SIGKILL ----------------------------------------------

tap_run "watch --once" 0 "$assay" watch "$WORK/t" --once
tap_like "tells what runs" "$WORK/out" '^assay check lab: .*crash states [0-9,]+'
tap_run "watch --json" 0 "$assay" watch "$WORK/t" --once --json
tap_like "as JSON" "$WORK/out" '"state":"running".*"crash_states":[0-9]+'
"$assay" watch "$WORK/t" >"$WORK/watched" 2>&1 &
watcher=$!
tap_wait_until 30 grep -q 'crash states' "$WORK/watched"
kill -KILL "$(leader "$WORK/t")"
status=0
wait $watcher || status=$?
tap_is "watch ends when the run dies" "$status" 2
tap_like "and says how" "$WORK/watched" '^the run died after [0-9:]+.*(SIGKILL|did not say why)'
tap_wait_until 30 shows '^STATUS=137'
screen >"$WORK/screen"
tap_is "the block of a killed program is gone" "$(grep -c '^assay check' "$WORK/screen")" 0
tap_like "what stood above is there" "$WORK/screen" '^BEFORE$'
tap_like "its file says that it died" "$WORK/t/progress.json" '"state":"died"'

# A watcher in a terminal draws the same block.
rm -rf "$WORK/t"
"$assay" check -t lab --for 300s -o "$WORK/t" >/dev/null 2>&1 &
checker=$!
tap_wait_until 60 test -s "$WORK/t/progress.json"
terminal 100 "$assay watch $WORK/t"
tap_wait_until 60 shows '^  states [0-9,]+'
tap_like "watch draws the block" <(screen) '^assay check  lab'
kill -TERM $checker
wait $checker
tap_wait_until 60 shows '^STATUS=0'
tap_like "and says that it was stopped" <(screen) '^the run stopped after .*by SIGTERM'
tap_is "without a rest of the block" "$(screen | grep -c '^assay check  lab')" 0

# ---- Terminals that want less -------------------------------------------------------------------

terminal 80 "NO_COLOR=1 $assay check -t lab:bug=3 --for 3s --no-store"
tap_wait_until 60 shows '^STATUS='
tap_is "NO_COLOR" "$(mux capture-pane -p -e -S -200 | grep -c $'\033\\[[0-9;]*[1-9]m')" 0
terminal 80 "TERM=dumb $assay check -t lab --for 2s --no-store"
tap_wait_until 60 shows '^STATUS='
tap_is "TERM=dumb has no block" "$(screen | grep -c '^assay check')" 0
terminal 80 "$assay run -t lab:bug=3 labfs/cases/03-size-seen.txt --no-store"
tap_wait_until 60 shows '^STATUS=1'
tap_is "a short run leaves nothing of it" "$(screen | grep -c '^assay run')" 0

# ---- What is no run -----------------------------------------------------------------------------

mkdir "$WORK/empty"
tap_run "watch without a run" 2 "$assay" watch "$WORK/empty" --once
tap_like "says so" "$WORK/err" 'no run is in progress'
for text in '' '{' '[]' '{"state":7}' '{"state":"running","pid":-1}' \
	'{"state":"running","jobs":"x"}'; do
	printf '%s' "$text" >"$WORK/empty/progress.json"
	"$assay" watch "$WORK/empty" --once >"$WORK/out" 2>&1
	tap_is "a broken file: '$text'" $? 2
done
printf '{"state":"ended","command":"%s","target":"%s","newest":"%s"}' '\u001b[31mx' \
	'a\nb\u001b]0;t\u0007' '\u001b[2J' \
	>"$WORK/empty/progress.json"
"$assay" watch "$WORK/empty" >"$WORK/out" 2>&1
tap_is "texts of others are escaped" "$(grep -c $'\033\|\007' "$WORK/out")" 0
# A process of that number that is another one.
printf '{"state":"running","command":"hunt","pid":1,"pid_start":1,"pid_space":%s,"boot":"%s"}' \
	"$(stat -Lc %i /proc/self/ns/pid)" "$(cat /proc/sys/kernel/random/boot_id)" \
	>"$WORK/empty/progress.json"
tap_run "a process with the same number is another" 2 "$assay" watch "$WORK/empty"
tap_like "so the run has died" "$WORK/out" 'the run died'
tap_done
