#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Who finds each bug of labfs, and how soon: `assay check` as labfs/checks.txt says, and
# `assay hunt` as the class of the bug asks for. It prints the table of docs/SCORE.md.
#
# usage: [CHECKS=FILE] [HUNT=0] scripts/score.sh ASSAY [BUG...]
#
# HUNT=0: without the hunt. Seconds are those of the CPU, of all processes together, so the table does
# not depend on what else the machine does. A check is ended when it has used its budget. A hunt gets ten
# times what the check has used, at least 10 s and at most the budget. "length": of the shortest trace that
# was found. What was not found has "-" there, and ">" before the seconds. "first": who found it with
# less CPU time. The exit status is 1 if `assay check` missed one.
set -u
cd "$(dirname "$0")/.." || exit 2
ASSAY=$1
shift
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
missed=0

TICKS=$(getconf CLK_TCK)

# used_up SESSION SECONDS: whether its processes, with their children that have ended, used so much CPU.
used_up() {
	local ticks=0 name stat field
	for name in /proc/[0-9]*/stat; do
		read -r stat 2>/dev/null <"$name" || continue
		# shellcheck disable=SC2206 # fields after the name, which may have spaces
		field=(${stat##*) })
		[ "${field[3]}" != "$1" ] ||
			ticks=$((ticks + field[11] + field[12] + field[13] + field[14]))
	done
	[ $ticks -ge $(($2 * TICKS)) ]
}

# measure SECONDS COMMAND...: sets cpu, length ("-": nothing was found), and found: cpu, or empty.
measure() {
	local seconds=$1 pid
	shift
	setsid bash -c 'TIMEFORMAT="%U %S"; { time "$@" >"$0/out" 2>"$0/err"; } 2>"$0/time"' \
		"$WORK" "$@" </dev/null &
	pid=$!
	while kill -0 $pid 2>/dev/null; do
		! used_up $pid "$seconds" || pkill -TERM -P $pid
		sleep 0.2
	done
	wait $pid
	cpu=$(awk '{ printf "%.2f", $1 + $2 }' "$WORK/time")
	length=$(grep '"event":"finding"' "$WORK/out" | grep -o '"workload":"[^"]*"' |
		awk '{ n = gsub(/\\n/, "") } NR == 1 || n < least { least = n }
			END { print NR ? least : "-" }')
	found=$cpu
	[ "$length" != - ] || { cpu="> $cpu" && found=; }
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

# first CHECK HUNT: who used less CPU time; either may be empty.
first() {
	awk -v check="$1" -v hunt="$2" 'BEGIN {
		if (check == "" && hunt == "") print "-"
		else if (hunt == "") print "check"
		else if (check == "") print "hunt"
		else print check + 0 < hunt + 0 ? "check" : check + 0 == hunt + 0 ? "both" : "hunt" }'
}

echo '| bug | class | budget s | check: CPU s | trace | hunt: CPU s | workload | first | check with |'
echo '|---|---|---|---|---|---|---|---|---|'
while read -r bug seconds options; do
	[ $# -eq 0 ] || [[ " $* " == *" $bug "* ]] || continue
	class=$(class_of "$bug")
	# shellcheck disable=SC2086 # options are several words
	measure "$seconds" "$ASSAY" check --target "lab:bug=$bug" --no-store --json \
		--max-findings 1 --for 2h $options
	check="$cpu | $length" checked=$found
	[ "$length" != - ] || missed=1
	rm -rf "$WORK/hunt"
	cpu=- length=- found=
	most=$(awk -v cpu="${checked:-$seconds}" -v most="$seconds" 'BEGIN {
		n = int(10 * cpu + 1); n = n < 10 ? 10 : n; print n < most ? n : most }')
	# shellcheck disable=SC2046
	[ "${HUNT:-1}" = 0 ] ||
		measure "$most" "$ASSAY" hunt --target "lab:bug=$bug" -o "$WORK/hunt" --json \
			--max-findings 1 --no-reduce --for 2h --seed 1 $(hunt_options "$bug" "$class")
	first=$(first "$checked" "$found")
	echo "| $bug | $class | $seconds | $check | $cpu | $length | $first | \`$options\` |"
done < <(grep -v '^#' "${CHECKS:-labfs/checks.txt}")
exit $missed
