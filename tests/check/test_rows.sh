#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# labfs/checks.txt says of every bug of labfs how `assay check` finds it, but for those of the
# checker and those that its first lines name. All rows are run: a bug that is no longer found
# within its budget (of CPU time) is told by its number. `make score` compares them with the hunt.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

"$ASSAY" targets --bugs --json | grep -v '"class":"checker"' |
	sed -n 's/.*"number":\([0-9]*\),.*/\1/p' |
	grep -vxE '71|72|130|175|176|178' | sort -n >"$WORK/bugs"
grep -v '^#' labfs/checks.txt | cut -d ' ' -f 1 >"$WORK/rows"
tap_is "the rows" "$(cat "$WORK/rows")" "$(cat "$WORK/bugs")"
tap_run "each is found" 0 env HUNT=0 scripts/score.sh "$ASSAY"
tap_is "within its budget" "$(grep '| > ' "$WORK/out" | cut -d ' ' -f 2)" ""
tap_is "are a table" "$(grep -c '^| [0-9]' "$WORK/out")" "$(grep -c . "$WORK/rows")"
tap_run "a bug that is not found in time" 1 env CHECKS=/dev/stdin \
	scripts/score.sh "$ASSAY" 26 <<<'26 1 --no-crash --nodes 1 --depth 1'
tap_like "is told" "$WORK/out" '^\| 26 .*\| > [0-9.]+ \| - \|'
tap_done
