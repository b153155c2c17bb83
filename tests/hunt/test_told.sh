#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job of a hunt stores a finding where it is noticed, and the leader tells it when it has come
# through the job's pipe: both say the same, of whatever is done with the workloads.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
export LC_ALL=C

# What is said of each finding, up to what only its folder knows; a line each, in order. Its group
# is written anew at the end.
said() { sed -E 's/,"disk":(true|false).*//; s/,"group":"([^"\\]|\\.)*"//'; }

# told NAME OPTION...
told() {
	local name=$1 folder=$WORK/$1
	shift
	"$ASSAY" hunt --seed 3 --jobs 2 --no-reduce --json -o "$folder" "$@" >"$WORK/events" \
		2>"$WORK/err" </dev/null
	grep '^{"event":"finding",' "$WORK/events" | sed 's/"event":"finding",//' | said | sort \
		>"$WORK/told"
	for file in "$folder"/findings/*/finding.json; do said <"$file"; done | sort >"$WORK/stored"
	if [ -s "$WORK/told" ]; then
		tap_ok "$name: something was found"
	else
		tap_not_ok "$name: something was found" "$(cat "$WORK/err")"
	fi
	tap_is "$name: what is told is what was stored" "$(cat "$WORK/told")" \
		"$(cat "$WORK/stored")"
}

told run --target lab:bug=2 --max-workloads 128
told diff --diff lab,lab:bug=15,lab --max-workloads 64
told crash --target lab:bug=26 --crash --max-workloads 8
tap_done
