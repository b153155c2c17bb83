#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Traces that want to do harm: millions of processes, of descriptors, of names, of calls that never
# come back; and real traces that were damaged. Whatever a trace says, reading it takes little memory
# and little time, and says what had to be forgotten. TORTURE_SECONDS=N: goes on for so long with
# other damage.
. "$(dirname "$0")/../tap.sh"

MEMORY_KIB=400000 # of addresses, the program itself among them
CPU_SECONDS=30

# san: a program built with sanitizers reserves addresses without end.
limits() {
	if ! grep -aq __asan_init "$ASSAY"; then ulimit -v $MEMORY_KIB; fi
	ulimit -t $CPU_SECONDS
}

# hostile NAME FORMAT AWK-PROGRAM [REGEX]: it is read within the limits; the summary has this line.
hostile() {
	local name=$1 format=$2 program=$3 line=${4:-.} got=0
	awk "BEGIN { $program }" | (
		limits
		exec "$ASSAY" cov read --format "$format" --under /m - -o "$WORK/x.cov"
	) >"$WORK/out" 2>"$WORK/err" || got=$?
	if [ "$got" -le 1 ] && grep -Eq -- "$line" "$WORK/out"; then
		tap_ok "$name"
	else
		tap_not_ok "$name" "exit status $got" "$(cat "$WORK/out" "$WORK/err")"
	fi
}

OPEN='openat(AT_FDCWD, \"/m/a\", O_RDWR)'
hostile "hundreds of thousands of processes" strace \
	"for (i = 0; i < 300000; i++) printf \"%d $OPEN = 3\\n\", 100 + i" 'forgotten'
hostile "high descriptors in many processes" strace \
	"for (i = 0; i < 100000; i++) printf \"%d $OPEN = 65535\\n%d dup2(65535, 1073741824) = 1073741824\\n\",
		100 + i % 20000, 100 + i % 20000"
hostile "more descriptors than are kept" strace \
	"for (i = 0; i < 300000; i++) printf \"%d $OPEN = %d\\n\", 100 + i % 5, i * 977" 'forgotten'
hostile "forks of a process with many descriptors" strace \
	"for (i = 0; i < 20000; i++) printf \"1 $OPEN = %d\\n\", i;
	for (i = 0; i < 500; i++) printf \"1 fork() = %d\\n%d close(5) = 0\\n\", 100 + i, 100 + i" 'forgotten'
hostile "long calls that never come back" strace \
	'for (s = "x"; length(s) < 60000;) s = s s;
	for (i = 0; i < 2000; i++) printf "%d write(3, \"%s\" <unfinished ...>\n", 100 + i, s' 'forgotten'
hostile "many calls that never come back" strace \
	'for (i = 0; i < 200000; i++) printf "%d write(3, \"x\", 1 <unfinished ...>\n", 100 + i' 'forgotten'
hostile "forks that never come back" strace \
	'for (i = 0; i < 100000; i++) printf "%d vfork( <unfinished ...>\n", 100 + i' 'forgotten'
hostile "threads that end their processes" strace \
	'for (i = 0; i < 200000; i++) printf "1 clone(flags=CLONE_FILES|CLONE_THREAD) = %d\n%d exit_group(0) = ?\n", 100 + i, 100 + i'
hostile "hundreds of thousands of directories" strace \
	'for (i = 0; i < 300000; i++) printf "1 mkdir(\"/m/d%d\", 0) = 0\n", i' 'names of directories'
hostile "renames of a directory with many open files" strace \
	'for (i = 0; i < 60000; i++) printf "1 openat(AT_FDCWD, \"/m/a/f%d\", O_RDWR) = %d\n", i, i;
	for (i = 0; i < 100000; i++) printf "1 rename(\"/m/a\", \"/o/b\") = 0\n1 write(%d, \"x\", 1) = 1\n1 rename(\"/o/b\", \"/m/a\") = 0\n", i % 60000'
hostile "paths of a thousand components" strace \
	's = ""; for (i = 0; i < 1000; i++) s = s "/d";
	for (i = 0; i < 4000; i++) printf "1 openat(AT_FDCWD, \"/m/%d%s\", O_RDWR) = %d\n", i, s, i'
hostile "a directory deeper than all limits" strace \
	'print "1 chdir(\"/m\") = 0"; for (i = 0; i < 200000; i++) printf "1 mkdir(\"d\", 0) = 0\n1 chdir(\"d\") = 0\n"'
hostile "calls that signals interrupt, in many processes" strace \
	'for (i = 0; i < 200000; i++) printf "%d read(3, 0x7f, 10) = ? ERESTARTSYS (x)\n", 100 + i'
hostile "one interrupted again and again" strace \
	'for (i = 0; i < 100000; i++) printf "1 read(%d, 0x7f, 10) = ? ERESTARTSYS (x)\n", i'
hostile "lines that strace breaks off" strace \
	'for (i = 0; i < 200000; i++) printf "read(3, strace: Process %d attached\n", 100 + i'
hostile "events without process ids, of many processors" babeltrace \
	'for (i = 0; i < 40000; i++) printf "[1] (+?) h syscall_entry_read: { cpu_id = %d }, { fd = 3, count = 4 }\n[1] (+?) h syscall_exit_write: { cpu_id = %d }, { ret = 3 }\n", i % 4096, i % 4096'
hostile "events of many processes" babeltrace \
	'for (i = 0; i < 100000; i++) printf "[1] (+?) h syscall_entry_read: { cpu_id = 0 }, { tid = %d }, { fd = 3, count = 4 }\n", 100 + i' 'forgotten'

# ---- Damage ------------------------------------------------------------------------------------

mkdir -p "$WORK/m/d" "$WORK/seeds"
if command -v strace >/dev/null; then
	strace -f -y -o "$WORK/seeds/y.log" sh -c "cp /bin/true '$WORK/m/x'; mv '$WORK/m/x' '$WORK/m/d/y'; ls '$WORK/m'; rm -r '$WORK/m/d'" \
		>/dev/null 2>&1 || rm -f "$WORK/seeds/y.log"
	mkdir -p "$WORK/m/d"
	strace -f sh -c "(echo a > '$WORK/m/a') & cat /dev/zero 2>/dev/null | head -c 9 > '$WORK/m/b'; wait" \
		2>"$WORK/seeds/err.log" >/dev/null || rm -f "$WORK/seeds/err.log"
fi
for file in tests/fuzz/corpus/cov_{strace,babeltrace}/*; do
	cp "$file" "$WORK/seeds/$(basename "$(dirname "$file")")-${file##*/}"
done

# damage SEED FILE: lines go, come twice, change places, lose an end; bytes change.
damage() {
	awk -v seed="$1" '
	function pick(n) { return int(rand() * n) }
	BEGIN { srand(seed) }
	{ line[NR] = $0 }
	END {
		odd = "<>(){}[],=\"\\ -+?0123456789abcdefXYZ|/"
		for (i = 0; i < 1 + NR / 8; i++) {
			at = 1 + pick(NR); other = 1 + pick(NR); what = pick(6); s = line[at]
			if (what == 0) line[at] = ""
			else if (what == 1) line[at] = line[other]
			else if (what == 2) { line[at] = line[other]; line[other] = s }
			else if (what == 3) line[at] = substr(s, 1, pick(length(s) + 1))
			else if (what == 4) line[at] = substr(s, pick(length(s) + 1)) s
			else { k = pick(length(s) + 1); line[at] = substr(s, 1, k) substr(odd, 1 + pick(length(odd)), 1) substr(s, k + 2) }
		}
		for (i = 1; i <= NR; i++) print line[i]
	}' "$2"
}

# one SEED: all damaged seeds; what goes wrong is printed.
one() {
	local file got
	for file in "$WORK"/seeds/*; do
		damage "$1" "$file" >"$WORK/damaged"
		got=0
		(
			limits
			exec "$ASSAY" cov read --under "$WORK/m" "$WORK/damaged" -o "$WORK/damaged.cov"
		) >"$WORK/out" 2>"$WORK/err" || got=$?
		if [ "$got" -gt 2 ] || { [ "$got" = 2 ] && [ "$(wc -l <"$WORK/err")" != 1 ]; }; then
			echo "seed $1, ${file##*/}: exit status $got: $(head -n 3 "$WORK/err")"
			cp "$WORK/damaged" "${TMPDIR:-/tmp}/assay-damaged-$1-${file##*/}"
		elif [ "$got" -lt 2 ] && ! "$ASSAY" cov show "$WORK/damaged.cov" >/dev/null 2>&1; then
			echo "seed $1, ${file##*/}: what was written cannot be read"
		fi
	done
}

end=$((SECONDS + ${TORTURE_SECONDS:-0}))
bad=
seed=0
while [ $seed -lt 5 ] || [ $SECONDS -lt $end ]; do
	seed=$((seed + 1))
	bad+=$(one $seed)
done
tap_is "damaged traces are read, or refused with one line ($seed seeds)" "$bad" ""
tap_done
