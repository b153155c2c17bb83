#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay check --faults`: calls that fail while a crashed disk is recovered.
set -u
. "$(dirname "$0")/../tap.sh"

few=(--nodes 1 --depth 2 --ops mkdir,sync)

tap_run "a sound labfs" 0 "$ASSAY" check --target lab "${few[@]}" --faults all --no-store
tap_like "to the end" "$WORK/out" '^all [0-9]+ states'
tap_run "a replay that ignores a failed write" 1 "$ASSAY" check --target lab:bug=68 "${few[@]}" \
	--faults write --max-findings 1 -o "$WORK/f"
tap_like "is found" "$WORK/out" 'a write that fails during recovery .*next one'
tap_is "is confirmed" "$(grep -c 'not confirmed' "$WORK/out")" 0
id=$(ls "$WORK/f/findings" | head -n 1)
tap_like "its options say what fails" "$WORK/f/findings/$id/finding.json" ',faults=2'
tap_run "replay" 1 "$ASSAY" replay -o "$WORK/f" "$id"
tap_like "comes back" "$WORK/out" ': reproduced$'
for faults in read alloc; do
	tap_run "not by --faults $faults" 0 "$ASSAY" check --target lab:bug=68 "${few[@]}" \
		--faults "$faults" --no-store
done
tap_run "not without faults" 0 "$ASSAY" check --target lab:bug=68 "${few[@]}" --no-store
tap_run "not without power cuts" 0 "$ASSAY" check --target lab:bug=68 "${few[@]}" --faults write \
	--no-crash --no-store

tap_done
