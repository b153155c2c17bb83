#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# assay fsck and the kernel's own word: a checker that is content with what the file system refuses
# is found, by labfs itself and by a kernel in a sandbox; the generic disk of a type that only a
# kernel can fill has the tree.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
PATH=$(realpath "$ASSAY_BUILD"):$PATH:/usr/sbin:/sbin

has_kind() { # FOLDER KIND
	grep -qs "\"options\":\"fsck=$2 " "$1"/findings/*/finding.json
}

# ---- A library -----------------------------------------------------------------------------------

tap_run "bug 104 is found" 1 "$ASSAY" fsck labfs-fsck:bug=104 --max-findings 1 -o "$WORK/104"
if has_kind "$WORK/104" kernel; then
	tap_ok "it shows as 'kernel'"
else
	tap_not_ok "it shows as 'kernel'" "$(cat "$WORK/out")"
fi
id=$(basename "$(ls -d "$WORK/104/findings"/* | head -n 1)")
tap_like "the page says what the file system did" "$WORK/104/findings/$id/README.md" \
	'the mount answers EUCLEAN'
tap_run "its script shows the same exit statuses" 0 sh "$WORK/104/findings/$id/repro.sh"
tap_run "assay replay reproduces it" 1 "$ASSAY" replay -o "$WORK/104" "$id"
tap_run "labfs-fsck without it passes" 0 "$ASSAY" fsck labfs-fsck --lots 40 --no-store

# ---- A kernel ------------------------------------------------------------------------------------

"$ASSAY" doctor --json >"$WORK/doctor" 2>&1 || true
if grep -q 'address sanitizer' "$WORK/doctor"; then
	tap_skip "the kernel's word" "an assay with the address sanitizer does not start a guest"
	tap_done
	exit
fi
if ! command -v linux >/dev/null || ! command -v mke2fs >/dev/null; then
	tap_skip "the kernel's word" "there is no User-Mode Linux kernel, or no mke2fs"
	tap_done
	exit
fi

# A checker that looks at its disk and likes everything.
cat >"$WORK/blind.c" <<'END'
#include <fcntl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char block[4096];
	int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;

	while (fd >= 0 && read(fd, block, sizeof(block)) > 0)
		;
	return 0;
}
END
if ! cc -o "$WORK/blind" "$WORK/blind.c" 2>"$WORK/err"; then
	tap_skip "a checker that likes everything" "there is no compiler"
	tap_done
	exit
fi
tap_run "a checker that likes everything: ext2 does not" 1 "$ASSAY" fsck \
	"checker:$WORK/blind {disk}" --type ext2 --size 2M --kernel --max-findings 3 \
	-o "$WORK/blind.out"
if has_kind "$WORK/blind.out" kernel; then
	tap_ok "it shows as 'kernel'"
else
	tap_not_ok "it shows as 'kernel'" "$(cat "$WORK/out")"
fi
one=$(grep -l '"options":"fsck=kernel ' "$WORK/blind.out"/findings/*/finding.json | head -n 1)
tap_like "the page has the kernel's log" "$(dirname "$one")/README.md" \
	'What the kernel says when it mounts'
tap_like "the script can mount it" "$(dirname "$one")/repro.sh" 'mount -t ext2 -o loop'
tap_run "assay replay asks the kernel again" 1 "$ASSAY" replay --trust -o "$WORK/blind.out" \
	"$(basename "$(dirname "$one")")"
tap_run "--kernel needs a type that a kernel knows" 2 "$ASSAY" fsck "checker:$WORK/blind {disk}" \
	--disk "$WORK/blind.c" --kernel

# ---- The generic disk ----------------------------------------------------------------------------

# The fields of /f and of /d/slink are found only if they are there.
for type in reiserfs jfs f2fs xfs; do
	if ! command -v "mkfs.$type" >/dev/null; then
		tap_skip "the generic disk of $type" "there is no mkfs.$type"
		continue
	fi
	tap_run "the generic disk of $type is made" 0 "$ASSAY" fsck --table 10 \
		--compare "ext4,$type"
	tap_like "$type has the links and files of ext4" "$WORK/out" \
		'^inode.i_link_text +[a-z_.]+ +text of a symbolic link'
done
tap_done
