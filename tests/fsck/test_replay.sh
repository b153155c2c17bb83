#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every kind of finding of assay fsck comes back: from every model, disk and checker, by
# `assay replay` with the same signature, and by its script without assay.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
program=$(realpath "$ASSAY")
PATH=$(realpath "$ASSAY_BUILD"):$PATH:/usr/sbin:/sbin

# comes_back NAME FOLDER [WHO...]: each finding of the folder; WHO runs the script.
comes_back() {
	local name=$1 folder=$2 finding id n=0
	shift 2
	for finding in "$folder"/findings/*/; do
		[ -e "$finding/finding.json" ] || continue
		id=$(basename "$finding")
		tap_run "$name: replay of $id" 1 "$ASSAY" replay --trust -o "$folder" "$id"
		tap_like "$name: $id is what was found" "$WORK/out" "^$id: reproduced\$"
		tap_run "$name: script of $id" 0 "$@" sh "$finding/repro.sh"
		n=$((n + 1))
	done
	[ $n -gt 0 ] || tap_not_ok "$name: there is a finding" "$(ls "$folder")"
}
walks() { # NAME ARGUMENTS...: finds something, which comes back
	local name=$1
	shift
	tap_run "$name" 1 "$ASSAY" fsck -o "$WORK/$name" --for $((120 * TAP_SLOWER))s "$@"
	comes_back "$name" "$WORK/$name"
}
has_kind() { # NAME KIND: of what the row found
	if grep -qs "\"options\":\"fsck=$2 " "$WORK/$1"/findings/*/finding.json; then
		tap_ok "$1: there is one of the kind '$2'"
	else
		tap_not_ok "$1: there is one of the kind '$2'" "$(ls "$WORK/$1/findings")"
	fi
}

# ---- Models and disks ----------------------------------------------------------------------------

walks fields labfs-fsck:bug=53 --max-findings 2
walks pairs labfs-fsck:bug=51 --fields 2 --deadline 1 --max-findings 1
has_kind pairs hangs
walks crash labfs-fsck:bug=106 --model crash --max-findings 1
walks crash-loses labfs-fsck:bug=120 --model crash --max-findings 1
has_kind crash-loses loses
walks steals labfs-fsck:bug=57 --max-findings 1
walks rich labfs-fsck:bug=99 --content rich --max-findings 1
walks dirty labfs-fsck:bug=105 --content dirty --max-findings 1
walks bits labfs-fsck:bug=55 --model bits --max-findings 1 --export "$WORK/cases"
walks suite labfs-fsck:bug=55 --model suite --suite "$WORK/cases" --max-findings 1
walks library labfs-fsck:bug=104 --max-findings 1
has_kind library kernel
walks healthy labfs-fsck:bug=52 --max-findings 1

# A disk of the user's, of another size than the generic one.
zstd -q -d "$(ls "$WORK"/rich/findings/*/healthy.img.zst | head -n 1)" -o "$WORK/own.img"
walks disk labfs-fsck:bug=57 --disk "$WORK/own.img" --max-findings 1
rm "$WORK/own.img"
comes_back "disk, whose file is gone" "$WORK/disk"

# ---- Checkers of the user's ----------------------------------------------------------------------

# One program with several mistakes: its first argument says which.
cat >"$WORK/own.c" <<'END'
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
static char disk[1 << 16];
int main(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[2], O_RDWR) : -1;
	ssize_t len = fd < 0 ? 0 : pread(fd, disk, sizeof(disk), 0);
	int sum = 0;

	for (ssize_t i = 0; i < len; i++)
		sum += disk[i] != 'a';
	if (!sum) /* the healthy disk */
		return 20;
	if (!strcmp(argv[1], "status"))
		return 77;
	if (!strcmp(argv[1], "hang"))
		for (;;)
			;
	if (!strcmp(argv[1], "look") && pwrite(fd, "x", 1, 5000) != 1)
		return 8;
	if (!strcmp(argv[1], "die"))
		*(volatile int *)0 = 1;
	return 21;
}
END
if "${CC:-cc}" -o "$WORK/own" "$WORK/own.c" 2>"$WORK/err"; then
	head -c 65536 /dev/zero | tr '\0' a >"$WORK/same"
	exits="20=clean 21=left 8=failed"
	walks status "checker:$WORK/own status {disk}" --exits "$exits" --disk "$WORK/same" \
		--model bits --max-findings 1
	has_kind status status
	walks hang "checker:$WORK/own hang {disk}" --exits "$exits" --disk "$WORK/same" \
		--model bits --deadline 1 --max-findings 1
	has_kind hang hangs
	walks die "checker:$WORK/own die {disk}" --exits "$exits" --disk "$WORK/same" \
		--model bits --max-findings 1
	has_kind die died
	walks look "checker:$WORK/own fine {disk}" --check "$WORK/own look {disk}" \
		--exits "$exits" --disk "$WORK/same" --model bits --max-findings 1
	has_kind look writes
	if [ -x "$ASSAY_BUILD/vg/assaysym-amd64-linux" ]; then
		walks symbolic "checker:$WORK/own status {disk}" --exits "$exits" \
			--disk "$WORK/same" --symbolic --range 7+1 --max-findings 1
	else
		tap_skip "symbolic" "the Valgrind tool was not built"
	fi
	id=$(basename "$(ls -d "$WORK/look/findings"/*)")
	(cd / && "$program" replay -o "$WORK/look" "$id") >"$WORK/out" 2>&1
	tap_like "a command of a finding needs trust" "$WORK/out" "trust"
else
	tap_skip "checkers of the user's" "there is no compiler"
fi
printf '#!/bin/sh\nhead -c 2048 "$1" >/dev/null\nexit 77\n' >"$WORK/odd"
chmod +x "$WORK/odd"
walks script "checker:$WORK/odd {disk}" --exits "0=clean 1=repaired" --type lab --model bits \
	--max-findings 1

# ---- Several checkers ----------------------------------------------------------------------------

if command -v e2fsck >/dev/null && command -v fsck.minix >/dev/null; then
	walks compare --compare lab,ext2,minix3 --max-findings 2
	has_kind compare odd
	walks minix fsck.minix --model bits --max-findings 2
	walks e2fsck e2fsck --model bits --max-findings 2
else
	tap_skip "several checkers" "there is no e2fsck or fsck.minix"
fi

# ---- The kernel ----------------------------------------------------------------------------------

"$ASSAY" doctor --json >"$WORK/doctor" 2>&1 || true
if grep -q 'address sanitizer' "$WORK/doctor" || ! command -v linux >/dev/null ||
	! command -v mke2fs >/dev/null || [ ! -x "$WORK/own" ]; then
	tap_skip "a finding of the kernel" "no guest can be started"
else
	printf '#!/bin/sh\ncat "$1" >/dev/null\n' >"$WORK/blind"
	chmod +x "$WORK/blind"
	walks kernel "checker:$WORK/blind {disk}" --type ext2 --size 2M --kernel --max-findings 1
	has_kind kernel kernel
fi

# ---- Another user --------------------------------------------------------------------------------

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && command -v fsck.minix >/dev/null; then
	nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	cp -r "$WORK/bits/findings" "$WORK/public"
	chmod -R a+rX "$WORK" "$WORK/public"
	tap_run "a script that nobody runs" 0 "${nobody[@]}" env "PATH=$PATH" TMPDIR=/tmp sh \
		"$(ls "$WORK"/public/*/repro.sh | head -n 1)"
else
	tap_skip "a script that nobody runs" "not root"
fi
id=$(basename "$(ls -d "$WORK"/bits/findings/* | head -n 1)")
tap_run "a reduction has nothing to do, and reproduces it" 1 "$ASSAY" reduce -o "$WORK/bits" "$id"
tap_like "it says why" "$WORK/out" 'made as small as possible when it was found'
mkdir "$WORK/empty"
tap_run "a script without the checker says so" 2 env "PATH=$WORK/empty:/usr/bin:/bin" sh \
	"$(ls "$WORK"/bits/findings/*/repro.sh | head -n 1)"
tap_done
