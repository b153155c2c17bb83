#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Checkers that fork, map their disk, leave processes behind, print without end, hear no signal, are
# scripts, are static or setuid: each is judged by what it does to the disk, and nothing is left.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

bin=$WORK/bin
mkdir "$bin"
chmod 755 "$WORK" "$bin"
cc -O1 -D_GNU_SOURCE -w -o "$bin/hostile" tests/fsck/hostile_checker.c || exit 1
head -c 65536 /dev/zero | tr '\0' h >"$WORK/disk"
chmod 644 "$WORK/disk"

# judged NAME WANTED-STATUS COMMAND [OPTION...]: a session on a few damaged disks
judged() {
	local name=$1 want=$2 command=$3
	shift 3
	tap_run "$name" "$want" timeout -k 5 $((120 * TAP_SLOWER)) "$ASSAY" fsck \
		"checker:$command {disk}" --disk "$WORK/disk" --model bits --lots 6 --deadline 2 \
		--no-store "$@"
}
none_left() { ! pgrep -f "^$bin/" >/dev/null; }
nothing_left() {
	if tap_wait_until 20 none_left; then
		tap_ok "$1: no process is left"
	else
		tap_not_ok "$1: no process is left" "$(pgrep -af "^$bin/")"
	fi
}

for what in plain fork map direct stdin daemon; do
	judged "a checker that repairs: $what" 0 "$bin/hostile $what"
done
nothing_left "of those that repair"
for what in hang stubborn loud; do
	judged "a checker that does not end: $what" 1 "$bin/hostile $what" --max-findings 1
	tap_like "a checker that does not end is told so: $what" "$WORK/out" "did not end"
done
nothing_left "of those that do not end"
# Those on which it hangs are put aside: the others do not wait until it is decided that it hangs.
tap_run "a checker that hangs on some disks" 0 timeout -k 5 $((120 * TAP_SLOWER)) "$ASSAY" fsck \
	"checker:$bin/hostile some {disk}" --disk "$WORK/disk" --model bits --for 12s --json \
	--no-store
disks=$(sed -n '/"event":"fsck"/s/.*"disks":\([0-9]*\).*/\1/p' "$WORK/out")
tap_is "the other disks were judged meanwhile" "$([ "${disks:-0}" -ge 60 ]; echo $?)" 0
nothing_left "of one that hangs on some"
# The second run says "clean", and goes on changing the disk.
for what in later:"the second run says that the disk is clean, but changes it" \
	restless:"each run until the fifth changes it again"; do
	judged "a checker that is not done: ${what%%:*}" 1 "$bin/hostile ${what%%:*}" \
		--max-findings 2
	tap_like "a checker that is not done is told so: ${what%%:*}" "$WORK/out" "${what#*:}"
done

cp "$bin/hostile" "$bin/setuid"
chmod 4755 "$bin/setuid"
judged "a checker that is setuid" 0 "$bin/setuid plain"
printf '#!/bin/sh\nexec %s/hostile plain "$1"\n' "$bin" >"$bin/script"
chmod 755 "$bin/script"
judged "a checker that is a script" 0 "$bin/script"
if cc -static -O1 -D_GNU_SOURCE -w -o "$bin/static" tests/fsck/hostile_checker.c 2>/dev/null; then
	for what in plain fork direct daemon; do
		judged "a static checker that repairs: $what" 0 "$bin/static $what"
	done
	judged "a static checker that does not end" 1 "$bin/static stubborn" --max-findings 1
	nothing_left "of static checkers"
else
	tap_skip "static checkers" "there is no static C library here"
fi
judged "a checker that is no program" 3 "$WORK/disk"

# What is exported of a checker that hangs does not hang who runs it.
judged "a case that hangs is exported" 1 "$bin/hostile hang" --max-findings 1 --export "$WORK/suite"
case=$(echo "$WORK"/suite/*)
tap_like "its name says that it hangs" "$case/name" "did not end"
tap_like "its first run ends by timeout" "$case/expect.1" "^Exit status is 124$"
tap_like "its script has a time limit" "$case/script" "timeout"
# The script is sourced by e2fsprogs' tests, where $FSCK is the checker.
mkdir "$WORK/cmd"
zcat "$case/image.gz" >"$WORK/image"
printf '%s\n' '$FSCK "$image"' 'echo "Exit status is $?"' >"$WORK/cmd/run_e2fsck"
cmd_dir=$WORK/cmd image=$WORK/image HANG_SECONDS=1 FSCK="$bin/hostile hang" \
	sh -c ". '$case/script'" >"$WORK/said"
tap_is "the script shows what is expected" "$(cat "$WORK/said")" "$(cat "$case/expect.1")"
if [ "$(id -u)" = 0 ] && [ -x /usr/bin/setpriv ]; then
	nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups env "HOME=$WORK/none")
	cp -L "$ASSAY" "$bin/assay"
	tap_run "a user without rights: a dynamic checker" 0 "${nobody[@]}" "$bin/assay" fsck \
		"checker:$bin/hostile plain {disk}" --disk "$WORK/disk" --model bits --lots 6 \
		--no-store
else
	tap_skip "a user without rights" "not root, or there is no setpriv"
fi
# The images of a suite are run as they are, too, and before all others.
mkdir -p "$WORK/own/f_one" "$WORK/own/f_two"
{ head -c 4096 "$WORK/disk" && printf X && tail -c 61439 "$WORK/disk"; } >"$WORK/image"
gzip -c "$WORK/image" >"$WORK/own/f_one/image.gz"
gzip -c "$WORK/disk" >"$WORK/own/f_two/image.gz"
for what in hang lies plain; do
	tap_run "an image of a suite: $what" $([ $what = plain ]; echo $?) timeout -k 5 \
		$((120 * TAP_SLOWER)) "$ASSAY" fsck "checker:$bin/hostile $what {disk}" \
		--model suite --suite "$WORK/own" --lots 2 --deadline 2 --no-store
	[ "$what" = plain ] || tap_like "it is said: $what" "$WORK/out" '(: |image )as it is'
done
# A run that takes longer than the deadline of the search is slow; it hangs if it takes much longer.
tap_run "a checker that is slow" 0 timeout -k 5 $((120 * TAP_SLOWER)) "$ASSAY" fsck \
	"checker:$bin/hostile slow {disk}" --model suite --suite "$WORK/own" --lots 1 --no-store
tap_like "it was not confirmed that it hangs" "$WORK/out" "did not come back: fsck: hangs"
tap_done
