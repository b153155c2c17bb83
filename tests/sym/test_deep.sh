#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# assay fsck --symbolic finds bugs behind what checkers do with a field: a switch of many cases, a
# number in text, a bit of a bitmap, a block that it names, a short memcmp, a name that is cut up.
# Each needs a certain value, or one of few.
cd "$(dirname "$0")/../.." || exit 1
. tests/sym/look.sh

head -c 65536 /dev/zero >"$WORK/disk"
printf '\x20' | dd of="$WORK/disk" bs=1 seek=2661 conv=notrunc status=none
printf '\xbb' | dd of="$WORK/disk" bs=1 seek=39424 conv=notrunc status=none
tap_run "with -O0" 0 cc -O0 -gdwarf-4 -o "$WORK/plain" tests/sym/deep_checker.c
tap_run "with -O2" 0 cc -O2 -gdwarf-4 -o "$WORK/fast" tests/sym/deep_checker.c
tap_run "stripped, at a fixed address" 0 cc -O2 -no-pie -s -o "$WORK/fixed" tests/sym/deep_checker.c

for program in plain fast fixed; do
	while read -r what range; do
		tap_run "$program $what: found" 1 "$ASSAY" fsck \
			"checker:$WORK/$program $what {disk}" --disk "$WORK/disk" --symbolic \
			--range "$range" --for 120s --max-findings 1 --no-store
		tap_like "$program $what: the bug" "$WORK/out" 'died of SIGABRT'
	done <<-'END'
		cases 0+8
		text 0+3
		bitmap 0+4
		block 0+4
		compare 0+5
		name 0+8
	END
done

# A checksum that the user describes is computed anew: all bytes but these four are zero.
cat >"$WORK/mine.layout" <<'END'
layout mine
order little

structure super size=512 at=0
	kind   16 4 other
	sum   508 4 checksum sum=crc32 over=0:508
END
cp "$WORK/disk" "$WORK/summed"
printf '\x54\x6d\xbb\x0f' | dd of="$WORK/summed" bs=1 seek=508 conv=notrunc status=none
for how in "" "--range 16+4"; do
	# shellcheck disable=SC2086
	tap_run "behind a checksum ${how:-by fields}: found" 1 "$ASSAY" fsck \
		"checker:$WORK/fast sealed {disk}" --disk "$WORK/summed" \
		--layout "$WORK/mine.layout" --symbolic $how --for 120s --max-findings 1 --no-store
	tap_like "behind a checksum ${how:-by fields}: the bug" "$WORK/out" 'died of SIGABRT'
done
printf 'nonsense\n' >"$WORK/bad.layout"
tap_run "a description that is none" 2 "$ASSAY" fsck "checker:$WORK/fast sealed {disk}" \
	--disk "$WORK/summed" --layout "$WORK/bad.layout" --symbolic --range 16+4 --no-store
tap_like "a description that is none: said" "$WORK/err" 'bad.layout:1:'

tap_run "floating point" 0 "$ASSAY" fsck "checker:$WORK/plain share {disk}" --disk "$WORK/disk" \
	--symbolic --range 0+4 --for 120s --no-store
tap_like "floating point: said" "$WORK/out" '^1 runs computed with unknown bytes .* not followed'

tap_done
