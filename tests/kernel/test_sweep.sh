#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Failures inside the kernel: a kernel that cannot do it says which one can; one that can fails each
# call that it is told, and ext4 and exfat pass.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
export LC_ALL=C

printf 'mkdir /a 0755\n$0 = open /a/f O_RDWR|O_CREAT 0644\npwrite $0 len=100 at=0 fill=1\n' \
	>"$WORK/w.txt"
printf 'close $0\n' >>"$WORK/w.txt"
# Of a library, there is no kernel in which something could fail.
"$ASSAY" run --target lab --fault kalloc:9x:1 "$WORK/w.txt" >"$WORK/out" 2>"$WORK/err"
tap_is "a rule that is none" $? 2
tap_like "a rule that is none: why" "$WORK/err" "expected kalloc:OP:N"

if "$ASSAY" targets | grep '^  ext4 ' | grep -q 'ready here.*uml'; then
	"$ASSAY" run --target ext4 --sweep kalloc "$WORK/w.txt" >"$WORK/out" 2>"$WORK/err"
	tap_is "a kernel that cannot do it" $? 3
	tap_like "the one that can" "$WORK/err" "assay kernel build debug.*--kernel debug"
else
	tap_skip "a kernel that cannot do it" "the sandbox uml does not run here"
fi

kernel=$("$ASSAY" kernel list --json | grep '"patches":\[\]' | grep '"with":"[^"]*faults' |
	sed -n 's/^{"name":"\([^"]*\)".*/\1/p' | head -n 1)
for target in ext4 exfat; do
	if [ -z "$kernel" ]; then
		tap_skip "sweep of $target" "no kernel with faults is built: make kernels"
		continue
	fi
	for fault in kalloc:mount:1 kalloc:1:2 kalloc:2:1 kio:mount:1; do
		"$ASSAY" run --kernel "$kernel" --target "$target" --fault $fault --no-store \
			"$WORK/w.txt" >"$WORK/out" 2>"$WORK/err"
		tap_is "$fault of $target" $? 0
	done
done
tap_done
