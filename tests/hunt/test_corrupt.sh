#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --corrupt bits: a bit of the unmounted disk is flipped before a mount. A sound file system
# refuses, answers errors or shows an older tree; it does not die or hang, and with checksums it
# never hands out the flipped bit as data.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

FLASHFS=${FLASHFS:-$(dirname "$ASSAY")/plugins/flashfs.so}
PAGES=examples/flashfs/cases/pages.txt

tap_run "labfs passes" 0 "$ASSAY" hunt --corrupt bits --target lab --max-workloads 100 -o "$WORK/a"
tap_run "flashfs passes" 0 "$ASSAY" hunt --corrupt bits --target "plugin:$FLASHFS" \
	--max-workloads 40 -o "$WORK/b"
tap_run "a directory that is not checked is found" 1 "$ASSAY" hunt --corrupt bits --deadline 3 \
	--target lab:bug=130 --max-workloads 300 --max-findings 1 --no-reduce -o "$WORK/c"
tap_like "it died or hung there" "$WORK/out" 'mount of a corrupted disk|signal: SIG'
tap_run "flashfs passes a case" 0 "$ASSAY" run --corrupt bits --no-store \
	--target "plugin:$FLASHFS" $PAGES
tap_run "a checksum that is not compared is found" 1 "$ASSAY" run --corrupt bits -o "$WORK/d" \
	--target "plugin:$FLASHFS:bug=3" $PAGES
# A sanitizer in flashfs may tell of the garbage before it is data.
[ -n "${SAN:-}" ] ||
	tap_like "garbage was data" "$WORK/out" 'that bit was flipped on the disk'
tap_like "which bit" "$WORK/out" 'bit [0-7] of byte [0-9]* of the disk was flipped'
id=$(grep -oE 'flashfs-(data|signal)-[0-9a-f]*' "$WORK/out" | head -n 1)
tap_run "it replays" 1 "$ASSAY" replay -o "$WORK/d" "$id"
# Without the promise it is no finding.
mkdir "$WORK/src"
cp examples/flashfs/*.[ch] examples/flashfs/bugs.def "$WORK/src"
sed -i 's/FF_SUMS AS_PROMISE_CHECKSUMS/FF_SUMS 0/' "$WORK/src/ops.c"
${CC:-cc} -fPIC -shared -Wl,-Bsymbolic -Iinclude "$WORK/src"/*.c -o "$WORK/unsaid.so" ||
	tap_not_ok "building unsaid"
tap_run "without the promise it is none" 0 "$ASSAY" run --corrupt bits --no-store \
	--target "plugin:$WORK/unsaid.so:bug=3" $PAGES
tap_run "another word is refused" 2 "$ASSAY" run --corrupt bytes --no-store --target lab $PAGES
tap_done
