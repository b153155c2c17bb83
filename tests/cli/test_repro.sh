#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The repro.c of a library's finding: compiled by plain cc in an empty folder, with the sources of
# the file system and nothing of assay but its headers, it shows the finding; without the bug it
# does not.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

ROOT=$PWD
ASSAY=$(realpath "$ASSAY")
BUILD=$(realpath "$(dirname "$ASSAY")")
mkdir "$WORK/empty" "$WORK/labfs" "$WORK/flashfs"

if ! command -v cc >/dev/null; then
	tap_skip "programs of findings" "there is no cc"
	tap_done
fi

# The objects of both, made once: each program would compile all of it again.
for source in "$ROOT"/labfs/*.c "$ROOT"/examples/flashfs/*.c; do
	case $source in *_main.c) continue ;; esac
	folder=$WORK/$(basename "$(dirname "$source")")
	cc -D_GNU_SOURCE -I"$ROOT/include" -c "$source" -o "$folder/$(basename "$source").o"
done

# reproduces NAME SOURCES COMMAND...: the finding of the command, as a program. The target of the
# command has the word bug=N.
reproduces() {
	local name=$1 link=$2 status=0 folder
	shift 2
	rm -rf "$WORK/found"
	"$ASSAY" "$@" -o "$WORK/found" >"$WORK/out" 2>"$WORK/err" || status=$?
	tap_is "$name: found" "$status" 1
	# One that was found after a power cut, if there are several.
	folder=$(find "$WORK/found/findings" -mindepth 1 -maxdepth 1 | sort | head -n 1)
	cp "$folder/repro.c" "$WORK/empty/repro.c"
	# shellcheck disable=SC2086 # several sources
	(cd "$WORK/empty" && cc -Wall -Wextra -Werror -I"$ROOT/include" repro.c $link -o repro) \
		>"$WORK/out" 2>&1 || tap_not_ok "$name: it compiles" "$(cat "$WORK/out")"
	tap_run "$name: the program shows it" 0 "$WORK/empty/repro"
	tap_like "$name: it says so" "$WORK/out" '^REPRODUCED$'
	grep -q '"bug=' "$WORK/empty/repro.c" || return
	sed -i 's/"bug=[0-9]*/"bug=0/' "$WORK/empty/repro.c"
	# shellcheck disable=SC2086
	(cd "$WORK/empty" && cc -I"$ROOT/include" repro.c $link -o repro) >/dev/null 2>&1
	tap_run "$name: not without the bug" 1 "$WORK/empty/repro"
	tap_like "$name: it says that, too" "$WORK/out" '^NOT REPRODUCED$'
}

lab() { # BUG CASE OPTIONS...
	local bug=$1 case=$2
	shift 2
	reproduces "lab $bug" "$WORK/labfs/*.o" run --target "lab:bug=$bug" "$@" \
		"$ROOT/labfs/cases/$case"
}

lab 1 01-rename-over.txt      # a wrong answer
lab 8 08-holes.txt            # wrong bytes
lab 7 07-link-count.txt       # wrong attributes
lab 20 20-unmount-leak.txt    # memory
# With a sanitizer in labfs, its death is an exit; the program has none.
[ -n "${SAN:-}" ] || lab 21 21-no-memory-open.txt --sweep alloc
lab 22 22-unreadable-directory.txt --sweep read
# An answer that speaks of room; many calls of which only the last one is wrong.
lab 136 136-directory-grows.txt
tap_is "calls that only count are a loop" "$(grep -c 'mkdir(fs' "$WORK/empty/repro.c")" 3
tap_like "the loop" "$WORK/empty/repro.c" 'mkdir\(fs, as_solo_name\("/a/e", i\), 0755\), 0\);'
tap_is "one call of it is wrong" "$(grep -c 'WRONG.*mkdir' "$WORK/empty/repro.c")" 1
tap_like "what is free" "$WORK/empty/repro.c" \
	'free: [0-9]+ of [0-9]+ blocks, [0-9]+ of [0-9]+ inodes'

flash() { # BUG COMMAND CASE OPTIONS OF THE FLASH
	local bug=$1 command=$2 case=$3
	reproduces "flashfs $bug" "$WORK/flashfs/*.o" "$command" \
		--target "plugin:$BUILD/plugins/flashfs.so:bug=$bug${4:+,$4}" \
		"$ROOT/examples/flashfs/cases/$case" ${5:+--view 1}
}

flash 2 run churn.txt                         # a program of what is not erased
flash 3 run pages.txt flash.rot=5000+9000     # bytes that rot
flash 5 run churn.txt flash.spread=14         # wear
flash 6 crash small.txt "" view               # a tree that cannot be read
flash 9 crash small.txt flash.tear=off view   # a rename in two parts
flash 15 crash small.txt flash.tear=off view  # half a file
# What a power cut abandons is no leak of the program's: the exit status is the finding's.
sed -i 's/"bug=0/"bug=15/' "$WORK/empty/repro.c"
if cc -fsanitize=address -g -Iinclude "$WORK/empty/repro.c" examples/flashfs/*.c \
	-o "$WORK/checked" 2>"$WORK/err"; then
	tap_run "with a sanitizer" 0 "$WORK/checked"
	tap_like "with a sanitizer: it says so" "$WORK/out" '^REPRODUCED$'
else
	tap_skip "with a sanitizer" "the compiler has no -fsanitize=address"
fi

# A process that dies, hangs or leaves.
broken() { # NAME STATEMENT PATTERN
	sed "s/^static int fs_rmdir(.*/&/; /^static int fs_rmdir(/,/^{/ s/^{/{ $2;/" \
		examples/plugin_skeleton/skeleton.c >"$WORK/broken.c"
	sed -i 's/^#include <string.h>/#include <stdlib.h>\n&\n#include <unistd.h>/' \
		"$WORK/broken.c"
	cc -fPIC -shared -Iinclude "$WORK/broken.c" -o "$WORK/broken.so"
	printf 'mkdir /a 0755\nrmdir /a\n' >"$WORK/rmdir.txt"
	reproduces "$1" "$WORK/broken.c" run --deadline 1 --target "plugin:$WORK/broken.so" \
		"$WORK/rmdir.txt"
	tap_like "$1: the program says what happens" "$WORK/out" "$3"
}
broken signal 'abort()' 'Abort'
broken hang 'for (;;) sleep(1)' 'does not come back'
broken exit 'exit(3)' 'called exit'

# ---- A workload that copies much: its bytes would be the program ----

cat >"$WORK/much.txt" <<'END'
$0 = open /from O_RDWR|O_CREAT 0644
$1 = open /to O_RDWR|O_CREAT 0644
pwrite $0 len=1500000 at=0 fill=1
copy_file_range $0 $1 len=1500000 at=0 to=7
pwrite $0 len=10 at=5 fill=2
copy_file_range $0 $1 len=1500000 at=0 to=9
$2 = open /from O_WRONLY|O_APPEND
pwrite $0 len=1 at=1600000 fill=1
write $2 len=1 fill=1
fstat $0
END
"$ASSAY" run --target lab:bug=2 "$WORK/much.txt" -o "$WORK/much" >/dev/null 2>&1
folder=$(echo "$WORK"/much/findings/*)
tap_is "a program of many bytes is not written" "$(($(stat -c %s "$folder/repro.c") < 2000000))" 1
tap_is "the one with system calls is there" "$(grep -c 'assay/solo.h' "$folder/repro.c")" 0
"$ASSAY" reduce "$folder" >/dev/null 2>&1
tap_is "the reduced workload has one" "$(grep -c 'assay/solo.h' "$folder/repro.c")" 1
tap_done
