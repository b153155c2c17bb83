#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay check --hash`: what tells states apart, what that merges, and what is missed by it.
set -u
. "$(dirname "$0")/../tap.sh"

count() { grep -o "\"$1\":[0-9]*" | tail -n 1 | cut -d: -f2; } # NAME
few=(--nodes 2 --depth 5 --ops mkdir,sync)

states() { # OPTION...: of a sound labfs
	"$ASSAY" check --target lab --nodes 2 --no-store --json "$@" | count states
}
model=$(states --depth 3 --no-crash)
tap_is "the model alone is the default" "$(states --depth 3 --no-crash --hash model)" "$model"
disk=$(states --depth 3 --no-crash --hash disk)
tap_is "the disk tells more states apart" "$((disk > model))" 1
tap_is "but some are one: the clock stands still" \
	"$((disk < $("$ASSAY" check --target lab --nodes 2 --depth 3 --no-crash --no-store --json |
		count changing)))" 1
tap_is "two processes find the same" "$(states --depth 3 --no-crash --hash disk --jobs 2)" "$disk"

# ---- A mistake that depends on the disk, and not on the tree ----

tap_run "with the model alone all is explored" 0 "$ASSAY" check --target lab:bug=96 "${few[@]}" \
	--no-store
tap_like "and nothing is found" "$WORK/out" '^all [0-9]+ states'
tap_run "with the disk" 1 "$ASSAY" check --target lab:bug=96 "${few[@]}" --hash disk \
	--max-findings 1 -o "$WORK/f"
tap_like "it is found" "$WORK/out" 'in round 2, power cut'
tap_is "is confirmed" "$(grep -c 'not confirmed' "$WORK/out")" 0
id=$(ls "$WORK/f/findings" | head -n 1)
tap_run "replay" 1 "$ASSAY" replay -o "$WORK/f" "$id"
tap_like "comes back" "$WORK/out" ': reproduced$'
tap_run "a sound labfs" 0 "$ASSAY" check --target lab "${few[@]}" --hash disk --no-store
tap_like "has nothing of it" "$WORK/out" '^all [0-9]+ states'

# A sync may change the disk, and nothing else: then it is a step all the same.
still=(--nodes 1 --depth 2 --ops open,sync --wide --no-crash)
tap_is "a sync that changes the disk alone is a step" \
	"$(($(states "${still[@]}" --hash disk) > $(states "${still[@]}")))" 1

# ---- What a log holds of what is gone from the tree ----

deep=(--nodes 1 --narrow --ops mkdir,rmdir,open,pwrite,sync --depth 7 --crashes 0 --again 0
	--view 1)
tap_run "a replay of blocks that were revoked: with the model alone" 0 "$ASSAY" check \
	--target lab:bug=40 "${deep[@]}" --no-store
tap_like "all is explored" "$WORK/out" '^all [0-9]+ states'
tap_run "with the log" 1 "$ASSAY" check --target lab:bug=40 "${deep[@]}" --hash log \
	--max-findings 1 -o "$WORK/l"
tap_like "it is found" "$WORK/out" 'power cut during op 7'
tap_run "a sound labfs" 0 "$ASSAY" check --target lab "${deep[@]}" --hash log --no-store
tap_like "has nothing of it, either" "$WORK/out" '^all [0-9]+ states'
tap_run "of two disks with the same tree, the fuller one" 1 "$ASSAY" check --target lab:bug=81 \
	--nodes 2 --narrow --ops mkdir,open,pwrite,sync --hash log --again 0 --view 1 \
	--max-findings 1 -o "$WORK/m"
id=$(ls "$WORK/m/findings" | head -n 1)
tap_run "replay" 1 "$ASSAY" replay -o "$WORK/m" "$id"
tap_like "comes back, too" "$WORK/out" ': reproduced$'
log=$(states --depth 3 --no-crash --hash log)
tap_is "the log tells more states apart" "$((log > model))" 1
tap_is "the same in two shards" "$(($(for k in 1 2; do "$ASSAY" check --target lab --nodes 2 \
	--no-store --json --depth 3 --no-crash --hash log --shard $k/2 | count owned; done |
	tr '\n' '+')0))" "$log"

# ---- Refused ----

"$ASSAY" check --target lab --nodes 1 --depth 1 --no-crash -o "$WORK/k" >/dev/null
tap_run "going on with another hash" 2 "$ASSAY" check --target lab --nodes 1 --depth 1 --no-crash \
	--hash disk -o "$WORK/k" --resume
tap_like "is refused" "$WORK/err" 'made with other settings'
tap_run "an unknown hash" 2 "$ASSAY" check --target lab --hash tree --no-store
tap_like "is refused, too" "$WORK/err" 'hash'

tap_done
