#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The report as Markdown and as TAP: what it says, and that texts from outside cannot end a cell, a
# block or a line.
. "$(dirname "$0")/../tap.sh"

run=$WORK/run
"$ASSAY" run --target lab:bug=3 labfs/cases/03-size-seen.txt -o "$run" >/dev/null 2>&1
id=$(basename "$run"/findings/*)
mkdir -p "$WORK/clean/findings"

tap_run "Markdown" 0 "$ASSAY" report --markdown "$run"
tap_like "has a title" "$WORK/out" '^## assay: 1 finding$'
tap_like "and a row" "$WORK/out" "^\| \`$id\` \| \`lab:bug=3\` \| \`op 4: fstat .*\` \| 1 \|$"
tap_like "and the workload" "$WORK/out" '^truncate /f 5000$'
tap_run "into a file" 0 "$ASSAY" report --markdown "$run" -o "$WORK/m.md"
tap_like "it is there" "$WORK/m.md" '^## assay: 1 finding$'
tap_run "TAP" 0 "$ASSAY" report --tap "$run"
tap_like "has a plan" "$WORK/out" '^1\.\.1$'
tap_like "and a failed test" "$WORK/out" "^not ok 1 - $id: op 4: fstat"
tap_run "both" 2 "$ASSAY" report --tap --markdown "$run"
tap_like "exclude each other" "$WORK/err" 'exclude each other'
tap_run "TAP of a clean run" 0 "$ASSAY" report --tap "$WORK/clean"
tap_like "passes" "$WORK/out" '^ok 1 - nothing was found$'
tap_run "Markdown of a clean run" 0 "$ASSAY" report --markdown "$WORK/clean"
tap_like "says so" "$WORK/out" '^Nothing was found\.$'

# ---- Texts from outside --------------------------------------------------------------------------

sed 's/"summary":"/&a | b ``` <b> # SKIP\\nok 2 - EVIL\\u001b[31m/' \
	-i "$run/findings/$id/finding.json"
tap_run "hostile texts as Markdown" 0 "$ASSAY" report --markdown "$run"
tap_is "the row has its cells" "$(grep "^| \`$id" "$WORK/out" | sed 's/\\|//g' | tr -cd '|' |
	wc -c)" 5
tap_is "no escape" "$(LC_ALL=C grep -c $'\033' "$WORK/out")" 0
tap_like "the block has a longer fence" "$WORK/out" '^````+$'
tap_run "hostile texts as TAP" 0 "$ASSAY" report --tap "$run"
tap_is "are one test" "$(grep -cE '^(not )?ok' "$WORK/out")" 1
tap_is "and no directive" "$(grep -cE '[^\\]# SKIP' "$WORK/out")" 0
mkdir "$WORK/clean/findings/lab-data-00000000"
echo '{' >"$WORK/clean/findings/lab-data-00000000/finding.json"
tap_run "a finding that cannot be read" 0 "$ASSAY" report --tap "$WORK/clean"
tap_like "is no pass" "$WORK/out" '^not ok 1 - 1 finding could not be read$'
tap_run "nor in Markdown" 0 "$ASSAY" report --markdown "$WORK/clean"
tap_like "where it is told" "$WORK/out" '1 more could not be read'
tap_done
