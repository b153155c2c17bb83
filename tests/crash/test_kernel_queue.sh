#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Write-back and writes in flight on a type of the kernel. Nothing in this workload asks for the
# data to be written before the end. So with --early there are more writes, and more crash states,
# than without. ext4 is in order in every one of them, and it waits for what is held (--hold).
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
export LC_ALL=C

cat >"$WORK/w.txt" <<'END'
$0 = open /a O_RDWR|O_CREAT 0644
pwrite $0 len=20000 at=0 fill=1
mkdir /d 0755
pwrite $0 len=20000 at=10000 fill=2
rename /a /d/b
pwrite $0 len=9000 at=3 fill=3
fsync $0
mkdir /e 0755
END

crash() { # OPTION...
	"$ASSAY" crash --target ext4 --sandbox uml --view 1,3 --again 0 --budget 300 --json \
		--no-store "$@" "$WORK/w.txt" >"$WORK/out" 2>"$WORK/err"
}
possible() { grep -o '"possible":[0-9]*' "$WORK/out" | tail -1 | cut -d: -f2; }

got=0
crash || got=$?
if [ $got = 3 ]; then
	tap_skip "ext4 with early writes" "$(sed 's/^assay: //' "$WORK/err")"
	tap_done
	exit
fi
tap_is "ext4 without" "$got $(cat "$WORK/err")" "0 "
plain=$(possible) early=0 clean=yes
for n in 1 2 3 4; do
	crash --early $n || clean="no: $(head -c 2000 "$WORK/out" "$WORK/err")"
	early=$((early + $(possible)))
done
tap_is "ext4 with early writes is in order" "$clean" yes
if [ $early -gt $((4 * plain)) ]; then
	tap_ok "early writes make more crash states"
else
	tap_not_ok "early writes make more crash states" "$early in four runs, $plain in one"
fi
for n in 1 8; do
	if crash --hold $n --early $n; then
		tap_ok "ext4 with writes held for $n requests is in order"
	else
		tap_not_ok "ext4 with writes held for $n requests is in order" \
			"$(head -c 2000 "$WORK/out" "$WORK/err")"
	fi
done

# ext2 sends no flush for sync and umount, so its disk has no cache: what was complete is stable,
# and only what was in flight at the same time is reordered. The mark that says "not clean" is on
# the disk before anything else is, and the one that says "clean" after it.
crash_ext2() { # OPTION...
	"$ASSAY" crash --target ext2 --sandbox uml --view 1,3 --again 0 --budget 200 --json \
		--no-store "$@" "$WORK/w.txt" >"$WORK/out" 2>"$WORK/err"
}
cat >>"$WORK/w.txt" <<'END'
rename /d/b /e/c
sync
unlink /e/c
END
clean=yes
crash_ext2 || clean="no: $(head -c 2000 "$WORK/out" "$WORK/err")"
tap_is "ext2 on a disk without a cache is in order" "$clean" yes
plain=$(possible) clean=yes
crash_ext2 --hold 4 || clean="no: $(head -c 2000 "$WORK/out" "$WORK/err")"
tap_is "the same with several writes in flight" "$clean" yes
if [ "$(possible)" -gt "$plain" ]; then
	tap_ok "these are reordered"
else
	tap_not_ok "these are reordered" "$(possible) states, $plain without"
fi

# Nor has it one while it is recovered: fsck.fat ends without a flush, and what it wrote stays.
# (That it leaves a directory without entries is another matter: docs/FOUND.md.)
cat >"$WORK/vfat.txt" <<'END'
create /a 03307
rename /a /b
sync
mkdir /c 06533
unlink /b
create /c/a 04342
$0 = open /c/a O_RDWR
fallocate $0 INSERT_RANGE at=0 len=6144
rename /c /b
fallocate $0 INSERT_RANGE at=0 len=4096
write $0 len=1024
rename /b /a
fallocate $0 0 at=1025 len=1024
END
got=0
"$ASSAY" crash --target vfat --sandbox uml --view 1,2,3 --again 1 --early 317 --recover fsck \
	--json --no-store "$WORK/vfat.txt" >"$WORK/out" 2>"$WORK/err" || got=$?
if [ $got = 3 ]; then
	tap_skip "vfat: what the checker wrote stays" "$(sed 's/^assay: //' "$WORK/err")"
else
	tap_is "vfat: what the checker wrote stays" "$(grep -c '"id":"vfat-recovery' "$WORK/out")" 0
	tap_like "vfat was recovered" "$WORK/out" '"again_checked":[1-9]'
fi

tap_done
