#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The Valgrind tool on every checker that is installed: a sweep over the fields of its superblock,
# one at a time, with not one value or branch that differs from what really happened, no operation
# that is not modelled, and no run that dies.
set -euo pipefail
. "$(dirname "$0")/../tap.sh"

vg=$ASSAY_BUILD/vg
if [ ! -x "$vg/assaysym-amd64-linux" ] || ! command -v valgrind >/dev/null; then
	tap_skip "the Valgrind tool on checkers" "it was not built, or valgrind is not installed"
	tap_done
	exit 0
fi
VALGRIND_LIB=$(cd "$vg" && pwd)
export VALGRIND_LIB
PATH=$PATH:/usr/sbin:/sbin
tap_memory
dir=$MEMORY
log=$dir/log
truncate -s 64M "$log"
disk=$dir/disk
labfs=$(cd "$ASSAY_BUILD" && pwd)

# sweep NAME RUNS OFFSET LENGTH CHECKER...: the disk is there.
sweep() {
	local name=$1 runs=$2 offset=$3 length=$4 status=0
	shift 4
	echo "symbolic $offset $((runs * length))" >"$dir/ranges"
	"$vg/vg_serve" -s "$log" "$runs" 120000 "$disk" "$offset" "$length" -- \
		valgrind --tool=assaysym -q --symlog="$log" --disk="$disk" \
		--ranges="$dir/ranges" @ "$@" "$disk" >"$WORK/out" 2>&1 || status=$?
	tap_is "$name: it serves" "$status" 0
	tap_is "$name: all runs end" "$(grep -ac '^done' "$WORK/out")" "$runs"
	tap_like "$name: branches, and no mismatch" "$WORK/out" \
		'^sum branches=[1-9][0-9]* mismatches=0 '
	tap_like "$name: no operation is dropped" "$WORK/out" '^sum .* drops=0$'
}

# has NAME PROGRAM...: or it is skipped
has() {
	local name=$1 program
	shift
	for program; do
		if ! command -v "$program" >/dev/null; then
			tap_skip "$name" "$program is not installed"
			return 1
		fi
	done
}

make_disk() {
	local size=$1
	shift
	rm -f "$disk"
	truncate -s "$size" "$disk"
	"$@" "$disk" >"$WORK/out" 2>&1 || tap_not_ok "$*" "$(tail -n 5 "$WORK/out")"
}

if has e2fsck mke2fs e2fsck; then
	make_disk 1M mke2fs -q -F -t ext2
	sweep e2fsck 12 1024 4 e2fsck -fy
	make_disk 2M mke2fs -q -F -t ext4 -O metadata_csum
	sweep "e2fsck with checksums" 4 1112 4 e2fsck -fn
fi
if has fsck.minix mkfs.minix fsck.minix; then
	make_disk 512K mkfs.minix
	sweep fsck.minix 10 1024 2 fsck.minix -f
fi
if has fsck.fat mkfs.fat fsck.fat; then
	make_disk 512K mkfs.fat
	sweep fsck.fat 12 11 2 fsck.fat -n
fi
if has fsck.f2fs mkfs.f2fs fsck.f2fs; then
	make_disk 64M mkfs.f2fs
	sweep fsck.f2fs 2 1024 4 fsck.f2fs -f
fi
if has reiserfsck mkfs.reiserfs reiserfsck; then
	make_disk 34M mkfs.reiserfs -q -f -f
	sweep reiserfsck 2 65536 4 reiserfsck --check -y
fi
if has jfs_fsck mkfs.jfs jfs_fsck; then
	make_disk 16M mkfs.jfs -q
	sweep jfs_fsck 8 32768 4 jfs_fsck -f -n
fi
if has fsck.exfat mkfs.exfat fsck.exfat; then
	make_disk 4M mkfs.exfat
	sweep fsck.exfat 4 72 4 fsck.exfat -n
fi
if has xfs_repair mkfs.xfs xfs_repair; then
	make_disk 16M env TEST_DIR=x TEST_DEV=x QA_CHECK_FS=x mkfs.xfs -q -f
	sweep xfs_repair 4 0 4 xfs_repair -n
fi
make_disk 1M "$labfs/labfs-mkfs"
# Valgrind 3.19 cannot read clang's debugging information.
strip -g -o "$dir/labfs-fsck" "$labfs/labfs-fsck"
sweep labfs-fsck 8 0 4 "$dir/labfs-fsck" --mode full

tap_done
