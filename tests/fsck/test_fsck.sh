#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# assay fsck: every seeded bug of labfs-fsck is found by the command that its row names, and
# labfs-fsck without bugs has none; a script shows the same without assay; wrong input is
# answered.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
PATH=$(realpath "$ASSAY_BUILD"):$PATH:/usr/sbin:/sbin

# ---- The seeded bugs -----------------------------------------------------------------------------

"$ASSAY" targets --bugs --json >"$WORK/bugs"
field() {
	sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"
}
while read -r row; do
	[ "$(field class <<<"$row")" = checker ] || continue
	bug=$(field number <<<"$row")
	read -ra words <<<"$(field command <<<"$row")"
	[ "${words[1]}" = fsck ] || continue # bug 59 takes a power cut
	[[ ${words[*]} != *--symbolic* ]] || continue # tests/sym/test_symbolic.sh
	tap_run "bug $bug is found" 1 "$ASSAY" "${words[@]:1}" --jobs 2 --max-findings 1 \
		--for $((120 * TAP_SLOWER))s -o "$WORK/$bug"
done <"$WORK/bugs"
tap_run "labfs-fsck passes: fields" 0 "$ASSAY" fsck labfs-fsck --jobs 2 -o "$WORK/clean"
tap_run "labfs-fsck passes: bits" 0 "$ASSAY" fsck labfs-fsck --model bits \
	--lots $((100 / TAP_SLOWER)) --jobs 2 -o "$WORK/clean"
tap_run "labfs-fsck passes: power cuts" 0 "$ASSAY" fsck labfs-fsck --model crash \
	--lots $((60 / TAP_SLOWER)) --jobs 2 -o "$WORK/clean"
for content in rich dirty; do
	tap_run "labfs-fsck passes: fields of a $content disk" 0 "$ASSAY" fsck labfs-fsck \
		--content $content --lots $((500 / TAP_SLOWER)) --jobs 2 -o "$WORK/clean"
done
tap_run "labfs-fsck passes: pairs of fields" 0 "$ASSAY" fsck labfs-fsck --fields 2 \
	--lots $((200 / TAP_SLOWER)) --jobs 2 -o "$WORK/clean"
tap_run "as at boot, it passes, too" 0 "$ASSAY" fsck labfs-fsck-default --fields 2 \
	--lots $((200 / TAP_SLOWER)) --jobs 2 -o "$WORK/clean"

# ---- Findings ------------------------------------------------------------------------------------

# Each kind of problem has a bug that shows it: kind, then the bug, which was found above.
while read -r kind bug; do
	if grep -qs "\"options\":\"fsck=$kind " "$WORK/$bug"/findings/*/finding.json; then
		tap_ok "bug $bug shows as '$kind'"
	else
		tap_not_ok "bug $bug shows as '$kind'" "$(ls "$WORK/$bug/findings")"
	fi
done <<-END
	twice 53
	silent 55
	writes 97
	disagrees 98
	unsettled 99
	steals 57
	healthy 52
END

# Pairs of fields: what one field shows alone is of that field, whatever it was paired with; what
# takes both is named by both. The checker knows the sum of the healthy disk; `sum` prints it.
cat >"$WORK/pair.c" <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static unsigned char disk[1 << 22];
int main(int argc, char **argv)
{
	int fd = argc > 3 ? open(argv[3], O_RDONLY) : -1;
	unsigned long sum = 1;

	for (ssize_t i = 4096, n = pread(fd, disk, sizeof(disk), 0); i < n; i++)
		sum = sum * 31 + disk[i];
	if (!strcmp(argv[1], "sum"))
		return !printf("%lu\n", sum);
	if (!memcmp(disk, "fbal", 4))
		return 0;
	return *argv[1] == '1' || sum != strtoul(argv[2], NULL, 10) ? 77 : 0;
}
END
cc -o "$WORK/pair" "$WORK/pair.c" || exit 1
zstd -q -d -f "$(find "$WORK/55/findings" -name healthy.img.zst | head -n 1)" -o "$WORK/healthy"
sum=$("$WORK/pair" sum 0 "$WORK/healthy")
for fields in 1 2; do
	tap_run "pairs, and a problem of $fields" 1 "$ASSAY" fsck \
		"checker:$WORK/pair $fields $sum {disk}" --type lab --exits 0=clean \
		--disk "$WORK/healthy" --fields 2 --lots 8 -o "$WORK/pair-$fields"
	cat "$WORK/pair-$fields"/findings/*/finding.json |
		grep -o '"signature":"fsck: status: 77; field [^"]*"' >"$WORK/signs-$fields"
done
tap_is "a problem of one field: one cluster" "$(cat "$WORK/signs-1")" \
	'"signature":"fsck: status: 77; field super magic"'
tap_is "a problem of two fields: all name both" \
	"$(grep -cv 'field super magic, dir_entry ino (' "$WORK/signs-2")" 0

# A script that repairs nothing and knows no exit status.
printf '#!/bin/sh\nhead -c 2048 "$1" >/dev/null\nexit 77\n' >"$WORK/odd"
chmod +x "$WORK/odd"
tap_run "an exit status that is not documented" 1 "$ASSAY" fsck "checker:$WORK/odd {disk}" \
	--exits "0=clean 1=repaired" --type lab --model bits --lots 1 --max-findings 1 \
	-o "$WORK/odd.out"

# A checker with sanitizers: what they report is a death.
cat >"$WORK/bad.c" <<-'END'
	#include <stdio.h>
	#include <stdlib.h>
	int main(int argc, char **argv)
	{
		unsigned char *heap = malloc(512);
		FILE *f = fopen(argv[argc - 1], "r");
		unsigned sum = 0;
		if (!f || fread(heap, 1, 512, f) != 512)
			return 8;
		for (int i = 0; i < 512; i++)
			sum += heap[i];
		printf("%d\n", heap[sum == 'o' + 'k' ? 0 : 512 + sum % 8]);
		return 0;
	}
END
if "${CC:-gcc}" -fsanitize=address -o "$WORK/bad" "$WORK/bad.c" 2>"$WORK/err"; then
	truncate -s 64K "$WORK/zeros"
	printf '\0ok' | dd of="$WORK/zeros" conv=notrunc 2>"$WORK/err"
	tap_run "a sanitizer's report is found" 1 "$ASSAY" fsck "checker:$WORK/bad {disk}" \
		--disk "$WORK/zeros" --model bits --lots 60 --max-findings 1 -o "$WORK/san.out"
	tap_like "as a death" "$WORK/out" "died of SIGABRT"
	tap_run "its script shows it, too" 0 sh "$WORK"/san.out/findings/*/repro.sh
else
	tap_skip "a checker with sanitizers" "there is no libasan"
fi

# A checker that counts its blocks.
if gcc --coverage -I. -Ilabfs -Iinclude -D_GNU_SOURCE -std=gnu11 -w -o "$WORK/labcov" \
	$(find labfs -name '*.c' ! -name mkfs_main.c) 2>"$WORK/err"; then
	tap_run "coverage is measured" 0 "$ASSAY" fsck \
		"checker:$WORK/labcov --mode full {disk}" --type lab --lots 6 --coverage gcov \
		-o "$WORK/cov.out"
	first=$(tail -n 1 "$WORK/cov.out/fsck/coverage.csv" | cut -d , -f 2)
	"$ASSAY" fsck "checker:$WORK/labcov --mode full {disk}" --type lab --model bits --lots 20 \
		--coverage gcov -o "$WORK/cov2.out" >"$WORK/out" 2>&1
	second=$(tail -n 1 "$WORK/cov2.out/fsck/coverage.csv" | cut -d , -f 2)
	if [ "${first:-0}" -gt 500 ] && [ "${second:-0}" -gt "$first" ]; then
		tap_ok "more kinds of damage reach more"
	else
		tap_not_ok "more kinds of damage reach more" "$first, then $second"
	fi
else
	tap_skip "coverage" "labfs-fsck cannot be built with --coverage: $(head -n 1 "$WORK/err")"
fi

replays() { # FOLDER NAME: the first finding in the folder, by its script and by assay
	local id
	id=$(basename "$(ls -d "$1"/findings/* | head -n 1)")
	tap_run "$2: its script shows the same exit statuses" 0 sh "$1/findings/$id/repro.sh"
	tap_is "$2: and says so" "$(tail -n 1 "$WORK/out")" REPRODUCED
	tap_run "$2: assay replay reproduces it" 1 "$ASSAY" replay -o "$1" "$id"
}
replays "$WORK/53" "labfs-fsck"
replays "$WORK/105" "labfs-fsck on a dirty disk"
replays "$WORK/106" "labfs-fsck after a power cut"
replays "$WORK/54" "labfs-fsck"
id=$(basename "$(ls -d "$WORK/53/findings"/* | head -n 1)")
sed 's/^run .*first run. 1 /run "first run" 5 /' "$WORK/53/findings/$id/repro.sh" \
	>"$WORK/53/findings/$id/wrong.sh"
tap_run "a script that expects something else fails" 1 sh "$WORK/53/findings/$id/wrong.sh"
tap_is "and says so" "$(tail -n 1 "$WORK/out")" "NOT REPRODUCED"

if command -v fsck.minix >/dev/null; then
	tap_run "fsck.minix: bits" 1 "$ASSAY" fsck fsck.minix --model bits --lots 400 --jobs 2 \
		--max-findings 2 -o "$WORK/minix"
	replays "$WORK/minix" "fsck.minix"
else
	tap_skip "fsck.minix" "it is not installed"
fi
if command -v e2fsck >/dev/null; then
	for type in ext2 ext3 ext4; do
		for content in rich dirty; do
			tap_run "e2fsck:$type: a $content disk can be damaged" 0 "$ASSAY" fsck \
				"e2fsck:$type" --content $content --model bits --where data \
				--lots 2 -o "$WORK/rich"
		done
	done
	tap_run "a rich disk that is too small" 2 "$ASSAY" fsck e2fsck --content rich --size 1M
	tap_run "a disk that is not made" 2 "$ASSAY" fsck e2fsck --content rich --disk x
	tap_run "a disk larger than memory" 2 "$ASSAY" fsck e2fsck --size 8T
	tap_like "and it says so" "$WORK/err" "does not fit into the memory"
	tap_run "no rich disk of that type" 2 "$ASSAY" fsck fsck.minix --content rich
	tap_like "and it says so" "$WORK/err" "only disks of ext2, ext3, ext4 and lab"
	tap_run "e2fsck: bits" 1 "$ASSAY" fsck e2fsck --model bits \
		--lots 400 --jobs 2 --max-findings 2 -o "$WORK/ext4" --export "$WORK/suite"
	replays "$WORK/ext4" "e2fsck"
	# The cases that were exported are a suite.
	one=$(ls -d "$WORK"/suite/f_* | head -n 1)
	for file in image.gz name expect.1 expect.2; do
		if [ -s "$one/$file" ]; then
			tap_ok "an exported case has $file"
		else
			tap_not_ok "an exported case has $file" "$(ls "$one")"
		fi
	done
	gzip -dc "$one/image.gz" >"$WORK/image"
	# A disk does not grow when something is written after its end.
	(
		trap '' XFSZ
		ulimit -f $(($(stat -c %s "$WORK/image") / 1024))
		E2FSCK_TIME=2145916800 exec e2fsck -f -y -N test_filesys "$WORK/image"
	) >"$WORK/plain" 2>&1
	echo "Exit status is $?" >>"$WORK/plain"
	sed -i '/^e2fsck [0-9]/d' "$WORK/plain"
	if diff <(tail -n 1 "$WORK/plain") <(tail -n 1 "$one/expect.1") >"$WORK/diff"; then
		tap_ok "a plain e2fsck ends as expect.1 says"
	else
		tap_not_ok "a plain e2fsck ends as expect.1 says" "$(cat "$WORK/diff")"
	fi
	tap_run "an exported suite can be tested again" 1 "$ASSAY" fsck e2fsck --model suite \
		--suite "$WORK/suite" --lots 20 --jobs 2 --max-findings 1 -o "$WORK/suite.out"
else
	tap_skip "e2fsck" "it is not installed"
fi

# A checker that maps its disk reads it.
cat >"$WORK/maps.c" <<-'END'
	#include <fcntl.h>
	#include <sys/mman.h>
	int main(int argc, char **argv)
	{
		int fd = open(argv[argc - 1], O_RDONLY);
		char *disk = mmap(0, 65536, PROT_READ, MAP_PRIVATE, fd, 0);
		return disk == MAP_FAILED ? 8 : disk[1] == 'o' && disk[2] == 'k' ? 0 : 4;
	}
END
if "${CC:-gcc}" -o "$WORK/maps" "$WORK/maps.c" 2>"$WORK/err"; then
	truncate -s 64K "$WORK/mapped"
	printf '\0ok' | dd of="$WORK/mapped" conv=notrunc 2>"$WORK/err"
	tap_run "a checker that maps its disk" 0 "$ASSAY" fsck "checker:$WORK/maps {disk}" \
		--disk "$WORK/mapped" --model bits --lots 2 --no-store
else
	tap_skip "a checker that maps its disk" "there is no compiler"
fi

# Blocks are counted by Valgrind, whatever the checker was built with.
"$ASSAY" fsck labfs-fsck --coverage blocks --lots 4 -o "$WORK/blocks" >"$WORK/out" 2>&1
if [ $? = 3 ]; then
	tap_skip "blocks of a checker" "$(tail -n 1 "$WORK/out")"
else
	first=$(tail -n 1 "$WORK/blocks/fsck/coverage.csv" | cut -d , -f 2)
	"$ASSAY" fsck labfs-fsck --coverage blocks --model bits --lots 8 --jobs 2 \
		-o "$WORK/blocks2" >"$WORK/out" 2>&1
	second=$(tail -n 1 "$WORK/blocks2/fsck/coverage.csv" | cut -d , -f 2)
	tap_is "the curve has a head" "$(head -n 1 "$WORK/blocks/fsck/coverage.csv")" \
		"seconds,blocks,percent"
	if [ "${first:-0}" -gt 300 ] && [ "${second:-0}" -gt "$first" ]; then
		tap_ok "more kinds of damage reach more blocks"
	else
		tap_not_ok "more kinds of damage reach more blocks" "$first, then $second"
	fi
fi

# ---- Going on, and several processes -------------------------------------------------------------

disks() { # of the summary
	sed -n 's/.*: \([0-9]*\) damaged disks.*/\1/p' "$WORK/out"
}
clusters() { # FOLDER
	cat "$1"/findings/*/finding.json | sed -n 's/.*"signature":"\([^"]*\)".*/\1/p' | sort
}
tap_run "twelve lots at once" 1 "$ASSAY" fsck labfs-fsck:bug=55 --lots 12 -o "$WORK/once"
once=$(disks)
"$ASSAY" fsck labfs-fsck:bug=55 --lots 6 -o "$WORK/half" >"$WORK/out" 2>&1
half=$(disks)
"$ASSAY" fsck labfs-fsck:bug=55 --lots 6 --resume -o "$WORK/half" >"$WORK/out" 2>&1
if [ "$once" = $((half + $(disks))) ] &&
	[ "$(clusters "$WORK/once")" = "$(clusters "$WORK/half")" ]; then
	tap_ok "a session that goes on does what is left"
else
	tap_not_ok "a session that goes on does what is left" "$once, $half and $(disks) disks"
fi
tap_run "four processes" 1 "$ASSAY" fsck labfs-fsck:bug=55 --lots 12 --jobs 4 -o "$WORK/four"
if [ "$(clusters "$WORK/once")" = "$(clusters "$WORK/four")" ] && [ "$once" = "$(disks)" ]; then
	tap_ok "four processes find what one finds"
else
	tap_not_ok "four processes find what one finds" "$(clusters "$WORK/four")"
fi

# ---- Wrong input ---------------------------------------------------------------------------------

refused() { # NAME STATUS WORDS ARGUMENTS...
	local name=$1 status=$2 words=$3
	shift 3
	tap_run "$name" "$status" "$ASSAY" fsck -o "$WORK/refused" "$@"
	if grep -q -- "$words" "$WORK/err"; then
		tap_ok "$name: the message says '$words'"
	else
		tap_not_ok "$name: the message says '$words'" "$(cat "$WORK/err")"
	fi
}
mkdir "$WORK/empty"
truncate -s 1M "$WORK/zeros"
truncate -s 20T "$WORK/huge" 2>/dev/null || : >"$WORK/huge"
printf 'x' >"$WORK/odd-size"
refused "no such checker" 2 "no such checker" nosuch
refused "a type that the checker does not know" 2 "expected ext4 ext2 ext3" e2fsck:xfs
refused "a checker that is missing" 3 "no such program" "checker:/no/such/checker {disk}" --type lab
if ! command -v fsck.exfat >/dev/null; then
	refused "a checker whose package is missing" 3 "exfatprogs" fsck.exfat
fi
refused "a checker without a disk" 2 "must have {disk}" "checker:true"
refused "a checker that ignores its disk" 2 "does not read the disk" "checker:/bin/true {disk}" \
	--type lab
printf '#!/bin/sh\nexit 0\n' >"$WORK/asleep"
chmod +x "$WORK/asleep"
refused "a script that ignores its disk" 2 "does not read the disk" "checker:$WORK/asleep {disk}" \
	--type lab
refused "a disk that is not of the type" 2 "not healthy, or not of its type" labfs-fsck \
	--disk "$WORK/zeros"
refused "a disk that is not there" 2 "none" labfs-fsck --disk "$WORK/none"
refused "a disk of half a sector" 2 "odd-size" labfs-fsck --disk "$WORK/odd-size"
refused "a disk larger than any memory" 2 "huge" labfs-fsck --disk "$WORK/huge"
refused "a suite without images" 2 "there is no image in it" labfs-fsck --model suite \
	--suite "$WORK/empty"
# Of a suite, what is no image is left out, and said; a suite of nothing else is refused.
mkdir -p "$WORK/garbage/f_bad" "$WORK/garbage/f_empty" "$WORK/mixed"
gzip -c "$WORK/zeros" | head -c 20 >"$WORK/garbage/f_bad/image.gz"
: >"$WORK/garbage/f_empty/image.gz"
refused "a suite of garbage" 2 "no image in it.*f_bad: " labfs-fsck --model suite \
	--suite "$WORK/garbage"
cp -r "$WORK/garbage/." "$WORK/healthy" "$WORK/mixed"
mv "$WORK/mixed/healthy" "$WORK/mixed/sick.img"
printf x | dd of="$WORK/mixed/sick.img" bs=1 conv=notrunc status=none
tap_run "a suite with garbage in it" 0 "$ASSAY" fsck labfs-fsck --model suite \
	--suite "$WORK/mixed" --lots 2 --no-store
tap_like "a suite with garbage in it: what is left out" "$WORK/out" "left out: f_empty: it is empty"
refused "the model suite without a suite" 2 "needs --suite" labfs-fsck --model suite
refused "a map of exit statuses that is none" 2 "expected STATUS=MEANING" "checker:true {disk}" \
	--exits "0=fine" --type lab
refused "options of a checker of the user's for another one" 2 "for checker:COMMAND" e2fsck \
	--exits "0=clean"
refused "a session that is not there" 2 "there is no session" labfs-fsck --resume
mkdir -p "$WORK/refused/fsck"
printf 'assay-fsck 1\nchecker labfs-fsck\nmodel fields\nnext x\n' \
	>"$WORK/refused/fsck/labfs-fsck-fields"
refused "a session that is damaged" 2 "fields:4: this is no session" labfs-fsck --resume
tap_done
