#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Promises of a contract that only a file system with times, blocks and a checker can make:
# AS_PROMISE_FSYNC_TIMES, AS_PROMISE_FSYNC_BLOCKS and AS_PROMISE_MAKES_FOUND. labfs makes them here;
# two of its bugs, and two checkers, break them. Who does not promise is not held to it.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

LABFS=$(realpath "$(dirname "$ASSAY")/plugins/labfs.so")

says() { # NAME PROMISES [FOUND]
	${CC:-cc} -fPIC -shared -Iinclude "-DLABFS=\"$LABFS\"" "-DPROMISES=$2" ${3:+"-DFOUND=$3"} \
		tests/target/plugins/says.c -o "$WORK/$1.so" || tap_not_ok "building $1"
}

cut() { # STATUS NAME[:BUG] FILE [WORDS]
	tap_run "$2, $3: status $1" "$1" "$ASSAY" crash --no-store --view 1 \
		--target "plugin:$WORK/${2/:/.so:}" "$WORK/$3.txt"
	tap_like "$2, $3: states were looked at" "$WORK/out" '[1-9][0-9]* crash states'
	[ -z "$4" ] || tap_like "$2, $3: the words" "$WORK/out" "$4"
}

cat >"$WORK/times.txt" <<'END'
create /a 0644
sync
$0 = open /a O_RDWR
utimens /a atime=1000000000.5 mtime=1000000001.25
fsync $0
mkdir /d 0755
END
cat >"$WORK/blocks.txt" <<'END'
create /a 0644
sync
$0 = open /a O_RDWR
fallocate $0 KEEP_SIZE at=0 len=40000
fsync $0
mkdir /d 0755
END
says times AS_PROMISE_FSYNC_TIMES
says blocks AS_PROMISE_FSYNC_BLOCKS
says neither 0
cut 0 times: times
cut 1 times:bug=62 times 'times: after fsync of /a at op 5, /a must have atime 1000000000500000000'
cut 0 blocks:bug=62 times
cut 0 neither:bug=62 times
cut 0 blocks: blocks
cut 1 blocks:bug=63 blocks 'blocks: after fsync of /a at op 5, /a must have 82 blocks; .* has 0'
cut 0 neither:bug=63 blocks

# The checker makes /lost+found again, or it is interrupted before, and then a mount finds none. It
# may neither lose one that was synced, nor make anything else.
printf 'create /a 0644\nrmdir /lost+found\nsync\ncreate /b 0644\n' >"$WORK/found.txt"
printf 'create /a 0644\nsync\n' >"$WORK/kept.txt"
says found AS_PROMISE_MAKES_FOUND 1
says silent 0 1
says loses AS_PROMISE_MAKES_FOUND 2
says more AS_PROMISE_MAKES_FOUND 3
cut 0 found: found
cut 0 found: kept
cut 1 silent: found 'mount and full do not agree: /lost.found: only full'
cut 1 loses: kept 'power cut during recovery .full, then mount.: /lost.found: only undisturbed'
cut 1 more: found '/found is in the recovered tree; no operation ever made it'

tap_run "promises are shown" 0 "$ASSAY" plugin check --no-store "$WORK/found.so"
tap_like "by name" "$WORK/out" '^promises .*makes-found'
tap_done
