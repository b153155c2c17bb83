#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# labfs-fsck as a program: exit status as e2fsck, one line for a mistake, nothing written with -n.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

FSCK=$ASSAY_BUILD/labfs-fsck
MKFS=$ASSAY_BUILD/labfs-mkfs
IMAGE=$WORK/disk.img

wrong_use() { # NAME REGEX ARGUMENT...
	local name=$1 regex=$2
	shift 2
	tap_run "$name: status" 16 "$FSCK" "$@"
	tap_like "$name: what" "$WORK/err" "$regex"
	tap_is "$name: one line" "$(wc -l <"$WORK/err")" 1
}

poke() { # OFFSET BYTES
	printf "$2" | dd of="$IMAGE" bs=1 seek="$1" conv=notrunc status=none
}

tap_run "mkfs" 0 "$MKFS" -s 1M "$IMAGE"
for mode in replay default full; do
	tap_run "a new disk, $mode" 0 "$FSCK" --mode "$mode" "$IMAGE"
done
tap_like "says clean" "$WORK/out" '^clean, 0 problems'

# The inode bitmap is block 1; inodes 1 and 2 are in use.
poke 1024 '\0'
before=$(cksum <"$IMAGE")
tap_run "damage on a clean disk is not looked for" 0 "$FSCK" "$IMAGE"
tap_run "read only" 4 "$FSCK" -n --mode full "$IMAGE"
tap_like "read only: problem" "$WORK/out" '^\[502 INODE_BITMAP\] '
tap_is "read only: nothing written" "$(cksum <"$IMAGE")" "$before"
tap_run "repair with a wrong exit status" 0 "$FSCK" --bug 55 --mode full "$IMAGE"
poke 1024 '\0'
tap_run "repair" 1 "$FSCK" --mode full "$IMAGE"
tap_run "second run" 0 "$FSCK" --mode full "$IMAGE"

dd if=/dev/zero of="$IMAGE" bs=1024 count=1 conv=notrunc status=none
tap_run "superblock from the backup" 1 "$FSCK" "$IMAGE"
tap_like "superblock from the backup: problem" "$WORK/out" '^\[001 SUPER_BAD\] .*block 1023'

dd if=/dev/zero of="$IMAGE" bs=1024 count=1024 status=none
tap_run "no file system" 8 "$FSCK" "$IMAGE"
tap_like "no file system: what" "$WORK/out" '^no usable superblock'
tap_run "no such file" 8 "$FSCK" "$WORK/none"
tap_is "no such file: one line" "$(wc -l <"$WORK/err")" 1
: >"$WORK/empty"
tap_run "empty file" 8 "$FSCK" "$WORK/empty"

wrong_use "no image" 'one image' --mode full
wrong_use "two images" 'one image' "$IMAGE" "$IMAGE"
wrong_use "unknown mode" 'not quick' --mode quick "$IMAGE"
wrong_use "mode twice" 'twice' --mode full --mode full "$IMAGE"
wrong_use "unknown option" '--frob' --frob "$IMAGE"
wrong_use "unknown bug" 'bug=199' --bug 199 "$IMAGE"
tap_run "help" 0 "$FSCK" --help
tap_done
