#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# assay fsck --symbolic: what can be unknown (fields, several fields, ranges, what repairs change,
# what a crash left different); questions that take too long; a search that is killed and goes on.
cd "$(dirname "$0")/../.." || exit 1
. tests/sym/look.sh
tap_run "the checker compiles" 0 cc -O1 -gdwarf-4 -o "$WORK/bad" tests/sym/bad_checker.c -lpthread
head -c 65536 /dev/zero >"$WORK/disk"

# ---- What is unknown -----------------------------------------------------------------------------

lab() { "$ASSAY" fsck "$@" --symbolic --no-store --max-findings 1 --for 120s; }

tap_run "two fields together: the bug is found" 1 lab labfs-fsck:bug=100 --fields generation+label
tap_like "two fields together are one place" "$WORK/out" '^1 places'
tap_like "two fields together: what differs is named" "$WORK/out" \
	'generation: .* becomes 1397113420'
tap_run "two fields, one of which is not there" 2 lab labfs-fsck --fields label+nonsense
tap_like "two fields, one of which is not there: named" "$WORK/err" \
	'no field of that name: nonsense'
tap_run "options without --symbolic" 2 "$ASSAY" fsck labfs-fsck --each 1s --no-store
tap_like "options without --symbolic: said" "$WORK/err" '.--each goes with --symbolic'

# Each field alone leads nowhere: then those of one structure are unknown together.
truncate -s 1M "$WORK/lab"
labfs-mkfs "$WORK/lab" >/dev/null
tap_run "two fields that nobody named: the bug is found" 1 lab "checker:$WORK/bad both {disk}" \
	--type lab --disk "$WORK/lab"
tap_like "two fields that nobody named: those that matter" "$WORK/out" \
	'^  superblock: mount_count: [^;]*; superblock: label: [^;]*; the first run died of SIGABRT'
tap_run "one of them alone" 0 lab "checker:$WORK/bad both {disk}" --type lab \
	--disk "$WORK/lab" --fields super.mount_count,super.label

# A journal that is to be replayed, and one number of it.
tap_run "crash disks: the bug is found" 1 lab labfs-fsck:bug=125 --model crash \
	--fields journal_super.seq
tap_like "crash disks: its value" "$WORK/out" 'seq: .* becomes 1804289383.*died of SIG'
tap_run "crash disks: no bug, no finding" 0 lab labfs-fsck --model crash --solved 10 \
	--fields journal_super.seq
tap_run "a healthy disk does not lead there" 0 lab labfs-fsck:bug=125 --fields journal_super.seq
tap_run "another model" 2 lab labfs-fsck --model bits
tap_like "another model: refused" "$WORK/err" 'takes --model crash only'

# Two disks of the user's: four bytes differ, and they are what the checker looks at.
cp "$WORK/disk" "$WORK/crashed"
printf 'xyzw' | dd of="$WORK/crashed" bs=1 seek=100 conv=notrunc status=none
sound() {
	"$ASSAY" fsck "checker:$WORK/bad pread {disk}" --symbolic --no-store --for 120s --disk "$@"
}
tap_run "a crashed disk and a sound one" 0 sound "$WORK/crashed" --sound "$WORK/disk"
tap_like "a crashed disk and a sound one: what differs" "$WORK/out" '^1 places; 5 paths'
tap_run "a crashed disk that does not differ" 2 sound "$WORK/disk" --sound "$WORK/disk"
tap_like "a crashed disk that does not differ: said" "$WORK/err" 'is equal to'
truncate -s 1M "$WORK/large"
tap_run "a sound disk of another size" 2 sound "$WORK/crashed" --sound "$WORK/large"
tap_like "a sound disk of another size: said" "$WORK/err" 'is not of the size'

# A suite of two images, of two sizes, with a directory entry and more overwritten: what repairs
# change. One server has both.
for some in f_some:1M f_larger:2M; do
	image=$WORK/suite/${some%:*}/image
	mkdir -p "${image%/*}"
	truncate -s "${some#*:}" "$image"
	labfs-mkfs "$image" >/dev/null
	for off in $(seq 2048 512 65536); do
		printf '\377' | dd of="$image" bs=1 seek="$off" conv=notrunc status=none
	done
	gzip "$image"
	echo "some bytes" >"${image%/*}/name"
done
"$ASSAY" fsck labfs-fsck --symbolic --suite "$WORK/suite" --no-store --for 120s --solved 4 \
	>"$WORK/out" 2>&1
tap_like "a suite: what the repair changes is explored" "$WORK/out" \
	'^[1-9][0-9]* places; [1-9][0-9]* paths'
tap_like "a suite: as predicted" "$WORK/out" '^100.0 % of [1-9][0-9]* solved disks'
tap_is "a suite: disks of all sizes" "$(grep -c 'could not be explored' "$WORK/out")" 0

# Two words that only together are wrong: the answers of two places are combined.
mkdir -p "$WORK/apart/f_apart" "$WORK/apart/f_more"
for some in f_apart f_more; do
	head -c 65536 /dev/zero >"$WORK/apart/$some/image"
	for off in 4096 40960; do
		printf '\1\1\1\1' | dd of="$WORK/apart/$some/image" bs=1 seek=$off conv=notrunc \
			status=none
	done
	gzip "$WORK/apart/$some/image"
	echo "two words" >"$WORK/apart/$some/name"
done
tap_run "two answers together: the bug is found" 1 lab "checker:$WORK/bad apart {disk}" \
	--suite "$WORK/apart"
tap_like "two answers together: both are told" "$WORK/out" \
	'at byte [0-9]* and .* at byte [0-9]*: bytes 4096 [^;]*;bytes 40960 .*died of SIGABRT'
tap_like "two answers together: counted" "$WORK/out" \
	'^[1-9][0-9]* more disks by putting answers together'

# An image that the checker does not repair in one run, as it is: no byte of it is changed.
mkdir -p "$WORK/asis/f_asis" "$WORK/asis/f_none"
for some in f_asis:'\1' f_none:'\0'; do
	head -c 65536 /dev/zero >"$WORK/asis/${some%:*}/image"
	printf "${some#*:}" | dd of="$WORK/asis/${some%:*}/image" bs=1 seek=4096 conv=notrunc \
		status=none
	gzip "$WORK/asis/${some%:*}/image"
	echo "one word" >"$WORK/asis/${some%:*}/name"
done
tap_run "an image as it is: the bug is found" 1 lab "checker:$WORK/bad half {disk}" \
	--suite "$WORK/asis"
tap_like "an image as it is: said" "$WORK/out" 'the image as it is.*the second run exits 1'

# ---- Questions that take too long ----------------------------------------------------------------

# Twelve bytes that are factors of a number; what the checker dies of depends on them and others.
cp "$WORK/disk" "$WORK/hard"
printf '\211\251\365\307\321\263\105\174\072\133\216\331' |
	dd of="$WORK/hard" bs=1 seek=100 conv=notrunc status=none
for how in first frequent arith full none; do
	"$ASSAY" fsck "checker:$WORK/bad hard {disk}" --disk "$WORK/hard" --symbolic \
		--range 100+24 --no-store --for 120s --concretize $how >"$WORK/out" 2>&1
	got=$?
	if [ $how = none ]; then
		tap_is "concretize none: the path is lost" $got 0
		tap_like "concretize none: nothing is saved" "$WORK/out" \
			'^concretized: 0 paths saved, 0 completed, 0 with a problem'
		continue
	fi
	tap_is "concretize $how: the path is found" $got 1
	tap_like "concretize $how: counted" "$WORK/out" \
		'^concretized: [1-9] paths saved, [1-9] completed, 1 with a problem'
done

tap_run "time for each place" 0 "$ASSAY" fsck "checker:$WORK/bad forest {disk}" --symbolic \
	--disk "$WORK/disk" --range 100+24 --no-store --for 60s --each 1s
tap_like "time for each place: said" "$WORK/out" 'places used up their time'

# ---- A search that goes on -----------------------------------------------------------------------

tree=(fsck "checker:$WORK/bad tree {disk}" --disk "$WORK/disk" --symbolic --range 100+6)
tap_run "64 paths" 1 "$ASSAY" "${tree[@]}" --for 120s --no-store
tap_like "64 paths: all of them" "$WORK/out" '^1 places; 64 paths'

# Killed at any moment; what was done is not done again, and nothing is left out.
"$ASSAY" "${tree[@]}" --for 120s -o "$WORK/tree" >/dev/null 2>&1 &
job=$!
begun() { [ -s "$(ls "$WORK"/tree/fsck/*.search-0 2>/dev/null)" ]; }
tap_wait_until 60 begun
kill -KILL $job 2>/dev/null
wait $job 2>/dev/null
for pause in 1.3 2.1 0.7; do
	"$ASSAY" "${tree[@]}" --for 120s -o "$WORK/tree" --resume >/dev/null 2>&1 &
	job=$!
	sleep $pause
	kill -KILL $job 2>/dev/null
	wait $job 2>/dev/null
done
"$ASSAY" "${tree[@]}" --for 120s -o "$WORK/tree" --resume --jobs 2 >"$WORK/out" 2>&1
tap_like "killed four times: paths of earlier sessions" "$WORK/out" \
	'^with [1-9][0-9]* paths of earlier sessions'
tap_like "killed four times: each path once" "$WORK/out" '^1 places; 64 paths .*, 1 of them with'
tap_like "killed four times: questions are counted" "$WORK/out" '^63 questions: 63 answered'
tap_like "killed four times: all are run" "$WORK/out" 'every path that could be solved was run'
tap_is "killed four times: the finding is there" "$(ls "$WORK/tree/findings" | grep -c signal)" 1
tap_like "killed four times: the curve goes on" "$(ls "$WORK"/tree/fsck/*-symbolic.csv)" \
	'^[0-9.]+,64,64,0,1,'

# Killed at any moment, it leaves no process behind.
for pause in 0.3 0.9 1.7 2.9; do
	"$ASSAY" fsck "checker:$WORK/bad forest {disk}" --disk "$WORK/disk" --symbolic --jobs 2 \
		--range 100+24 --no-store --for 60s >/dev/null 2>&1 &
	job=$!
	sleep $pause
	kill -KILL $job 2>/dev/null
	wait $job 2>/dev/null
done
gone() { ! pgrep -f "$WORK/bad forest" >/dev/null; }
tap_wait_until 30 gone
tap_is "killed: no process is left" "$(pgrep -cf "$WORK/bad forest")" 0

# Whether it hangs, another process finds out; the search goes on.
tap_run "one that hangs for one value" 1 "$ASSAY" fsck "checker:$WORK/bad then-asleep {disk}" \
	--disk "$WORK/disk" --symbolic --range 100+4 --no-store --for 60s --deadline 1
tap_like "one that hangs for one value: told" "$WORK/out" 'the first run did not end'
tap_like "one that hangs for one value: both paths" "$WORK/out" '^1 places; 2 paths'

# Another disk: nothing of that is used. A file that is none is refused; one that is cut is not.
printf 'x' | dd of="$WORK/disk" bs=1 seek=5000 conv=notrunc status=none
"$ASSAY" "${tree[@]}" --for 120s -o "$WORK/tree" --resume >"$WORK/out" 2>&1
tap_like "another disk is searched anew" "$WORK/out" '^with 64 paths of earlier sessions'
tap_like "another disk: all of its paths" "$WORK/out" '^1 places; 128 paths'
file=$(ls "$WORK"/tree/fsck/*.search-0)
truncate -s -5 "$file"
"$ASSAY" "${tree[@]}" --for 120s -o "$WORK/tree" --resume >"$WORK/out" 2>&1
tap_like "a file that is cut: what is missing is run again" "$WORK/out" \
	'^1 places; 128 paths .*, 2 of them with'
printf 'nonsense, and more of it, for a header' >"$file"
tap_run "a file that is none" 2 "$ASSAY" "${tree[@]}" --for 60s -o "$WORK/tree" --resume
tap_like "a file that is none: said" "$WORK/err" 'it is no search of this version'

tap_done
