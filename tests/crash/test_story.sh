#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The story of a failing crash state, word for word. UPDATE=1 writes the goldens anew.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

# story NAME TARGET WORKLOAD [OPTION...]: of the first finding, compared with its golden.
story() {
	local name=$1 target=$2 workload=$3 golden=tests/golden/crash/$1.txt
	shift 3
	printf '%b' "$workload" >"$WORK/$name.txt"
	tap_run "$name: found" 1 "$ASSAY" crash -o "$WORK/$name" --target "$target" "$@" \
		"$WORK/$name.txt"
	# The summary and the timeline of the first finding; its id, and what the target logged, say
	# nothing of the story.
	awk 'NR == 1 { next } /^[^ ]/ || /^  (the target said|again:)/ { exit } { print }' \
		"$WORK/out" >"$WORK/story"
	if [ "${UPDATE:-}" = 1 ]; then
		cp "$WORK/story" "$golden"
	fi
	if diff -u "$golden" "$WORK/story" >"$WORK/diff"; then
		tap_ok "$name: told as in $golden"
	else
		tap_not_ok "$name: told as in $golden" "$(cat "$WORK/diff")"
	fi
	tap_like "$name: it is in the finding's README.md" \
		"$(find "$WORK/$name/findings" -name README.md | head -n 1)" 'what is wrong: '
}

# FiSC, Figure 4: the journal is cleared before what was replayed from it is flushed.
story figure4 lab:bug=37 'mkdir /a 0755\nsync\ncreate /a/f 0644\nsync\n' --recover mount
# An fsync that did not wait: a promise broken without a second power cut.
story fsync lab:bug=29 '$0 = open /f O_RDWR|O_CREAT 0644\nsync\nhardlink /f /g\nfsync $0\n' \
	--recover mount --again 0
# Blocks of a removed file are written before its removal is committed.
story foreign lab:bug=34 "\$0 = open /f O_RDWR|O_CREAT 0644\\npwrite \$0 len=3000 at=0 fill=1\\n\
sync\\nclose \$0\\nunlink /f\\n\$0 = open /g O_RDWR|O_CREAT 0644\\n\
pwrite \$0 len=3000 at=0 fill=2\\nsync\\n" --recover mount --again 0
tap_done
