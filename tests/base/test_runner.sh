#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# scripts/run_tests.sh must not look green when something is wrong: a test that fails, crashes,
# hangs, stops half way or says nothing is counted; skips are shown with their reasons.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

# run NAME STATUS LAST-LINE SCRIPT...: each script is the text of one test program.
run() {
	local name=$1 status=$2 last=$3 got=0 n=0 text programs=()
	shift 3
	rm -rf "$WORK/build"
	mkdir -p "$WORK/build/tests/x"
	for text; do
		n=$((n + 1))
		programs+=("$WORK/build/tests/x/test_$n")
		printf '#!/bin/bash\n%s\n' "$text" >"$WORK/build/tests/x/test_$n"
	done
	[ $n = 0 ] || chmod +x "${programs[@]}"
	TEST_SECONDS=${limit:-20} scripts/run_tests.sh "$WORK/build" "${programs[@]}" \
		>"$WORK/out" 2>&1 || got=$?
	if [ "$got" = "$status" ] && [ "$(tail -n 1 "$WORK/out")" = "$last" ]; then
		tap_ok "$name"
	else
		tap_not_ok "$name" "exit status $got, wanted $status; last line wanted: $last" \
			"$(cat "$WORK/out")"
	fi
}

run "nothing to run" 0 "0 passed, 0 failed, 0 skipped"
run "all pass" 0 "3 passed, 0 failed, 0 skipped" \
	'echo 1..2; echo ok 1 - a; echo ok 2 - b' 'echo ok 1 - c; echo 1..1'
run "one fails" 1 "1 passed, 1 failed, 0 skipped" \
	'echo 1..2; echo ok 1 - a; echo not ok 2 - b; echo "# because"; exit 1'
tap_like "a failure is named" "$WORK/out" '^   b$'
tap_like "its output is shown" "$WORK/out" '^# because$'
run "a failing line counts even if the program says 0" 1 "0 passed, 1 failed, 0 skipped" \
	'echo 1..1; echo not ok 1 - a'
run "a crash" 1 "1 passed, 1 failed, 0 skipped" 'echo 1..2; echo ok 1 - a; kill -SEGV $$'
tap_like "a crash is named" "$WORK/out" 'died of signal 11'
run "a program that stops early" 1 "1 passed, 1 failed, 0 skipped" 'echo 1..2; echo ok 1 - a'
tap_like "what is missing is told" "$WORK/out" 'ran 1 of 2 tests'
run "a program that says nothing" 1 "0 passed, 1 failed, 0 skipped" 'exit 0'
run "a bad exit status with all tests passed" 1 "1 passed, 1 failed, 0 skipped" \
	'echo 1..1; echo ok 1 - a; exit 99'
run "a program that cannot be run" 1 "0 passed, 1 failed, 0 skipped" 'exec /nonexistent'
limit=1 run "a hang" 1 "1 passed, 1 failed, 0 skipped" \
	'echo 1..2; echo ok 1 - a; exec tail -f /dev/null'
tap_like "the time limit is told" "$WORK/out" 'killed after the time limit of 1 s'
limit=1 run "a test that stops its process group" 1 "1 passed, 1 failed, 0 skipped" \
	'echo 1..2; echo ok 1 - a; kill -STOP 0; echo ok 2 - b'
tap_like "the time limit is told of it, too" "$WORK/out" 'killed after the time limit of 1 s'
run "a skip" 0 "0 passed, 0 failed, 1 skipped" 'echo 1..1; echo "ok 1 - a # SKIP no root"'
tap_like "a skip shows its reason" "$WORK/out" 'test_1: a: no root$'
run "a skip in the words of cmocka" 0 "1 passed, 0 failed, 1 skipped" \
	'echo 1..2; echo SKIP: no loop device; echo "not ok 1 # SKIP test_a"; echo ok 2 - test_b'
tap_like "it shows its reason, too" "$WORK/out" 'test_1: test_a: no loop device$'
run "two groups in one program" 0 "3 passed, 0 failed, 0 skipped" \
	'echo 1..1; echo ok 1 - a; echo 1..2; echo ok 1 - b; echo ok 2 - c'
# ---- What a test leaves behind ----
run "a test that cleans up" 0 "1 passed, 0 failed, 0 skipped" \
	'echo 1..1; mkdir "$TMPDIR/x"; rmdir "$TMPDIR/x"; echo ok 1 - a'
run "a folder that is left" 1 "1 passed, 1 failed, 0 skipped" \
	'echo 1..1; mkdir "$TMPDIR/assay-temp-x"; echo ok 1 - a'
tap_like "is named, with its test" "$WORK/out" \
	'^   leaves nothing behind: assay-temp-x in its TMPDIR$'
tap_like "the test is" "$WORK/out" '^== FAILED: tests_x_test_1$'
run "what is gone a moment later is not left" 0 "1 passed, 0 failed, 0 skipped" \
	'echo 1..1; mkdir "$TMPDIR/x"; (sleep 0.5; rmdir "$TMPDIR/x") >/dev/null 2>&1 &
echo ok 1 - a'
if [ "$(id -u)" = 0 ] && mkdir "$WORK/m" && mount -t tmpfs none "$WORK/m" 2>/dev/null; then
	umount "$WORK/m"
	run "a mount that is left" 1 "1 passed, 1 failed, 0 skipped" \
		'echo 1..1; mkdir "$TMPDIR/m"; mount -t tmpfs none "$TMPDIR/m"; echo ok 1 - a'
	tap_like "is named" "$WORK/out" 'nothing behind: mount .*/m of none;m in its TMPDIR$'
	tap_is "and taken away" "$(grep -c "$WORK/build" /proc/mounts)" 0
	run "a mount of ours elsewhere" 1 "1 passed, 1 failed, 0 skipped" \
		"echo 1..1; mount -t tmpfs assay '$WORK/m'; echo ok 1 - a"
	tap_like "is named, too" "$WORK/out" \
		"nothing behind: .*mount $(tap_regex "$WORK")/m of assay$"
	umount "$WORK/m"
	run "a loop device that is left" 1 "1 passed, 1 failed, 0 skipped" \
		'echo 1..1; truncate -s 1M "$TMPDIR/d"; losetup -f "$TMPDIR/d"; echo ok 1 - a'
	tap_like "is named" "$WORK/out" \
		'nothing behind: loop device loop[0-9]+ of .*/d;d in its TMPDIR'
	losetup -n -O NAME,BACK-FILE | awk -v w="$WORK" 'index($2, w) == 1 { print $1 }' |
		xargs -r -n 1 losetup -d
else
	tap_skip "a mount that is left" "takes root's rights"
fi

run "a group that cannot be set up" 1 "0 passed, 1 failed, 0 skipped" \
	'echo 1..1; echo "not ok 0 - t [  FAILED  ] GROUP SETUP"; exit 1'
export JOBS=2
beside='f=$WORK/was; echo 1..1
if [ -e "$f" ]; then echo ok 1 - a; else echo not ok 1 - a; echo "# too slow"; fi; : >"$f"'
export WORK
run "a failure beside others gets a second try alone" 0 "2 passed, 0 failed, 0 skipped" \
	"$beside" 'echo 1..1; echo ok 1 - b'
tap_like "and is told" "$WORK/out" '^unsteady: failed beside others, passed alone:$'
tap_like "with what had failed" "$WORK/out" '^   tests_x_test_1: a$'
tap_like "and what it said" "$WORK/out" '^ *# too slow$'
rm -f "$WORK/was"
RETRIES=0 run "more failures than that get none" 1 "1 passed, 1 failed, 0 skipped" \
	"$beside" 'echo 1..1; echo ok 1 - b'
rm -f "$WORK/was"
JOBS=1 run "nor does a failure alone" 1 "1 passed, 1 failed, 0 skipped" \
	"$beside" 'echo 1..1; echo ok 1 - b'
rm -f "$WORK/was"
run "nor a crash" 1 "1 passed, 1 failed, 0 skipped" \
	'f=$WORK/was; echo 1..1; [ -e "$f" ] && echo ok 1 - a; : >"$f"; kill -SEGV $$' \
	'echo 1..1; echo ok 1 - b'
run "what fails twice has failed" 1 "1 passed, 1 failed, 0 skipped" \
	'echo 1..1; echo not ok 1 - a' 'echo 1..1; echo ok 1 - b'
run "programs of all kinds add up" 1 "3 passed, 2 failed, 1 skipped" \
	'echo 1..1; echo ok 1 - a' 'echo 1..2; echo ok 1 - b; echo not ok 2 - c; exit 1' \
	'echo 1..2; echo "ok 1 - d # SKIP why"; echo ok 2 - e' 'exit 3'
tap_done
