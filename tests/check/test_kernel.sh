#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay check` on file systems of the kernel: in the sandbox uml, and on the running kernel. It
# goes on where it was stopped, and what it finds comes back. Who lacks a sandbox skips it.
set -u
. "$(dirname "$0")/../tap.sh"

count() { grep -o "\"$1\":[0-9]*" | tail -n 1 | cut -d: -f2; } # NAME
small=(--nodes 1 --depth 1 --ops mkdir,create,unlink --budget 4 --again 0)

# ---- A sound file system ----

sound() { # SANDBOX OPTION...
	local box=$1 got=0
	shift
	"$ASSAY" check --target ext4 --sandbox "$box" "${small[@]}" -o "$WORK/$box" "$@" \
		>"$WORK/out" 2>"$WORK/err" || got=$?
	if [ $got = 3 ]; then
		tap_skip "ext4 in $box" "$(sed 's/^assay: //' "$WORK/err")"
		return 1
	fi
	tap_is "ext4 in $box" "$got $(cat "$WORK/err")" "0 "
	tap_like "$box: what the budget leaves out is said" "$WORK/out" \
		'^not all states were explored: crash states were left out \(--budget\)'
	tap_like "$box: with power cuts" "$WORK/out" '^crash states recovered +[1-9]'
	tap_like "$box: and answers" "$WORK/out" '^transitions +[1-9]'
}

states=
if sound host; then
	states=$(grep '^states  ' "$WORK/out")
	# A trace that goes on does so on the disk that the power cut left.
	tap_run "host: after a power cut" 0 "$ASSAY" check --target ext4 --sandbox host --nodes 1 \
		--depth 3 --ops mkdir,sync,umount,mount --budget 4 --again 0 --no-store \
		--max-transitions 30
	tap_like "host: traces go on" "$WORK/out" '^recovered trees to go on from +[1-9]'
	tap_is "host: and nothing looks wrong" \
		"$(cat "$WORK/out" "$WORK/err" | grep -c 'not confirmed')" 0
fi
if sound uml; then
	[ -z "$states" ] || tap_is "both have the same states" "$(grep '^states  ' "$WORK/out")" \
		"$states"
	tap_run "uml: going on with less power cuts" 2 "$ASSAY" check --target ext4 "${small[@]}" \
		--resume -o "$WORK/uml" --no-crash
	tap_like "uml: is refused" "$WORK/err" 'made with other settings'
	tap_run "uml: going on" 0 "$ASSAY" check --target ext4 "${small[@]}" --resume \
		-o "$WORK/uml" --json
	tap_like "uml: nothing is left" "$WORK/out" '"frontier":0,'
	tap_like "uml: what the budget left out is not forgotten" "$WORK/out" '"all":false'
	tap_is "uml: nothing is tried again" "$(count transitions <"$WORK/out")" 0

	tap_run "uml: without power cuts" 0 "$ASSAY" check --target ext4 --nodes 1 --depth 1 \
		--ops mkdir,create,unlink --no-crash --no-store
	tap_like "uml: it is all" "$WORK/out" '^all [0-9]+ states within bounds explored: 1 node'

	# ---- Shards ----

	owned=0 sum=0
	two=(--nodes 1 --depth 2 --no-crash --ops mkdir,rmdir,sync --no-store --json)
	for k in 1 2; do
		tap_run "uml: shard $k" 0 "$ASSAY" check --target ext4 "${two[@]}" --shard "$k/2"
		owned=$((owned + $(count owned <"$WORK/out")))
		sum=$((sum + $(count owned_sum <"$WORK/out")))
		tap_like "uml: shard $k: follows others" "$WORK/out" '"foreign":[1-9]'
	done
	tap_run "uml: without shards" 0 "$ASSAY" check --target ext4 "${two[@]}"
	tap_is "uml: together they visit the same" "$owned $sum" \
		"$(count owned <"$WORK/out") $(count owned_sum <"$WORK/out")"

	# ---- Little time ----

	tap_run "little time" 0 "$ASSAY" check --target ext4 --nodes 2 --no-crash --for 3s \
		-o "$WORK/short" --json
	before=$(count states <"$WORK/out")
	tap_run "more of it" 0 "$ASSAY" check --target ext4 --nodes 2 --no-crash --for 3s \
		-o "$WORK/short" --json --resume
	tap_like "is more" <(echo "$(($(count states <"$WORK/out") > before))") '^1$'

	# ---- A disk that fails ----

	tap_run "writes that fail" 0 "$ASSAY" check --target ext4 --nodes 1 --depth 1 \
		--ops mkdir,sync --budget 2 --again 0 --faults write --no-store
	tap_like "are counted" "$WORK/out" '^transitions with a fault or choice +[1-9]'
	tap_run "allocations that fail" 2 "$ASSAY" check --target ext4 --faults alloc --no-store
	tap_like "are not for kernels" "$WORK/err" 'only read and write can fail'

	# ---- A mistake: jfs_fsck cannot replay the log (docs/FOUND.md) ----

	got=0
	"$ASSAY" check --target jfs --nodes 1 --depth 2 --ops mkdir,umount --view 1 --budget 64 \
		--again 0 --max-findings 1 -o "$WORK/jfs" >"$WORK/out" 2>"$WORK/err" || got=$?
	if [ $got = 3 ]; then
		tap_skip "a mistake of jfs" "$(sed 's/^assay: //' "$WORK/err")"
	else
		tap_is "a mistake of jfs" $got 1
		id=$(ls "$WORK/jfs/findings" | head -n 1)
		tap_run "replay" 1 "$ASSAY" replay -o "$WORK/jfs" "$id"
		tap_like "comes back" "$WORK/out" ': reproduced$'
	fi
fi

# ---- What cannot be ----

tap_run "a folder of somebody else" 2 "$ASSAY" check --target "dir:$WORK" --no-store
tap_like "has no disk of ours" "$WORK/err" 'without a disk of ours'

tap_done
