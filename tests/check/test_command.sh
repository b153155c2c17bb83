#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay check`: all states within bounds, what is found in them, going on after a kill, and what it
# refuses.
set -u
. "$(dirname "$0")/../tap.sh"

small=(--nodes 2 --depth 2)
count() { grep -o "\"$1\":[0-9]*" | tail -n 1 | cut -d: -f2; } # NAME

# ---- A sound file system ----

tap_run "a sound labfs" 0 "$ASSAY" check --target lab "${small[@]}" --no-store
tap_like "all of it" "$WORK/out" \
	'^all [0-9]+ states within bounds explored: 2 nodes, traces of up to 2'
tap_like "with power cuts" "$WORK/out" '^crash states +[1-9]'
tap_run "two processes" 0 "$ASSAY" check --target lab "${small[@]}" --jobs 2 --no-store --json
two=$(count states <"$WORK/out")
tap_run "one process" 0 "$ASSAY" check --target lab "${small[@]}" --no-store --json
tap_is "have the same states" "$(count states <"$WORK/out")" "$two"
tap_is "and the same transitions" "$(count transitions <"$WORK/out")" \
	"$("$ASSAY" check "${small[@]}" --jobs 2 --no-store --json | count transitions)"
for search in dfs random recovery novelty; do
	tap_run "--search $search" 0 "$ASSAY" check --target lab "${small[@]}" --search "$search" \
		--no-store --json
	tap_is "finds them, too" "$(count states <"$WORK/out")" "$two"
done
tap_run "calls that fail" 0 "$ASSAY" check --target lab --nodes 1 --depth 1 --faults all \
	--max-faults 2 --no-store
tap_like "are counted" "$WORK/out" '^transitions with a fault or choice +[1-9]'
tap_run "remounts" 0 "$ASSAY" check --target lab --nodes 1 --depth 3 --ops mkdir,sync --no-store \
	--remount "commit=every queue"
tap_like "remounts: to the end" "$WORK/out" '^all [0-9]+ states'
tap_run "the largest files" 0 "$ASSAY" check --target lab --nodes 1 --depth 3 --wide --no-crash \
	--ops create,truncate,symlink,readlink,open,pwrite,pread,close --no-store
tap_like "the largest files: to the end" "$WORK/out" '^all [0-9]+ states'
tap_run "all operations" 0 "$ASSAY" check --target lab --nodes 1 --depth 2 --ops all --no-store
tap_like "to the end" "$WORK/out" '^all [0-9]+ states'

# ---- Bounds that were not reached are said ----

tap_run "room for a few states" 0 "$ASSAY" check "${small[@]}" --max-states 20 --no-store
tap_like "is not all" "$WORK/out" '^not all states were explored: there was no room'
tap_like "how many are missing" "$WORK/out" '^[0-9]+ states were discarded'
tap_run "little time" 0 "$ASSAY" check --target lab --nodes 4 --for 1s --no-store
tap_like "is not all either" "$WORK/out" '^not all states were explored: it was stopped'

# ---- Mistakes ----

found() { # NAME BUG REGEX OPTION...
	local name=$1 bug=$2 regex=$3
	shift 3
	tap_run "$name" 1 "$ASSAY" check --target "lab:bug=$bug" --max-findings 1 \
		-o "$WORK/f.$bug" "$@"
	tap_like "$name: is found" "$WORK/out" "$regex"
	id=$(ls "$WORK/f.$bug/findings" | head -n 1)
	tap_run "$name: replay" 1 "$ASSAY" replay -o "$WORK/f.$bug" "$id"
	tap_like "$name: comes back" "$WORK/out" ': reproduced$'
}
found "a wrong answer" 1 'rename .*EEXIST, model says 0' --nodes 2 --no-crash
found "a wrong tree" 44 'ctime' --nodes 1 --ops create,chmod --no-crash
found "memory that is kept" 20 'leak|not freed' --nodes 1 --no-crash
found "a death" 16 'SIGSEGV|called exit' --nodes 1 --ops open,unlink,pwrite --no-crash
found "a failed allocation" 21 'SIGSEGV|called exit' --nodes 1 --faults alloc --no-crash
found "a failed read" 22 '' --nodes 2 --faults read --no-crash
found "a power cut" 26 'rename: .*half done' --nodes 1
found "a power cut during recovery" 37 '' --nodes 1
found "an answer to a question" 95 'with these answers to its questions' \
	--nodes 2 --faults choice --no-crash
found "a failed write, then a power cut" 48 '' --nodes 1 --depth 3 --faults write
found "an answer that shows later" 94 '' --nodes 1 --ops open,pwrite --faults choice --no-crash
found "space that is lost" 46 'free inodes after another mount' --nodes 1 \
	--ops open,unlink,close --no-crash
found "memory that grows" 93 'memory grows' --nodes 1 --ops create --no-crash
found "one that takes O_APPEND" 2 '' --nodes 1 --slots 2 --ops open,write --wide --no-crash
found "a circle of locks" 85 'lock' --nodes 1 --ops open,write,close,fsync --wide --no-crash
found "blocks that an fsync forgets" 63 '' --nodes 1 --ops open,fallocate,fsync
found "an fsync that forgets a write that failed" 128 'with these faults|this failed' --nodes 1 \
	--ops open,pwrite,fsync --faults write --depth 3
found "what an operation that is refused leaves" 152 'FREE_INODES|free inodes' --nodes 1 \
	--start full --ops mkdir,open,pwrite --no-crash
found "a link whose text looks like the log" 148 'symlink|readlink|text' --nodes 1 \
	--ops symlink,sync --wide --depth 2
found "a write that is held" 76 '' --nodes 1 --hold 2
found "a block that is written early" 78 '' --nodes 1 --early 1
tap_run "a mistake does not end it" 1 "$ASSAY" check --target lab:bug=5 --nodes 1 --no-crash \
	--depth 3 --no-store
tap_like "the rest is explored" "$WORK/out" '^all [0-9]+ states'

tap_run "calls that fail after a power cut that is a finding" 1 "$ASSAY" check \
	--target lab:bug=26 --nodes 1 --depth 2 --faults write --no-store
tap_is "have crash states of their own" "$(grep -c assertion "$WORK/err")" 0
tap_is "and no worker dies" "$(grep -c 'not confirmed' "$WORK/out")" 0

# What is found is reduced at the end; depth-first search makes long traces.
deep=(--target lab:bug=1 --nodes 2 --depth 7 --ops create,rename,mkdir --search dfs --no-crash
	--max-findings 1)
tap_run "a long trace" 1 "$ASSAY" check "${deep[@]}" -o "$WORK/long"
tap_like "is reduced" "$WORK/out" '^lab-[a-z]+-[0-9a-f]+: reduced from [0-9]+ to 3 operations$'
tap_is "and kept so" "$(cat "$WORK"/long/findings/*/workload.reduced.txt | wc -l)" 3
tap_run "replay of what is left" 1 "$ASSAY" replay -o "$WORK/long" \
	"$(ls "$WORK/long/findings" | head -n 1)"
tap_run "without a reduction" 1 "$ASSAY" check "${deep[@]}" --no-reduce -o "$WORK/long2"
tap_is "it stays long" "$(ls "$WORK"/long2/findings/*/workload.reduced.txt 2>/dev/null)" ""

# The last level shows a mistake. (test_last.sh: the last state does.)
tap_run "one that only the deepest states show" 1 "$ASSAY" check --target lab:bug=1 --nodes 2 \
	--depth 3 --ops create,rename --no-crash --no-store --json
tap_is "is found at the last level" "$(count findings <"$WORK/out")" 1
tap_run "one level less" 0 "$ASSAY" check --target lab:bug=1 --nodes 2 --depth 1 \
	--ops create,rename --no-crash --no-store --json
tap_like "does not reach it" "$WORK/out" '"all":true'

# ---- Killed, and gone on ----

whole=$("$ASSAY" check --target lab --nodes 2 --depth 3 --no-crash --no-store --json | count states)
"$ASSAY" check --target lab --nodes 2 --depth 3 --no-crash -o "$WORK/k" >/dev/null 2>&1 &
pid=$!
until [ -s "$WORK/k/check/states" ] || ! kill -0 $pid 2>/dev/null; do :; done
kill -9 $pid
wait $pid 2>/dev/null
tap_run "after SIGKILL" 0 "$ASSAY" check --nodes 2 --depth 3 --no-crash -o "$WORK/k" --resume \
	--json
tap_is "all states are found" "$(count states <"$WORK/out")" "$whole"
tap_run "once more" 0 "$ASSAY" check --target lab --nodes 2 --depth 3 --no-crash -o "$WORK/k" \
	--resume --json
tap_is "nothing is left" "$(count transitions <"$WORK/out")" 0
tap_like "what it did over time" "$WORK/k/history.csv" '^wall_us,.*states'
tap_is "has nothing of a kernel's code" "$(grep -c covered_blocks "$WORK/k/history.csv")" 0

# ---- Refused in one line ----

refused() { # NAME REGEX OPTION...
	local name=$1 regex=$2
	shift 2
	tap_run "$name" 2 "$ASSAY" check "$@"
	tap_like "$name: is said" "$WORK/err" "$regex"
	tap_is "$name: in one line" "$(wc -l <"$WORK/err")" 1
}
refused "the kernel's code of a library" 'target lab: --kcov is for file systems of the kernel' \
	--target lab --kcov --no-store
# shellcheck disable=SC2016 # the marks are those of the message
refused "other settings" 'made with other settings: `nodes 2`, and not `nodes 3`$' \
	--target lab --nodes 3 -o "$WORK/k" --resume
refused "nothing to go on with" 'no check to go on with' --target lab -o "$WORK/none" --resume
refused "an unknown operation" '^assay: --ops: .fly.: there is no such operation' \
	--target lab --ops fly --no-store
refused "an unknown search" 'search' --target lab --search best --no-store
refused "an unknown fault" 'expected alloc, read, write, choice or all' --faults disk --no-store
refused "faults of no kind" 'expected alloc, read, write, choice or all' --faults '' --no-store
refused "and of one too few" 'expected alloc, read, write, choice or all' --faults alloc, --no-store
refused "an operation without a name" "'': there is no such operation" --ops mkdir,,sync --no-store
refused "sets of nothing" 'max-faults needs' --target lab --max-faults 2 --no-store
refused "a directory" 'disk' --target "dir:$WORK" --no-store
refused "no options" 'expected mount options' --target lab --remount '' --no-store
refused "no word of options" 'expected mount options' --target lab --remount 'a;b' --no-store
refused "no nodes" 'nodes' --target lab --nodes 0 --no-store
refused "room for others" 'made with other settings: --max-states 4194304$' --target lab --nodes 2 \
	--depth 3 --no-crash --max-states 10 -o "$WORK/k" --resume
cp -r "$WORK/k" "$WORK/k2"
truncate -s 100000 "$WORK/k2/check/states"
refused "a file that was cut" 'has 100000 bytes, and not [0-9]+: it is damaged' --target lab \
	--nodes 2 --depth 3 --no-crash -o "$WORK/k2" --resume
head -c 5000 /dev/urandom >"$WORK/k/check/states"
refused "a file of garbage" 'no file of states' --target lab --nodes 2 --depth 3 --no-crash \
	-o "$WORK/k" --resume

tap_done
