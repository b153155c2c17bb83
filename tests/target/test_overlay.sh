#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# overlayfs: what is in the lower layer is copied up, renamed, linked and removed, and is so after
# another mount. A bug below shows: the disk is one of ext4 with ext4's checker.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
export LC_ALL=C

cat >"$WORK/up.txt" <<'END'
readdir /low
$0 = open /low/f O_RDWR
pwrite $0 len=5000 at=100 fill=3
fsync $0
close $0
hardlink /low/f /low/d/f2
rename /low/d /low/moved
unlink /low/g
mkdir /low/g 0755
truncate /low/moved/f2 4000
umount
mount
readdir /low
readdir /low/moved
stat /low/f
stat /low/moved/h
rmdir /low/g
chmod /low/moved/h 0600
END
"$ASSAY" targets | grep '^  erofs ' >"$WORK/out"
tap_like "why erofs cannot be tested" "$WORK/out" "impossible: it is read-only"

kernel=$("$ASSAY" kernel list --json 2>/dev/null | grep '"patches":\[\]' |
	sed -n 's/^{"name":"\([^"]*\)".*/\1/p' | head -n 1)
if "$ASSAY" targets | grep '^  overlay ' | grep -q 'ready here (host' && [ "$(id -u)" = 0 ]; then
	how=(--sandbox host)
elif [ -n "$kernel" ]; then
	how=(--kernel "$kernel")
else
	how=()
fi
for f in examples/smoke.txt "$WORK/up.txt"; do
	if [ ${#how[@]} -eq 0 ]; then
		tap_skip "$(basename "$f") on overlay" \
			"there is neither root nor a kernel that is newer than 6.1"
		continue
	fi
	"$ASSAY" run --target overlay "${how[@]}" --no-store "$f" >"$WORK/out" 2>&1
	tap_is "$(basename "$f") on overlay" $? 0 || sed 's/^/# /' "$WORK/out"
done
tap_done
