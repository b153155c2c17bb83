#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The Valgrind tool alone (docs/SYMBOLIC-FORMAT.md): what it makes of a small program's reads,
# writes, loops, tables and checksums; the server; coverage; bad input.
set -euo pipefail
. "$(dirname "$0")/../tap.sh"

vg=$ASSAY_BUILD/vg
if [ ! -x "$vg/assaysym-amd64-linux" ]; then
	tap_skip "the Valgrind tool" "it was not built: valgrind is missing, or SAN is set"
	tap_done
	exit 0
fi
if ! command -v valgrind >/dev/null; then
	tap_skip "the Valgrind tool" "valgrind is not installed"
	tap_done
	exit 0
fi
VALGRIND_LIB=$(cd "$vg" && pwd)
export VALGRIND_LIB
tap_memory
dir=$MEMORY
disk=$dir/disk
log=$dir/log
truncate -s 16M "$log"

usual='\001\002\003\004\005\006\007\010'
bytes=$usual
fresh() {
	head -c 16384 /dev/zero >"$disk"
	printf '%b' "$bytes" | dd of="$disk" conv=notrunc status=none
}

ranges() { printf '%s\n' "$@" >"$dir/ranges"; }

# tool WHAT OPTION...: its exit status is that of the program.
tool() {
	local what=$1
	shift
	valgrind --tool=assaysym -q --symlog="$log" --disk="$disk" --ranges="$dir/ranges" "$@" \
		"$vg/vg_subject" "$what" "$disk"
}

# path WHAT STATUS: one run; its path is in $WORK/path.
path() {
	local got=0
	fresh
	tool "$1" >"$WORK/out" 2>&1 || got=$?
	"$vg/symdump" "$log" branches >"$WORK/path"
	tap_is "$1: exit status" "$got" "$2"
	tap_like "$1: no mismatch, and it ended" "$WORK/path" '^flags=(1|5|17) .*mismatches=0$'
}

ranges 'symbolic 0 8'
path pread 0
tap_like "pread: the byte and the constant" "$WORK/path" '^branch .* \(==:1 \[0\] 0x41\)'
path read 0
tap_like "read at a position, through a copy of the descriptor" "$WORK/path" \
	'\(==:1 \[2\] 0x41\)'
path readv 0
tap_like "preadv: the second buffer" "$WORK/path" '\(==:1 \[4\] 0x41\)'
path mmap 0
tap_like "mmap" "$WORK/path" '\(==:1 \[5\] 0x41\)'
path shared 0
tap_like "written by a shared mapping, read by pread" "$WORK/path" '^branch .*\[6\].*0x4[01]\)'
path both 0
tap_like "written by pwrite, read by a shared mapping" "$WORK/path" '^branch .*\[6\].*0x4[01]\)'
path reread 0
tap_like "written back, and read again" "$WORK/path" '^branch .*\[3\]'
path loop 1
tap_like "a long loop is capped" "$WORK/path" '^end .* capped=1 '
tap_is "a long loop: branches are few" \
	"$(awk '/^end/ { sub(/.*branches=/, ""); print ($1 < 200) }' "$WORK/path")" 1
path table 0
tap_like "a table is read symbolically" "$WORK/path" '^branch .*\(table:8 '
path unwritten 0
tap_like "a table that can be written is read symbolically" "$WORK/path" '^branch .*\(table:8 '
path rewritten 0
tap_is "a table that the same block writes to is not copied" \
	"$(grep -c '(table:' "$WORK/path" || true)" 0
tap_like "a table that the same block writes to: the index is pinned" "$WORK/path" \
	'^pin .* why=1 '
path swapped 0
tap_like "bytes swapped: one compare" "$WORK/path" '^branch .*\(==:1 .* 0x44332211\)'
path divides 0
tap_like "a divisor that is not zero is a bound" "$WORK/path" '^branch .* (bound )?.*(==:1|~:1)'
path allocated 0
tap_like "lengths of malloc and memset are not constrained" "$WORK/path" '^pin .* why=8 '
tap_is "lengths: no address is pinned" "$(grep -c 'why=1 ' "$WORK/path" || true)" 0
path forks 0
tap_like "a process that it forks is not followed" "$WORK/path" '^branch .*\[0\] 0x41'
tap_is "a process that it forks: not in the log" "$(grep -c '\[1\]' "$WORK/path" || true)" 0
path aio 0
tap_like "aio is not followed, and said" "$WORK/path" '^flags=5 '
tap_is "aio: what it read is no node" "$(grep -c '\[1\]' "$WORK/path" || true)" 0
bytes='\003\000\000'
path switched 14
tap_like "a jump table is read symbolically, its target pinned" "$WORK/path" \
	'^pin .* why=2 .*table'
bytes=$usual
path strings 0
tap_like "memcmp by vectors" "$WORK/path" '^branch .*\[0\]'

# A checksum does not blow up: it becomes opaque, and its compare a seal.
ranges 'symbolic 0 8' 'watched 508 4'
path checksum 0
tap_like "a checksum is a seal" "$WORK/path" '^seal .*opaque'
tap_is "a checksum: few nodes" \
	"$(awk '/^end/ { sub(/.*nodes=/, ""); print ($1 < 3000) }' "$WORK/path")" 1
tap_is "a checksum: nothing is constrained" \
	"$(grep -cE '^pin .* why=[1-6] ' "$WORK/path" || true)" 0

path sum 0
tap_like "what is compared with a watched byte is a seal, whatever sum it is" "$WORK/path" \
	'^seal .*opaque'
tap_is "a watched byte: no branch" "$(grep -c '^branch' "$WORK/path" || true)" 0
ranges 'symbolic 0 8'
path sum 0
tap_like "the same sum and a byte that nobody seals: a branch" "$WORK/path" '^branch .*\[7\]'

# A log without room ends with everything pinned, and still tells the truth.
ranges 'symbolic 0 512'
truncate -s 4M "$dir/small"
fresh
valgrind --tool=assaysym -q --symlog="$dir/small" --disk="$disk" --ranges="$dir/ranges" \
	"$vg/vg_subject" strings "$disk" >/dev/null 2>&1 || true
"$vg/symdump" "$dir/small" >"$WORK/path"
tap_like "the smallest log" "$WORK/path" '^flags=[13] .*mismatches=0$'

# ---- Coverage ---------------------------------------------------------------------------------

fresh
tool nothing --cover-only=yes >/dev/null 2>&1 || true
"$vg/symdump" "$log" >"$WORK/cover"
tap_like "coverage without symbolic bytes" "$WORK/cover" '^objects=[1-9].* cover=[1-9][0-9]{2}'
tap_like "coverage without symbolic bytes: no node" "$WORK/cover" '^flags=1 nodes=1 '

# ---- The server -------------------------------------------------------------------------------

# serve RUNS DEADLINE LENGTH WHAT
serve() {
	fresh
	"$vg/vg_serve" "$1" "$2" "$disk" 0 "$3" -- valgrind --tool=assaysym -q --symlog="$log" \
		--disk="$disk" --ranges="$dir/ranges" @ "$vg/vg_subject" "$4" "$disk" \
		>"$WORK/served" 2>&1 || true
}

ranges 'symbolic 0 8'
serve 70 20000 1 pread
tap_is "server: 70 runs" "$(grep -c '^done' "$WORK/served")" 70
# The first byte is 1 and the number of the run: 0x41 in run 64.
tap_is "server: the disk decides" \
	"$(grep "^done" "$WORK/served" | grep -n "status=256" | cut -d: -f1)" 65
serve 2 20000 0 reread
tap_is "server: runs are alike" \
	"$(sed -n "s/ instructions.*//; /^done/p" "$WORK/served" | sort -u | wc -l)" 1
serve 1 20000 0 crash
tap_like "server: a checker that dies of a signal" "$WORK/served" '^done status=(11|139) '
serve 2 300 0 slow
tap_is "server: a deadline kills the run, not the server" "$(grep -c '^late' "$WORK/served")" 2
serve 1 20000 0 nothing
tap_like "server: no read of a range" "$WORK/served" '^unreached'
serve 1 20000 0 thread
tap_like "server: several threads" "$WORK/served" '^unfit'

# ---- Bad input --------------------------------------------------------------------------------

printf 'symbolic 0\n' >"$dir/ranges"
tap_run "ranges that make no sense" 3 tool pread
ranges 'symbolic 0 100000'
tap_run "more symbolic bytes than it takes" 3 tool pread
ranges 'symbolic 0 8'
tap_run "no log" 3 valgrind --tool=assaysym -q --disk="$disk" --ranges="$dir/ranges" true
tap_run "a log without room" 3 valgrind --tool=assaysym -q --symlog="$dir/ranges" \
	--disk="$disk" --ranges="$dir/ranges" true
tap_run "no disk" 3 valgrind --tool=assaysym -q --symlog="$log" --disk="$dir/none" \
	--ranges="$dir/ranges" true

tap_done
