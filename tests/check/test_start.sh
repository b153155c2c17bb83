#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay check --start`: file systems that have been used: they are made on disks of any size, the
# operations that follow are few, and what is found there, and only there, is a plain workload.
set -u
. "$(dirname "$0")/../tap.sh"

count() { grep -o "\"$1\":[0-9]*" | tail -n 1 | cut -d: -f2; } # NAME
one=(--nodes 1 --depth 1)

# ---- A sound file system ----

for start in names large spread deep full fragments links attributes; do
	tap_run "start $start" 0 "$ASSAY" check --target lab --start "$start" "${one[@]}" --no-store
	tap_like "start $start: to the end" "$WORK/out" '^all [0-9]+ states'
done
tap_run "start names, with power cuts" 0 "$ASSAY" check --target lab --start names --nodes 1 \
	--depth 2 --ops create,truncate,sync --no-store
tap_like "all of it" "$WORK/out" '^all [0-9]+ states'
tap_like "but none goes on after a power cut, which is said" "$WORK/out" \
	'^no trace went on .*--start'
for size in 256K 4M; do
	for start in large full; do
		tap_run "start $start on $size" 0 "$ASSAY" check --target lab --size $size \
			--start "$start" "${one[@]}" --no-crash --no-store
	done
done
tap_run "start large, calls that fail" 0 "$ASSAY" check --target lab --start large "${one[@]}" \
	--ops create --faults all --no-store

# What it takes to make the start is paid once: no operation of it is run to bring a state back.
tap_run "start large, one more level" 0 "$ASSAY" check --target lab --start large --nodes 1 \
	--depth 2 --ops create,unlink --no-crash --no-store --json
states=$(count restores <"$WORK/out")
tap_run "a state costs what its own trace does" 0 \
	test "$(count replayed <"$WORK/out")" -le "$states"
# Two hundred files are there, but few are named.
tap_run "start large, files removed" 0 "$ASSAY" check --target lab --start large "${one[@]}" \
	--ops unlink --no-crash --no-store --json
tap_run "few of many nodes are named" 0 test "$(count transitions <"$WORK/out")" -lt 20

# ---- What is found only there ----

only() { # NAME BUG START REGEX OPTION...
	local name=$1 bug=$2 start=$3 regex=$4
	shift 4
	tap_run "$name" 1 "$ASSAY" check --target "lab:bug=$bug" --start "$start" \
		--max-findings 1 -o "$WORK/f.$bug" "$@"
	tap_like "$name: is found" "$WORK/out" "$regex"
	id=$(ls "$WORK/f.$bug/findings" | head -n 1)
	tap_run "$name: replay" 1 "$ASSAY" replay -o "$WORK/f.$bug" "$id"
	tap_like "$name: comes back" "$WORK/out" ': reproduced$'
	tap_run "$name: not from the empty one" 0 "$ASSAY" check --target "lab:bug=$bug" "$@" \
		--no-store
	tap_like "$name: which was explored" "$WORK/out" '^all [0-9]+ states'
}
only "fsync of a large directory" 69 large 'persisted: after fsync of /large' --nodes 1 --depth 3 \
	--ops create,open,fsync
only "a write to a full disk" 70 full 'size 5000, model says' --nodes 1 --depth 2 --no-crash
only "a directory that grows" 18 large '/large' --nodes 1 --depth 1 --no-crash
only "a deep directory" 17 deep 'ELOOP' --nodes 1 --depth 2 --no-crash

# Faults and answers are counted from the beginning of the whole workload.
found() { # NAME BUG START OPTION...
	local name=$1 bug=$2 start=$3
	shift 3
	tap_run "$name" 1 "$ASSAY" check --target "lab:bug=$bug" --start "$start" \
		--max-findings 1 -o "$WORK/g.$bug" "$@"
	id=$(ls "$WORK/g.$bug/findings" | head -n 1)
	tap_run "$name: replay" 1 "$ASSAY" replay -o "$WORK/g.$bug" "$id"
	tap_like "$name: comes back" "$WORK/out" ': reproduced$'
}
found "a failed allocation" 21 names --nodes 1 --depth 2 --faults alloc --no-crash
found "a failed write, then a power cut" 48 names --nodes 1 --depth 2 --ops create,sync \
	--faults write
found "an answer to a question" 95 names --nodes 2 --faults choice --no-crash

# ---- A workload of the user ----

printf 'mkdir /mine 0755\n$0 = open /mine/f O_RDWR|O_CREAT 0644\nread $0 len=10\nunlink /none\n' \
	>"$WORK/mine.txt"
printf 'write $0 len=3000 fill=1\nstat /mine/f\nlseek $0 0 SEEK_SET\n' >>"$WORK/mine.txt"
tap_run "a file" 0 "$ASSAY" check --target lab --start "$WORK/mine.txt" --nodes 1 --depth 2 \
	--no-crash -o "$WORK/mine"
tap_like "to the end" "$WORK/out" '^all [0-9]+ states'
tap_run "go on with the same" 0 "$ASSAY" check --target lab --start "$WORK/mine.txt" --nodes 1 \
	--depth 2 --no-crash -o "$WORK/mine" --resume --json
tap_is "nothing is left" "$(count transitions <"$WORK/out")" 0
printf 'umount\n' >>"$WORK/mine.txt"
tap_run "one that unmounts" 0 "$ASSAY" check --target lab --start "$WORK/mine.txt" "${one[@]}" \
	--no-crash --no-store

refused() { # NAME REGEX OPTION...
	local name=$1 regex=$2
	shift 2
	tap_run "$name" 2 "$ASSAY" check "$@"
	tap_like "$name: is said" "$WORK/err" "$regex"
	tap_is "$name: in one line" "$(wc -l <"$WORK/err")" 1
}
refused "go on with a file that has changed" 'made with other settings' --target lab \
	--start "$WORK/mine.txt" --nodes 1 --depth 2 --no-crash -o "$WORK/mine" --resume
refused "go on without it" 'made with other settings' --target lab --nodes 1 --depth 2 --no-crash \
	-o "$WORK/mine" --resume
refused "no such start" 'nowhere' --target lab --start "$WORK/nowhere" --no-store
printf 'create /a 0644\ncrash\n' >"$WORK/cut.txt"
refused "a start that cuts the power" 'cuts the power' --target lab --start "$WORK/cut.txt" \
	--no-store
head -c 3000 /dev/urandom >"$WORK/noise.txt"
refused "noise" 'noise.txt' --target lab --start "$WORK/noise.txt" --no-store
yes 'stat /' | head -n 70000 >"$WORK/long.txt"
refused "a start without an end" 'too many operations' --target lab --start "$WORK/long.txt" \
	--no-store

tap_done
