#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# assay fsck --symbolic: bugs that only one value shows are found, and a checker without a bug has
# no finding; fsck.minix is explored from a healthy disk; wrong use is answered.
cd "$(dirname "$0")/../.." || exit 1
. tests/sym/look.sh

# ---- What it finds -------------------------------------------------------------------------------

# A bug for each kind of value that nobody guesses: the bug, its field, what the finding says.
while read -r bug field words; do
	tap_run "bug $bug is found" 1 "$ASSAY" fsck "labfs-fsck:bug=$bug" --symbolic \
		--fields "$field" --for 120s --max-findings 1 --no-store
	tap_like "bug $bug shows in $field" "$WORK/out" "$words"
	tap_run "bug $bug is not found by guessing" 0 "$ASSAY" fsck "labfs-fsck:bug=$bug" \
		--model fields --no-store
done <<-'END'
	100 generation generation: .* becomes 1397113420
	101 atime_ns atime_ns: .* becomes
	102 label label: .*died of SIG
	103 rdev rdev: .* becomes 0x
END

tap_run "labfs-fsck without a bug passes" 0 "$ASSAY" fsck labfs-fsck --symbolic \
	--fields generation,label,rdev,atime_ns --for 15s --no-store
tap_like "every solved disk took the predicted path" "$WORK/out" '^100.0 % of [0-9]+ solved disks'

tap_run "fsck.minix: a finding from a healthy disk" 1 "$ASSAY" fsck fsck.minix --symbolic \
	--fields i_zone,s_state --for 120s --max-findings 1 -o "$WORK/minix"
script=$(echo "$WORK"/minix/findings/*/repro.sh)
tap_run "fsck.minix: its script shows it without assay" 0 bash "$script"
tap_run "fsck.minix: assay replay reproduces it" 1 "$ASSAY" replay -o "$WORK/minix" \
	"$(basename "$(dirname "$script")")"

# Two processes, each with half of the places; two bytes from byte 1040 on, the magic of minix.
tap_run "a range, and two processes" 0 "$ASSAY" fsck fsck.minix --symbolic --range 1040+2 --jobs 2 \
	--for 60s --no-store
tap_like "a range: all paths were run" "$WORK/out" 'every path that could be solved was run'

# ---- A wild checker ------------------------------------------------------------------------------

# It writes where it should not. If one byte has one value, it never ends under Valgrind (and ends
# natively, where each disk is judged first).
cat >"$WORK/wild.c" <<'END'
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	unsigned char block[512];
	int disk = argc > 2 ? open(argv[1], O_RDWR) : -1, other;

	if (disk < 0 || read(disk, block, sizeof(block)) != sizeof(block))
		return 8;
	other = open(argv[2], O_WRONLY | O_CREAT, 0644);
	while (block[100] == 77 && getenv("VALGRIND_LIB"))
		;
	return other >= 0 ? 4 : 0;
}
END
head -c 65536 /dev/zero >"$WORK/wild.img"
tap_run "a wild checker compiles" 0 cc -gdwarf-4 -o "$WORK/wild" "$WORK/wild.c"
wild=(fsck "checker:$WORK/wild {disk} $WORK/other" --disk "$WORK/wild.img" --symbolic
	--range 100+1 --no-store)
"$ASSAY" "${wild[@]}" --deadline 1 >"$WORK/out" 2>&1
tap_is "it makes no file but its disk" "$(ls "$WORK/other" 2>&1 | grep -c '^/')" 0
tap_like "it was explored" "$WORK/out" '[1-9][0-9]* paths'
running() { pgrep -f "assaysym.*$WORK/wild" | wc -l; }
# Two of them that are not new: runs that end are shorter.
hangs() {
	local n
	n=$(pgrep -f "assaysym.*$WORK/wild" | xargs -r ps -o etimes= -p 2>/dev/null |
		awk '$1 >= 4 { n++ } END { print n + 0 }')
	[ "$n" -ge 2 ]
}
"$ASSAY" "${wild[@]}" --deadline 600 >/dev/null 2>&1 &
job=$!
tap_wait_until 60 hangs
tap_is "a run of it does not end" "$(hangs && echo yes)" yes
kill -KILL $job
wait $job 2>/dev/null
gone() { [ "$(running)" = 0 ]; }
tap_wait_until 10 gone
tap_is "it dies with assay" "$(running)" 0

# ---- Wrong use -----------------------------------------------------------------------------------

while IFS='|' read -r name words args; do
	read -ra args <<<"$args"
	tap_run "$name" 2 "$ASSAY" fsck labfs-fsck --no-store "${args[@]}"
	tap_like "$name: says so" "$WORK/err" "$words"
done <<-'END'
	a field that is not there|no field of that name|--symbolic --fields nonsense
	names without --symbolic|names of fields are for --symbolic|--fields mode
	a range that makes no sense|expected OFFSET.LENGTH|--symbolic --range 12
	a range outside of the disk|not on the disk|--symbolic --range 99999999+4
	a range that is too large|more than 256 bytes|--symbolic --range 0+4096
	a strategy that is not there|concretize|--symbolic --concretize most
END

# A script: the shell itself never reads the disk.
printf '#!/bin/sh\nhead -c 2048 "$1" >/dev/null\n' >"$WORK/script"
chmod +x "$WORK/script"
tap_run "a checker that reads nothing itself" 2 "$ASSAY" fsck "checker:$WORK/script {disk}" \
	--type lab --symbolic --fields label --no-store
tap_like "a checker that reads nothing itself: says so" "$WORK/err" 'without reading any'

mkdir "$WORK/bin"
ln -s "$(realpath "$ASSAY")" "$WORK/bin/assay"
tap_run "without valgrind" 3 env PATH="$WORK/bin" "$(realpath "$ASSAY")" fsck labfs-fsck \
	--symbolic --no-store
tap_like "without valgrind: names the package" "$WORK/err" 'package valgrind'

# All that is counted has a name.
tap_run "--json" 0 "$ASSAY" fsck labfs-fsck --symbolic --for 60s --solved 3 --no-store --json
tap_like "--json: what was counted" "$WORK/out" \
	'^\{"event":"fsck",.*"search_us":[0-9]+,.*"paths":[1-9]'
tap_done
