#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# assay fsck --compare, --score and --table: the same damage on several types; a checker that drops
# a file is named by the others; checkers that agree are not; what is killed goes on; wrong input is
# answered.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
PATH=$(realpath "$ASSAY_BUILD"):$PATH:/usr/sbin:/sbin

# ---- Agreeing ------------------------------------------------------------------------------------

tap_run "a checker agrees with itself" 0 "$ASSAY" fsck --compare lab,labfs-fsck -o "$WORK/same"
tap_like "it says how disks are read" "$WORK/out" 'lab: lab, [0-9]+ names, read by its description'
tap_like "it says how many damages there are" "$WORK/out" \
	'[1-9][0-9]* damages that two or more of them have; after 0 of them'

# ---- The odd one ---------------------------------------------------------------------------------

# It calls every disk of minix clean, and takes the name `small` away.
cat >"$WORK/odd.c" <<'END'
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
static char disk[1 << 20];
int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
	ssize_t len = fd < 0 ? 0 : pread(fd, disk, sizeof(disk), 0);

	for (ssize_t i = 64; i + 64 <= len; i += 64)
		if (!memcmp(disk + i + 4, "small", 6) && pwrite(fd, "\0\0\0\0", 4, i) != 4)
			return 8;
	return 0;
}
END
if cc -o "$WORK/odd" "$WORK/odd.c" 2>"$WORK/err" && command -v mkfs.minix >/dev/null &&
	command -v e2fsck >/dev/null; then
	tap_run "a checker that drops a file" 1 "$ASSAY" fsck \
		--compare "lab,ext2,minix3=checker:$WORK/odd {disk}" --max-findings 8 \
		-o "$WORK/odd.out"
	# Where all three have repaired the disk, two say that the file can be kept.
	page=$(grep -lE '/d/small: name there before; lab: there ext2: there .*gone \(odd\)$' \
		"$WORK/odd.out"/findings/odd-*/README.md | head -n 1)
	id=$(basename "$(dirname "$page")")
	tap_like "the majority names it" "$WORK/odd.out/findings/$id/finding.json" \
		"\"target\":\"checker:$(tap_regex "$WORK")/odd \{disk\}\""
	tap_like "the page says who has it" "$page" '^    /d/small: name there before; lab: there '
	tap_run "its script runs" 0 sh "$WORK/odd.out/findings/$id/repro.sh"
	tap_run "assay replay reproduces it" 1 "$ASSAY" replay --trust -o "$WORK/odd.out" "$id"
	if cat "$WORK/odd.out"/findings/*/README.md |
		grep -E '/d/small: name there before; .*(lab|ext2): gone' >"$WORK/err"; then
		tap_not_ok "nobody else drops it" "$(cat "$WORK/err")"
	else
		tap_ok "nobody else drops it"
	fi
else
	tap_skip "the odd one" "there is no compiler, mkfs.minix or e2fsck"
fi

# ---- Several processes ---------------------------------------------------------------------------

# killed FILE BYTES ARGUMENT...: assay fsck, killed when its file has more than so many bytes
killed() {
	local file=$1 bytes=$2 job
	shift 2
	"$ASSAY" fsck "$@" >/dev/null 2>&1 &
	job=$!
	grown() { [ "$(stat -c %s "$file" 2>/dev/null || echo 0)" -gt "$bytes" ]; }
	tap_wait_until $((60 * TAP_SLOWER)) grown
	kill -KILL $job 2>/dev/null
	wait $job 2>/dev/null
}

# Two processes are killed twice, and go on.
if command -v e2fsck >/dev/null && command -v mkfs.minix >/dev/null; then
	for jobs in 1 2; do
		same=(--compare ext2,minix3 --jobs $jobs --max-findings 4 -o "$WORK/jobs-$jobs")
		if [ $jobs = 2 ]; then
			kept=$WORK/jobs-2/fsck/compare
			killed "$kept" 4096 "${same[@]}"
			same+=(--resume)
			killed "$kept" $(($(stat -c %s "$kept") + 1)) "${same[@]}"
		fi
		tap_run "$jobs processes compare" 1 "$ASSAY" fsck "${same[@]}"
		# On a slow machine there are lines of progress.
		sed -E "s/jobs-$jobs/DIR/; / s\$/d; /^[0-9]+:[0-9]{2}[:,]/d" "$WORK/out" \
			>"$WORK/said-$jobs"
	done
	tap_is "two processes say what one says" "$(cat "$WORK/said-2")" "$(cat "$WORK/said-1")"
	tap_run "two processes find what one finds" 0 diff -r "$WORK/jobs-1/findings" \
		"$WORK/jobs-2/findings"
	for wrong in "--compare ext2,minix: it_is_of_ext2,minix3" \
		"--compare ext2,minix3 --deadline 4: begin_anew" \
		"--score: nothing_to_go_on_with"; do
		# shellcheck disable=SC2086
		tap_run "another one does not go on:${wrong#*:}" 2 "$ASSAY" fsck ${wrong%:*} \
			--resume -o "$WORK/jobs-2"
		words=${wrong#*: }
		tap_like "another one does not go on:${wrong#*:}: said" "$WORK/err" "${words//_/ }"
	done
	truncate -s 100 "$kept"
	printf x | dd of="$kept" bs=1 conv=notrunc status=none
	tap_run "a file that is none" 2 "$ASSAY" fsck "${same[@]}"
	tap_like "a file that is none: said" "$WORK/err" "it is not of this version"
	# A score that was counted by the first rules, as it was written then: its head.
	mkdir -p "$WORK/rules/fsck"
	cp -r "$WORK/jobs-2/." "$WORK/rules"
	printf 'FRM1\r\0\0\0\140\117\334\173\203\063\124\101assay-score 1' \
		>"$WORK/rules/fsck/score"
	tap_run "a score by other rules does not go on" 2 "$ASSAY" fsck --score labfs-fsck \
		--for 1s --resume -o "$WORK/rules"
	tap_like "a score by other rules does not go on: said" "$WORK/err" \
		"it is of assay-score 1; begin anew"
	for jobs in 1 3; do
		same=(--score labfs-fsck --for $((300 * TAP_SLOWER))s --json --jobs $jobs
			-o "$WORK/score-of-$jobs")
		if [ $jobs = 3 ]; then
			killed "$WORK/score-of-3/fsck/score" 1000 "${same[@]}"
			same+=(--resume)
		fi
		"$ASSAY" fsck "${same[@]}" 2>"$WORK/err" |
			grep -v '"event":"progress"' >"$WORK/score-$jobs"
	done
	tap_like "a score that is complete" "$WORK/score-1" '"complete":true'
	tap_is "three processes count what one counts" "$(cat "$WORK/score-3")" \
		"$(cat "$WORK/score-1")"
else
	tap_skip "several processes" "there is no mkfs.minix or e2fsck"
fi

# ---- The score -----------------------------------------------------------------------------------

tap_run "a score" 0 "$ASSAY" fsck --score labfs-fsck:bug=57 labfs-fsck --no-store \
	--for $((8 * TAP_SLOWER))s
# Bug 57 empties a block of a directory for one wrong length.
tap_is "the checker without the bug is the best with entries" \
	"$(sed -n '/^entries of directories/,/^$/s/^ *1 *\([^ ]*\) .*/\1/p' "$WORK/out")" labfs-fsck
tap_run "a score as JSON" 0 "$ASSAY" fsck --score labfs-fsck --for 1s --json --no-store
tap_like "it has counts" "$WORK/out" '"checker":"labfs-fsck".*"all":\{"disks":[1-9]'

# ---- The tables ----------------------------------------------------------------------------------

tap_run "Table 7" 0 "$ASSAY" fsck --table 7 labfs-fsck
tap_like "it has the commands" "$WORK/out" '^labfs-fsck --mode full +\{disk\} +repairs'
tap_run "Table 8" 0 "$ASSAY" fsck --table 8 labfs-fsck:bug=55 --for 3s -o "$WORK/table"
tap_like "it has what was found" "$WORK/out" '^labfs-fsck:bug=55 +silent +[0-9]'
tap_run "Table 9 needs a suite" 2 "$ASSAY" fsck --table 9 labfs-fsck
tap_run "Table 10" 0 "$ASSAY" fsck --table 10 --compare lab,ext2
tap_like "it has the fields in common" "$WORK/out" \
	'^inode.mode +inode.i_mode +type and permissions'

# ---- Wrong input ---------------------------------------------------------------------------------

while read -r status what words; do
	# shellcheck disable=SC2086
	tap_run "$what" "$status" "$ASSAY" fsck $words
	tap_like "$what: the message says so" "$WORK/err" "${what//_/ }"
done <<-END
	2 two_checkers_or_more --compare ext4
	2 no_such_checker --compare ext4,nonsense
	2 which_checker
	2 takes_its_checkers_itself e2fsck --compare ext4,lab
END
tap_run "a command needs a type" 2 "$ASSAY" fsck --compare "lab,checker:true {disk}"
tap_done
