#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A type of the kernel whose disk fails before the power does (the rules are in recording/record.c).
# ext4 notes the error on the disk and drops its orphans at the next mount: that is the checker's
# work, and no finding. A sync that could not tell promises nothing.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
export LC_ALL=C

cat >"$WORK/w.txt" <<'END'
$0 = open /a O_RDWR|O_CREAT 0644
unlink /a
sync
pwrite $0 len=100 at=0 fill=1
fsync $0
END

crash() { # FAULT
	"$ASSAY" crash --target ext4 --sandbox uml --fault "$1" --view 1 --again 0 --no-store \
		"$WORK/w.txt" >"$WORK/out" 2>"$WORK/err"
}

got=0
crash flush:100:eio || got=$?
if [ $got = 3 ]; then
	tap_skip "ext4 on a disk that fails" "$(sed 's/^assay: //' "$WORK/err")"
	tap_done
	exit
fi
tap_is "ext4 on a disk that does not fail" "$got $(cat "$WORK/err")" "0 "
for n in 2 3 4 5; do
	if crash "flush:$n+:eio"; then
		tap_ok "ext4: all flushes fail from flush $n on"
	else
		tap_not_ok "ext4: all flushes fail from flush $n on" \
			"$(head -c 2000 "$WORK/out" "$WORK/err")"
	fi
done

tap_done
