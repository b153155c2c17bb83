#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A mount that fails as a plan says leaves a disk as the power cut or the failed unmount left it:
# what its checker then says of a journal that was not replayed is no finding. A bug of recovery is
# one all the same.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

printf 'mkdir /a 0755\nsync\ncrash\nstatfs /\n' >"$WORK/cut.txt"
printf "%s\n" "create /f 0644" "\$0 = open /f O_RDWR" "pwrite \$0 len=5000 at=0 fill=1" \
	"fsync \$0" crash "stat /" >"$WORK/data.txt"
printf 'mkdir /a 0755\numount\nmount\nmkdir /b 0755\nsync\nstat /b\n' >"$WORK/again.txt"
printf 'mkdir /a 0755\nsync\ncrash\nmkdir /b 0755\numount\nmount\nstat /b\n' >"$WORK/both.txt"

# sound TARGET WORKLOAD FAULT...
sound() {
	local target=$1 workload=$2 bad=
	shift 2
	for fault; do
		"$ASSAY" run --no-store --target "$target" --size 1M --fault "$fault" \
			"$WORK/$workload.txt" >"$WORK/out" 2>&1 || bad="$bad $fault"
	done
	tap_is "$target, $workload: nothing is found with ${1} and the like" "$bad" ""
}

tap_run "as it was reported" 0 "$ASSAY" run --no-store --target lab --fault read:8:eio \
	"$WORK/cut.txt"
for workload in cut data again both; do
	sound lab "$workload" read:{1..16}:eio
	sound lab "$workload" read:{6,8,10}:eilseq read:{5,8}+:eio read:9+:enospc
	sound lab "$workload" alloc:{1,8,15,25,40,60} "alloc:30 read:9:eio"
	sound lab "$workload" write:{2,5,9,14}:eio write:{3,8}+:enospc flush:{1,2,4}:eilseq
done

# What the mount after the power cut does wrong is found where it is not made to fail.
tap_run "a recovery that forgets" 1 "$ASSAY" crash --no-store --target lab:bug=36 "$WORK/cut.txt"
tap_done
