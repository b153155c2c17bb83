#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# assay recover: what it prints, what it writes, its exit status.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
export LC_ALL=C
disk=$WORK/disk.raw

if ! PATH=$PATH:/sbin:/usr/sbin command -v mke2fs >/dev/null; then
	tap_skip "recover" "mke2fs is not here (package e2fsprogs)"
	tap_done
fi
PATH=$PATH:/sbin:/usr/sbin
truncate -s 2M "$disk"
mke2fs -q -F -t ext4 "$disk"

tap_run "a clean disk" 0 "$ASSAY" recover --target ext4 --mode full "$disk" -o "$WORK/out.raw"
tap_like "the checker's words are shown" "$WORK/out" '^Pass 5: Checking group summary'
tap_like "then ours" "$WORK/out" \
	'disk.raw: clean \(exit status 0\); [1-9][0-9]* reads, [0-9]+ writes, [1-9][0-9]* flushes$'
tap_is "the size stays" "$(stat -c %s "$WORK/out.raw")" 2097152

before=$(cksum <"$disk")
debugfs -w -R 'clri <2>' "$disk" 2>/dev/null
damaged=$(cksum <"$disk")
tap_is "the disk is damaged" "$([ "$before" != "$damaged" ] && echo yes)" yes
tap_run "a damaged disk" 1 "$ASSAY" recover --target ext4 --mode full "$disk" -o "$WORK/out.img.zst"
tap_like "is repaired" "$WORK/out" 'disk.raw: repaired \(exit status 1\)'
tap_is "the operand is not changed" "$(cksum <"$disk")" "$damaged"
if command -v zstd >/dev/null; then
	zstd -q -d <"$WORK/out.img.zst" >"$WORK/unpacked.raw"
	tap_run "zstd alone unpacks a saved disk" 0 e2fsck -fn "$WORK/unpacked.raw"
	"$ASSAY" disk export "$WORK/out.img.zst" "$WORK/exported.raw"
	tap_is "as disk export does" \
		"$(cmp "$WORK/unpacked.raw" "$WORK/exported.raw" && echo same)" same
else
	tap_skip "zstd alone unpacks a saved disk" "zstd is not here (package zstd)"
fi
tap_run "a saved disk, repaired before" 0 \
	"$ASSAY" recover --target ext4:data=journal --mode full "$WORK/out.img.zst" --json
tap_like "in JSON" "$WORK/out" '"answer":"clean","exited":true,"status":0'

# What a plain file becomes, with e2fsck's own way to stop its clock.
"$ASSAY" recover --target ext4 --mode full "$disk" -o "$WORK/ours.raw" >/dev/null
cp "$disk" "$WORK/plain.raw"
E2FSCK_TIME=2145916800 e2fsck -f -y "$WORK/plain.raw" >/dev/null 2>&1
tap_is "equal to what e2fsck makes of a plain file" \
	"$(cmp "$WORK/ours.raw" "$WORK/plain.raw" && echo same)" same

truncate -s 64K "$WORK/zeros"
tap_run "a disk that is none" 1 "$ASSAY" recover --target ext4 "$WORK/zeros"
tap_like "says so" "$WORK/out" 'failed \(exit status 8\)'
tap_run "no target" 2 "$ASSAY" recover "$disk"
tap_like "is named" "$WORK/err" '^assay: recover: --target is missing'
tap_run "an unknown target" 2 "$ASSAY" recover --target nofs "$disk"
tap_like "lists the known" "$WORK/err" "no checker is known for 'nofs'; known are ext2 ext3 ext4 "
tap_run "a target without a checker" 2 "$ASSAY" recover --target nilfs2 "$disk"
tap_like "says that" "$WORK/err" '^assay: nilfs2 has no checker'
tap_run "a program that is not here" 3 "$ASSAY" recover --target hfsplus "$disk"
tap_like "names its package" "$WORK/err" 'package hfsprogs'
tap_run "no such disk" 2 "$ASSAY" recover --target ext4 "$WORK/none"
tap_run "no such mode" 2 "$ASSAY" recover --target ext4 --mode slow "$disk"
tap_run "nowhere to write to" 2 "$ASSAY" recover --target ext4 "$disk" -o "$WORK/no/where"
tap_done
