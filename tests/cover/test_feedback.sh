#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Feedback against a fair control. A first batch without feedback is common to both. Then one goes
# on with `assay cov feedback` between batches, the control with batches of the same profile
# without, until both have run as many operations (the control at least as many). What counts is
# what each has met that the first batch had not: feedback must meet 1.2 times as much, of inputs
# and of outputs, on each of three targets and with each of five seeds.
#
# To look closer: FEEDBACK_OPS=N is the operations after the first batch (default 2000),
# FEEDBACK_SEEDS="1 2" the seeds, FEEDBACK_PROFILE=NAME and FEEDBACK_CONTROL=NAME the profiles.
# FEEDBACK_OFF=yes does without feedback on both sides: then everything has to fail.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
export LC_ALL=C
OPS=${FEEDBACK_OPS:-2000}
SEEDS=${FEEDBACK_SEEDS:-1 2 3 4 777}
PROFILE=${FEEDBACK_PROFILE:-coverage}
CONTROL=${FEEDBACK_CONTROL:-$PROFILE}
BATCH=12
steered=(--feedback counts.json --tries tries.json)
[ -z "${FEEDBACK_OFF:-}" ] || steered=()

memory=/dev/shm
[ -d $memory ] && [ -w $memory ] || memory=$WORK
shm=$(mktemp -d "$memory/assay-test-XXXXXX")
mkdir "$shm/dir" "$shm/ext4"
mounted=
clean_up() {
	[ -z "$mounted" ] || umount "$shm/ext4"
	rm -rf "$shm" "$WORK"
}
trap clean_up EXIT
cd "$WORK" || exit 2
# Misaligned direct writes show a defect of ext4 (docs/FOUND.md), and nothing is to be found here.
aligned() { # PROFILE
	"$ASSAY" gen -p "$1" --show | sed 's/^aligned .*/aligned 100%/' >"./$1.profile"
	echo "./$1.profile"
}
PROFILE=$(aligned "$PROFILE")
CONTROL=$(aligned "$CONTROL")

# go SEED PROFILE [OPTION...]: a batch on $target, counted in one.cov; *ops* grows.
go() {
	local seed=$1 profile=$2
	shift 2
	"$ASSAY" gen -p "$profile" -s "$seed" -n $BATCH -t "$target" "$@" >w.txt 2>err &&
		"$ASSAY" run --target "$target" --cov one.cov w.txt >log 2>&1
	if grep -q '^FOUND' log; then
		findings="$findings $target:$seed"
		cp w.txt "found-$seed.txt"
	fi
	grep -oE "[0-9]+ operations, [0-9]+ finding" log | tail -n 1 >said
	ops=$((ops + $(cut -d" " -f1 said)))
}

# adds NAME: what was counted is added to NAME.cov.
adds() {
	"$ASSAY" cov merge "$1.cov" one.cov -o "$1.cov"
}

untested() {
	"$ASSAY" cov untested --spaces values,output "$1.cov" | sort
}

# newly NAME: inputs and outputs that NAME.cov has and first.cov has not.
newly() {
	comm -23 untested.first <(untested "$1") |
		awk '$2 == "output" { out++; next } { in_++ } END { print in_ + 0, out + 0 }'
}

# one_seed SEED: the two ways from one beginning; prints newly met: inputs and outputs with
# feedback, then those of the control, then operations of each.
one_seed() {
	local seed=$1 batch=0 with control with_ops
	ops=0
	go "${seed}000" "$PROFILE"
	cp one.cov first.cov
	cp one.cov with.cov
	cp one.cov control.cov
	untested first >untested.first
	ops=0
	rm -f tries.json
	while [ $ops -lt "$OPS" ]; do
		batch=$((batch + 1))
		"$ASSAY" cov feedback with.cov -o counts.json || return 1
		go "$((seed * 1000 + batch))" "$PROFILE" "${steered[@]}" || return 1
		adds with
	done
	with_ops=$ops
	ops=0
	batch=0
	while [ $ops -lt "$with_ops" ]; do
		batch=$((batch + 1))
		go "$((seed * 1000 + batch))" "$CONTROL" || return 1
		adds control
	done
	echo "$(newly with) $(newly control) $with_ops $ops"
}

# compare NAME TARGET SEEDS
compare() {
	local name=$1 seeds=$3 seed a b c d o p sum_a=0 sum_b=0 sum_c=0 sum_d=0
	local few_inputs= few_outputs=
	target=$2
	findings=
	for seed in $seeds; do
		if ! one_seed "$seed" >result; then
			tap_not_ok "$name: seed $seed runs" "$(head -n 5 err log)"
			continue
		fi
		read -r a b c d o p <result
		echo "# $name, seed $seed: $a inputs and $b outputs newly met in $o operations" \
			"with feedback, $c and $d in $p without"
		sum_a=$((sum_a + a)) sum_b=$((sum_b + b))
		sum_c=$((sum_c + c)) sum_d=$((sum_d + d))
		[ $((a * 10)) -ge $((c * 12)) ] && [ "$c" -gt 0 ] ||
			few_inputs="$few_inputs $seed"
		[ $((b * 10)) -ge $((d * 12)) ] && [ "$d" -gt 0 ] ||
			few_outputs="$few_outputs $seed"
	done
	echo "# $name: $sum_a : $sum_c inputs, $sum_b : $sum_d outputs"
	tap_is "$name: seeds with less than 1.2 times the inputs" "$few_inputs" ""
	tap_is "$name: seeds with less than 1.2 times the outputs" "$few_outputs" ""
	tap_is "$name: nothing is found" "$findings" ""
}

# An ext4 in memory where that can be had: its syncs do not wait for a disk.
on_ext4() {
	[ "$(id -u)" = 0 ] && command -v mkfs.ext4 >/dev/null &&
		truncate -s 512M "$shm/image" && mkfs.ext4 -q -F "$shm/image" >/dev/null 2>&1 &&
		mount -o loop "$shm/image" "$shm/ext4" 2>/dev/null && mounted=yes
}

compare lab lab "$SEEDS"
compare "a directory in memory" "dir:$shm/dir" "$SEEDS"
if on_ext4; then
	compare "a directory on ext4" "dir:$shm/ext4" "$SEEDS"
else
	echo "# no ext4 can be mounted here: a directory of the disk, with two seeds"
	mkdir "$WORK/dir"
	compare "a directory of the disk" "dir:$WORK/dir" "$(echo "$SEEDS" | cut -d' ' -f1,2)"
fi
tap_done
