#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay check` of plugins made from the skeleton: three with a mistake that its answers do not
# show, and two that were built with a sanitizer, whose report is the finding.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

SKELETON=examples/plugin_skeleton/skeleton.c

# plugin NAME SED CFLAG...: the skeleton, changed.
plugin() {
	local name=$1 change=$2
	shift 2
	sed -E "$change" "$SKELETON" >"$WORK/$name.c"
	if cmp -s "$WORK/$name.c" "$SKELETON" && [ -n "$change" ]; then
		tap_not_ok "building $name" "the skeleton has no such line"
	fi
	gcc -g -fPIC -shared -Iinclude "$@" "$WORK/$name.c" -o "$WORK/$name.so" ||
		tap_not_ok "building $name"
}

check() { # NAME STATUS OPTION...
	local name=$1 status=$2
	shift 2
	tap_run "$name" "$status" timeout 600 "$ASSAY" check --target "plugin:$WORK/$name.so" \
		--size 256K --no-crash --nodes 1 -o "$WORK/$name.out" "$@"
}

finds() { # NAME WORDS OPTION...
	local name=$1 words=$2 id
	shift 2
	check "$name" 1 "$@"
	cp "$WORK/out" "$WORK/$name.said"
	tap_like "$name: what is found" "$WORK/out" "$words"
	tap_is "$name: is confirmed" "$(grep -c 'not confirmed' "$WORK/out")" 0
	id=$(ls "$WORK/$name.out/findings" | head -n 1)
	tap_run "$name: replay" 1 "$ASSAY" replay --trust -o "$WORK/$name.out" "$id"
	tap_like "$name: comes back" "$WORK/out" ': reproduced$'
}

# ---- What a plugin tells of itself ----

plugin sound ''
check sound 0 --depth 3 --faults alloc
tap_like "sound: all is explored" "$WORK/out" '^all [0-9]+ states'
# What was explored of one library says nothing of another one.
gcc -g -O1 -fPIC -shared -Iinclude "$WORK/sound.c" -o "$WORK/sound.so"
check sound 2 --depth 3 --faults alloc --resume
# shellcheck disable=SC2016 # the marks are those of the message
tap_like "sound: another build of it" "$WORK/err" 'other settings: `library [0-9a-f]{16}`, and not'
plugin nomem '
	s/if \(!handle\)/if (!handle \&\& !p.there \&\& make(fs, \&p, S_IFREG | mode))/;
	s/^	if \(!p\.there\)$/	if (!handle) return -ENOMEM;\n&/'
finds nomem '(outcome|tree|checker)-' --depth 2 --faults alloc
plugin pair 's/^	as_pair\(.*"open file", -1\);/	if (!removed)\n&/'
finds pair "'open file' taken 1 time more than given back" --ops open,unlink,close,umount --depth 4
# Found with another answer first, since the unmount comes sooner then; but it takes none.
plugin answered 's/"open file", 1\)/"open file", 1 + !!(flags \& O_TRUNC))/'
finds answered "'open file' taken 1 time more than given back" --ops create,open --depth 2 \
	--faults choice
tap_is "answered: no answer is told" "$(grep -c 'with these answers' "$WORK/answered.said")" 0
# A call outside the disk is that of one operation, and not of all that the process does later.
beyond='(void)as_bd_read(fs->bd, fs->bd->size_bytes, \&subdirs, 512);'
plugin outside '
	/^static int fs_rmdir\(/,/^}/s/^	int rc = .*/&\n\n	if (!rc) '"$beyond"'/'
finds outside 'outside the disk' --ops mkdir,rmdir,create,unlink --depth 3
tap_like "outside: the others go on" "$WORK/outside.said" '^states expanded +[3-9]'
tap_is "outside: no state is lost" "$(grep -c 'could not be brought back' "$WORK/outside.said")" 0
plugin swallow '/^static int write_data\(/,/^}/s/rc = (as_bd_write\()/(void)\1/'
finds swallow 'answered success, although the write' --ops open,pwrite --depth 2 --faults write

table='as_lock(fs->host, "table", 0);' names='as_lock(fs->host, "names", 0);'
plugin locks '
	s/^	as_lock\(fs->host, "names", 0\);/&\n	'"$table"'/
	s/^	as_unlock\(fs->host, "names", 0\);/	'"${table/lock/unlock}"'\n&/
	/^static int fs_unlink\(/,/^}/{
		s/^	int rc = .*/&\n\n	'"$table\\n	$names"'/
		s/^	return rc/	'"${names/lock/unlock}\\n	${table/lock/unlock}"'\n&/
	}'
finds locks "op 3: unlink .*: locks 'names' while it holds 'table'" --depth 3 \
	--ops create,rename,unlink

# ---- Hostile ones: each costs its transition, and the rest is explored ----

in_rmdir() { # CODE: what fs_rmdir does
	printf '%s' "1i #include <signal.h>\\n#include <stdio.h>\\n#include <stdlib.h>
		1i #include <unistd.h>
		/^static int fs_rmdir\\(/,/^}/s/^	bool empty = true;/&\\n\\n	$1/"
}

hostile() { # NAME WORDS CODE
	plugin "$1" "$(in_rmdir "$3")"
	check "$1" 1 --depth 2 --ops mkdir,rmdir --deadline 1
	tap_like "$1: what is found" "$WORK/out" "op 1: rmdir /a: the target $2"
	tap_like "$1: the rest is explored" "$WORK/out" '^all [0-9]+ states'
}

hostile dies 'died of SIGSEGV in fs_rmdir' '*(volatile int *)8 = 1;'
hostile exits 'called exit\(0\)' 'exit(0);'
hostile kills 'died of SIGSYS in .*fs_rmdir' 'kill(getppid(), SIGKILL);'
# These would harm nobody, either, if they came through.
hostile groups 'died of SIGSYS in .*fs_rmdir' 'kill(-getpgid(getppid()), SIGURG);'
hostile everybody 'died of SIGSYS in .*fs_rmdir' 'kill(-1, SIGURG);'
hostile stops 'did not come back' 'raise(SIGSTOP);'
plugin forks '1i #include <unistd.h>
	/^static int fs_sync\(/,/^}/s/^	return/	if (fork() < 0)\n		return -1;\n&/'
check forks 1 --depth 3 --ops mkdir,rmdir,sync
tap_like "forks: what is found" "$WORK/out" 'sync: .*left a process behind'
tap_like "forks: the rest is explored" "$WORK/out" '^all [0-9]+ states'
plugin daemon '1i #include <unistd.h>
	/^static int fs_sync\(/,/^}/{
		s/^	return/	if (!fork())\n		_exit(fork() || sleep(600));\n&/
	}'
printf 'mkdir /a 0755\nsync\n' >"$WORK/daemon.txt"
tap_run "daemon: run" 1 "$ASSAY" run --target "plugin:$WORK/daemon.so" --size 256K \
	-o "$WORK/daemon.out" "$WORK/daemon.txt"
tap_like "daemon: what is found" "$WORK/out" 'op 2: sync: left a process behind'
tap_run "daemon: hunt" 1 "$ASSAY" hunt --target "plugin:$WORK/daemon.so" --size 256K \
	-o "$WORK/daemon.out" --max-findings 1 --for 60
tap_like "daemon: is found again" "$WORK/out" 'misuse: .*left a process behind'
plugin prints "$(in_rmdir 'puts("{\\"finding\\"}");\n	fflush(stdout);')"
check prints 0 --depth 2 --ops mkdir,rmdir --json
tap_is "prints: nothing gets into what assay prints" "$(grep -c '"finding"}' "$WORK/out")" 0

# ---- No file system to begin with: the same for a check and for a hunt ----

unfit() { # NAME STATUS FUNCTION CODE WORDS
	local name=$1 status=$2
	plugin "$name" "1i #include <stdlib.h>
		/^static int $3\\(/,/^}/s/^\{/{\\n	$4/"
	check "$name" "$status" --depth 2 --deadline 1
	cat "$WORK/out" "$WORK/err" >"$WORK/$name.said"
	tap_like "$name: what is said" "$WORK/$name.said" "$5"
	tap_is "$name: nothing is explored" "$(grep -c '^all ' "$WORK/$name.said")" 0
	tap_run "$name: hunt" "$status" timeout 600 "$ASSAY" hunt --target "plugin:$WORK/$name.so" \
		--size 256K --no-reduce -o "$WORK/$name.hunt" --for 60
	cat "$WORK/out" "$WORK/err" >"$WORK/$name.said"
	tap_like "$name: the hunt says the same" "$WORK/$name.said" "$5"
}

unfit mkfs_dies 1 fs_mkfs 'abort();' 'mkfs: the target died of SIGABRT in fs_mkfs'
unfit mount_exits 1 fs_mount 'exit(3);' 'mount of a fresh disk: the target called exit\(3\)'
id=$(ls "$WORK/mount_exits.out/findings")
tap_run "mount_exits: replay" 1 "$ASSAY" replay --trust -o "$WORK/mount_exits.out" "$id"
tap_like "mount_exits: comes back" "$WORK/out" ': reproduced$'
tap_run "mount_exits: explain" 0 "$ASSAY" explain -o "$WORK/mount_exits.out" "$id"
tap_like "mount_exits: its story" "$WORK/out" 'and nothing else was done'
unfit mount_refuses 1 fs_mount 'return -EIO;' 'a fresh disk cannot be mounted: EIO'
# It may be the options that it refuses.
tap_run "mount_refuses: with options" 2 "$ASSAY" check --depth 1 --no-store \
	--target "plugin:$WORK/mount_refuses.so:some" --size 256K
unfit mkfs_refuses 2 fs_mkfs 'return -EIO;' 'mkfs failed: EIO'
plugin mount_loops '/^static int fs_mount\(/,/^}/s/^\{/{\n	for (;;) ;/'
check mount_loops 1 --depth 2 --deadline 1
tap_like "mount_loops: what is found" "$WORK/out" 'mount of a fresh disk: the target did not come'

# ---- Sanitizers ----

if [ ! -e "$(gcc -print-file-name=libasan.so)" ]; then
	tap_ok "sanitizers # SKIP gcc has no libasan.so"
	tap_done
	exit
fi
# What was built with a sanitizer cannot be loaded into it, or twice.
if nm -D "$ASSAY" 2>/dev/null | grep -q __asan_init; then
	tap_ok "sanitizers # SKIP assay itself was built with one"
	tap_done
	exit
fi
plugin clean '' -fsanitize=address,undefined
check clean 0 --depth 2
tap_like "clean: all is explored" "$WORK/out" '^all [0-9]+ states'
plugin over '1i #include <stdlib.h>
	/^static int fs_rmdir\(/,/^}/{
		s/^	bool empty = true;/&\n	char *own = malloc(strlen(path));\n	copy;/
		s/	copy;/	memcpy(own, path, strlen(path) + 1);\n	free(own);/
	}' \
	-fsanitize=address
finds over 'died of heap-buffer-overflow in fs_rmdir' --depth 2 --ops mkdir,rmdir,create
tap_like "over: its stacks are told" "$WORK/over.out/findings/$(ls "$WORK/over.out/findings" |
	head -n 1)/README.md" '#1 0x[0-9a-f]+ in fs_rmdir'
check over 1 --depth 2 --ops mkdir,rmdir,create
tap_like "over: the rest is explored" "$WORK/out" '^all [0-9]+ states'
plugin after '1i #include <stdlib.h>
	/^static int fs_rmdir\(/,/^}/{
		s/^	bool empty = true;/&\n	char *own = malloc(8);\n	use;/
		s/	use;/	free(own);\n	own[1] = 1;/
	}' \
	-fsanitize=address
finds after 'died of heap-use-after-free in fs_rmdir' --depth 2 --ops mkdir,rmdir,create

# The environment of programs that assay starts is as it was.
tap_is "nobody else gets the library" "$(grep -c libasan "$WORK/err")" 0
tap_done
