#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# run_tests.sh BUILD-FOLDER TEST...: runs test programs and scripts, JOBS at a time, each with a
# time limit (TEST_SECONDS), and adds up what they say. All speak TAP; cmocka's is understood too
# ("not ok N # SKIP name", the reason being the last line before it that starts with "SKIP: ").
# A program that crashes, runs out of time, or does not run all it planned counts as one failure.
# Tests that measure time can fail only because others run beside them. So what failed beside others
# is run once more, alone: what passes then is listed as unsteady with what had failed, and does not
# count as a failure. A program that died of a signal gets no second try, nor does anything when
# more than RETRIES (4) programs failed.
# A test leaves nothing behind: not in its $TMPDIR, where commands put what is temporary, and no
# mount and no loop device of ours on the machine. What it left is told, and one failure.
# The last line is exactly "N passed, N failed, N skipped"; exit status 1 if any failed.
set -euo pipefail

limit=${TEST_SECONDS:-$([ -n "${SAN:-}" ] && echo 1200 || echo 400)}

# Test lines of one program's output -> "pass|fail|skip TAB name TAB reason" and, for failures, what
# was printed since the test before.
read_tap() {
	awk -v rc="$1" -v limit="$limit" '
	function row(kind, name, why) { printf "%s\t%s\t%s\n", kind, name, why }
	function broke(why) { row("fail", "(whole program)", why) }
	/^1\.\.[0-9]+/ { planned += substr($0, 4); plans = 1; next }
	/^SKIP: / { reason = substr($0, 7) }
	/^(not )?ok [0-9]+/ {
		fine = ($1 == "ok")
		line = $0
		sub(/^(not )?ok [0-9]+ *(- *)?/, "", line)
		seen++
		if (match(line, /# *[Ss][Kk][Ii][Pp] */)) {
			why = substr(line, RSTART + RLENGTH)
			name = substr(line, 1, RSTART - 1)
			sub(/ +$/, "", name)
			if (name == "") { name = why; why = reason }
			row("skip", name, why == "" ? "no reason given" : why)
		} else if (fine) {
			row("pass", line, "")
		} else {
			failed++
			row("fail", line, "")
		}
		reason = ""
	}
	END {
		if (rc == 124 || rc == 137)
			broke("killed after the time limit of " limit " s")
		else if (rc > 128)
			broke("died of signal " rc - 128)
		else if (!plans)
			broke("announced no tests (exit status " rc ")")
		else if (seen != planned)
			broke("ran " seen + 0 " of " planned " tests (exit status " rc ")")
		else if (rc && !failed)
			broke("all tests passed, yet exit status " rc)
	}'
}

count() { # KIND FILE...
	local kind=$1
	shift
	cat "$@" </dev/null | grep -c "^$kind	" || true
}

# ---- What is left behind ----

# What there is of ours that several tests could have made, one line each. A folder of a program
# that was killed is no leak: the next program takes it away. A loop device on a served disk or on a
# file in memory goes with the process that made it.
ours() {
	awk '$1 ~ /^assay/ { print "mount", $2, "of", $1 }' /proc/self/mounts
}

# left FOLDER BEFORE: what is there now of a test whose $TMPDIR that was; BEFORE: ours() before it.
left() {
	awk -v folder="$1/" 'index($2, folder) == 1 { print "mount", $2, "of", $1 }' \
		/proc/self/mounts
	grep -sHF "$1/" /sys/block/loop*/loop/backing_file |
		sed 's,/sys/block/,loop device ,; s,/.*:, of ,'
	find "$1" -mindepth 1 -maxdepth 1 -printf "%f in its TMPDIR\n" 2>/dev/null
	comm -13 <(sort <<<"$2") <(ours | sort)
}

# What ends a moment after its test is not left behind.
left_at_last() {
	local n what
	for n in 1 2 3 4 5 6 7 8 9 10; do
		what=$(left "$@")
		[ -n "$what" ] || return 0
		sleep 0.3
	done
	echo "$what"
}

clear_away() { # FOLDER
	awk -v folder="$1/" 'index($2, folder) == 1 { print $2 }' /proc/self/mounts | tac |
		while read -r point; do umount -l "$point" || true; done
	timeout --kill-after=5 60 rm -rf --one-file-system "$1" || true
}

# The whole run of one test; called by xargs below.
if [ "${1:-}" = --one ]; then
	build=$2 results=$3 test=$4
	name=${test#"$build"/}
	key=$results/${name//\//_}
	mkdir -p "$key.tmp"
	before=$(ours)
	args=()
	case $name in
	tests/fuzz/fuzz_*) args=("tests/fuzz/corpus/${name#tests/fuzz/fuzz_}") ;;
	esac
	start=$EPOCHREALTIME
	rc=0
	# A test that stops its process group stops its own timeout with it, so there is another.
	TMPDIR=$key.tmp timeout --kill-after=5 $((limit + 10)) \
		timeout --kill-after=5 "$limit" "$test" "${args[@]}" \
		</dev/null >"$key.out" 2>&1 || rc=$?
	read_tap "$rc" <"$key.out" >"$key.tap"
	behind=$(left_at_last "$key.tmp" "$before")
	clear_away "$key.tmp"
	if [ -n "$behind" ]; then
		printf 'left behind: %s\n' "$behind" >>"$key.out"
		# What failed may have been in the middle of something.
		[ "$(count fail "$key.tap")" != 0 ] ||
			printf 'fail\tleaves nothing behind\t%s\n' "$(paste -sd ';' <<<"$behind")" \
				>>"$key.tap"
	fi
	took=$((${EPOCHREALTIME/[.,]/} - ${start/[.,]/}))
	fails=$(count fail "$key.tap")
	skips=$(count skip "$key.tap")
	printf '%s %-36s %4d passed%s%s  %d.%d s\n' "$([ "$fails" = 0 ] && echo ok || echo FAIL)" \
		"$name" "$(count pass "$key.tap")" "$([ "$fails" = 0 ] || echo ", $fails failed")" \
		"$([ "$skips" = 0 ] || echo ", $skips skipped")" \
		$((took / 1000000)) $((took / 100000 % 10))
	exit 0
fi

build=$1
shift
results=$build/results
rm -rf "$results"
mkdir -p "$results"
results=$(realpath "$results")
build_path=$(realpath "$build")
export ASSAY=$build_path/assay ASSAY_BUILD=$build_path CMOCKA_MESSAGE_OUTPUT=TAP
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

if [ $# -gt 0 ]; then
	printf '%s\0' "$@" | xargs -0 -n 1 -P "${JOBS:-$(nproc)}" "$0" --one "$build" "$results"
fi
shopt -s nullglob

# ---- What failed beside others, once more and alone ----
failing=()
if [ "${JOBS:-$(nproc)}" -gt 1 ] && [ $# -gt 1 ]; then
	for test; do
		name=${test#"$build"/}
		tap=$results/${name//\//_}.tap
		[ -f "$tap" ] && [ "$(count fail "$tap")" != 0 ] || continue
		grep -q 'died of signal' "$tap" || failing+=("$test")
	done
	[ ${#failing[@]} -le "${RETRIES:-4}" ] || failing=()
fi
unsteady=
for test in "${failing[@]}"; do
	name=${test#"$build"/}
	key=$results/${name//\//_}
	mv "$key.tap" "$key.first"
	mv "$key.out" "$key.first.out"
	echo "alone: $("$0" --one "$build" "$results" "$test")"
	[ "$(count fail "$key.tap")" != 0 ] || unsteady+=" $key"
done
if [ -n "$unsteady" ]; then
	echo
	echo "unsteady: failed beside others, passed alone:"
	for key in $unsteady; do
		awk -F '\t' -v t="   $(basename "$key"): " \
			'$1 == "fail" {print t $2 ($3 == "" ? "" : ": " $3)}' "$key.first"
		grep -v '^ok ' "$key.first.out" | tail -n 20 | sed 's/^/      /' || true
	done
fi
all=("$results"/*.tap)

for tap in "${all[@]}"; do
	[ "$(count fail "$tap")" != 0 ] || continue
	echo
	echo "== FAILED: $(basename "$tap" .tap)"
	awk -F '\t' '$1 == "fail" {print "   " $2 ($3 == "" ? "" : ": " $3)}' "$tap"
	echo "-- the end of its output ($(dirname "$tap")/$(basename "$tap" .tap).out):"
	grep -v '^ok ' "${tap%.tap}.out" | tail -n 60 || true
done

if [ "$(count skip "${all[@]}")" != 0 ]; then
	echo
	echo "skipped:"
	for tap in "${all[@]}"; do
		awk -F '\t' -v t="$(basename "$tap" .tap)" \
			'$1 == "skip" {print "   " t ": " $2 ": " $3}' "$tap"
	done
fi

# Each test that was asked for must have left a result: a runner that loses one is not green.
lost=$(($# - ${#all[@]}))
[ "$lost" = 0 ] || echo "$lost test programs left no result"
failed=$(($(count fail "${all[@]}") + lost))
echo
echo "$(count pass "${all[@]}") passed, $failed failed, $(count skip "${all[@]}") skipped"
[ "$failed" = 0 ]
