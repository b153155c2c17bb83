#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The two workloads that Dogfood's paper prints parse, come back from the printer as they were, and
# run on labfs; on the labfs with the bug of the second, that is what they find.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
export LC_ALL=C

for name in dogfood_f2fs dogfood_reiserfs; do
	file=examples/$name.txt
	tap_run "$name is read" 0 "$ASSAY" fmt "$file"
	cp "$WORK/out" "$WORK/printed.txt"
	"$ASSAY" fmt "$WORK/printed.txt" >"$WORK/again.txt"
	tap_is "$name comes back" "$(cmp "$WORK/printed.txt" "$WORK/again.txt" && echo same)" same
	tap_is "$name keeps its operations" \
		"$(grep -vc '^#\|^@\|^$' "$WORK/printed.txt")" "$(grep -vc '^#\|^@\|^$' "$file")"
	tap_run "$name runs" 0 "$ASSAY" run --no-store --target lab --size 64M "$file"
done
tap_run "dogfood_reiserfs finds the write to a removed file" 1 \
	"$ASSAY" run --no-store --target lab:bug=16 examples/dogfood_reiserfs.txt
# A sanitizer sees it first, and exits.
tap_like "as a crash" "$WORK/out" "SIG${SAN:+|the target called exit}"
tap_run "dogfood_f2fs finds the depth" 1 \
	"$ASSAY" run --no-store --target lab:bug=17 --size 64M examples/dogfood_f2fs.txt
tap_like "as ELOOP" "$WORK/out" 'ELOOP'
tap_done
