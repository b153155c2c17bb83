#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay hunt --crash` comes upon bugs of labfs by itself, within the time of their rows
# (labfs/bugs.def) and in the view that is predicted (labfs/views.def); a sound labfs has nothing.
#
# Quick by default. HUNT=all: every bug, from three seeds. STATES=1000000: so many crash states of
# the sound one.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
export LC_ALL=C
export ASAN_OPTIONS=detect_leaks=0

# ---- Sound ----

want=${STATES:-20000} states=0 seed=0 found=0
while [ "$states" -lt "$want" ] && [ "$found" = 0 ]; do
	seed=$((seed + 1))
	"$ASSAY" gen -p crash --seed $seed -n 3 >"$WORK/w.txt"
	"$ASSAY" crash --target lab --no-store --json "$WORK/w.txt" >"$WORK/out" 2>"$WORK/err" ||
		found=1
	n=$(grep -Eo '"(generated|again)":[0-9]*' "$WORK/out" |
		awk -F: '{ n += $2 } END { print n }')
	states=$((states + n))
done
if [ "$found" = 0 ]; then
	tap_ok "a sound labfs: nothing in $states crash states"
else
	tap_not_ok "a sound labfs" "seed $seed" "$(head -c 2000 "$WORK/out" "$WORK/err")"
fi

# The same with faults: each write, flush, read and allocation of a few workloads fails once.
"$ASSAY" gen -p crash --seed 77 -n ${FAULTY:-3} >"$WORK/w.txt"
if "$ASSAY" crash --target lab --faults record --view 1,3 --again 0 --no-store --json \
	"$WORK/w.txt" >"$WORK/out" 2>"$WORK/err"; then
	tap_ok "a sound labfs whose calls fail"
else
	tap_not_ok "a sound labfs whose calls fail" "$(head -c 2000 "$WORK/out" "$WORK/err")"
fi

# ---- Bugs ----

# budget BUG: the last number of its row.
budget() { awk -v b="LAB_BUG($1," 'index($0, b) == 1 { on = 1 } on && /hunt --crash/ {
	sub(/.*", /, ""); sub(/\).*/, ""); print; exit }' labfs/bugs.def; }
predicted() { sed -n "s/^LAB_VIEW($1, \([0-9]\), \([0-9]\))/\1 \2/p" labfs/views.def; }

# easiest FOLDER: the easiest view, and that of the crash during recovery, of what was found. A call
# that hid a failure shows without a power cut.
easiest() {
	if ls "$1/findings" 2>/dev/null | grep -q -e -silent-; then
		echo 0 0
		return
	fi
	grep -ho 'scenario=crash:[^" ]*' "$1"/findings/*/finding.json 2>/dev/null |
		sed -n 's/.*view=\([0-9]\).*then=\([0-9]\).*/\1 \2/p; t
			s/.*view=\([0-9]\).*/\1 0/p' | sort | head -n 1
}

# Hunts until something is found, or time is up.
hunt() { # BUG SEED
	local bug=$1 seed=$2 seconds pid view race=
	seconds=$(($(budget "$bug") * TAP_SLOWER * $(tap_slowness)))
	! grep -q -- "--race --target lab:bug=$bug\"" labfs/bugs.def || race=--race
	"$ASSAY" hunt --crash $race --target "lab:bug=$bug" --seed "$seed" --for "${seconds}s" \
		--no-reduce -o "$WORK/$bug-$seed" >"$WORK/out" 2>"$WORK/err" &
	pid=$!
	while kill -0 $pid 2>/dev/null; do
		read -rt 0.2 <>"$WORK/never" # a short while
		[ -z "$(ls "$WORK/$bug-$seed/findings" 2>/dev/null)" ] || break
	done
	kill -INT $pid 2>/dev/null
	wait $pid 2>/dev/null
	view=$(easiest "$WORK/$bug-$seed")
	if [ -z "$view" ]; then
		tap_not_ok "bug $bug from seed $seed" "not found in $seconds s" \
			"$(tail -1 "$WORK/out")"
	elif [ "${view% *}" -gt "$(predicted "$bug" | cut -d' ' -f1)" ]; then
		tap_not_ok "bug $bug from seed $seed" "in view $view, not $(predicted "$bug")"
	else
		tap_ok "bug $bug from seed $seed, in view $view"
	fi
}

mkfifo "$WORK/never"
if [ "${HUNT:-}" = all ]; then
	for seed in 1 2 3; do
		for bug in $(sed -n 's/^LAB_VIEW(\([0-9]*\),.*/\1/p' labfs/views.def); do
			hunt "$bug" $seed
		done
	done
else
	for bug in 26 30 35 37 40 48 60 76 78; do
		hunt $bug 1
	done
fi

tap_done
