#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay check --max-faults 2`: a mistake that takes two calls that fail, one of which is made only
# because the other has failed; and of a mistake that takes one, no larger set is told.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

pair=(--no-crash --nodes 1 --depth 1 --faults alloc)
tap_run "one allocation at a time" 0 "$ASSAY" check --target lab:bug=73 "${pair[@]}" --no-store
tap_like "is all, and nothing is found" "$WORK/out" '^all [0-9]+ states'
tap_run "two at a time" 1 "$ASSAY" check --target lab:bug=73 "${pair[@]}" --max-faults 2 \
	-o "$WORK/two"
tap_is "all that was found comes back" "$(grep -c 'not confirmed' "$WORK/out")" 0
id=$(ls "$WORK/two/findings" | head -n 1)
tap_like "the finding has both" "$WORK/two/findings/$id/finding.json" 'alloc:[0-9]+ alloc:[0-9]+'
tap_run "replay" 1 "$ASSAY" replay -o "$WORK/two" "$id"
tap_like "comes back" "$WORK/out" ': reproduced$'
tap_run "a sound labfs" 0 "$ASSAY" check --target lab "${pair[@]}" --max-faults 2 --no-store
tap_like "has nothing of it" "$WORK/out" '^all [0-9]+ states'

tap_run "a mistake that takes one" 1 "$ASSAY" check --target lab:bug=24 "${pair[@]}" \
	--max-faults 2 -o "$WORK/one"
tap_is "is told with one" "$(cat "$WORK"/one/findings/*/finding.json | grep -cE \
	'alloc:[0-9]+ alloc:[0-9]+')" 0

# ---- The same by hand ----

printf 'create /a 0644\ncreate /b 0644\n' >"$WORK/w.txt"
tap_run "five allocations" 2 "$ASSAY" run --target lab --no-store "$WORK/w.txt" \
	--fault 'alloc:1 alloc:2 alloc:3 alloc:4 alloc:5'
tap_like "are too many" "$WORK/err" 'at most 4 allocations can fail'
tap_run "two allocations, in any order" 0 "$ASSAY" run --target lab --no-store "$WORK/w.txt" \
	--fault 'alloc:30 alloc:29'

tap_done
