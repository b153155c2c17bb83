#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Who finds each bug of labfs, and how soon: `assay check` as labfs/checks.txt says, and
# `assay hunt` as the class of the bug asks for. It prints the table of docs/SCORE.md.
#
# usage: [CHECKS=FILE] [HUNT=0] scripts/score.sh ASSAY [BUG...]
#
# HUNT=0: without the hunt. Seconds are those of the CPU: on a machine that is busy with other
# things, a check may take three times its budget by the clock. "length": of the shortest trace that
# was found. A bug that was not found within its budget has "-" there. The exit status is 1 if
# `assay check` missed one.
set -u
cd "$(dirname "$0")/.." || exit 2
ASSAY=$1
shift
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
missed=0

# measure SECONDS COMMAND...: sets cpu, length ("-": nothing was found).
measure() {
	local seconds=$1 most
	shift
	most=$((seconds * 4))
	{ TIMEFORMAT='%U %S'; time timeout "$most" "$@" >"$WORK/out" 2>"$WORK/err"; } 2>"$WORK/time"
	cpu=$(awk '{ printf "%.2f", $1 + $2 }' "$WORK/time")
	length=$(grep '"event":"finding"' "$WORK/out" | grep -o '"workload":"[^"]*"' |
		awk '{ n = gsub(/\\n/, "") } NR == 1 || n < least { least = n }
			END { print NR ? least : "-" }')
	awk -v cpu="$cpu" -v most="$seconds" 'BEGIN { exit cpu > most }' || length=-
	[ "$length" != - ] || cpu="> $cpu"
}

class_of() { sed -n "s/^LAB_BUG($1, [A-Z0-9_]*, \([A-Z]*\),.*/\1/p" labfs/bugs.def; } # BUG

hunt_options() { # BUG CLASS
	case $1,$2 in
	71,* | 72,*) echo --crash --race ;;
	80,* | 81,*) echo --crash --rounds 2 ;;
	*,CRASH | *,RECOVERY) echo --crash ;;
	*,FAULT) echo --crash ;;
	*) echo ;;
	esac
}

echo '| bug | class | budget s | check: CPU s | trace | hunt: CPU s | workload | check with |'
echo '|---|---|---|---|---|---|---|---|'
while read -r bug seconds options; do
	[ $# -eq 0 ] || [[ " $* " == *" $bug "* ]] || continue
	class=$(class_of "$bug")
	# shellcheck disable=SC2086 # options are several words
	measure "$seconds" "$ASSAY" check --target "lab:bug=$bug" --no-store --json \
		--max-findings 1 --for "$((seconds * 3))s" $options
	check="$cpu | $length"
	[ "$length" != - ] || missed=1
	rm -rf "$WORK/hunt"
	cpu=- length=-
	# shellcheck disable=SC2046
	[ "${HUNT:-1}" = 0 ] ||
		measure "$seconds" "$ASSAY" hunt --target "lab:bug=$bug" -o "$WORK/hunt" --json \
			--max-findings 1 --no-reduce --for "${seconds}s" --seed 1 \
			$(hunt_options "$bug" "$class")
	echo "| $bug | $class | $seconds | $check | $cpu | $length | \`$options\` |"
done < <(grep -v '^#' "${CHECKS:-labfs/checks.txt}")
exit $missed
