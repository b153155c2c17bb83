#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# examples/checkers-found.sh makes disks and judges checkers by plain commands. A checker that does
# something else than docs/FOUND.md says must be told.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
PATH=$PATH:/usr/sbin:/sbin

script=$PWD/examples/checkers-found.sh
tap_run "a case that is not there" 2 "$script" nosuch
if command -v fsck.minix >/dev/null && command -v mkfs.minix >/dev/null; then
	tap_run "a case of fsck.minix" 0 "$script" minix-double-indirect
	tap_is "its line" "$(cat "$WORK/out")" "minix-double-indirect: 3+ 0 as found"
	# A checker that does nothing.
	mkdir "$WORK/bin"
	printf '#!/bin/sh\nexit 0\n' >"$WORK/bin/fsck.minix"
	chmod +x "$WORK/bin/fsck.minix"
	PATH=$WORK/bin:$PATH tap_run "another checker differs" 1 "$script" minix-double-indirect
	if grep -q "DIFFERS" "$WORK/out"; then
		tap_ok "the difference is told"
	else
		tap_not_ok "the difference is told" "$(cat "$WORK/out")"
	fi
else
	tap_skip "a case of fsck.minix" "it is not installed"
fi
tap_done
