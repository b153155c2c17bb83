#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# assay crash on file systems of the kernel, from the command line: what it refuses, ext4 on the
# running kernel and in a guest, a finding in a real file system brought back.
set -uo pipefail
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"

cat >"$WORK/w.txt" <<'END'
mkdir /a 0755
$0 = open /a/f O_RDWR|O_CREAT 0644
pwrite $0 len=3000 at=0 fill=1
fsync $0
close $0
rename /a/f /a/g
sync
END

# NAME STATUS WORDS COMMAND...: one line on standard error, with these words in it
refuses() {
	local name=$1 status=$2 words=$3
	shift 3
	tap_run "$name" "$status" "$@"
	if [ "$(wc -l <"$WORK/err")" = 1 ] && grep -q -- "$words" "$WORK/err"; then
		tap_ok "$name: in one line"
	else
		tap_not_ok "$name: in one line" "$(cat "$WORK/err")"
	fi
}

crash() {
	"$ASSAY" crash --no-store --again 0 "$@" "$WORK/w.txt"
}

refuses "a directory" 2 "not ours to crash" crash --target dir:/tmp
if command -v fuse2fs >/dev/null && [ -w /dev/fuse ]; then
	refuses "a FUSE server" 2 "nothing to be promised" crash --target fuse2fs
else
	tap_skip "a FUSE server" "no fuse2fs (package fuse2fs) or no /dev/fuse"
fi

host=
[ "$(id -u)" = 0 ] && grep -qw ext4 /proc/filesystems && [ -e /dev/loop-control ] &&
	[ -e /dev/fuse ] && command -v e2fsck >/dev/null && host=yes
if [ -z "$host" ]; then
	tap_skip "ext4 on the running kernel" "takes root, ext4, loop devices, FUSE and e2fsprogs"
else
	refuses "flash memory" 3 "MTD flash" crash --target ubifs --sandbox host
	refuses "a disk that is too small" 2 "too small" \
		crash --target ext4 --sandbox host --size 1M
	if grep -qw xfs /proc/filesystems && command -v mkfs.xfs >/dev/null; then
		refuses "a way that is none" 2 "only by mount" \
			crash --target xfs --sandbox host --recover quick
	fi
	tap_run "ext4: nothing is found, all that is remembered is true" 0 \
		crash --target ext4 --sandbox host --view 1,3 --recover mount,quick,fsck,full \
		--memo verify
	tap_run "ext4: nor with reads that fail" 0 crash --target ext4 --sandbox host --view 1 \
		--recover quick --t 2 --trials 1 --faults disk
	if grep -q "recoveries with a read that fails" "$WORK/err" "$WORK/out"; then
		tap_ok "ext4: reads did fail"
	else
		tap_not_ok "ext4: reads did fail" "$(cat "$WORK/out" "$WORK/err")"
	fi
	# A superblock of two sectors is not written at once.
	tap_run "ext4: sectors of 512 bytes" 1 \
		crash --target ext4 --sandbox host --view 2 --sector 512
fi

if ! "$ASSAY" run --target reiserfs --no-store examples/smoke.txt >/dev/null 2>"$WORK/err"; then
	tap_skip "reiserfs in a guest" "$(head -n 1 "$WORK/err")"
else
	printf 'mkdir /a 0755\n$1 = open / O_RDONLY\nfsync $1\n' >"$WORK/w.txt"
	tap_run "reiserfs: the first fsync after a mount does nothing" 1 "$ASSAY" crash \
		--target reiserfs --again 0 --view 1 -o "$WORK/found" "$WORK/w.txt"
	id=$(ls "$WORK/found/findings" 2>/dev/null | head -1)
	tap_run "it comes back" 1 "$ASSAY" replay -o "$WORK/found" "${id:-none}"
	if grep -q "after fsync of / at op 3" "$WORK/found/findings/$id/README.md"; then
		tap_ok "and says what was promised"
	else
		tap_not_ok "and says what was promised"
	fi
fi
tap_done
