#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Is a program slower than another one? For fixed commands: the instructions that all their
# processes carry out, and their processor time, the least of TURNS (3) turns each: a process that
# waits for another one looks now and then, and more often on a busy machine.
#
# usage: [TURNS=N] scripts/slower.sh BEFORE AFTER [ROW...]
#
# Instructions are counted by perf; where the machine counts none, by callgrind (package valgrind).
# They hardly depend on what else the machine does; processor time does. Exit status 1 if a row is
# more than 3 % slower by instructions, or, where nothing counts them, by processor time. BEFORE
# with itself says how much the machine is off.
set -u
BEFORE=$(realpath -e "$1") && AFTER=$(realpath -e "$2") || exit 2
shift 2
cd "$(dirname "$0")/.." || exit 2
WORK=$(mktemp -d "${TMPDIR:-/tmp}/assay-slower-XXXXXX")
trap 'rm -rf "$WORK"' EXIT

rows() {
	cat <<-'END'
	run.lab      run --target lab labfs/cases/0*.txt --no-store
	run.smoke    run --target lab examples/smoke.txt --no-store
	hunt.lab     hunt --target lab --max-workloads 96 --seed 1 --no-report
	hunt.faults  hunt --faults --target lab --max-workloads 64 --seed 1 --no-report
	hunt.diff    hunt --diff lab,lab --max-workloads 16 --seed 1 --no-report
	crash.lab    crash --target lab examples/smoke.txt --no-store
	crash.hunt   hunt --crash --target lab --max-workloads 6 --seed 1 --no-report
	check.lab    check --target lab --max-transitions 400 --for 1h --no-store
	check.faults check --target lab --faults all --max-transitions 150 --for 1h --no-store
	fsck.labfs   fsck labfs-fsck --lots 12 --no-store
	fsck.minix   fsck fsck.minix --lots 12 --no-store
	fsck.e2fsck  fsck e2fsck --lots 8 --no-store
	replay.old   replay -o tests/golden/old/run lab-crash-1ed3d302
	END
}

counter=none
if perf stat -x , -e instructions:u true 2>&1 | grep -q '^[0-9]'; then
	counter=perf
elif command -v valgrind >/dev/null; then
	counter=callgrind
fi

run() { # WORD...: the words of a hunt get a folder of their own.
	rm -rf "$WORK/out" "$WORK"/count.*
	[[ " $* " != *" hunt "* ]] || set -- "$@" -o "$WORK/out"
	"$@" >/dev/null 2>&1
}

instructions() { # PROGRAM WORD...
	case $counter in
	perf)
		run perf stat -x , -e instructions:u -o "$WORK/count.all" "$@"
		sed -n 's/^\([0-9][0-9]*\),.*/\1/p' "$WORK/count.all"
		;;
	callgrind)
		run valgrind -q --tool=callgrind --callgrind-out-file="$WORK/count.%p" "$@"
		cat "$WORK"/count.* | awk '/^totals:/ { n += $2 } END { printf "%.0f\n", n }'
		;;
	*) echo 0 ;;
	esac
}

seconds() { # PROGRAM WORD...
	local TIMEFORMAT='%U %S'
	{ time run "$@"; } 2>"$WORK/time"
	awk '{ print $1 + $2 }' "$WORK/time"
}

worse=0
printf '%-13s %15s %15s %7s %9s %9s %7s\n' command before after '' 'CPU s' after ''
while read -r name words; do
	if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
	# shellcheck disable=SC2086 # several words
	{
		for ((turn = 0; turn < ${TURNS:-3}; turn++)); do
			echo "$(instructions "$BEFORE" $words) $(instructions "$AFTER" $words)" \
				"$(seconds "$BEFORE" $words) $(seconds "$AFTER" $words)"
		done
	} | awk -v name="$name" '
		NR == 1 || $1 < before { before = $1 }
		NR == 1 || $2 < after { after = $2 }
		NR == 1 || $3 < b { b = $3 }
		NR == 1 || $4 < a { a = $4 }
		END {
			by_n = before ? 100 * (after / before - 1) : 0
			by_s = b ? 100 * (a / b - 1) : 0
			printf "%-13s %15.0f %15.0f %+6.1f%% %9.2f %9.2f %+6.1f%%\n", name,
				before, after, by_n, b, a, by_s
			exit (before ? by_n : by_s) > 3
		}' || worse=1
done < <(rows)
exit $worse
