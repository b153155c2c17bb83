#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What two versions of assay find on real file systems in the same time with the same seeds, and the
# CPU time they take for it. Both hunt at once, so that the load is the same for both of them.
# Which kinds are real, and which of them have one cause, is for a person to judge: docs/FOUND.md.
#
#   scripts/cpu_hour.sh OLD NEW FOLDER         needs root; FOLDER gets the hunts
#   TYPES="ext4:host xfs:host btrfs:host f2fs:uml" SEED=910000 PLAIN=5m CRASH=3m
#
# Columns: type, scenario, version, seconds of CPU time (of a control group, where there is one: a
# sandbox is no child that is waited for), workloads, operations, kinds of findings.
OLD=${1:?OLD NEW FOLDER} NEW=${2:?OLD NEW FOLDER} OUT=${3:?OLD NEW FOLDER}
TYPES=${TYPES:-ext4:host xfs:host btrfs:host f2fs:uml}
SEED=${SEED:-910000}
GROUP=/sys/fs/cgroup/cpuacct/assay-cpu-hour
mkdir -p "$OUT" || exit 2

# hunt NAME BINARY OPTION...: its time goes to NAME.time, in seconds
hunt() {
	local name=$1 binary=$2
	shift 2
	if mkdir -p "$GROUP.$name" 2>/dev/null; then
		(echo "$BASHPID" >"$GROUP.$name/cgroup.procs" && exec "$binary" hunt "$@" \
			--jobs 1 --reduce-for 20 -o "$OUT/$name") >"$OUT/$name.log" 2>&1
		awk '{printf "%.1f\n", $1 / 1e9}' "$GROUP.$name/cpuacct.usage" >"$OUT/$name.time"
		rmdir "$GROUP.$name"
	else
		TIMEFORMAT='%U %S'
		{ time "$binary" hunt "$@" --jobs 1 --reduce-for 20 -o "$OUT/$name" \
			>"$OUT/$name.log" 2>&1; } 2>&1 | awk '{print $1 + $2}' >"$OUT/$name.time"
	fi
}

row() {
	local name=$1.$2.$3
	printf '%s %s %s %s ' "$1" "$2" "$3" "$(cat "$OUT/$name.time")"
	sed -nE 's/^([0-9]+) workloads?, ([0-9]+) operations?, ([0-9]+) finding.*/\1 \2 \3/p' \
		"$OUT/$name.log"
}

n=0
for type in $TYPES; do
	n=$((n + 1))
	for how in plain crash; do
		options=(--target "${type%:*}" --sandbox "${type#*:}")
		[ $how = plain ] && options+=(--seed $((SEED + n)) --for "${PLAIN:-5m}")
		[ $how = crash ] &&
			options+=(--crash --seed $((SEED + 100 + n)) --for "${CRASH:-3m}")
		hunt "${type%:*}.$how.old" "$OLD" "${options[@]}" &
		hunt "${type%:*}.$how.new" "$NEW" "${options[@]}" &
		wait
		row "${type%:*}" $how old
		row "${type%:*}" $how new
	done
done
