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

	# ---- After a power cut ----

	cut=(--nodes 1 --depth 3 --ops mkdir,sync --budget 0 --again 0 --no-store --json)
	tap_run "uml: after a power cut" 0 "$ASSAY" check --target ext4 "${cut[@]}"
	tap_is "uml: traces go on" "$(($(count recovered <"$WORK/out") > 0))" 1
	tap_like "uml: that is all" "$WORK/out" '"all":true'
	sum=$(count owned_sum <"$WORK/out")
	tap_run "uml: depth first" 0 "$ASSAY" check --target ext4 "${cut[@]}" --search dfs --jobs 2
	tap_like "uml: is all, too" "$WORK/out" '"all":true'
	tap_is "uml: and the same" "$(count owned_sum <"$WORK/out")" "$sum"
	tap_run "uml: not after a power cut" 0 "$ASSAY" check --target ext4 "${cut[@]}" --crashes 0
	tap_is "uml: nothing goes on" "$(count recovered <"$WORK/out")" 0

	# ---- Starts ----

	began=(--nodes 1 --depth 1 --ops create,unlink --no-crash --no-store --json)
	printf 'mkdir /d 0755\ncreate /d/a 0644\n$0 = open /d/a O_RDONLY\n' >"$WORK/mine.txt"
	for start in names "$WORK/mine.txt"; do
		name=${start##*/}
		tap_run "uml: start $name" 0 "$ASSAY" check --target ext4 "${began[@]}" \
			--start "$start"
		tap_like "uml: start $name: all" "$WORK/out" '"all":true'
		[ -z "$states" ] || {
			n=$(count states <"$WORK/out") moves=$(count transitions <"$WORK/out")
			tap_run "host: start $name" 0 "$ASSAY" check --target ext4 "${began[@]}" \
				--start "$start" --sandbox host
			tap_is "start $name: the same in both" "$n $moves" \
				"$(count states <"$WORK/out") $(count transitions <"$WORK/out")"
		}
	done
	tap_run "uml: a start is not fresh" 0 "$ASSAY" check --target ext4 "${began[@]}"
	tap_is "uml: it has more moves" "$((moves > $(count transitions <"$WORK/out")))" 1
	tap_run "uml: no such start" 2 "$ASSAY" check --target ext4 --no-store \
		--start "$WORK/nowhere"
	printf 'create /a 0644\ncrash\n' >"$WORK/cut.txt"
	tap_run "uml: a start that cuts the power" 2 "$ASSAY" check --target ext4 --no-store \
		--start "$WORK/cut.txt"
	tap_like "uml: is refused" "$WORK/err" 'cuts the power'

	# ---- Little time ----

	tap_run "little time" 0 "$ASSAY" check --target ext4 --nodes 2 --no-crash --for 3s \
		-o "$WORK/short" --json
	before=$(count states <"$WORK/out")
	# A busy machine may need more than one try to get a state done in that time.
	after=$before
	for ((try = 0; try < 20 && after <= before; try++)); do
		"$ASSAY" check --target ext4 --nodes 2 --no-crash --for 3s -o "$WORK/short" --json \
			--resume >"$WORK/out" 2>"$WORK/err" || break
		after=$(count states <"$WORK/out")
	done
	tap_is "more of it is more" "$((after > before))" 1

	# ---- A disk that fails ----

	tap_run "writes that fail" 0 "$ASSAY" check --target ext4 --nodes 1 --depth 1 \
		--ops mkdir,sync --budget 2 --again 0 --faults write --no-store
	tap_like "are counted" "$WORK/out" '^transitions with a fault or choice +[1-9]'
	tap_run "allocations that fail" 2 "$ASSAY" check --target ext4 --faults alloc --no-store
	tap_like "are not for kernels" "$WORK/err" 'only read and write can fail'

	# ---- A mistake: jfs_fsck cannot replay the log (docs/FOUND.md) ----

	# When its log is written depends on the time, so that it is there in some runs only.
	for ((try = 0, got = 0; try < 10 && got == 0; try++)); do
		rm -rf "$WORK/jfs"
		"$ASSAY" check --target jfs --nodes 1 --depth 2 --ops mkdir,umount --view 1 \
			--budget 64 --again 0 --max-findings 1 -o "$WORK/jfs" \
			>"$WORK/out" 2>"$WORK/err" || got=$?
	done
	if [ $got = 3 ]; then
		tap_skip "a mistake of jfs" "$(sed 's/^assay: //' "$WORK/err")"
	else
		[ $got = 1 ] || sed 's/^/# /' "$WORK/out" "$WORK/err"
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
