#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A target that is read-only before any workload makes it so is refused, in words; a workload that
# turns it read-only is not.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

printf '%s\n' 'mkdir /a 0755' umount 'mount opts=ro' 'mkdir /b 0755' umount mount 'mkdir /b 0755' \
	>"$WORK/w.txt"

run() { # STATUS TARGET
	tap_run "$2 ends with $1" "$1" "$ASSAY" run --no-store --trust --sandbox host \
		--target "$2" "$WORK/w.txt"
	[ "$1" = 0 ] || tap_like "it is said why" "$WORK/err" 'read-only from the beginning'
}

run 2 lab:ro
run 2 lab:rw,ro
run 0 lab:ro,rw
run 0 lab
tap_run "a hunt is refused, too" 2 "$ASSAY" hunt --target lab:ro --max-workloads 1 -o "$WORK/hunt"
tap_run "and power cuts" 2 "$ASSAY" crash --no-store --target lab:ro "$WORK/w.txt"

# By the flags of the mount, and by options that a server keeps to itself.
if [ "$(id -u)" != 0 ]; then
	tap_skip "mounts" "mounting on the running kernel needs root"
elif ! "$ASSAY" run --no-store --sandbox host --target ext4 "$WORK/w.txt" >"$WORK/out" 2>&1; then
	tap_skip "mounts" "nothing can be mounted here: $(tail -n 1 "$WORK/out")"
else
	run 2 ext4:noatime,ro
	if [ -x "$(command -v bindfs)" ]; then
		run 2 "fuse:bindfs -f -o ro {src} {mnt}"
		run 0 "fuse:bindfs -f {src} {mnt}"
	fi
	[ ! -x "$(command -v fuse2fs)" ] || run 2 fuse2fs:ro
fi

tap_done
