#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# assay fsck --symbolic with checkers, disks and machines that are not as expected: what can be
# explored is, and what cannot is said, in words, with exit status 2 or 3.
cd "$(dirname "$0")/../.." || exit 1
. tests/sym/look.sh

# An instruction that the processor knows and Valgrind 3.19 does not.
unknown=
grep -qw avx512f /proc/cpuinfo && unknown='vpxord %%zmm0, %%zmm0, %%zmm0'
[ -z "$unknown" ] && grep -qw sha_ni /proc/cpuinfo && unknown='sha256msg1 %%xmm0, %%xmm1'

# compile NAME FLAG...
compile() {
	local out=$1
	shift
	cc -O1 -gdwarf-4 "$@" ${unknown:+-DUNKNOWN="\"$unknown\""} -o "$WORK/$out" \
		tests/sym/bad_checker.c -lpthread
}
tap_run "the checker compiles" 0 compile bad
head -c 65536 /dev/zero >"$WORK/disk"

# explore PROGRAM WHAT ARG...
explore() {
	local program=$1 what=$2
	shift 2
	"$ASSAY" fsck "checker:$WORK/$program $what {disk}" --disk "$WORK/disk" --symbolic \
		--no-store "$@"
}
explore bad pread --range 100+4 --lots 1 >"$WORK/look" 2>&1
if [ $? = 3 ]; then
	tap_skip "assay fsck --symbolic" "$(tail -n 1 "$WORK/look")"
	tap_done
	exit
fi

# ---- What can be explored ------------------------------------------------------------------------

# whole NAME PROGRAM WHAT: its five paths are found: a byte more is right in each of them.
whole() {
	tap_run "$1: explored" 0 explore "$2" "$3" --range 100+4 --for 120s
	tap_like "$1: its five paths" "$WORK/out" '^1 places; 5 paths'
	tap_like "$1: as predicted" "$WORK/out" '^100.0 % of 4 solved disks'
}
while IFS='|' read -r name what words; do
	whole "$name" bad "$what"
	if [ -n "$words" ]; then
		tap_like "$name: said" "$WORK/out" "$words"
	fi
done <<-'END'
	pread|pread|
	readv|readv|
	preadv|preadv|
	a shared mapping|shared|
	a private mapping|private|
	one that writes through a mapping|through|
	one that jumps out of functions|jumps|
	one that judges in a handler|handler|
	one that goes on after a fault|fault|
	one that forks|beside|^5 runs started processes, which were not followed
	one that starts another program|then-exec|^4 runs started another program in place
	one with threads|then-thread|^5 runs had several threads: under Valgrind, one ran at a time
	one that sets up io_uring|uring|^5 runs used aio or io_uring
END
if grep -qw avx2 /proc/cpuinfo; then
	whole "vectors of 32 bytes" bad vector
else
	tap_skip "vectors of 32 bytes" "this processor has no AVX2"
fi
if [ -n "$unknown" ]; then
	whole "an unknown instruction on some paths" bad then-unknown
	tap_like "an unknown instruction on some paths: said" "$WORK/out" \
		'^4 runs died under Valgrind'
	tap_run "an unknown instruction at the start" 2 explore bad unknown --range 100+4
	tap_like "an unknown instruction at the start: said" "$WORK/err" \
		'dies of SIGILL .*Valgrind does not know an instruction'
else
	tap_skip "an unknown instruction" "Valgrind knows all that this processor has"
fi
tap_run "a static checker compiles" 0 compile static -static
whole "a static checker" static pread
tap_run "a stripped checker" 0 strip -o "$WORK/stripped" "$WORK/bad"
whole "a stripped checker" stripped pread

# It gets its disk as a file, since it reaches it by no name that the shim knows.
tap_run "one that opens it by another name" 0 explore bad name --range 100+4 --for 120s
tap_like "one that opens it by another name: its five paths" "$WORK/out" '^1 places; 5 paths'

tap_run "one that reads past the end" 0 explore bad end --range 65532+4 --for 120s
tap_like "one that reads past the end: its five paths" "$WORK/out" '^1 places; 5 paths'

# ---- What cannot ---------------------------------------------------------------------------------

while IFS='|' read -r name what words; do
	tap_run "$name" 2 explore bad "$what" --range 100+4
	tap_like "$name: said" "$WORK/err" "$words"
done <<-'END'
	a thread that reads|thread|several threads, or has forked, where it first reads
	a process that reads|child|without reading any .* starts processes, which are not followed
	another program that reads|exec|died before it read any .* or started another program
	a checker that reads by aio|aio|uses aio or io_uring, which are not followed
	a checker that never reads these bytes|other|ends without reading any of these bytes
	a checker that reads through a pipe|pipe|ends without reading any of these bytes
END

tap_run "a checker that hangs" 2 explore bad asleep --range 100+4 --deadline 1
tap_like "a checker that hangs: said" "$WORK/err" 'did not end'
tap_run "a checker that is not there" 3 explore nobody pread --range 100+4
tap_like "a checker that is not there: said" "$WORK/err" 'nobody: no such program'
printf '#!/bin/sh\nexec %s/bad "$@"\n' "$WORK" >"$WORK/script"
chmod +x "$WORK/script"
tap_run "a script" 2 explore script pread --range 100+4
tap_like "a script: said" "$WORK/err" 'it is a script: name the program that it starts'
cp "$WORK/bad" "$WORK/raised" && chmod u+s "$WORK/raised"
tap_run "a set-user-ID checker" 2 explore raised pread --range 100+4
tap_like "a set-user-ID checker: said" "$WORK/err" 'set-user-ID .* Valgrind does not run it'

# With two processes, one of which has nothing to do. Places 2 and 4 are never read.
tap_run "two processes, one without a place" 0 explore bad pread --range 100+4 --jobs 2 --for 120s
tap_like "two processes, one without a place: explored" "$WORK/out" '^1 places; 5 paths'
tap_run "two processes, and nothing is read" 2 explore bad other --range 100+4 --jobs 2
tap_like "two processes, and nothing is read: said" "$WORK/err" 'without reading any'

# disk NAME SIZE WORDS
refused() {
	rm -f "$WORK/disk"
	truncate -s "$2" "$WORK/disk"
	tap_run "$1" 2 explore bad pread --range 100+4
	tap_like "$1: said" "$WORK/err" "$3"
}
refused "an empty disk" 0 'a disk of 0 bytes'
refused "a disk larger than memory" 8T 'larger than 512 MiB'
truncate -s 65536 "$WORK/disk"

# ---- What dies -----------------------------------------------------------------------------------

# Z3 that is hidden by another file is not there. Everything else works.
z3=$(ldconfig -p | awk '/libz3\.so\.4 / { print $NF; exit }')
hidden() {
	unshare -m sh -c 'mount --bind /dev/null "$0" && exec "$@"' "$(realpath "$z3")" "$@"
}
if [ -n "$z3" ] && hidden true 2>/dev/null; then
	tap_run "without Z3" 3 hidden "$ASSAY" fsck labfs-fsck --symbolic --no-store
	tap_like "without Z3: names the package" "$WORK/err" 'libz3'
	tap_run "without Z3, everything else works" 0 hidden "$ASSAY" fsck labfs-fsck \
		--model fields --lots 5 --no-store
else
	tap_skip "without Z3" "only root can hide it"
fi

tap_done
