#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The quick part of the frozen corpus (scripts/corpus.sh): each run is one test. What differs on
# purpose is written anew with UPDATE=1, and says in its commit why.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

if [ -n "${SAN:-}" ]; then
	tap_skip "the corpus" "sanitizers change what programs leave; it is run without them"
	tap_done
	exit
fi
other() { tap_skip "$1" "the lines were written with another version of this checker" && false; }

JOBS=${CORPUS_JOBS:-2} scripts/corpus.sh --quick --keep "$WORK/kept" ASSAY="$ASSAY" \
	>"$WORK/said" 2>&1
while read -r name line; do
	want=$(sed -n "s/^$name //p" tests/golden/corpus/*.txt)
	case $name in
	ext4.*) tap_uml ext4 || { tap_skip "$name" "no ext4 in uml here" && continue; } ;;
	fsck.minix.*) fsck.minix -V 2>&1 | grep -q ' 2\.38\.' || other "$name" || continue ;;
	fsck.e2fsck.*) e2fsck -V 2>&1 | grep -q ' 1\.47\.0 ' || other "$name" || continue ;;
	esac
	tap_is "$name" "$line" "$want"
done < <(cat "$WORK"/kept/*.line)
tap_is "all of them ran" "$(ls "$WORK"/kept/*.line | wc -l)" \
	"$(scripts/corpus.sh --quick --list ASSAY="$ASSAY" | wc -l)"
# A corpus that cannot differ proves nothing: a bug that hides is seen.
scripts/corpus.sh ASSAY="$ASSAY" --keep "$WORK/other" chain.case.b2 >/dev/null
sed -i 's/status=1/status=0/' "$WORK/other/chain.case.b2.line"
tap_run "a line that differs is told" 1 scripts/corpus.sh --resume --keep "$WORK/other" \
	ASSAY="$ASSAY" chain.case.b2
tap_like "with what it was" "$WORK/out" '^< chain.case.b2 status=1'
tap_done
