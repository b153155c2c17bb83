#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Plugins made from the skeleton, each with one mistake that its answers do not show: what it tells
# of itself does. The skeleton as it is passes, whatever it is answered, and so does one that was
# built for the first version of the interface.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

SKELETON=examples/plugin_skeleton/skeleton.c
cat >"$WORK/w.txt" <<'END'
mkdir /a 0755
create /a/f 0644
create /a/g 0600
rename /a/f /a/g
$0 = open /a/g O_RDWR
pwrite $0 len=600 at=700 fill=1
unlink /a/g
close $0
END

# plugin NAME SED: the skeleton, changed; a change that changes nothing is a mistake of this test.
plugin() {
	sed -E "$2" "$SKELETON" >"$WORK/$1.c"
	if cmp -s "$WORK/$1.c" "$SKELETON" && [ -n "$2" ]; then
		tap_not_ok "building $1" "the skeleton has no such line"
	fi
	${CC:-cc} -fPIC -shared -Iinclude "$WORK/$1.c" -o "$WORK/$1.so" ||
		tap_not_ok "building $1"
}

passes() { # NAME OPTION...
	local name=$1
	shift
	tap_run "$name passes with $*" 0 "$ASSAY" run --no-store --size 256K \
		--target "plugin:$WORK/$name.so" "$@" "$WORK/w.txt"
}

finds() { # NAME KIND WORDS OPTION...
	local name=$1 kind=$2 words=$3 id
	shift 3
	"$ASSAY" run -o "$WORK/$name.out" --size 256K --target "plugin:$WORK/$name.so" "$@" \
		"$WORK/w.txt" >"$WORK/out" 2>&1
	id=$(grep -Eo "skeleton-$kind-[0-9a-f]*" "$WORK/out" | head -n 1)
	if [ -z "$id" ] || ! grep -q -e "$words" "$WORK/out"; then
		tap_not_ok "$name is found" "$(head -n 5 "$WORK/out")"
		return
	fi
	tap_ok "$name is found"
	tap_run "$name replays" 1 "$ASSAY" replay -o "$WORK/$name.out" "$id"
}

plugin sound ''
passes sound --choices seed:1
passes sound --sweep alloc
passes sound --sweep read
passes sound --sweep write

# The file is made before there is memory for the handle, and stays when there is none.
plugin nomem '
	s/if \(!handle\)/if (!handle \&\& !p.there \&\& make(fs, \&p, S_IFREG | mode))/;
	s/^	if \(!p\.there\)$/	if (!handle) return -ENOMEM;\n&/'
finds nomem '(outcome|tree)' 'alloc:' --sweep alloc

plugin pair 's/^	as_pair\(.*"open file", -1\);/	if (!removed)\n&/'
finds pair pair "'open file' taken 1 time more than given back"

plugin lock '/as_unlock/s/as_unlock/if (!to.there) as_unlock/'
finds lock lock "ends with 'names' locked"

plugin invariant 's/if \(h->number >= fs->count\)/if (h->removed)/'
finds invariant invariant "'open files' is broken"

# The write of the data fails, the size grows, and write answers as if nothing had happened.
plugin swallow '/^static int write_data\(/,/^}/s/rc = (as_bd_write\()/(void)\1/'
finds swallow silent 'write answered success, although the write' --sweep write

plugin unforgiven 's/^		as_forgive\(fs->host\);/		(void)0;/'
finds unforgiven silent 'close answered success' --sweep write

# Before version 2 nothing could be declared, so nothing is asked.
plugin old '
	s/\.api = AS_TARGET_API/.api = 1/;
	s/^		as_forgive\(fs->host\);/		(void)0;/'
passes old --check op
passes old --sweep write
tap_done
