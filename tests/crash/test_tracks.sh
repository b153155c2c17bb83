#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A crash hunt on the running kernel crashes several workloads at once (crash/tracks.c): all are
# counted, a sound ext4 has nothing, and on a disk whose flush does nothing there are findings.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
export LC_ALL=C

hunt() { # FOLDER OPTION...
	local folder=$1
	shift
	"$ASSAY" hunt --target ext4 --sandbox host --seed 3 --jobs 1 --max-workloads 5 --no-reduce \
		--no-draw -o "$WORK/$folder" "$@" >"$WORK/out" 2>"$WORK/err"
}

got=0
hunt sound --crash --budget 24 || got=$?
if [ $got = 3 ]; then
	tap_skip "several workloads at once" "$(sed 's/^assay: //' "$WORK/err")"
	tap_done
	exit
fi
tap_is "a sound ext4 has nothing" "$got" 0
tap_is "all workloads are counted" "$(grep -o '^5 workloads, [0-9]* op' "$WORK/out" | cut -c1-11)" \
	"5 workloads"

got=0
hunt lying --scenario crash:views=1+2+3,lying=1,again=0,budget=24 || got=$?
tap_is "a flush that does nothing is found" "$got" 1
if [ -n "$(ls "$WORK/lying/findings")" ]; then
	tap_ok "the findings are kept"
else
	tap_not_ok "the findings are kept" "$(tail -3 "$WORK/out")"
fi

tap_done
