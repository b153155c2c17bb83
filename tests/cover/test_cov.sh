#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# assay cov: reading, showing, comparing; packed traces and streams; and bad input: one line each,
# and what is partial is never taken for whole.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
export LC_ALL=C
cd "$WORK" || exit 2

# refuses NAME REGEX ARGUMENT...: status 2 (or 3), one line that matches.
refuses() {
	local name=$1 regex=$2 got=0
	shift 2
	"$ASSAY" cov "$@" >out 2>err </dev/null || got=$?
	if [ "$got" -ge 2 ] && [ "$(wc -l <err)" = 1 ] && grep -Eq "^assay: .*($regex)" err; then
		tap_ok "$name"
	else
		tap_not_ok "$name" "exit status $got, wanted /$regex/" "$(head -n 5 err)"
	fi
}

cat >a.strace <<-'END'
	10 openat(AT_FDCWD, "/mnt/test/a", O_RDWR|O_CREAT|O_EXCL, 0644) = 3
	10 write(3, "x"..., 4096) = 4096
	10 write(3, "x"..., 4095) = -1 ENOSPC (No space left on device)
	10 openat(AT_FDCWD, "/etc/passwd", O_RDONLY|O_CLOEXEC) = 4
	10 brk(NULL) = 0x5555
	10 read(9, "", 10) = 0
	10 close(3) = 0
	10 +++ exited with 0 +++
END
tap_run "read a trace" 0 "$ASSAY" cov read --under /mnt/test a.strace -o a.cov
tap_like "says what it counted" "$WORK/out" '4  calls counted'
tap_like "says what it could not attribute" "$WORK/out" '1  calls that could not be attributed'
tap_run "show" 0 "$ASSAY" cov show a.cov
tap_like "show has totals" "$WORK/out" '^all +4 '
tap_run "show one call" 0 "$ASSAY" cov show a.cov --syscall openat
tap_like "flags" "$WORK/out" 'O_EXCL +1$'
tap_like "untested flags" "$WORK/out" 'O_RDONLY +0  untested'
tap_like "how many together, as in Table 1" "$WORK/out" 'all +0.0 +0.0 +100.0 +0.0'
tap_run "show as CSV" 0 "$ASSAY" cov show a.cov --csv
tap_like "a line for each partition" "$WORK/out" '^write,count/boundaries,=2\^12-1,1,1$'
tap_run "show as JSON" 0 "$ASSAY" cov show a.cov --json --syscall close
tap_like "JSON" "$WORK/out" '"name":"regular","count":1'
tap_run "untested" 0 "$ASSAY" cov untested a.cov --syscall write
tap_like "never met" "$WORK/out" '^write output EIO 0$'
tap_run "untested with a threshold" 0 "$ASSAY" cov untested a.cov --threshold 3 --syscall write
tap_like "met too rarely" "$WORK/out" '^write output ENOSPC 1$'
tap_run "tcd" 0 "$ASSAY" cov tcd a.cov --target 1 --syscall close --arg fd
tap_like "as tested as wanted: 0" "$WORK/out" '^close +fd +5 +0.0000$'
tap_run "too little coverage" 1 "$ASSAY" cov show a.cov --fail-under 50
tap_run "enough coverage" 0 "$ASSAY" cov show a.cov --fail-under 0.1

sed 's/mnt.test/mnt\/scratch/; s/O_EXCL/O_TRUNC/' a.strace >b.strace
tap_run "a second trace" 0 "$ASSAY" cov read --under-regex '/mnt/(test|scratch)' b.strace -o b.cov
tap_run "diff" 0 "$ASSAY" cov diff a.cov b.cov
tap_like "what only one has" "$WORK/out" '^only-2 +open flags O_TRUNC 0 1$'
tap_is "the file says that the filter is an expression" "$(grep '^under' b.cov)" \
	"under /mnt/(test|scratch) (regular expression)"
sed 's/mnt.test/mnt\/te+st/' a.strace >plus.strace
tap_run "a folder with a + in its name" 0 "$ASSAY" cov read --under /mnt/te+st plus.strace \
	-o plus.cov
tap_is "has the same calls" "$(grep ^call plus.cov)" "$(grep ^call a.cov)"
tap_run "merge" 0 "$ASSAY" cov merge a.cov b.cov -o c.cov
tap_run "tcd of two" 0 "$ASSAY" cov tcd a.cov c.cov --target 100 --syscall open --arg flags
tap_like "and where they cross" "$WORK/out" 'crossing'
cat a.strace b.strace >ab.strace
"$ASSAY" cov read --under-regex '/mnt/(test|scratch)' ab.strace -o ab.cov >/dev/null 2>&1
"$ASSAY" cov show --csv c.cov >c.csv 2>/dev/null
"$ASSAY" cov show --csv ab.cov >ab.csv 2>/dev/null
if diff c.csv ab.csv >diff.txt; then
	tap_ok "merging is the same as reading all"
else
	tap_not_ok "merging is the same as reading all" "$(head -n 5 diff.txt)"
fi

# ---- Figures, drawn by another program ----
tap_run "figures" 0 "$ASSAY" cov show a.cov --svg figures
if command -v rsvg-convert >/dev/null; then
	# As it comes out there: white paper, and blue bars.
	rsvg-convert -f svg figures/figure2-open-flags.svg >drawn.svg
	tap_like "another program draws the paper white" drawn.svg 'rgb\(100%, ?100%, ?100%\)'
	tap_like "and the bars in their colour" drawn.svg 'rgb\(0%, ?44\.7[0-9]*%, ?69\.8[0-9]*%\)'
	tap_is "nothing is black" "$(grep -Ec 'rgb\(0%, ?0%, ?0%\)' drawn.svg)" 0
else
	tap_skip "another program draws the figures" "no rsvg-convert (librsvg2-bin)"
fi

# ---- Packed, and from a pipe ----
for tool in "gzip -c" "zstd -qc"; do
	if ! command -v "${tool%% *}" >/dev/null; then
		tap_skip "packed by ${tool%% *}" "no ${tool%% *}"
		continue
	fi
	$tool a.strace >a.packed
	"$ASSAY" cov read --under /mnt/test a.packed -o p.cov >/dev/null 2>err || true
	if cmp -s <(grep -v '^source\|^end' a.cov) <(grep -v '^source\|^end' p.cov); then
		tap_ok "packed by ${tool%% *}"
	else
		tap_not_ok "packed by ${tool%% *}" "$(cat err)"
	fi
	for i in $(seq 900); do sed "s/test/t$i/" a.strace; done | $tool >long.packed
	head -c $(($(stat -c %s long.packed) - 20)) long.packed >cut.packed
	tap_run "packed by ${tool%% *} and cut off: partial" 1 "$ASSAY" cov read cut.packed -o p.cov
	tap_like "and said so" "$WORK/err" 'PARTIAL'
	"$ASSAY" cov show p.cov >out 2>err
	tap_like "and kept in the file" "$WORK/err" 'PARTIAL.*cut off'
done
"$ASSAY" cov read --under /mnt/test - -o p.cov <a.strace >/dev/null 2>&1
if cmp -s <(grep -v '^source\|^end' a.cov) <(grep -v '^source\|^end' p.cov); then
	tap_ok "from standard input"
else
	tap_not_ok "from standard input"
fi

# ---- What makes counts less than they seem ----
tap_run "a filter that matches nothing" 0 "$ASSAY" cov read --under /mnt/tset a.strace -o n.cov
tap_like "is said when it is read" "$WORK/err" \
	'^assay: n.cov: NOTHING was counted: none of [0-9]+ calls was about files below /mnt/tset$'
tap_run "and when it is shown" 0 "$ASSAY" cov show n.cov --json
tap_like "on stderr" "$WORK/err" 'NOTHING was counted'
tap_like "and in JSON" "$WORK/out" '"warnings":\["NOTHING was counted'
tap_run "recorded" 0 "$ASSAY" cov record --how ptrace --under /mnt/tset -o n.cov -- ls "$WORK"
tap_like "the same" "$WORK/err" 'n.cov: NOTHING was counted'
for i in $(seq 20); do echo '10 write(7, "x", 1) = 1'; done | cat a.strace - >u.strace
tap_run "much that could not be attributed" 0 "$ASSAY" cov read --under /mnt/test u.strace -o u.cov
tap_like "is said" "$WORK/err" \
	'^assay: u.cov: 81 % of the calls about files could not be attributed'
grep -v '^10 read(9' a.strace >clean.strace
tap_run "nothing of that" 0 "$ASSAY" cov read --under /mnt/test clean.strace -o clean.cov
tap_is "nothing is said" "$(cat err)" ""

# ---- Many files ----
mkdir -p many/deep
for i in $(seq 300); do cp a.cov "many/$i.cov"; done
cp b.cov many/deep/b.cov
tap_run "a folder of files" 0 "$ASSAY" cov merge many -o m.cov
tap_like "with different filters" "$WORK/err" 'different filters: /mnt/test \+ /mnt/\(test'
tap_is "all are in it" "$(grep -h '^call write\|^source\|^under' m.cov | tr '\n' ' ')" \
	"source 301 files under /mnt/test + $(sed -n 's/^under //p' b.cov) call write 602 "
head -c 200 many/7.cov >many/8.cov
sed 's/assay-cov 1/assay-cov 2/' many/9.cov >many/10.cov
printf x >>many/11.cov
: >many/12.cov
rm m.cov
tap_run "some of them damaged" 2 "$ASSAY" cov merge many -o m.cov
tap_is "each is named" \
	"$(grep -c 'many/\(8.cov: cut\|10.cov: version 2\|11.cov: \|12.cov: \)' err)" 4
tap_like "and the number" "$WORK/err" '4 of 301 files cannot be used'
tap_is "and nothing is written" "$(ls m.cov 2>/dev/null)" ""
tap_run "one of several named is not there" 2 "$ASSAY" cov merge a.cov nowhere.cov -o m.cov
tap_run "into one of them" 0 "$ASSAY" cov merge a.cov b.cov -o b.cov
tap_is "both are in it" "$(grep '^call write' b.cov)" "call write 4"
mkdir split && cp a.cov split/_total.cov
tap_run "a folder of tests shows its total" 0 "$ASSAY" cov show split
refuses "another folder is none" "folder without _total" show many

# ---- Bad input ----
refuses "a bad filter" "not a regular expression" read --under-regex '/mnt/(test' a.strace -o x
refuses "a path that is not absolute" "not an absolute path" read --under mnt/test a.strace -o x
refuses "two filters" "exclude each other" read --under /a --under-regex /a a.strace -o x
refuses "no such trace" "cannot open nowhere" read nowhere -o x
: >empty
refuses "an empty trace" "empty: empty" read empty -o x
head -c 100000 /dev/urandom >noise
refuses "binary noise" "noise: does not look like a trace" read noise -o x
refuses "an unknown format" "no such format" read --format dtrace a.strace -o x
mkdir folder
refuses "a folder that is no trace" "metadata|libbabeltrace2" read folder -o x
refuses "no .cov file" "not a .cov file" show a.strace
sed 's/assay-cov 1/assay-cov 9/' a.cov >v9.cov
refuses "another version" "version 9" show v9.cov
sed 's/^call openat 1/call openat 2/' a.cov >bad.cov
refuses "a damaged .cov file" "damaged" show bad.cov
head -n 5 a.cov >cut.cov
refuses "a .cov file that was cut" "cut off" show cut.cov
refuses "an unknown command" "none of its commands" blah
refuses "an unknown call" "not counted" show a.cov --syscall brk
refuses "an unknown argument" "has no argument" show a.cov --syscall open --arg whence
refuses "an unknown space" "is none of" show a.cov --spaces blah
refuses "tcd without a target" "expected --target" tcd a.cov
echo "open flags" >t.txt
refuses "bad targets" "t.txt:1: expected" tcd a.cov --targets t.txt
refuses "a bad percentage" "not a percentage" read --max-unknown much a.strace -o x
refuses "a bad percentage to fail under" "not a percentage" show a.cov --fail-under high

head -c -20 a.strace >torn.strace
tap_run "a torn trace is partial" 1 "$ASSAY" cov read torn.strace -o x.cov
tap_like "and says so" "$WORK/err" 'middle of a line.*PARTIAL'
{ cat a.strace; for i in $(seq 10); do echo "no line $i"; done; } >mixed.strace
tap_run "too much that is not understood" 1 "$ASSAY" cov read mixed.strace -o x.cov
tap_like "with an example" "$WORK/err" '10 of 18 lines not understood.*no line 1'
tap_run "unless that is allowed" 0 "$ASSAY" cov read --max-unknown 90 mixed.strace -o x.cov
{ cat a.strace; printf '10 write(3, "'; head -c 5000000 /dev/zero | tr '\0' x
	printf '", 5000000) = 5000000\n'; cat a.strace; } >wide.strace
tap_run "a line of megabytes" 0 "$ASSAY" cov read --max-unknown 90 wide.strace -o x.cov
tap_like "is one line not understood" "$WORK/out" ' 1  lines not understood'
tap_like "and nothing around it is lost" "$WORK/out" ' 17  lines or records'
tap_done
