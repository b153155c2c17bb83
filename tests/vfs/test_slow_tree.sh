#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A tree that is read slowly is no hang: the attributes of each of 60 directories take 0.15 seconds,
# with a deadline of one second for an operation. The time is the subject.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh

printf 'mkdir /a 0755\ndeepen /a 60\n' >"$WORK/w.txt"
mkdir "$WORK/tree"
slowly=(strace -f -o "$WORK/calls" -e trace=llistxattr -e inject=llistxattr:delay_exit=150000)
if ! command -v strace >/dev/null || ! "${slowly[@]}" true 2>"$WORK/err"; then
	tap_skip "a tree that is read slowly" "strace cannot delay calls here"
	tap_done
	exit
fi
SECONDS=0
"${slowly[@]}" "$ASSAY" run --no-store --deadline 1 --target "dir:$WORK/tree" "$WORK/w.txt" \
	>"$WORK/out" 2>&1
tap_is "a tree that is read slowly" $? 0
tap_is "it was read slowly" "$([ "$SECONDS" -ge 8 ] && echo yes)" yes
tap_done
