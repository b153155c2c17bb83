#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# examples/pairfs: a copy-on-write file system for raw flash, by paths, with views of its own for
# each handle. Hunts of every kind find nothing in it, and each of its bugs is found by the hunt of
# its row in checks.txt.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

PAIRFS=$(dirname "$ASSAY")/plugins/pairfs.so
DIR=examples/pairfs

# hunt NAME STATUS OPTIONS-OF-THE-PLUGIN ARGUMENT...
hunt() {
	local name=$1 want=$2 opts=$3
	shift 3
	tap_run "$name" "$want" "$ASSAY" hunt --target "plugin:$PAIRFS${opts:+:$opts}" --seed 1 \
		--no-reduce -o "$WORK/$name" "$@"
}

# ---- As it is ----

tap_run "it passes, with power cuts" 0 "$ASSAY" plugin check --no-store "$PAIRFS"
hunt plain 0 "" --max-workloads 60
hunt cuts 0 "" --crash --max-workloads 12
hunt faults 0 "" --faults --max-workloads 40
hunt faults_and_cuts 0 "" --faults --crash --max-workloads 8
hunt corrupt 0 "" --corrupt bits --max-workloads 40
# The views of descriptors become files in the order in which they are closed.
for seed in 7 9 102 105; do
	tap_run "races, seed $seed" 0 "$ASSAY" hunt --race --target "plugin:$PAIRFS" --seed $seed \
		--max-workloads 40 --no-reduce -o "$WORK/race-$seed"
done
tap_run "power cuts in races are refused" 2 "$ASSAY" hunt --race --crash --max-workloads 1 \
	--target "plugin:$PAIRFS" -o "$WORK/refused"
tap_like "with the reason" "$WORK/err" 'each descriptor has its own view'
hunt matrix 0 "" --opts-matrix "$DIR/matrix" --max-workloads 140
tap_is "a short hunt comes to every line of a matrix" \
	"$(grep -c 'workloads on plugin:.*pairfs.so:' "$WORK/out")" "$(grep -vc '^#' "$DIR/matrix")"

# ---- With each bug ----

while read -r number workloads opts words; do
	[ "$opts" != - ] || opts=
	[ "$words" != - ] || words=
	# shellcheck disable=SC2086 # words
	hunt "bug_$number" 1 "bug=$number${opts:+,$opts}" --max-workloads "$workloads" \
		--max-findings 1 $words
	# shellcheck disable=SC2086
	[ -z "$opts$words" ] || hunt "clean_$number" 0 "$opts" --max-workloads "$workloads" $words
done < <(grep -v '^#' "$DIR/checks.txt")
tap_is "there is a row for each bug" "$(grep -v '^#' "$DIR/checks.txt" | cut -d ' ' -f 1 | sort)" \
	"$(sed -n 's/^BUG(\([0-9]*\),.*/\1/p' "$DIR/bugs.def" | sort)"

# ---- What is no finding ----

# A power cut during a recovery: programs and erases of flash keep their order.
cat >"$WORK/move.txt" <<'END'
mkdir /a 0755
mkdir /b 0755
create /a/f 0644
sync
rename /a/f /b/g
END
tap_run "power cuts during the recovery of a move" 0 "$ASSAY" crash --no-store --again 2 \
	--target "plugin:$PAIRFS" "$WORK/move.txt"
tap_like "there were some" "$WORK/out" 'during recovery [1-9]'
tap_run "a move without a note" 1 "$ASSAY" crash --no-store --target "plugin:$PAIRFS:bug=4" \
	"$WORK/move.txt"
tap_like "what was done is told in words of flash" "$WORK/out" '^ +erase of 4096 bytes at '

# A remount publishes what handles have written; a view that was touched and not changed may be the
# file's or not.
cat >"$WORK/views.txt" <<'END'
$0 = open /f O_RDWR|O_CREAT 0644
pwrite $0 len=900 at=0 fill=1
remount
stat /f
pwrite $0 len=100 at=900 fill=2
close $0
stat /f
create /e 0644
$1 = open /e O_RDWR|O_TRUNC
truncate /e 1
close $1
mkdir /d 0755
END
tap_run "remounts and views" 0 "$ASSAY" run --no-store --check op --target "plugin:$PAIRFS" \
	"$WORK/views.txt"
tap_run "remounts and views, with power cuts" 0 "$ASSAY" crash --no-store --view 1 \
	--target "plugin:$PAIRFS" "$WORK/views.txt"

# A write of nothing makes nothing stable, and so nobody sees what was written before it.
cat >"$WORK/nothing.txt" <<'END'
$0 = open /f O_RDWR|O_CREAT 0644
write $0 len=1 fill=1
pwritev2 $0 len=0 at=0 fill=1 flags=RWF_DSYNC
stat /f
pwritev2 $0 len=1 at=1 fill=1 flags=RWF_DSYNC
stat /f
END
tap_run "a write of nothing that is to be stable" 0 "$ASSAY" run --no-store --check op \
	--target "plugin:$PAIRFS" "$WORK/nothing.txt"
tap_done
