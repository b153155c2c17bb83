#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# One program, traced by strace with each of its options that change the text: the counts are those
# of the plain trace, or the trace is refused with one line; what leaves out calls is warned about.
. "$(dirname "$0")/../tap.sh"

if ! command -v strace >/dev/null; then
	tap_skip "options of strace" "strace is not installed"
	tap_done
	exit
fi
PROGRAM=$ASSAY_BUILD/tests/record/test_record_truth
case $PROGRAM in /*) ;; *) PROGRAM=$PWD/$PROGRAM ;; esac
ROOT=$WORK/root
UNDER=$ROOT

# record NAME OPTION...: false: this strace does not have the option.
record() {
	local name=$1
	shift
	rm -rf "$ROOT" && mkdir "$ROOT"
	(cd "$ROOT" && ASAN_OPTIONS=detect_leaks=0 strace -f -s 5000 "$@" -o "$WORK/$name.log" \
		"$PROGRAM" --known "$ROOT") >/dev/null 2>"$WORK/err"
	[ -s "$WORK/$name.log" ]
}

# counts NAME: into NAME.counts, the summary into out.
counts() {
	"$ASSAY" cov read --under "$UNDER" --cwd "$ROOT" "$WORK/$1.log" -o "$WORK/$1.cov" \
		>"$WORK/out" 2>"$WORK/err" || return
	grep -E '^(call|part|bits|out) ' "$WORK/$1.cov" >"$WORK/$1.counts"
}

if ! record plain; then
	tap_skip "options of strace" "strace cannot trace here: $(head -n 1 "$WORK/err")"
	tap_done
	exit
fi
counts plain
tap_like "the plain trace has the calls" "$WORK/plain.counts" '^call openat 1[0-9]$'

# same NAME OPTION...
same() {
	local name=$1
	shift
	if ! record "$name" "$@"; then
		tap_skip "strace $*" "this strace does not have it"
		return
	fi
	counts "$name" || true
	diff "$WORK/plain.counts" "$WORK/$name.counts" >>"$WORK/err" 2>&1 || true
	tap_is "strace $*" "$(cat "$WORK/err")" ""
}

same n -n
same k -k
same i -i
same Y -Y
same y -y
same yy -yy
same xv -X verbose
same xr -X raw
same v -v
same t -t
same tt -tt
same ttt -ttt
same r -r
same T -T
same x -x
same xx -xx
same a -a 100
same C -C
same q -q
same s --secontext
same pids --decode-pids=comm,pidns
same unix --absolute-timestamps=format:unix,precision:ns -T
same short -s 3
same all -n -i -tt -T -y -Y
same most -k -yy -ttt -n -i -X verbose

record raw -e raw=all
tap_run "strace -e raw=all is refused" 2 "$ASSAY" cov read --under "$UNDER" --cwd "$ROOT" \
	"$WORK/raw.log" -o "$WORK/raw.cov"
tap_like "with one line that says why" "$WORK/err" 'addresses in place of file names'
record Z -Z
counts Z || true
tap_like "strace -Z is warned about" "$WORK/err" 'Z.cov: all [0-9]+ calls failed'
record z -z
counts z || true
tap_like "strace -z is warned about" "$WORK/err" 'z.cov: none of [0-9]+ calls failed'
tap_run "a filter that matches nothing is no error" 0 "$ASSAY" cov read --under /nowhere \
	"$WORK/plain.log" -o "$WORK/none.cov"
tap_like "but it is warned about" "$WORK/err" 'none.cov: NOTHING was counted: none of'
"$ASSAY" cov show --json "$WORK/none.cov" >"$WORK/out" 2>/dev/null
tap_like "in JSON, too" "$WORK/out" '"warnings":\["NOTHING was counted'
"$ASSAY" cov read --under /nowhere "$WORK/plain.log" >/dev/null 2>"$WORK/err"
tap_like "and where the counts go to standard output" "$WORK/err" \
	'NOTHING was counted: none of .* /nowhere'

# Without -o there are numbers of processes only while there are several.
tree() {
	rm -rf "$ROOT" && mkdir "$ROOT"
	strace -f -y "$@" sh -c "cd '$ROOT'
		(mkdir a; : > a/b) & mkdir c; wait; cp /bin/true x; (rm x; ls); rmdir c"
}
tree -o "$WORK/file.log" >/dev/null 2>&1
tree >/dev/null 2>"$WORK/terminal.log"
counts file
"$ASSAY" cov read --under "$UNDER" "$WORK/terminal.log" -o "$WORK/terminal.cov" >/dev/null 2>&1
for what in mkdir openat unlinkat rmdir write getdents64 chdir; do
	tap_is "what goes to the terminal: $what" "$(grep "^call $what " "$WORK/terminal.cov")" \
		"$(grep "^call $what " "$WORK/file.cov")"
done
tap_done
