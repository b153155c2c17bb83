#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What `make demo` shows: labfs passes, labfs with each seeded bug does not, one finding from its
# report to its replay, failing memory, a damaged disk repaired, and ext4 in the sandbox. Ends with
# 0 when all of it went as it should.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
wrong=0

title() {
	if [ -t 1 ]; then printf '\n\033[1m%s\033[0m\n' "$*"; else printf '\n%s\n' "$*"; fi
}

# Shows a command and runs it; its exit status must be the first argument.
show() {
	local want=$1 status=0
	shift
	printf '$ %s\n' "${*//$out/OUT}"
	"$@" || status=$?
	if [ "$status" -ne "$want" ]; then
		printf 'exit status %s, expected %s\n' "$status" "$want"
		wrong=1
	fi
}

title "1. A correct file system: every answer agrees with the model"
show 0 ./assay run --no-store --target lab examples/smoke.txt examples/dogfood_reiserfs.txt

title "2. The same file system with one bug at a time"
found=0 bugs=0
for case in labfs/cases/*.txt; do
	number=$((10#$(basename "$case" | cut -d - -f 1)))
	# The command that labfs/bugs.def gives: "assay run OPTION... CASE".
	command=$(./assay targets --bugs --json |
		sed -n "s/.*\"number\":$number,.*\"command\":\"assay run \([^\"]*\)\".*/\1/p")
	bugs=$((bugs + 1))
	status=0
	# shellcheck disable=SC2086
	./assay run --json -o "$out/bugs" $command >"$out/run.json" 2>"$out/err" || status=$?
	summary=$(sed -n 's/.*"summary":"\(\([^"\\]\|\\.\)*\)".*/\1/p' "$out/run.json" | head -n 1 |
		sed 's/\\\(["\\]\)/\1/g')
	word=MISSED
	if [ $status -eq 1 ]; then word=found found=$((found + 1)); else wrong=1; fi
	printf '  bug %2d  %-9s %.95s\n' "$number" "$word" "$summary"
done
printf '%d of %d found\n' "$found" "$bugs"

title "3. One of them, as a person gets it"
show 1 ./assay run -o "$out/one" --target lab:bug=4 labfs/cases/04-deleted-data.txt
id=$(basename "$out"/one/findings/*)
show 1 ./assay replay -o "$out/one" "$id"
printf '\nThe same as a C program, on this kernel (no bug there):\n'
mkdir "$out/dir"
show 0 cc -o "$out/repro" "$out/one/findings/$id/repro.c"
show 0 "$out/repro" "$out/dir" >"$out/repro.out"
tail -n 4 "$out/repro.out"

title "4. Every allocation fails once: nothing may crash, leak or change"
show 0 ./assay run --no-store --target lab --sweep alloc labfs/cases/21-no-memory-open.txt
show 1 ./assay run --no-store --target lab:bug=21 --sweep alloc labfs/cases/21-no-memory-open.txt

title "5. A damaged disk and its checker"
show 0 ./labfs-mkfs -s 1M "$out/disk.img"
printf 'zzzz' | dd of="$out/disk.img" bs=1 seek=20 conv=notrunc status=none
show 1 ./labfs-fsck --mode full "$out/disk.img"
show 0 ./labfs-fsck --mode full "$out/disk.img"

title "6. ext4 and f2fs of a Linux kernel of their own: no root, and a panic is a finding"
show 0 ./assay run -o "$out/kernel" --target ext4 examples/smoke.txt examples/dogfood_reiserfs.txt
show 0 ./assay run -o "$out/kernel" --target f2fs examples/smoke.txt

echo
if [ $wrong -ne 0 ]; then
	echo "demo: something did not go as it should (see above)"
	exit 1
fi
echo "demo: all of it as it should be. Next: README.md, docs/FORMAT.md, ./assay help"
