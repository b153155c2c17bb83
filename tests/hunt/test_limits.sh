#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --max-heap and --max-stack: what the calls of a library use is said, and more than is allowed is a
# finding, which replays and can be reduced. With fair bounds a sound file system passes.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

FLASHFS=${FLASHFS:-$(dirname "$ASSAY")/plugins/flashfs.so}
HEAP=labfs/cases/110-rename-memory.txt
STACK=labfs/cases/111-deep-path.txt

tap_run "labfs passes" 0 "$ASSAY" hunt --target lab --max-heap 2M --max-stack 8K --seed 1 \
	--max-workloads 30 -o "$WORK/a"
tap_like "its peaks are said" "$WORK/out" 'lab: at most heap [0-9]+ bytes \(in [a-z_]+\), stack'
tap_run "flashfs passes" 0 "$ASSAY" hunt --target "plugin:$FLASHFS" --max-heap 1M --max-stack 32K \
	--seed 1 --max-workloads 30 -o "$WORK/b"

tap_run "memory of a rename is found" 1 "$ASSAY" run --max-heap 1M --target lab:bug=110 \
	-o "$WORK/c" $HEAP
tap_like "it names the call" "$WORK/out" 'op 2: rename /f /g: rename has [0-9]+ bytes of memory'
id=$(grep -o 'lab-limit-[0-9a-f]*' "$WORK/out" | head -n 1)
tap_run "it replays" 1 "$ASSAY" replay -o "$WORK/c" "$id"
tap_is "its signature has no number" "$(grep -c '"signature": *"[^"]*[0-9]' \
	"$WORK/c/findings/$id/finding.json")" 0
tap_like "it keeps the bound" "$WORK/c/findings/$id/finding.json" 'max_heap=1048576'
tap_like "its page has the bound" "$WORK/c/findings/$id/README.md" \
	'run --target .* --max-heap 1048576'
tap_run "with more memory it is none" 0 "$ASSAY" run --max-heap 4M --no-store \
	--target lab:bug=110 $HEAP

tap_run "a deep path is found" 1 "$ASSAY" run --max-stack 8K --target lab:bug=111 \
	-o "$WORK/d" $STACK
tap_like "how much" "$WORK/out" 'uses [0-9]+ bytes of stack, more than the 8192 of --max-stack'
id=$(grep -o 'lab-limit-[0-9a-f]*' "$WORK/out" | head -n 1)
tap_run "it is reduced" 1 "$ASSAY" reduce -o "$WORK/d" "$id"
tap_run "it replays when it is reduced" 1 "$ASSAY" replay -o "$WORK/d" "$id"

tap_run "a hunt finds it" 1 "$ASSAY" hunt --target lab:bug=111 --max-stack 8K --seed 1 \
	--max-workloads 50 --max-findings 1 -o "$WORK/e"
tap_run "a check finds it" 1 "$ASSAY" check --target lab:bug=110 --max-heap 1M --no-crash \
	--nodes 2 --ops create,rename --depth 3 --max-findings 1 -o "$WORK/f"
tap_run "a check of labfs passes" 0 "$ASSAY" check --target lab --max-heap 2M --max-stack 8K \
	--no-crash --nodes 2 --ops create,rename --depth 3 --no-store
tap_like "its peaks are said there" "$WORK/out" 'at most heap [0-9]+ bytes'

tap_run "without a limit" 0 "$ASSAY" run --json --max-heap 0 --max-stack 0 --no-store \
	--target lab:bug=111 $STACK
tap_like "the peaks as JSON" "$WORK/out" \
	'"event":"usage".*"heap":\{"peak":[0-9]+,.*"stack":\{"peak":[12][0-9]{4},"in":"[a-z_]+"'
tap_run "nobody asks" 0 "$ASSAY" run --no-store --target lab $STACK
tap_is "nothing is said" "$(grep -c 'at most' "$WORK/out")" 0

mkdir "$WORK/dir"
tap_run "a directory has no such limit" 2 "$ASSAY" run --max-heap 1M --no-store \
	--target "dir:$WORK/dir" $HEAP
tap_like "and says so" "$WORK/err" 'max-heap is for libraries'
tap_run "a kernel type is not corrupted" 2 "$ASSAY" hunt --corrupt bits --target ext4 -o "$WORK/g"
tap_like "and says so, too" "$WORK/err" 'corrupt is for libraries'
tap_run "too small a stack is refused" 2 "$ASSAY" run --max-stack 100 --no-store --target lab $STACK
tap_done
