#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# examples/flashfs: each of its bugs is found by the command of its row in checks.txt, and the same
# command finds nothing in the file system as it is.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

FLASHFS=${FLASHFS:-$(dirname "$ASSAY")/plugins/flashfs.so}
DIR=examples/flashfs

# row BUG STATUS COMMAND CASE OPTIONS FLASH
row() {
	local bug=$1 want=$2 command=$3 case=$4 opts=$5 flash=$6
	# shellcheck disable=SC2086 # options are words
	tap_run "bug $bug: $command $case $flash" "$want" "$ASSAY" "$command" --no-store \
		--target "plugin:$FLASHFS:bug=$bug${flash:+,$flash}" $opts "$DIR/cases/$case"
}

clean=" "
while read -r number command case rest; do
	opts=${rest%%|*}
	flash=${rest#*|}
	flash=${flash# }
	row "$number" 1 "$command" "$case" "$opts" "$flash"
	key="$command/$case/$opts/$flash"
	case $clean in *" ${key// /_} "*) continue ;; esac
	clean="$clean${key// /_} "
	row 0 0 "$command" "$case" "$opts" "$flash"
done < <(grep -v '^#' "$DIR/checks.txt")

tap_is "there is a row for each bug" "$(grep -v '^#' "$DIR/checks.txt" | cut -d ' ' -f 1 | sort)" \
	"$(sed -n 's/^BUG(\([0-9]*\),.*/\1/p' "$DIR/bugs.def" | sort)"

# Other geometries.
cat >"$WORK/matrix" <<'END'
# erase blocks, units
-
flash.erase=2048,flash.program=1
flash.erase=8192,flash.program=64,flash.read=32
flash.program=512,flash.erased=0
END
tap_run "other geometries" 0 "$ASSAY" run --no-store --target "plugin:$FLASHFS" \
	--opts-matrix "$WORK/matrix" "$DIR/cases/churn.txt"
tap_like "each line of the matrix was run" "$WORK/out" '^4 workloads'
tap_run "a bug is found on one line of the matrix" 1 "$ASSAY" run --no-store \
	--target "plugin:$FLASHFS:bug=5" --opts-matrix <(printf -- '-\nflash.spread=14\n') \
	"$DIR/cases/churn.txt"
tap_like "the finding names the line" "$WORK/out" 'FOUND.*bug=5,flash.spread=14'

# Wear, and reads that disturb.
tap_run "how often blocks were erased" 0 "$ASSAY" run --no-store --wear 0 \
	--target "plugin:$FLASHFS" "$DIR/cases/churn.txt"
tap_like "the worst block, and the rest" "$WORK/out" \
	'^wear: block [0-9]+ was erased most, [0-9]+ times?; .* blocks? at least'
tap_run "a limit of wear" 1 "$ASSAY" run --no-store --wear 3 --target "plugin:$FLASHFS" \
	"$DIR/cases/churn.txt"
tap_like "it is said by which block" "$WORK/out" 'block [0-9]+ was erased 4 times'
for command in "hunt --seed 1 --max-workloads 30 --no-reduce -o $WORK/wear" \
	"crash --no-store --budget 20 $DIR/cases/full.txt" "check --no-store --for 4s"; do
	# shellcheck disable=SC2086 # words
	tap_run "wear of ${command%% *}" 0 "$ASSAY" $command --wear 0 --target "plugin:$FLASHFS"
	tap_like "the worst run of it" "$WORK/out" \
		'^wear: block [0-9]+ was erased most, [1-9][0-9]* times? in a run; [0-9]+ block'
	tap_run "a target without flash" 2 "$ASSAY" ${command/wear/lab} --wear 0 --target lab
	tap_like "it is said" "$WORK/err" '^assay: --wear: target lab'
done
tap_run "a limit of wear in a hunt" 1 "$ASSAY" hunt --seed 1 --max-workloads 60 --no-reduce \
	--wear 1 --target "plugin:$FLASHFS" -o "$WORK/worn"
tap_like "it is a finding" "$WORK/out" 'misuse: close: wears a block out'
tap_run "it replays" 1 "$ASSAY" replay -o "$WORK/worn" \
	"$(basename "$(find "$WORK/worn/findings" -name 'flashfs-misuse-*' | head -n 1)")"
tap_run "a limit of wear with power cuts" 1 "$ASSAY" crash --no-store --budget 20 --wear 1 \
	--target "plugin:$FLASHFS" "$DIR/cases/churn.txt"
tap_like "it is a finding there, too" "$WORK/out" 'erased 2 times, and 1 is the limit'
tap_run "a limit of wear in a check" 1 "$ASSAY" check --no-store --for 20s --max-findings 1 \
	--wear 2 --target "plugin:${FLASHFS%/*}/pairfs.so"
tap_like "and there" "$WORK/out" 'erased 3 times, and 2 is the limit'
tap_run "a block that was read often" 0 "$ASSAY" run --no-store \
	--target "plugin:$FLASHFS:flash.disturb=20" "$DIR/cases/pages.txt"
tap_run "and a file system that takes that for an error" 1 "$ASSAY" run --no-store \
	--target "plugin:$FLASHFS:bug=13,flash.disturb=20" "$DIR/cases/pages.txt"
tap_run "blocks that are bad from the start" 0 "$ASSAY" run --no-store \
	--target "plugin:$FLASHFS:flash.bad=9+10" "$DIR/cases/churn.txt"
tap_run "every block is bad after some cycles" 0 "$ASSAY" run --no-store \
	--target "plugin:$FLASHFS:flash.cycles=100" "$DIR/cases/churn.txt"

tap_run "a block that cannot be read is no mistake of it" 0 "$ASSAY" run --no-store \
	--target "plugin:$FLASHFS:flash.bad=3@2r" "$DIR/cases/churn.txt"
tap_run "a hunt with bits that are unstable after power cuts" 0 "$ASSAY" hunt --crash --seed 1 \
	--max-workloads 12 --no-reduce --target "plugin:$FLASHFS:flash.tear=unstable" \
	-o "$WORK/unstable"
tap_run "and one that finds what is read twice" 1 "$ASSAY" hunt --crash --seed 1 \
	--max-workloads 40 --max-findings 1 --no-reduce -o "$WORK/again" \
	--target "plugin:$FLASHFS:bug=17,flash.tear=unstable"
id=$(basename "$(echo "$WORK"/again/findings/*)")
tap_run "it replays" 1 "$ASSAY" replay -o "$WORK/again" "$id"
tap_run "a rename of two commits is found by a hunt" 1 "$ASSAY" hunt --crash --seed 1 \
	--max-workloads 40 --max-findings 1 --no-reduce -o "$WORK/rename" \
	--target "plugin:$FLASHFS:bug=9"

# What a program asks the flash itself is no read of the file system's: it does not fail. And flash
# that looks programmed because of a flip or of an erase that was dropped is no misuse.
for sweep in read:flip read:eilseq read:eio program:flip write:eio erase:eio erase:drop; do
	tap_run "a sweep of $sweep" 0 "$ASSAY" run --no-store --target "plugin:$FLASHFS" \
		--sweep $sweep "$DIR/cases/small.txt"
	tap_like "it was complete: $sweep" "$WORK/out" '^all [0-9]+ failures'
done

tap_run "erases that are dropped, where blocks are used again" 0 "$ASSAY" run --no-store \
	--target "plugin:$FLASHFS" --fault erase:9:drop "$DIR/cases/churn.txt"
tap_run "but a block that is not erased" 1 "$ASSAY" run --no-store \
	--target "plugin:$FLASHFS:bug=1" --fault erase:9:eio "$DIR/cases/churn.txt"

# A hunt on several sets of options.
tap_run "a hunt on each line of a matrix" 0 "$ASSAY" hunt --target "plugin:$FLASHFS" --seed 1 \
	--max-workloads 400 --jobs 1 --opts-matrix "$WORK/matrix" --wear 0 -o "$WORK/hunt"
tap_like "each line was hunted on" "$WORK/out" 'workloads on .*flash.program=512,flash.erased=0'
for line in 'flash.wear=0' 'flash.erase=2048,flash.program=1' 'flash.program=512,flash.erased=0'; do
	tap_like "the wear on it: $line" "$WORK/out" \
		"^plugin:[^ ]*$line: wear: block [0-9]+ was erased most, [1-9][0-9]* times? in"
done
tap_run "a bug that only one line shows" 1 "$ASSAY" hunt --target "plugin:$FLASHFS:bug=13" \
	--seed 1 --max-workloads 400 --jobs 1 --opts-matrix <(echo flash.disturb=3) -o "$WORK/hunt2"
cat "$WORK/hunt2"/findings/*/finding.json >"$WORK/all"
tap_like "its finding names the line" "$WORK/all" 'flash.disturb=3'
tap_run "a matrix with a wrong word" 2 "$ASSAY" hunt --target "plugin:$FLASHFS" --seed 1 \
	--max-workloads 10 --opts-matrix <(echo flash.earse=3) -o "$WORK/hunt3"

# What is not possible is refused.
tap_run "a wrong word" 2 "$ASSAY" run --no-store --target "plugin:$FLASHFS:flash.earse=1" \
	"$DIR/cases/pages.txt"
tap_like "it is named" "$WORK/err" "earse=1"
tap_run "a size that is not whole blocks" 2 "$ASSAY" run --no-store --size 66048 \
	--target "plugin:$FLASHFS" "$DIR/cases/pages.txt"
tap_like "it is said" "$WORK/err" "not whole erase blocks"
tap_run "flash options of a plugin without flash" 2 "$ASSAY" run --no-store \
	--target "plugin:$(dirname "$FLASHFS")/skeleton.so:flash.wear=1" "$DIR/cases/pages.txt"
tap_like "it is said, too" "$WORK/err" "does not work on flash"

# A finding comes back with its flash.
"$ASSAY" run -o "$WORK/found" --target "plugin:$FLASHFS:bug=5,flash.spread=14" \
	"$DIR/cases/churn.txt" >"$WORK/out" 2>&1
id=$(grep -o 'flashfs-misuse-[0-9a-f]*' "$WORK/out" | head -n 1)
tap_like "the wear is told" "$WORK/out" 'wear: block [0-9]* was erased most'
tap_run "it replays" 1 "$ASSAY" replay -o "$WORK/found" "$id"

tap_run "erases can fail, too" 0 "$ASSAY" run --no-store --target "plugin:$FLASHFS" \
	--fault erase:2:eio "$DIR/cases/churn.txt"
# Where power cuts are recorded a program goes unit by unit. One that fails in the middle has
# programmed the units before, whatever its error is.
cat >"$WORK/w.txt" <<'END'
$0 = open /f O_RDWR|O_CREAT 0644
pwrite $0 at=0 len=20000 fill=1
fsync $0
close $0
mkdir /d 0755
END
for n in 6 8 15; do
	tap_run "unit $n of a program fails with EILSEQ" 0 "$ASSAY" crash --no-store -q \
		--budget 50 --target "plugin:$FLASHFS" --fault "write:$n:eilseq" "$WORK/w.txt"
done
tap_done
