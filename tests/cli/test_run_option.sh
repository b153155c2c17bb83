#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The options of a run (child/run_option.def) arrive: in a finding, in the sandbox, in its replay,
# and in a hunt that is resumed. tests/cli/test_run_option.c walks the rows; this is the whole way.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

CASE=labfs/cases/01-rename-over.txt
GIVEN=(--check op --size 2M --seed 5 --deadline 9 --max-bytes 5M --max-entries 77 --choices 0.1.0)
SAID='check=op size=2097152 seed=5 deadline_ms=9000 max_bytes=5242880 max_entries=77 choices=0.1.0'

options() { # FOLDER: what its finding says
	sed -nE 's/.*"options":"([^"]*)".*/\1/p' "$1"/findings/*/finding.json
}

# found NAME OPTIONS...: the finding says them, and they bring it back.
found() {
	local name=$1
	shift
	rm -rf "$WORK/run"
	tap_run "$name: found" 1 "$ASSAY" run --target lab:bug=1 -o "$WORK/run" "${GIVEN[@]}" "$@" \
		"$CASE"
	tap_is "$name: the finding says them" "$(options "$WORK/run")" "$SAID"
	tap_run "$name: its replay" 1 "$ASSAY" replay "$WORK"/run/findings/*
}

found "here"
if tap_uml ext4; then
	found "in a sandbox" --sandbox uml
else
	tap_skip "in a sandbox" "User-Mode Linux is not here"
fi

# A hunt begins before anything is found, and goes on.
tap_run "a hunt" 0 "$ASSAY" hunt --target lab:bug=1 -o "$WORK/hunt" --seed 3 --max-workloads 1 \
	--no-reduce --choices 0.1.0 --max-entries 77 --deadline 9
tap_run "it goes on" 1 "$ASSAY" hunt --resume -o "$WORK/hunt" --max-workloads 200
tap_is "with its options" "$(options "$WORK/hunt" | sort -u)" \
	"check=end deadline_ms=9000 max_entries=77 choices=0.1.0"
tap_run "one of them cannot be another" 2 "$ASSAY" hunt --resume -o "$WORK/hunt" --choices 0
tap_run "one of them may" 1 "$ASSAY" hunt --resume -o "$WORK/hunt" --deadline 20 --max-workloads 8

# Where nothing could come of an option it is not offered: a check answers in every way.
tap_run "a check has no choices" 2 "$ASSAY" check --target lab --choices 0.1 --for 1s
tap_done
