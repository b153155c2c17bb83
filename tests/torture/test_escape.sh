#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# escape: a "kernel" that tries to get out of the sandbox (fake_kernel.c), as every user that we can
# become, and on kernels that lack a layer of it. Prints what was tried; fails if anything was
# allowed.
set -u
. "$(dirname "$0")/../tap.sh"
here=$(cd "$(dirname "$0")" && pwd)
ASSAY=$(realpath "$ASSAY")
seconds=${TORTURE_SECONDS:-0}
NOBODY=65534
UNSHARE=272 LANDLOCK=444 # as system calls

"$ASSAY" doctor --json >"$WORK/doctor" 2>&1 || true
if grep -q 'address sanitizer' "$WORK/doctor"; then
	tap_skip "escapes" "an assay with the address sanitizer does not start a guest"
	tap_done
	exit
fi
if ! cc -std=gnu11 -D_GNU_SOURCE -O1 -o "$WORK/fake" "$here/fake_kernel.c" ||
	! cc -std=gnu11 -D_GNU_SOURCE -O1 -o "$WORK/without" "$here/without.c"; then
	tap_not_ok "the fake kernel compiles"
	tap_done
	exit
fi
chmod 755 "$WORK"
echo 'mkdir /a 0755' >"$WORK/w.txt"

# as USER COMMAND...: becomes it, as root ("0"), as nobody, or as who we are. In a subshell.
as() {
	local user=$1
	shift
	if [ "$user" = "$(id -u)" ]; then
		exec "$@"
	else
		exec setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
	fi
}

# try NAME USER WITHOUT SEES: one whole try. WITHOUT: calls that the kernel lacks. SEES: what may be
# seen, though not touched ("-": nothing).
try() {
	local name=$1 user=$2 lacks=$3 sees=$4 place victim out
	place=$WORK/$RANDOM
	out=$place/out.txt
	mkdir -p "$place/canary" "$place/run"
	echo secret >"$place/canary/secret"
	# These are the user's own files: only the sandbox protects them.
	chown -R "$user" "$place" 2>/dev/null
	as "$user" sleep 1000 >/dev/null 2>&1 &
	victim=$!
	cp "$WORK/fake" "$place/escape-$victim"
	chmod 755 "$place" "$place/escape-$victim"
	# shellcheck disable=SC2086 # words
	(cd "$place/run" && as "$user" timeout 120 "$WORK/without" $lacks -- "$ASSAY" run \
		--uml "$place/escape-$victim" --uml-mem 64M --sandbox uml --target lab \
		"$WORK/w.txt") >"$out" 2>&1
	echo "# $name: $(grep -c '^refused' "$out") tries refused," \
		"$(grep -c '^ALLOWED' "$out") allowed," \
		"$(grep -c '^SEEN' "$out") seen only; $(grep -m1 '^is Uid' "$out")"
	if grep -q '^all was tried' "$out" && ! grep -q '^ALLOWED' "$out"; then
		tap_ok "$name: nothing was allowed"
	else
		tap_not_ok "$name: nothing was allowed" "$(grep -v '^refused' "$out" | head -n 30)"
	fi
	grep '^SEEN' "$out" | grep -Ev -- "$sees" >"$place/seen" || true
	tap_is "$name: nothing was seen that should not be" "$(cat "$place/seen")" ""
	tap_is "$name: nobody was root" "$(grep -E '^is Uid:.* 0( |$)' "$out")" ""
	if kill -0 "$victim" 2>/dev/null && [ "$(cat "$place/canary/secret")" = secret ] &&
		[ "$(ls -A "$place/canary")" = secret ]; then
		tap_ok "$name: process and files outside are as they were"
	else
		tap_not_ok "$name: process and files outside are as they were" \
			"$(ls -lA "$place/canary")"
	fi
	# A folder that somebody has locked belongs to another run.
	tap_is "$name: nothing is left of it" "$(find /dev/shm /tmp /var/tmp -maxdepth 1 \
		-name 'assay-temp-*' -user "$user" -newer "$WORK/fake" 2>/dev/null |
		while read -r folder; do
			flock -n "$folder" true 2>/dev/null && echo "$folder"
		done)" ""
	{
		kill "$victim"
		wait "$victim"
	} 2>/dev/null
	[ -e "$WORK/table" ] || grep -E '^(refused|ALLOWED|SEEN)' "$out" >"$WORK/table"
}

users=$(id -u)
[ "$users" = 0 ] && command -v setpriv >/dev/null && users="0 $NOBODY"
while true; do
	for user in $users; do
		who="uid $user"
		try "$who" "$user" "" -
		# Landlock and seccomp alone do not hide names, and the disk that can be filled is
		# the machine's.
		try "$who without namespaces" "$user" "$UNSHARE" \
			'canary|climb|filling|MiB of memory|CapBnd'
		try "$who without Landlock" "$user" "$LANDLOCK" -
	done
	[ "$SECONDS" -lt "$seconds" ] || break
done
# The table of the first.
sort -u "$WORK/table" | sed "s/^/# /"
tap_done
