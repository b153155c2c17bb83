#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What feedback steers depends on the seed and the feedback alone: workloads, hunts with one job and
# with several, and hunts that were killed and go on, even when the file with the feedback is gone.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
export LC_ALL=C ASAN_OPTIONS=detect_leaks=0
cd "$WORK" || exit 2

gen() {
	"$ASSAY" gen -p coverage -t lab "$@"
}

gen -s 1 -n 12 >first.txt
"$ASSAY" run --target lab --cov first.cov first.txt >/dev/null
tap_run "feedback is printed" 0 "$ASSAY" cov feedback first.cov -o f.json

# ---- Workloads ----
gen -s 7 -n 20 --feedback f.json >a.txt
gen -s 7 -n 20 --feedback f.json >b.txt
tap_is "the same twice" "$(cmp a.txt b.txt && echo same)" same
gen -s 8 -n 20 --feedback f.json >b.txt
tap_is "another seed, other workloads" "$(cmp -s a.txt b.txt || echo other)" other
gen -s 7 -n 10 --feedback f.json >b.txt
tap_is "the first ten are those of twenty" \
	"$(cmp <(head -n "$(wc -l <b.txt)" a.txt) b.txt && echo same)" same
tap_is "without feedback nothing goes for goals" \
	"$(gen -s 7 -n 20 | grep -c '\$10[0-9]')" 0
printf 'like coverage\naim 0%%\n' >no.profile
tap_is "nor with aim 0%" \
	"$("$ASSAY" gen -p ./no.profile -t lab -n 20 --feedback f.json | grep -c '\$10[0-9]')" 0

# ---- Tries ----
tap_run "tries without feedback" 2 "$ASSAY" gen --tries t.json
gen -s 7 -n 20 --feedback f.json --tries t.json >b.txt
tap_is "keeping tries changes nothing at first" "$(cmp a.txt b.txt && echo same)" same
tap_like "they are kept" t.json \
	'^\{"call":"[a-z_]+","(arg":"[a-z_]+","partition|output)":"[^"]+","tries":[0-9]+\}$'
aims=$(grep -c '\$10[0-9]' b.txt)
for _ in 1 2 3 4; do
	gen -s 7 -n 100 --feedback f.json --tries t.json >b.txt
done
gen -s 7 -n 20 --feedback f.json --tries t.json >b.txt
tap_is "what was tried in vain is left alone" \
	"$([ "$(grep -c '\$10[0-9]' b.txt)" -lt "$aims" ] && echo less)" less

# ---- Hunts ----
hunt() {
	local out=$1
	shift
	"$ASSAY" hunt -o "$out" --json --no-reduce "$@"
}

outcome() {
	grep -E '"event":"(signature|done)"' "$1" |
		sed 's/,"first_us":[0-9]*//; s/,"wall_us":[0-9]*//'
}

for jobs in 1 3; do
	for n in a b; do
		hunt "$n$jobs" --target lab:bug=2 --feedback f.json --max-workloads 48 \
			--jobs $jobs >"$n.json"
		outcome "$n.json" >"$n.end"
	done
	tap_run "the same hunt twice with $jobs jobs" 0 diff a.end b.end
	tap_run "and the same folders" 0 diff <(ls "a$jobs/findings") <(ls "b$jobs/findings")
done
tap_is "it has found something" "$(grep -c "signature" a.end | sed "s,[1-9][0-9]*,some,")" some

cp f.json gone.json
"$ASSAY" hunt -o cut --target lab:bug=2 --feedback gone.json --max-workloads 48 \
	--jobs 3 --no-reduce >/dev/null 2>&1 &
pid=$!
tap_wait_until 60 test -s cut/hunt/state.json
kill -KILL $pid 2>/dev/null
wait $pid 2>/dev/null
rm gone.json
hunt cut --resume >b.json
outcome b.json >b.end
tap_run "killed, and its feedback gone, it comes to the same" 0 diff a.end b.end
tap_run "with the same folders" 0 diff <(ls a3/findings) <(ls cut/findings)
tap_done
