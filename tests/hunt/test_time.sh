#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --for is kept by every scenario and target, whatever is under way; what is not reduced by then is
# said and finished by --resume and by `assay reduce`; signals end a hunt and a run soon, with a
# status that tells.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

now_ms() {
	local now=${EPOCHREALTIME/./}
	echo $((now / 1000))
}

# ---- The time ------------------------------------------------------------------------------------

SECONDS_ASKED=$((2 * TAP_SLOWER))
# A second to come to an end, and more where the machine is busy.
slack_ms() { echo $((4000 * TAP_SLOWER * $(tap_slowness))); }

begin() { # NAME OPTION...: in the background
	local name=$1
	shift
	(
		start=$(now_ms)
		"$ASSAY" hunt -o "$WORK/$name" --for ${SECONDS_ASKED}s "$@" >"$WORK/$name.said" 2>&1
		echo "$? $(($(now_ms) - start))" >"$WORK/$name.ended"
	) &
}

check() { # NAME
	local status ms
	read -r status ms <"$WORK/$1.ended"
	# On a machine that is very busy no workload may come to its end: that is told as an error.
	if [ "$status" = 2 ] && grep -q 'no workload was run' "$WORK/$1.said"; then
		status=0
	fi
	if { [ "$status" = 0 ] || [ "$status" = 1 ]; } && [ "$ms" -ge $((SECONDS_ASKED * 1000)) ] &&
		[ "$ms" -le $((SECONDS_ASKED * 1000 + $(slack_ms))) ]; then
		tap_ok "--for ${SECONDS_ASKED}s: $1"
	else
		tap_not_ok "--for ${SECONDS_ASKED}s: $1" "status $status after $ms ms" \
			"$(tail -n 5 "$WORK/$1.said")"
	fi
}

mkdir "$WORK/place"
begin sequential --target lab:bug=2,bug=5,bug=9,bug=16
begin jobs --target lab:bug=2,bug=5,bug=9,bug=16 --jobs 3
begin race --race --target lab:bug=2
begin crash --crash --target lab:bug=11
wait
for name in sequential jobs race crash; do check $name; done
names=
begin diff --diff lab,lab:bug=2 && names="$names diff"
begin plugin --target "plugin:$ASSAY_BUILD/plugins/labfs.so" && names="$names plugin"
if "$ASSAY" run --no-store --target "dir:$WORK/place" examples/smoke.txt >/dev/null 2>&1; then
	begin dir --target "dir:$WORK/place" && names="$names dir"
fi
if [ "$(id -u)" = 0 ] && [ -e /dev/fuse ] && command -v fuse2fs >/dev/null; then
	begin fuse --target fuse2fs && names="$names fuse"
fi
wait
for name in $names; do check "$name"; done

# ---- What is not reduced -------------------------------------------------------------------------

# More is found in the time than is reduced, as a rule.
"$ASSAY" hunt -o "$WORK/left" --for 2s --target lab:bug=2,bug=5,bug=9,bug=16 --jobs 4 \
	>"$WORK/out" 2>&1
left=$(sed -n 's/^\([0-9]*\) findings\{0,1\} \(is\|are\) not reduced yet.*/\1/p' "$WORK/out")
if [ -z "$left" ]; then
	tap_skip "what is not reduced is said" "all of it was reduced in the time"
else
	resume=$(tap_regex "assay hunt --resume -o $WORK/left")
	tap_like "what is not reduced is said" "$WORK/out" \
		"not reduced yet: .$resume. continues, .assay reduce "
	id=$(sed -n 's/.*`assay reduce -o [^ ]* \([^ ]*\)`.*/\1/p' "$WORK/out")
	tap_run "one can be reduced" 1 "$ASSAY" reduce -o "$WORK/left" "$id"
	tap_run "and the rest by going on" 1 "$ASSAY" hunt --resume -o "$WORK/left"
	tap_is "then nothing is left" "$(grep -c 'not reduced yet' "$WORK/out")" 0
fi

# ---- Signals -------------------------------------------------------------------------------------

seq 1 2000 | sed 's|.*|mkdir /d& 0755|' >"$WORK/long.txt"
# is_at_work PID SIGNAL: it catches the signal, and has a process that carries workloads out.
is_at_work() { tap_catches "$1" "$2" && tap_children "$1"; }
# signalled NAME SIGNAL STATUS REGEX COMMAND...: the signal comes when it is at work and, with an
# expression, when a line of the output matches.
signalled() {
	local name=$1 signal=$2 want=$3 when=$4 pid start took_ms status=0
	shift 4
	"$@" >"$WORK/out" 2>&1 </dev/null &
	pid=$!
	tap_wait_until 60 is_at_work $pid "$signal"
	[ -z "$when" ] || tap_wait_until 60 grep -E "$when" "$WORK/out"
	start=$(now_ms)
	kill -"$signal" $pid
	wait $pid || status=$?
	took_ms=$(($(now_ms) - start))
	tap_is "$name" "$status $([ $took_ms -le "$(slack_ms)" ] && echo soon)" "$want soon"
	tap_like "it says how far it came" "$WORK/out" '^stopped'
}
signalled "SIGTERM to a hunt that found nothing" TERM 143 "" \
	"$ASSAY" hunt -o "$WORK/s1" --for 600s --target lab
signalled "SIGHUP to one that found something" HUP 1 '^lab-' \
	"$ASSAY" hunt -o "$WORK/s2" --for 600s --target lab:bug=2,bug=5,bug=16 --jobs 2
tap_run "it can be gone on with" 1 "$ASSAY" hunt --resume -o "$WORK/s2" --for ${TAP_SLOWER}s
sweep=("$ASSAY" run --no-store --sweep alloc --target lab "$WORK/long.txt")
signalled "SIGTERM to a run" TERM 143 "" "${sweep[@]}"
signalled "SIGHUP to a run" HUP 129 "" "${sweep[@]}"
tap_done
