#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# cold: several runs at once with an empty cache, and with a cache in which everything is damaged:
# each of them must work, and none may leave anything but the cache. The cache is that of a user
# without a home: it is in /var/tmp.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
seconds=${TORTURE_SECONDS:-0}
USER_=$((61500 + $$ % 1000))
CACHE=/var/tmp/assay-$USER_
trap 'rm -rf "$WORK" "$CACHE" "/tmp/assay-$USER_"' EXIT

if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
	tap_skip "cold caches" "becoming a user with an empty cache takes root and setpriv"
	tap_done
	exit
fi
mkdir "$WORK/home"
cp "$(realpath "$ASSAY")" "$WORK/home/assay"
echo 'mkdir /a 0755' >"$WORK/home/w.txt"
chmod 755 "$WORK" "$WORK/home"
cd "$WORK/home" || exit 2
as_user() { setpriv --reuid $USER_ --regid $USER_ --clear-groups "$@"; }
run() { as_user timeout 100 ./assay run --no-store --target "${1:-ext4}" w.txt; }

run >"$WORK/out" 2>&1
if [ $? = 3 ] || grep -q 'address sanitizer' "$WORK/out"; then
	tap_skip "cold caches" "$(sed 's/^assay: //' "$WORK/out")"
	tap_done
	exit
fi

# at_once NAME N: N of them; each must end well.
at_once() {
	local name=$1 n=$2 i bad=0
	for ((i = 0; i < n; i++)); do
		{
			run >"$WORK/out.$i" 2>&1
			echo "status $?" >>"$WORK/out.$i"
		} &
	done
	wait
	for ((i = 0; i < n; i++)); do
		grep -q '^status 0$' "$WORK/out.$i" || bad=$((bad + 1))
	done
	tap_is "$name" "$bad of $n failed $(cat "$WORK"/out.* | grep '^assay:')" "0 of $n failed "
	rm -f "$WORK"/out.*
}

round=0
while true; do
	round=$((round + 1))
	rm -rf "$CACHE"
	at_once "cold start $round, 4 at once" 4
	[ "$seconds" -gt 0 ] || [ $round -lt 3 ] || break
	[ "$seconds" -eq 0 ] || [ $SECONDS -lt "$seconds" ] || break
done

# ---- Damage: each way, to every file of the cache ----
damage_cut() { truncate -s $(($(stat -c %s "$1") / 2)) "$1"; }
damage_empty() { : >"$1"; }
damage_flip() {
	local at=$(($(stat -c %s "$1") / 2)) byte
	byte=$(od -An -tu1 -j$at -N1 "$1")
	# shellcheck disable=SC2059 # the format is the byte
	printf "\\$(printf %o $((byte ^ 4)))" |
		dd of="$1" bs=1 seek=$at conv=notrunc status=none
}
damage_longer() { echo more >>"$1"; }
damage_folder() { rm "$1" && mkdir -p "$1/with/more"; }
damage_link() { mv "$1" "$1.moved" && ln -s "$1.moved" "$1"; }
damage_dangling() { rm "$1" && ln -s /nowhere/x "$1"; }
damage_pipe() { rm "$1" && mkfifo "$1"; }
damage_unreadable() { chmod 0 "$1"; }
damage_foreign() { chown 0:0 "$1" && chmod 644 "$1"; }
damage_writable() { chmod 666 "$1"; }
damage_other() { cp "$WORK/home/assay" "$1"; }
for way in cut empty flip longer folder link dangling pipe unreadable foreign writable other; do
	before=$(find "$CACHE" -type f -name '*.zst' | wc -l)
	# The user could do it himself, except what only root may do.
	for file in $(find "$CACHE" -type f -name '*.zst'); do damage_$way "$file"; done
	[ $way = foreign ] || chown -hR $USER_ "$CACHE"
	got=0
	run >"$WORK/out" 2>&1 || got=$?
	tap_is "what is $way is not used" "$before $got $(grep '^assay:' "$WORK/out")" "1 0 "
	find "$CACHE" -name '*.moved' -delete
	bad=$(find "$CACHE" -name '*.zst' \
		! \( -type f -user $USER_ -size +0 -perm -400 ! -perm /022 \))
	tap_is "and is made again" "$bad" ""
done

# ---- A cache that is somebody else's ----
rm -rf "$CACHE"
mkdir -m 777 "$CACHE"
got=0
run >"$WORK/out" 2>&1 || got=$?
tap_is "a folder that others can write to is not used" "$got $(ls -A "$CACHE")" "0 "
rmdir "$CACHE"
rm -rf "/tmp/assay-$USER_"
tap_is "nothing else is left" "$(find /tmp /var/tmp /dev/shm -maxdepth 1 -user $USER_)" ""
tap_done
