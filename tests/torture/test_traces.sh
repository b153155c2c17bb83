#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Traces that want to do harm: very many processes, descriptors, names, calls that never come back;
# and real traces that were damaged. Whatever a trace says, reading it takes little memory and
# little time, and says what had to be forgotten. TORTURE_SECONDS=N: more of it, and for so long
# with other damage.
. "$(dirname "$0")/../tap.sh"

MEMORY_KIB=400000 # of addresses, the program itself among them
CPU_SECONDS=30

# san: a program built with sanitizers reserves addresses without end.
limits() {
	if ! grep -aq __asan_init "$ASSAY"; then ulimit -v $MEMORY_KIB; fi
	ulimit -t $CPU_SECONDS
}

# hostile NAME FORMAT TIMES AWK [REGEX]: what AWK prints so many times (i counts) is read within the
# limits, and the summary or a warning has this line. $FIRST is printed before.
FIRST=
SCALE=${TORTURE_SECONDS:+10}
SCALE=${SCALE:-1}
hostile() {
	local name=$1 format=$2 times=$3 program=$4 line=${5:-.} got=0
	awk "BEGIN { $FIRST; for (i = 0; i < $times * $SCALE; i++) { p = 100 + i; $program } }" | (
		limits
		exec "$ASSAY" cov read --format "$format" --under /m - -o "$WORK/x.cov"
	) >"$WORK/out" 2>"$WORK/err" || got=$?
	if [ "$got" -le 1 ] && grep -Eq -- "$line" "$WORK/out" "$WORK/err"; then
		tap_ok "$name"
	else
		tap_not_ok "$name" "exit status $got" "$(cat "$WORK/out" "$WORK/err")"
	fi
	FIRST=
}

OPEN='openat(AT_FDCWD, \"/m/a\", O_RDWR)'
hostile "more processes than are kept" strace 60000 \
	"print p \" $OPEN = 3\"" 'forgotten'
hostile "high descriptors in many processes" strace 40000 \
	"p = 100 + i % 20000; print p \" $OPEN = 65535\"
	print p \" dup2(65535, 1073741824) = 1073741824\""
hostile "more descriptors than are kept" strace 280000 \
	"print 100 + i % 5 \" $OPEN = \" i * 977" 'forgotten'
FIRST="for (i = 0; i < 20000; i++) print \"1 $OPEN = \" i"
hostile "forks of a process with many descriptors" strace 500 \
	'print "1 fork() = " p; print p " close(5) = 0"' 'forgotten'
FIRST='for (s = "x"; length(s) < 60000;) s = s s'
hostile "long calls that never come back" strace 2000 \
	'print p " write(3, \"" s "\" <unfinished ...>"' 'forgotten'
hostile "many calls that never come back" strace 50000 \
	'print p " write(3, \"x\", 1 <unfinished ...>"' 'forgotten'
hostile "forks that never come back" strace 40000 \
	'print p " vfork( <unfinished ...>"' 'forgotten'
hostile "threads that end their processes" strace 50000 \
	'print "1 clone(flags=CLONE_FILES|CLONE_THREAD) = " p; print p " exit_group(0) = ?"'
hostile "more directories than are kept" strace 60000 \
	'print "1 mkdir(\"/m/d" i "\", 0) = 0"' 'names of directories'
FIRST='for (i = 0; i < 30000; i++) print "1 openat(AT_FDCWD, \"/m/a/f" i "\", O_RDWR) = " i'
hostile "renames of a directory with many open files" strace 40000 \
	'print "1 rename(\"/m/a\", \"/o/b\") = 0"; print "1 write(" i % 30000 ", \"x\", 1) = 1"
	print "1 rename(\"/o/b\", \"/m/a\") = 0"'
FIRST='for (i = 0; i < 1000; i++) s = s "/d"'
hostile "paths of a thousand components" strace 2000 \
	'print "1 openat(AT_FDCWD, \"/m/" i s "\", O_RDWR) = " i'
FIRST='print "1 chdir(\"/m\") = 0"'
hostile "a directory deeper than all limits" strace 50000 \
	'print "1 mkdir(\"d\", 0) = 0"; print "1 chdir(\"d\") = 0"'
hostile "calls that signals interrupt, in many processes" strace 50000 \
	'print p " read(3, 0x7f, 10) = ? ERESTARTSYS (x)"'
hostile "one interrupted again and again" strace 40000 \
	'print "1 read(" i ", 0x7f, 10) = ? ERESTARTSYS (x)"'
hostile "lines that strace breaks off" strace 50000 \
	'print "read(3, strace: Process " p " attached"'
hostile "events without process ids, of many processors" babeltrace 40000 \
	'cpu = "{ cpu_id = " i % 4096 " }"
	print "[1] (+?) h syscall_entry_read: " cpu ", { fd = 3, count = 4 }"
	print "[1] (+?) h syscall_exit_write: " cpu ", { ret = 3 }"'
hostile "events of many processes" babeltrace 40000 \
	'ids = "{ cpu_id = 0 }, { tid = " p " }"
	print "[1] (+?) h syscall_entry_read: " ids ", { fd = 3, count = 4 }"' 'forgotten'

# ---- Damage ------------------------------------------------------------------------------------

mkdir -p "$WORK/m/d" "$WORK/seeds"
cat >"$WORK/program" <<'END'
cp /bin/true x; mv x d/y; ls; rm -r d; mkdir d
(echo a >a) & cat /dev/zero 2>/dev/null | head -c 9 >b; wait
END
if command -v strace >/dev/null; then
	(cd "$WORK/m" && strace -f -y -o "$WORK/seeds/y.log" sh "$WORK/program") >/dev/null 2>&1 ||
		rm -f "$WORK/seeds/y.log"
	(cd "$WORK/m" && strace -f sh "$WORK/program") 2>"$WORK/seeds/err.log" >/dev/null ||
		rm -f "$WORK/seeds/err.log"
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
			else {
				k = pick(length(s) + 1)
				c = substr(odd, 1 + pick(length(odd)), 1)
				line[at] = substr(s, 1, k) c substr(s, k + 2)
			}
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
			exec "$ASSAY" cov read --under "$WORK/m" \
				"$WORK/damaged" -o "$WORK/d.cov"
		) >"$WORK/out" 2>"$WORK/err" || got=$?
		if [ "$got" -gt 2 ] || { [ "$got" = 2 ] && [ "$(wc -l <"$WORK/err")" != 1 ]; }
		then
			echo "seed $1, ${file##*/}: exit status $got: $(head -n 3 "$WORK/err")"
			cp "$WORK/damaged" "${TMPDIR:-/tmp}/assay-damaged-$1-${file##*/}"
		elif [ "$got" -lt 2 ] && ! "$ASSAY" cov show "$WORK/d.cov" >/dev/null 2>&1
		then
			echo "seed $1, ${file##*/}: what was written cannot be read"
		fi
	done
}

end=$((SECONDS + ${TORTURE_SECONDS:-0}))
bad=
seed=0
while [ $seed -lt 2 ] || [ $SECONDS -lt $end ]; do
	seed=$((seed + 1))
	bad+=$(one $seed)
done
tap_is "damaged traces are read, or refused with one line ($seed seeds)" "$bad" ""
tap_done
