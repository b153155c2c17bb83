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
# A bit of erased flash that has flipped, and is programmed: nobody has programmed it twice.
tap_run "erased flash with a flipped bit is no misuse" 0 "$ASSAY" hunt --corrupt bits --seed 1 \
	--target "plugin:$FLASHFS:bug=12" --max-workloads 60 -o "$WORK/b2"
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

# ---- --corrupt fields: another value in a field, as a description says where it is ----

FIELDS="--corrupt fields --layout examples/flashfs/flashfs.layout"
tap_run "labfs passes with fields" 0 "$ASSAY" hunt --corrupt fields --target lab \
	--max-workloads 60 -o "$WORK/e"
# shellcheck disable=SC2086 # options are words
tap_run "flashfs passes with fields" 0 "$ASSAY" hunt $FIELDS --target "plugin:$FLASHFS" \
	--max-workloads 40 -o "$WORK/f"
tap_run "pairfs passes with fields" 0 "$ASSAY" hunt --corrupt fields \
	--layout examples/pairfs/pairfs.layout --target "plugin:${FLASHFS%/*}/pairfs.so" \
	--max-workloads 40 -o "$WORK/g"

# Lengths that are believed as their checksum fits: no flipped bit gets there.
TRUSTED=plugin:$FLASHFS:bug=16
tap_run "bits do not find lengths that are believed" 0 "$ASSAY" hunt --corrupt bits \
	--target "$TRUSTED" --max-workloads 40 -o "$WORK/h"
# shellcheck disable=SC2086
tap_run "fields do" 1 "$ASSAY" hunt $FIELDS --deadline 4 --target "$TRUSTED" --max-workloads 40 \
	--max-findings 1 -o "$WORK/i"
tap_like "which field" "$WORK/out" \
	'of block [0-9]+: (name_len|n_pages): [0-9]+ becomes [0-9]+, with a checksum that fits'
# On a busy machine one may not come back in time, which need not come again.
id=$(basename "$(find "$WORK/i/findings" -mindepth 1 -maxdepth 1 -name '*signal*' | sort |
	head -n 1)")
tap_like "the finding has its description" "$WORK/i/findings/$id/finding.json" \
	'fields=16 .*layout=/.*flashfs.layout'
tap_run "it replays from another folder" 1 env -C "$WORK" "$(realpath "$ASSAY")" replay \
	-o "$WORK/i" "$id"
tap_run "it replays from here, too" 1 "$ASSAY" replay -o "$WORK/i" "$id"
tap_like "what was altered is kept" "$WORK/i/findings/$id/finding.json" \
	'alter=[a-z]+\.[a-z_]+:[0-9]+:[0-9]+:1'
tap_run "a reduction reproduces it" 1 "$ASSAY" reduce -o "$WORK/i" "$id"
# Whether reading past the end of a buffer dies depends on where the heap lies, too.
tap_like "also once more" "$WORK/out" 'it fails in [123] of 3 runs'
if [ -z "${SAN:-}" ]; then
	tap_run "its program compiles" 0 ${CC:-cc} -Iinclude "$WORK/i/findings/$id/repro.c" \
		"$FLASHFS" -o "$WORK/repro"
	tap_run "and shows it" 0 "$WORK/repro"
	tap_like "in the end" "$WORK/out" '^REPRODUCED'
	# Whether it dies of memory that it damages is chance: the guards tell.
	for n in 16 17; do
		cat >"$WORK/past.c" <<-END
			#include <assay/solo.h>
			static int past(struct as_solo *s)
			{
				memset(s->host.alloc(s, 16), 1, $n);
				return 0;
			}
			int main(void)
			{
				static const struct as_target_ops none;
				static struct as_solo s;
				as_solo_start(&s, &none, 4096, "");
				AS_SOLO_DIES(&s, past(&s), AS_SOLO_DAMAGE);
				return as_solo_end(&s);
			}
		END
		tap_run "a program that writes $n bytes" 0 ${CC:-cc} -Iinclude "$WORK/past.c" \
			-o "$WORK/past"
		tap_run "into 16" $((n == 16)) "$WORK/past"
	done
fi
# What dies of one field is one finding, wherever the heap tells of it.
ids=$(find "$WORK/i/findings" -mindepth 1 -maxdepth 1 | wc -l)
grep -ho '"signature":"[^"]*' "$WORK"/i/findings/*/finding.json | sort -u >"$WORK/kinds"
tap_is "kinds" "$(wc -l <"$WORK/kinds")" "$ids"
tap_like "named by the field" "$WORK/i/findings/$id/finding.json" \
	'"signature":"(signal|hang): mount of a corrupted disk: (state|record|name)[a-z_.]*"'

# The finding has a copy of its description.
cp examples/flashfs/flashfs.layout "$WORK/mine-too.layout"
tap_run "with a description that goes away" 1 "$ASSAY" hunt --corrupt fields --deadline 2 \
	--layout "$WORK/mine-too.layout" --target "$TRUSTED" --max-workloads 40 --max-findings 1 \
	--no-reduce -o "$WORK/l"
rm "$WORK/mine-too.layout"
id=$(basename "$(find "$WORK/l/findings" -mindepth 1 -maxdepth 1 -name '*signal*' | sort |
	head -n 1)")
tap_run "it replays by its copy" 1 "$ASSAY" replay -o "$WORK/l" "$id"

# A flipped bit is the same one in each run of a reduction.
tap_run "a bit that is believed" 1 "$ASSAY" run --corrupt bits -o "$WORK/m" \
	--target "plugin:$FLASHFS:bug=3" $PAGES
id=$(basename "$(find "$WORK/m/findings" -mindepth 1 -maxdepth 1 | sort | head -n 1)")
tap_like "it is kept" "$WORK/m/findings/$id/finding.json" 'alter=[0-9]+\.[0-7]'
tap_run "a reduction of it" 1 "$ASSAY" reduce -o "$WORK/m" "$id"

# A checksum that covers too little: the value of a size is believed.
# shellcheck disable=SC2086
tap_run "a value with a wrong checksum is found" 1 "$ASSAY" hunt $FIELDS --no-reduce \
	--target "plugin:$FLASHFS:bug=6" --max-workloads 100 --max-findings 1 -o "$WORK/j"
[ -n "${SAN:-}" ] || tap_like "as what it is" "$WORK/out" \
	'size [0-9]+, model says [0-9]+; that value was put on the disk'

# Beside the plugin.
cp "$FLASHFS" "$WORK/mine.so"
cp examples/flashfs/flashfs.layout "$WORK/mine.layout"
tap_run "a description beside the plugin" 0 "$ASSAY" run --corrupt fields --no-store \
	--target "plugin:$WORK/mine.so" $PAGES
rm "$WORK/mine.layout"
tap_run "none at all is refused" 2 "$ASSAY" run --corrupt fields --no-store \
	--target "plugin:$WORK/mine.so" $PAGES
tap_like "with what is missing" "$WORK/err" 'needs a description of its disk: --layout FILE'
tap_run "one that is not there is refused" 2 "$ASSAY" run --corrupt fields --no-store \
	--layout "$WORK/none" --target "plugin:$FLASHFS" $PAGES
printf 'layout x\nstructure s at=0\n a 0 4 magic is=1\n' >"$WORK/empty.layout"
tap_run "one that finds nothing is refused" 2 "$ASSAY" run --corrupt fields --no-store \
	--layout "$WORK/empty.layout" --target "plugin:$FLASHFS" $PAGES
tap_like "it is said" "$WORK/err" 'finds no structure on the disk'
printf 'layout x\nstructure s at=0\n a 0 4 apple\n' >"$WORK/wrong.layout"
tap_run "one with a mistake is refused" 2 "$ASSAY" run --corrupt fields --no-store \
	--layout "$WORK/wrong.layout" --target "plugin:$FLASHFS" $PAGES
tap_like "with its line" "$WORK/err" 'wrong.layout:3:8: expected a kind'
tap_run "a layout belongs to fields" 2 "$ASSAY" run --corrupt bits --layout "$WORK/wrong.layout" \
	--no-store --target "plugin:$FLASHFS" $PAGES

# The disk of a finding by the description.
tap_run "a finding on flash is kept" 1 "$ASSAY" run -o "$WORK/k" \
	--target "plugin:$FLASHFS:bug=13,flash.weak=0" $PAGES
disk=$(find "$WORK/k" -name 'disk.img.zst' | head -n 1)
tap_run "its disk is shown" 0 "$ASSAY" disk show --unit 16 --erased 255 \
	--layout examples/flashfs/flashfs.layout "$disk"
tap_like "the fields of a commit" "$WORK/out" 'state 0 of record 0 of block 0 \(state at byte 32\)'
tap_done
