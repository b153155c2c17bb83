#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A mark that says "not unmounted" is no damage, wherever it is kept and whatever the checker says
# of it: in one of two boot sectors (FAT32), in one (FAT12), in the table, too (FAT16), in a
# superblock that has copies. The shortest workload is cut at its moments, also during recovery, and
# nothing is found. tests/target/test_fstype.c: another difference of the boot sectors is a repair.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
export LC_ALL=C

printf 'create /a 0644\nsync\n' >"$WORK/w.txt"

for target in vfat:mkfs=fat12 vfat:mkfs=fat16 vfat:mkfs=fat32 vfat:mkfs=fat32-4k vfat:mkfs=onefat \
	exfat ntfs3 f2fs xfs minix2; do
	got=0
	# Which cut of a recovery shows it is not known beforehand; a log has far more of them.
	budget=0
	case $target in f2fs | xfs) budget=100 ;; esac
	"$ASSAY" crash --target $target --sandbox uml --budget $budget --no-store "$WORK/w.txt" \
		>"$WORK/out" 2>"$WORK/err" || got=$?
	if [ $got = 3 ]; then
		tap_skip "$target: a mark is no damage" "$(sed 's/^assay: //' "$WORK/err")"
	else
		said=$(grep -h 'what is wrong' "$WORK/out")
		tap_is "$target: a mark is no damage" "$got $said" "0 "
	fi
done

tap_done
