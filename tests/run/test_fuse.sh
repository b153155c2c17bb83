#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# FUSE servers as targets: the smoke workload passes on each; what the cases of labfs find is known
# (docs/FOUND.md); a server that dies is a finding; nothing is left when we are killed; without
# root, too. Folders of dir: targets outlive no run.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
root=$PWD

# awaits SECONDS COMMAND...: until it succeeds.
awaits() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -le $end ] || return 1
	done
}

lacks() { # PROGRAM: prints why it cannot be tested
	[ "$(id -u)" = 0 ] || echo "needs root"
	[ -e /dev/fuse ] || echo "needs /dev/fuse"
	command -v "$1" >/dev/null || echo "needs the program $1"
}

# ---- Each server --------------------------------------------------------------------------------

server() { # PROGRAM TARGET
	local why line
	why=$(lacks "$1" | head -n 1)
	if [ -n "$why" ]; then
		tap_skip "$1" "$why"
		return
	fi
	tap_run "$1: smoke" 0 "$ASSAY" run --no-store --check op --target "$2" examples/smoke.txt
	# A deep tree costs a server of paths seconds: the default deadline is for libraries.
	"$ASSAY" run -o "$WORK/$1" --deadline 100 --json --target "$2" labfs/cases/*.txt \
		>"$WORK/out" 2>"$WORK/err"
	tap_is "$1: every case ran" "$(grep -c '"event":"workload"' "$WORK/out")" \
		"$(printf '%s\n' labfs/cases/*.txt | wc -l)"
	grep '"event":"workload"' "$WORK/out" | grep -v '"findings":0' |
		sed 's/.*"name":"labfs.cases.\([^"]*\)\.txt".*/\1/' >"$WORK/found"
	while read -r line; do
		tap_is "$1: what $line finds is explained" \
			"$(grep -c "^| $1 .*$line" docs/FOUND.md | sed 's/^[1-9].*/known/')" known
	done <"$WORK/found"
}
# The kernel keeps attributes for a second, by path: other names of a file must not look old.
server bindfs 'fuse:bindfs -f -s -o attr_timeout=0 {src} {mnt}'
server fuse2fs fuse2fs
server ntfs-3g ntfs-3g

# ---- Servers that go wrong ----------------------------------------------------------------------

seq 1 20000 | sed 's|.*|mkdir /d& 0755|' >"$WORK/long.txt"
why=$(lacks bindfs | head -n 1)
if [ -n "$why" ]; then
	tap_skip "a server's death" "$why"
else
	tap_run "a server's death is a finding" 1 "$ASSAY" run -o "$WORK/dead" --json --target \
		"fuse:timeout -s KILL 0.$((2 * TAP_SLOWER)) bindfs -f {src} {mnt}" "$WORK/long.txt"
	tap_is "it is told as that" \
		"$(grep -c '"kind":"signal".*the server' "$WORK/out" | sed 's/^[1-9].*/yes/')" yes
	mark=assay-test-$$-$RANDOM
	for after in 0.05 0.2 0.5; do
		"$ASSAY" run --no-store --target "fuse:bindfs -f -o fsname=$mark {src} {mnt}" \
			"$WORK/long.txt" >/dev/null 2>&1 &
		pid=$!
		read -r -t $after <> <(:)
		kill -KILL $pid
		wait $pid 2>/dev/null
		gone() { ! pgrep -f "fsname=$mark" >/dev/null; }
		if awaits 10 gone; then
			tap_ok "killed after $after s, it leaves no server"
		else
			tap_not_ok "killed after $after s, it leaves no server"
		fi
	done
	# Options that it does not know are refused, and a server that dies of them is found.
	printf '%s\n' 'create /f 0644' umount 'mount opts=lazytime' >"$WORK/unknown.txt"
	printf '%s\n' 'create /f 0644' umount 'mount opts=ro' 'mkdir /d 0755' 'stat /f' \
		'unlink /f' >"$WORK/ro.txt"
	cat >"$WORK/sick" <<-'END'
		#!/bin/sh
		case "$*" in
		*lazytime*) kill -SEGV $$ ;;
		*ro) rm -f "$1/f" ;;
		esac
		exec bindfs -f "$@"
	END
	chmod +x "$WORK/sick"
	for w in unknown ro; do
		tap_run "$w: a sound server" 0 "$ASSAY" run --no-store \
			--target 'fuse:bindfs -f {src} {mnt}' "$WORK/$w.txt"
		tap_run "$w: a sick one" 1 "$ASSAY" run --no-store \
			--target "fuse:$WORK/sick {src} {mnt}" "$WORK/$w.txt"
	done
	tap_run "a program that serves nothing" 2 "$ASSAY" run --no-store \
		--target 'fuse:true {src} {mnt}' examples/smoke.txt
	tap_run "a program that is not there" 3 "$ASSAY" run --no-store \
		--target 'fuse:no-such-server {src} {mnt}' examples/smoke.txt
fi
tap_run "a command without places" 2 "$ASSAY" run --no-store --target fuse:x examples/smoke.txt
tap_run "a command with an open quote" 2 "$ASSAY" run --no-store \
	--target "fuse:x '{mnt} {src}" examples/smoke.txt

# ---- Without root -------------------------------------------------------------------------------

# /dev/fuse as most machines have it: for everyone.
as_nobody() { # TARGET
	unshare -m bash -c '
		mount -t tmpfs -o mode=0755 none /mnt && mknod /mnt/fuse c 10 229 &&
		chmod '"$mode"' /mnt/fuse && mount --bind /mnt/fuse /dev/fuse &&
		cp "$1" /mnt/assay && cp "$2" /mnt/smoke.txt &&
		chmod 755 /mnt/assay /mnt/smoke.txt && cd / &&
		exec setpriv --reuid 65534 --regid 65534 --clear-groups \
			env -i PATH="$PATH" HOME=/nonexistent \
			/mnt/assay run --no-store --target "$3" /mnt/smoke.txt
	' sh "$ASSAY" "$root/examples/smoke.txt" "$1"
}
if [ -n "$why" ]; then
	tap_skip "without root" "$why"
elif ! setpriv --reuid 65534 --regid 65534 --clear-groups unshare -U true 2>/dev/null; then
	tap_skip "without root" "user namespaces are not allowed here"
else
	mode=666
	tap_run "without root: bindfs" 0 as_nobody 'fuse:bindfs -f {src} {mnt}'
	[ -n "$(lacks fuse2fs)" ] || tap_run "without root: fuse2fs" 0 as_nobody fuse2fs
	mode=600
	tap_run "without the right to open /dev/fuse" 3 as_nobody 'fuse:bindfs -f {src} {mnt}'
fi

# ---- Folders of dir: ----------------------------------------------------------------------------

mkdir -p "$WORK/dir/.assay-run-abcdef/tree" "$WORK/dir/.assay-run-much-longer" "$WORK/dir/mine"
echo keep >"$WORK/dir/.assay-run-abcdef/tree/file"
echo keep >"$WORK/dir/file"
if ! "$ASSAY" run --no-store --target "dir:$WORK/dir" examples/smoke.txt >/dev/null 2>&1; then
	tap_skip "folders of dir:" "directories cannot be tested here"
else
	for after in 0.01 0.02 0.03 0.05 0.08 0.13 0.2 0.3; do
		"$ASSAY" run --no-store --target "dir:$WORK/dir" "$WORK/long.txt" >/dev/null 2>&1 &
		pid=$!
		read -r -t $after <> <(:)
		kill -KILL $pid
		wait $pid 2>/dev/null
	done
	# One that is alive keeps its own.
	"$ASSAY" run --no-store --target "dir:$WORK/dir" "$WORK/long.txt" >/dev/null 2>&1 &
	pid=$!
	tap_run "a run beside another" 0 \
		"$ASSAY" run --no-store --target "dir:$WORK/dir" examples/smoke.txt
	status=0
	wait $pid || status=$?
	tap_is "the other is not disturbed" $status 0
	tap_run "a last run" 0 "$ASSAY" run --no-store --target "dir:$WORK/dir" examples/smoke.txt
	# The holder of a dead run's folder may still be removing it.
	clean() { [ "$(ls -d "$WORK"/dir/.assay-run-?????? | wc -l)" = 1 ]; }
	tap_wait_until 60 clean
	tap_is "what dead runs left is gone, all else is there" \
		"$(cd "$WORK/dir" && find . | LC_ALL=C sort | xargs)" \
		"$(echo . ./.assay-run-abcdef ./.assay-run-abcdef/tree \
			./.assay-run-abcdef/tree/file ./.assay-run-much-longer ./file ./mine)"
	tap_run "what is left out is said" 0 "$ASSAY" run --no-store --target "dir:$WORK/dir" \
		examples/smoke.txt examples/smoke.txt
	tap_is "once" "$(cat "$WORK/out" "$WORK/err" | grep -c 'are left out')" 1
fi

# A server keeps the lock's file under another name as long as we have it open.
why=$(lacks bindfs | head -n 1)
mkdir -p "$WORK/below" "$WORK/above"
if [ -n "$why" ] || ! bindfs "$WORK/below" "$WORK/above"; then
	tap_skip "dir: on a FUSE mount" "${why:-bindfs cannot mount here}"
else
	tap_run "dir: on a FUSE mount" 0 "$ASSAY" run --no-store --target "dir:$WORK/above" \
		labfs/cases/02-append.txt
	tap_is "nothing is left there" "$(ls -A "$WORK/above")" ""
	umount "$WORK/above"
fi
tap_done
