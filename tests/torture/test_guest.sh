#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# guest: nothing that comes out of a sandbox is trusted (fake_wire.c sends lies). Signals that
# others send to a real guest, or to us, are no findings and leave nothing.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
here=$PWD/tests/torture
ASSAY=$(realpath "$ASSAY")
seconds=${TORTURE_SECONDS:-0}
cd "$WORK" || exit 2
echo 'mkdir /a 0755' >w.txt

"$ASSAY" run --no-store --sandbox uml --target lab w.txt >out 2>err
if [ $? = 3 ]; then
	tap_skip "guests" "$(sed 's/^assay: //' err)"
	tap_done
	exit
fi
if ! cc -std=gnu11 -D_GNU_SOURCE -O1 -o fake "$here/fake_wire.c"; then
	tap_not_ok "the fake kernel compiles"
	tap_done
	exit
fi

# ---- Lies ----

# hears NAME STATUS REGEX: what is said of a guest that does NAME: one line of an error (or none,
# with status 0 or 1), in time, with bounded memory, and nothing on the terminal but text.
hears() {
	local name=$1 want=$2 regex=$3 got=0 lines
	cp fake "$name"
	(
		ulimit -v 4000000
		exec timeout 90 "$ASSAY" run --uml "./$name" --sandbox uml --target lab \
			-o "o-$name" w.txt
	) >out 2>err </dev/null || got=$?
	lines=$(grep -c '^assay:' err)
	if [ "$got" = "$want" ] && [ "$(wc -l <err)" -le 1 ] &&
		cat out err | grep -Eq "$regex"; then
		tap_ok "$name: one clear line"
	else
		tap_not_ok "$name: one clear line" \
			"status $got, $lines lines; wanted $want, /$regex/" \
			"$(tail -n 5 out err | cut -c 1-300)"
	fi
	if LC_ALL=C grep -q $'[\001-\010\013-\037]' out err; then
		tap_not_ok "$name: text only" "$(head -c 500 err | od -c | head)"
	else
		tap_ok "$name: text only"
	fi
}
hears flood-console 1 "says without an end: a line of the kernel"
hears flood-kmsg 1 "the kernel says: EXT4-fs error .*; it says without an end: EXT4-fs error"
hears flood-notes 2 'said more than'
hears flood-line 2 'never ends its line'
hears garbage 2 'killed 8 times in a row'
hears half 2 'killed 8 times in a row'
hears deep 2 'killed 8 times in a row'
hears killed 2 'killed 8 times in a row, at last: SIGKILL'
hears killed-late 2 'killed 8 times in a row, at last: SIGKILL'
hears ends-early 2 'the engine in the sandbox ended before its work was done'
hears begins-late 0 '1 workload'
hears comes-back 0 '1 workload, .*0 findings'
hears escapes 2 'second line'
hears numbers 2 'xxxx'
hears no-version 2 'did not say its version of the wire'
hears old-version 2 'speaks version 0 of the wire, this program version 3'
hears new-version 2 'speaks version 0 of the wire, this program version 3'
hears gives-up 3 'no such .*thing'
hears lies 1 'cannot be'
tap_is "no lie is kept" "$(cd o-lies/findings 2>/dev/null && echo *)" "t-7"
tap_is "nothing is planted" "$(find . /tmp/planted -name '*planted*' 2>/dev/null)" ""
hears disks 1 'd-garbage'
tap_is "findings whose disks are none have none" "$(find o-disks -name 'disk*')" ""
if [ "$seconds" -gt 0 ]; then
	hears never-boots 2 'did not start \(no sign of life\)'
fi

# ---- Signals ----

for i in $(seq 6000); do echo "create /f$i 0644" && echo "stat /f$i"; done >long.txt

# engine_works PID: the kernel that it started is in $guest, and runs a workload: its number is in
# the memory that is shared (struct as_box_state, box/sandbox.h).
engine_works() {
	guest=$(pgrep -o -f "assay.of=$1( |\$)") &&
		[ "$(od -An -td8 -j 24 -N 8 "/proc/$guest/fd/4")" -ge 0 ]
}
guest_ended() { # PID
	! pgrep -f "assay.of=$1( |\$)" -r R,S,D,T
}

# signalled NAME SIGNAL...: to the kernel, one after the other; the run must come to a good end.
signalled() {
	local name=$1 job got=0 signal missed=0 guest=
	shift
	"$ASSAY" run --sandbox uml --target dir:/mnt -o o-sig long.txt >out 2>err </dev/null &
	job=$!
	tap_wait_until 60 engine_works $job || missed=1
	for signal in "$@"; do
		case $signal in
		[0-9]*) sleep "$signal" ;; # so long is it stopped
		*) kill -s "$signal" "$guest" || missed=1 ;;
		esac
	done
	wait $job || got=$?
	tap_is "$name: no finding" "$got $(grep -c FOUND out) $missed $(cat err)" "0 0 0 "
}
# All of them, one by one, are in tests/supervise/test_boxed.c, too.
signals=TERM
[ "$seconds" -eq 0 ] || signals="TERM INT HUP QUIT KILL USR1"
for signal in $signals; do
	signalled "SIG$signal to the kernel" $signal
done
signalled "a kernel that is stopped for a while" STOP 3 CONT

# The kernel and assay are stopped for longer than any deadline, as when a machine is put to sleep.
"$ASSAY" run --deadline 2 --sandbox uml --target dir:/mnt -o o-sleep long.txt \
	>out 2>err </dev/null &
job=$!
missed=0
tap_wait_until 60 engine_works $job || missed=1
kill -STOP $job "$guest"
sleep 6 # the time is what is tested
kill -CONT "$guest" $job || missed=1
got=0
wait $job || got=$?
tap_is "all stopped for longer than the deadline: no finding" \
	"$got $(grep -c FOUND out) $missed $(cat err)" "0 0 0 "

# A signal to assay itself: everything ends, and nothing is left. A folder that somebody has locked
# belongs to another run.
mine() {
	find /tmp /var/tmp /dev/shm -maxdepth 1 -name 'assay-temp-*' -user "$(id -u)" -newer w.txt |
		while read -r folder; do
			flock -n "$folder" true 2>/dev/null && echo "$folder"
		done
}
ends="TERM KILL"
[ "$seconds" -eq 0 ] || ends="TERM KILL HUP"
for signal in $ends; do
	"$ASSAY" run --sandbox uml --target dir:/mnt -o o-end long.txt >out 2>err </dev/null &
	job=$!
	tap_wait_until 60 engine_works $job || guest=
	kill -$signal $job
	wait $job 2>/dev/null
	tap_wait_until 60 guest_ended $job
	left=$(pgrep -f "assay.of=$job( |\$)" -r R,S,D,T | wc -l)
	tap_is "SIG$signal to us: the kernel ends" "$left ${guest:+was there}" "0 was there"
done
"$ASSAY" doctor >out 2>&1 &
job=$!
sleep 0.3 # some moment
kill -KILL $job
wait $job 2>/dev/null
tap_is "none of them leaves a folder" "$(mine)" ""
tap_is "nor a finding" "$(find o-sig o-sleep o-end -name finding.json 2>/dev/null)" ""

# ---- What we are started with --------------------------------------------------------------------

# started NAME COMMAND...: words before `assay`.
started() {
	local name=$1
	shift
	tap_run "$name" 0 "$@" "$ASSAY" run --no-store --sandbox uml --target dir:/mnt "$PWD/w.txt"
}
started "a umask that shuts everyone out" bash -c 'umask 077; exec "$@"' sh
started "a umask that shuts us out, too" bash -c 'umask 777; exec "$@"' sh
started "without HOME, and a TMPDIR that is none" env -u HOME TMPDIR=/dev/null
if env --ignore-signal=CHLD --block-signal=USR1 true 2>/dev/null; then
	started "ends of children are ignored" env --ignore-signal=CHLD
	started "all signals are ignored" env --ignore-signal
	started "all signals are blocked" env --block-signal
else
	tap_skip "signals that are ignored" "env of this machine has no --ignore-signal"
fi
tap_done
