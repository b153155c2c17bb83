#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# torture.sh BUILD-FOLDER FUZZER-FOLDER SECONDS FUZZ-SECONDS [NAME...]: attacks assay at length.
# Each tests/torture/test_NAME.sh runs for about SECONDS with fresh seeds (`make test` runs the same
# scripts once, with fixed seeds), then each fuzzer runs for FUZZ-SECONDS. One attack runs at a
# time: they measure memory, time and what is left over. NAME selects attacks (`links`,
# `fuzz_parse`). A table of all of them is printed at the end; exit status 1 if any failed.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -lt 4 ]; then
	echo "usage: torture.sh BUILD FUZZERS SECONDS FUZZ-SECONDS [NAME...]" >&2
	exit 2
fi
build=$1 fuzzers=$2 seconds=$3 fuzz_seconds=$4
shift 4
results=$build/torture
rm -rf "$results"
mkdir -p "$results"
table=$results/table
: >"$table"

wanted() { # NAME WANTED...
	local name=$1
	shift
	[ $# -gt 0 ] || return 0
	printf '%s\n' "$@" | grep -qxF -- "$name"
}

word() { # STATUS
	[ "$1" = 0 ] && echo ok || echo FAILED
}

row() { # NAME SECONDS RESULT WORDS
	printf '%-18s %7s s  %-6s %s\n' "$@" | tee -a "$table"
}

attack() { # NAME SCRIPT
	local start=$SECONDS out=$results/$1.out rc=0
	TORTURE_SECONDS=$seconds TEST_SECONDS=$((seconds * 3 + 300)) JOBS=1 \
		scripts/run_tests.sh "$build" "$2" >"$out" 2>&1 || rc=$?
	row "$1" $((SECONDS - start)) "$(word $rc)" "$(tail -n 1 "$out")"
}

fuzz() { # NAME PROGRAM
	local start=$SECONDS out=$results/$1.out rc=0 seeds=tests/fuzz/corpus/${1#fuzz_}
	mkdir -p "$results/$1"
	[ -d "$seeds" ] || seeds=
	"$2" -max_total_time="$fuzz_seconds" -rss_limit_mb=4096 -timeout=20 \
		-artifact_prefix="$results/$1." "$results/$1" $seeds >"$out" 2>&1 || rc=$?
	row "$1" $((SECONDS - start)) "$(word $rc)" \
		"$(awk '/^Done /{print $2 " inputs"; exit} /ERROR:/{print; exit}' "$out")"
}

for script in tests/torture/test_*.sh; do
	name=$(basename "$script" .sh)
	name=${name#test_}
	! wanted "$name" "$@" || attack "$name" "$script"
done
for program in "$fuzzers"/fuzz_*; do
	[ -x "$program" ] || continue
	name=$(basename "$program")
	! wanted "$name" "$@" || fuzz "$name" "$program"
done

echo
echo "attack              seconds  result of the attacks (what each printed: $results/NAME.out)"
cat "$table"
failed=$(grep -c ' FAILED ' "$table" || true)
echo
echo "$(($(wc -l <"$table") - failed)) passed, $failed failed"
[ "$failed" = 0 ] && [ -s "$table" ]
