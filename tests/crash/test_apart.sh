#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A journal on a disk of its own. Each disk has a cache of its own, so a file system must flush
# both, and in the right order. ext4 and xfs do. ext4 without flushes, which it is told in words
# that assay does not know (barrier=00), does not: that is found, the finding can be replayed, and
# its page names both disks.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
export LC_ALL=C

cat >"$WORK/w.txt" <<'END'
mkdir /d 0755
$0 = open /d/f O_WRONLY|O_CREAT 0644
write $0 len=5000 fill=1
fsync $0
rename /d/f /d/g
sync
unlink /d/g
fsync $0
END

crash() { # TARGET OPTION...
	local target=$1

	shift
	"$ASSAY" crash --target "$target" --sandbox uml --view 1,3 -o "$WORK/out" "$@" \
		"$WORK/w.txt" >"$WORK/log" 2>"$WORK/err"
}

got=0
crash ext4:mkfs=journal_dev --again 1 --memo verify || got=$?
if [ $got = 3 ]; then
	tap_skip "ext4 with a disk for its journal" "$(sed 's/^assay: //' "$WORK/err")"
	tap_done
	exit
fi
said=$(grep -h power "$WORK/log" "$WORK/err")
tap_is "ext4 with a disk for its journal is in order" "$got $said" "0 "
if "$ASSAY" run --target ext4:mkfs=journal_dev --sandbox uml --no-store "$WORK/w.txt" \
	examples/smoke.txt >"$WORK/log" 2>&1; then
	tap_ok "it runs workloads, and is checked"
else
	tap_not_ok "it runs workloads, and is checked" "$(head -c 2000 "$WORK/log")"
fi

got=0
crash ext4:mkfs=journal_dev,barrier=00 --again 0 --budget 200 || got=$?
tap_is "it is not in order without flushes" "$got" 1
tap_like "the page tells the disks apart" "$WORK/log" "bytes at .* of the journal's disk"
id=$(grep -o '^ext4-crash-[0-9a-f]*' "$WORK/log" | head -1)
got=0
"$ASSAY" replay -o "$WORK/out" "$id" >"$WORK/log" 2>&1 || got=$?
tap_is "and it can be replayed" "$got $(grep -o "^$id" "$WORK/log" | sort -u)" "1 $id"

got=0
crash xfs:mkfs=logdev --again 0 --budget 60 || got=$?
if [ $got = 3 ]; then
	tap_skip "xfs with a disk for its log" "$(sed 's/^assay: //' "$WORK/err")"
else
	tap_is "xfs with a disk for its log is in order" "$got $(cat "$WORK/err")" "0 "
fi

tap_done
