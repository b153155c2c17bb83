#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# AS_CUT_OBJECT: each file and directory is as it was at some moment of its own. The skeleton writes
# in place, so that a later file may be there without an earlier one: that breaks AS_CUT_PREFIX and
# keeps AS_CUT_OBJECT. What was synced counts for both.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

# build NAME CUT SED: the skeleton with this promise, and a change.
build() {
	sed "s/^const struct as_target_ops as_target = {/static const struct as_contract said = \
{ .after_cut = $2, .promises = AS_PROMISE_FSYNC_NAMES };\n&\n\t.contract = \&said,/; $3" \
		examples/plugin_skeleton/skeleton.c >"$WORK/$1.c"
	cc -fPIC -shared -Iinclude "$WORK/$1.c" -o "$WORK/$1.so" ||
		tap_not_ok "$1 compiles"
}

cut() { # NAME STATUS WORKLOAD WHAT
	tap_run "$4" "$2" "$ASSAY" crash --no-store --view 3 --target "plugin:$WORK/$1.so" "$3"
}

printf '%s\n' 'mkdir /d 0755' sync 'mkdir /e 0755' sync 'create /d/a 0644' 'create /e/b 0644' \
	>"$WORK/two.txt"
printf 'create /a 0644\nsync\ncreate /b 0644\n' >"$WORK/synced.txt"
build prefix AS_CUT_PREFIX ''
build object AS_CUT_OBJECT ''
build unsynced AS_CUT_OBJECT 's/as_bd_flush(fs->bd)/0/'

cut prefix 1 "$WORK/two.txt" "prefix: the second file without the first"
tap_like "it is said" "$WORK/out" 'recovered by mount: '
cut object 0 "$WORK/two.txt" "object: each file by itself"
tap_like "states were looked at" "$WORK/out" '[1-9][0-9]* crash states'
cut object 0 "$WORK/synced.txt" "object: what was synced is there"
cut unsynced 1 "$WORK/synced.txt" "object: what was synced, and is not there"
tap_like "it is said, too" "$WORK/out" 'after sync at op 2'
tap_run "its promise is named" 1 "$ASSAY" plugin check --no-store "$WORK/unsynced.so"
tap_like "as object" "$WORK/out" '^after cuts object'

tap_done
