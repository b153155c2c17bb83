#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Rules by which what looks like a finding is none. Without its rule, each of these reports one:
#   - what is on the disk when the power fails is stable, also if flushes failed before (record.c);
#   - the last commit of btrfs may be older than what a second round began with (judge.c);
#   - what a checker writes at a power cut within the workload is not in the record (record.c);
#   - an owner that has used up its quota may make no file, and is no damage (instance_visit.c);
#   - without barriers a power cut may damage ext4, and the kernel may say so (crash.c).
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
export LC_ALL=C
export ASAN_OPTIONS=detect_leaks=0

# clean NAME OPTION...: nothing is found in the workload on standard input.
clean() {
	local name=$1 got=0
	shift
	cat >"$WORK/w.txt"
	"$ASSAY" crash --no-store --json "$@" "$WORK/w.txt" >"$WORK/out" 2>"$WORK/err" || got=$?
	if [ $got = 3 ]; then
		tap_skip "$name" "$(sed 's/^assay: //' "$WORK/err")"
	elif [ $got != 0 ]; then
		tap_not_ok "$name" "status $got" "$(head -c 2000 "$WORK/out" "$WORK/err")"
	elif ! grep -Eq '"generated":[1-9]' "$WORK/out"; then
		tap_not_ok "$name" "no crash state was looked at"
	else
		tap_ok "$name"
	fi
}

# ---- A power cut within the workload, after flushes that failed ----

for n in 2 4; do
	clean "flush $n and all after it fail, then the power" --target lab --view 1,3 --again 0 \
		--recover mount --fault flush:$n+:eio <<-'END'
		create /a 0644
		sync
		create /b 0644
		$0 = open /c O_RDWR|O_CREAT 0644
		pwrite $0 len=3000 at=0 fill=3
		fsync $0
		crash
		stat /a
	END
done

# ---- The last commit, after a round that began with a replay ----

sandbox=uml
[ "$(id -u)" != 0 ] || sandbox=host
clean "btrfs: the last commit in round 2" --target btrfs --sandbox $sandbox --rounds 2 --view 1 \
	--again 0 --budget 48 <<'END'
$0 = open /a O_RDWR|O_CREAT 0644
pwrite $0 len=5000 at=0 fill=1
fsync $0
crash
$0 = open /b O_RDWR|O_CREAT 0644
fsync $0
END

# ---- A checker in the middle of the workload ----

clean "ext2: repaired, then mounted and unmounted" --target ext2 --sandbox $sandbox --view 1 \
	--again 0 <<'END'
mkdir /a 0755
$0 = open /a O_RDWR|O_TMPFILE 0644
sync
crash
END

# ---- Quotas ----

clean "ext4: limits after a power cut" --target ext4:mkfs=quota --view 1 --again 0 <<'END'
setquota usr 0 ihard=1 bhard=1
setquota usr 3 ihard=10 bhard=100
$0 = open /a O_RDWR|O_CREAT 0644
fsync $0
sync
setquota usr 3 ihard=20
sync
END

# ---- What the kernel says of a disk that was written without barriers ----

clean "ext4 without barriers" --target ext4 --sandbox uml --view 3 --again 0 --budget 150 <<'END'
remount opts=nobarrier
create /a 0644
sync
create /b 0644
$0 = open /c O_RDWR|O_CREAT 0644
pwrite $0 len=9000 at=0 fill=3
fsync $0
mkdir /d 0755
rename /b /d/e
sync
unlink /a
END

tap_done
