#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# examples/ext2lib: libext2fs as a plugin. It passes, by its promises; a sync that does not flush,
# and a rename that forgets the link count of a directory, are found. What libext2fs itself does is
# shown without assay.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

ROOT=$PWD
PLUGIN=$(dirname "$ASSAY")/plugins/ext2lib.so
DIR=examples/ext2lib

if [ ! -f "$PLUGIN" ] || [ ! -x /sbin/e2fsck ]; then
	tap_skip "libext2fs as a plugin" "libext2fs-dev or e2fsprogs is missing"
	tap_done
fi

tap_run "it passes, with power cuts" 0 "$ASSAY" plugin check --no-store "$PLUGIN"
tap_like "it promises a repair" "$WORK/out" '^after cuts repair'
tap_like "and was recovered" "$WORK/out" '^smoke .*crash: .* 0 findings'
tap_run "a short hunt on each line of its matrix" 0 "$ASSAY" hunt --target "plugin:$PLUGIN" \
	--seed 4 --max-workloads 260 --jobs 1 --opts-matrix "$DIR/matrix" -o "$WORK/hunt"
tap_like "extents were hunted on" "$WORK/out" 'workloads on plugin:.*:extents$'

# build NAME SED: the plugin with a change.
build() {
	mkdir -p "$WORK/$1"
	cp "$DIR"/*.[ch] "$WORK/$1"
	sed -i "$2" "$WORK/$1"/*.c
	# shellcheck disable=SC2046 # words
	cc -fPIC -shared -Iinclude "$WORK/$1"/*.c -o "$WORK/$1.so" \
		$(pkg-config --cflags --libs ext2fs com_err) 2>"$WORK/err" ||
		tap_not_ok "$1 compiles" "$(cat "$WORK/err")"
}

build unsynced 's/return fs->readonly ? 0 : e2_errno(ext2fs_flush(fs->ext2));/return 0;/'
printf 'create /a 0644\nsync\ncreate /b 0644\n' >"$WORK/sync.txt"
tap_run "a sync that does nothing" 1 "$ASSAY" crash --no-store \
	--target "plugin:$WORK/unsynced.so" "$WORK/sync.txt"
tap_run "and one that does" 0 "$ASSAY" crash --no-store --target "plugin:$PLUGIN" "$WORK/sync.txt"

# e2fsck makes /lost+found again. If it is interrupted, what it had made may be without a name.
printf 'prune /\nsync\n' >"$WORK/found.txt"
build silent 's/ | AS_PROMISE_MAKES_FOUND//'
tap_run "a checker that makes lost+found, and does not say so" 1 "$ASSAY" crash --no-store \
	--target "plugin:$WORK/silent.so" "$WORK/found.txt"
tap_run "and one that does" 0 "$ASSAY" crash --no-store --target "plugin:$PLUGIN" "$WORK/found.txt"

# A read that fails leaves a directory half made. The mkdir says so, and e2fsck is for that.
printf '%s\n' 'mkdir /a 0755' umount mount 'mkdir /a/b 0755' >"$WORK/half.txt"
tap_run "a mkdir that a failed read stops" 0 "$ASSAY" run --no-store --sweep read \
	--target "plugin:$PLUGIN" "$WORK/half.txt"

build moved 's/rc = change_links(fs, from, -1);/rc = 0;/'
printf '%s\n' 'mkdir /a 0755' 'mkdir /b 0755' 'mkdir /a/c 0755' 'rename /a/c /b/c' 'stat /a' \
	>"$WORK/move.txt"
tap_run "a wrong link count" 1 "$ASSAY" run --no-store --target "plugin:$WORK/moved.so" \
	"$WORK/move.txt"
tap_run "and the right one" 0 "$ASSAY" run --no-store --target "plugin:$PLUGIN" "$WORK/move.txt"

# shellcheck disable=SC2046
if cc "$DIR/show/close.c" -o "$WORK/close" $(pkg-config --cflags --libs ext2fs com_err); then
	truncate -s 4M "$WORK/disk"
	mke2fs -q -t ext2 "$WORK/disk"
	tap_run "ext2fs_close() does not flush data" 0 "$WORK/close" "$WORK/disk"
fi
cd "$ROOT" || exit 1
tap_done
