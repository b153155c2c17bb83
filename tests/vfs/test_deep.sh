#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A deep tree is read by short paths: a kernel walks each of them, and some look at every directory
# on the way. 300 levels are read by paths of at most 17 steps.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh

printf 'mkdir /a 0755\ndeepen /a 300\nsync\n' >"$WORK/w.txt"
mkdir "$WORK/tree"
if ! command -v strace >/dev/null || ! strace -f -o "$WORK/none" true 2>"$WORK/err"; then
	tap_skip "a deep tree" "strace does not run here"
	tap_done
	exit
fi
strace -f -s 4096 -e trace=openat,newfstatat,llistxattr,lgetxattr -o "$WORK/calls" \
	"$ASSAY" run --no-store --target "dir:$WORK/tree" "$WORK/w.txt" >"$WORK/out" 2>&1
tap_is "a tree of 300 levels" $? 0
grep -o '"[^"]*d/d[^"]*"' "$WORK/calls" | tr -cd '/\n' >"$WORK/steps"
tap_is "it was read by paths" "$([ "$(wc -l <"$WORK/steps")" -gt 300 ] && echo yes)" yes
tap_is "all paths are short" "$(awk 'length($0) > 17' "$WORK/steps" | wc -l)" 0
tap_done
