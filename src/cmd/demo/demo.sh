#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# demo.sh ASSAY FOLDER: what `assay demo` shows: a correct file system, a hunt, a power cut,
# ext4 of a kernel, a checker on damaged disks, coverage, and the report of all of it. It
# ends with 0 if all of it went as it should.
assay=$1 out=$2
wrong=0

title() {
	if [ -t 1 ]; then printf '\n\033[1m%s\033[0m\n' "$*"; else printf '\n%s\n' "$*"; fi
}

# STATUS COMMAND...: shows a command and runs it; its exit status must be this.
show() {
	want=$1
	shift
	printf '$ assay'
	for word; do
		case $word in
		*[!A-Za-z0-9_./:=,-]*) printf " '%s'" "$word" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
	printf '\n'
	"$assay" "$@"
	status=$?
	if [ $status = 3 ]; then
		echo "(left out: this machine lacks something)"
	elif [ $status != "$want" ]; then
		echo "exit status $status, expected $want"
		wrong=1
	fi
}

cd "$out" || exit 2

title "1. A correct file system: every answer agrees with the model"
cat >first.txt <<'END'
mkdir /a 0755
$0 = open /a/log O_RDWR|O_CREAT|O_APPEND 0644
write $0 len=100 fill=1
write $0 len=5000 fill=2
stat /a/log
rename /a/log /a/log.1
hardlink /a/log.1 /log
pread $0 len=200 at=50
truncate /log 10
fstat $0
close $0
unlink /a/log.1
END
mkdir -p clean
show 0 run -o clean --cov clean/own.cov --target lab first.txt

title "2. The same file system with a bug: generated workloads find it and are reduced"
show 1 hunt -o hunt --target lab:bug=2 --seed 1 --max-workloads 40 --max-findings 2

title "3. Power cuts: what was synced must be there afterwards"
cat >fsync.txt <<'END'
mkdir /mail 0755
$0 = open /mail/letter O_RDWR|O_CREAT 0644
write $0 len=3000 fill=7
hardlink /mail/letter /copy
fsync $0
END
show 0 crash -o crash --target lab fsync.txt
show 1 crash -o crash --target lab:bug=29 fsync.txt
id=$(ls crash/findings 2>/dev/null | head -n 1)
[ -z "$id" ] || show 0 explain -o crash "$id"

title "4. ext4 of a Linux kernel, in a process: no root, and a panic is a finding"
show 0 run -o ext4 --target ext4 first.txt
show 0 check -o ext4 --target ext4 --nodes 1 --depth 1 --no-crash --for 20s

title "5. A checker on damaged disks: it runs twice, and must agree with itself"
show 1 fsck -o fsck labfs-fsck:bug=53 --max-findings 1

title "6. Coverage: which calls, arguments and results some test exercises"
mkdir -p tested
show 0 cov record -o suite.cov --under "$out/tested" -- sh -c \
	'mkdir tested/d && echo hello >tested/d/f && cat tested/d/f &&
		mv tested/d/f tested/g && rm tested/g'
"$assay" cov untested suite.cov >untested.txt 2>/dev/null &&
	echo "$(wc -l <untested.txt) lines of what it never did: untested.txt; the first:" &&
	head -n 5 untested.txt

title "7. One report of all of it"
runs=
for run in hunt crash ext4 fsck clean; do
	[ ! -e "$run/.assay-run" ] || runs="$runs $run"
done
# shellcheck disable=SC2086
show 0 merge $runs -o all
# shellcheck disable=SC2086
show 0 report $runs -o report.html

echo
if [ $wrong != 0 ]; then
	echo "demo: something did not go as it should (see above)"
	exit 2
fi
echo "demo: all of it as it should be. Open this file in a browser:"
echo "  $out/report.html"
