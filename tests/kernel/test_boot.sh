#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A kernel that does not boot is reported by the line that says why, not by the end of its stack.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
export LC_ALL=C

if ! tap_uml ext2; then
	tap_skip "a kernel that does not boot" "the sandbox uml does not run here"
	tap_done
	exit
fi
# says NAME LINE REGEX
says() {
	gcc -static -DSAYS="\"$2\"" tests/kernel/dead_kernel.c -o "$WORK/linux" || exit 2
	chmod a+rx "$WORK" "$WORK/linux"
	"$ASSAY" run --target ext2 --uml "$WORK/linux" examples/smoke.txt >"$WORK/out" \
		2>"$WORK/err" </dev/null
	tap_is "$1: exit status" $? 2
	tap_like "$1: the line that says why" "$WORK/err" "$3"
}
says "undefined behaviour at boot" \
	'[    0.010000] UBSAN: misaligned-access in arch/um/os-Linux/skas/process.c:1:2' \
	'did not start .*its kernel says: UBSAN: misaligned-access in arch/um'
says "no root" \
	'[    0.010000] Kernel panic - not syncing: VFS: Unable to mount root fs on x(0,0)' \
	'its kernel says: Kernel panic - not syncing: VFS: Unable to mount root fs'
says "nothing that is known" '[    0.010000] just so' 'did not start .*its console ends: .*um_func'
tap_done
