#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every seeded bug of labfs that a workload can show, by itself, with failing calls or with answers
# to what it asks, is found by the command its row in bugs.def names, within its seconds, and
# replays from its id; labfs without bugs passes every case.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

"$ASSAY" targets --bugs --json >"$WORK/bugs"

# field NAME: of the JSON line on stdin; no field here holds an escaped quote it needs.
field() {
	sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"
}

clean() {
	local case=$1 how
	how=$(sed -n 's/^# For `\(--[a-z:0-9 -]*\)`.*/\1/p' "$case")
	# shellcheck disable=SC2086
	tap_run "clean: $(basename "$case")" 0 \
		"$ASSAY" run --no-store --target lab --check op $how "$case"
}

broken() {
	local number=$1 command=$2 seconds=$3 status=0 id words
	# The row's command is what a person would type; here another folder takes the findings.
	read -r -a words <<<"${command#assay }"
	timeout "$seconds" "$ASSAY" "${words[0]}" -o "$WORK/$number" "${words[@]:1}" \
		>"$WORK/out" 2>"$WORK/err" || status=$?
	if [ $status -ne 1 ]; then
		tap_not_ok "bug $number is found" "$command: exit status $status" \
			"$(head -n 5 "$WORK/out" "$WORK/err")"
		return
	fi
	tap_ok "bug $number is found"
	for id in "$WORK/$number/findings"/*; do
		tap_run "bug $number: $(basename "$id") replays" 1 \
			"$ASSAY" replay -o "$WORK/$number" "$(basename "$id")"
	done
}

for case in labfs/cases/*.txt; do
	clean "$case"
done

n=0
while read -r row; do
	class=$(field class <<<"$row")
	case $class in
	semantics | dogfood | leak | fault | rules | limits | crash | recovery) ;;
	*) continue ;;
	esac
	# Others need a file system that has been used (tests/check/test_start.sh), or a hunt
	# (tests/hunt).
	[[ $(field command <<<"$row") == "assay "@(run|crash)" "*.txt ]] || continue
	n=$((n + 1))
	broken "$(field number <<<"$row")" "$(field command <<<"$row")" \
		"$(field budget_s <<<"$row")"
done <"$WORK/bugs"
tap_is "as many bugs as cases" "$n" "$(ls labfs/cases/*.txt | wc -l)"
tap_done
