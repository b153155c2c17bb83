#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Outputs that a user names, of every command that writes one: devices and FIFOs are written into,
# the target of a link is replaced, folders are refused, and a failure leaves everything as it was.
# Nodes are made in the test's own folder: it must never be run on those of the machine.
set -u
cd "$(dirname "$0")/../.."
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
cases=$(realpath labfs/cases)
checker=$(realpath tests/sym/bad_checker.c)
cd "$WORK" || exit 1

"$ASSAY" run --target lab:bug=2 -o seed "$cases/02-append.txt" >/dev/null
cp seed/findings/*/disk.img.zst d.zst
"$ASSAY" run --target lab --no-store --cov a.cov "$cases/02-append.txt" >/dev/null
printf 'openat(AT_FDCWD, "/tmp/x", O_RDONLY) = 3\nclose(3) = 0\n' >trace.txt
printf '%s\n' '# define' A A/foo '# setup' 'mkdir A 0755' '# run' \
	'open Afoo O_RDWR|O_CREAT 0644' >w.jlang
"${CC:-gcc}" -O1 -w -o checker "$checker" -lpthread || tap_not_ok "building the checker"
head -c 65536 /dev/zero >blank
"$ASSAY" gen --seed 1 -o ref >/dev/null
generated=$(ls ref)

# Each writes to $1.
w_export() { "$ASSAY" disk export d.zst "$1"; }
w_merge() { "$ASSAY" cov merge -o "$1" a.cov a.cov; }
w_read() { "$ASSAY" cov read --format strace -o "$1" trace.txt; }
w_record() { "$ASSAY" cov record --how ptrace -o "$1" -- true; }
w_feedback() { "$ASSAY" cov feedback -o "$1" a.cov; }
w_html() { "$ASSAY" cov show --html "$1" a.cov; }
w_run_cov() { "$ASSAY" run --target lab --no-store --cov "$1" "$cases/02-append.txt"; }
w_hunt_cov() {
	rm -rf hunted
	"$ASSAY" hunt --target lab --max-workloads 1 --no-reduce -o hunted --cov "$1"
}
w_hunt_junit() {
	rm -rf hunted
	"$ASSAY" hunt --target lab --seed 1 --max-workloads 1 --no-reduce -o hunted --junit "$1"
}
w_run_sarif() { "$ASSAY" run --target lab --no-store --sarif "$1" "$cases/02-append.txt"; }
w_report() { "$ASSAY" report seed -o "$1"; }
# A checker with five paths.
w_questions() {
	"$ASSAY" fsck "checker:$WORK/checker pread {disk}" --disk blank --symbolic --range 100+4 \
		--no-store --for 100s --questions "$1"
}
# These take a folder, in which something has the name of the file already.
w_gen() { into "$1" "$generated" "$ASSAY" gen --seed 1 -o; }
w_import() { into "$1" w.jlang.txt "$ASSAY" import --from jlang w.jlang -o; }
# into NODE NAME COMMAND...: the node is the file NAME of the folder that COMMAND is given.
into() {
	local node=$1 name=$2 got=0
	shift 2
	rm -rf folder
	mkdir folder
	if [ -e "$node" ] || [ -L "$node" ]; then mv "$node" "folder/$name"; fi
	"$@" folder || got=$?
	if [ -e "folder/$name" ] || [ -L "folder/$name" ]; then mv "folder/$name" "$node"; fi
	[ -z "$(ls -A folder)" ] || return 99
	return $got
}
writers="export merge feedback html run_cov hunt_cov hunt_junit run_sarif report gen import"
w_read plain >/dev/null 2>&1 && writers="$writers read"
w_record plain >/dev/null 2>&1 && writers="$writers record"
w_questions plain >/dev/null 2>&1 && writers="$writers questions"
rm -f plain

# try NAME WANTED-STATUS WRITER NODE
try() {
	local want=$2
	# This is an error of its own; any other status is that of the command that it records.
	[ "$3:$want" != record:2 ] || want=125
	tap_run "$1" "$want" "w_$3" "$4"
	[ "$2" = 0 ] || tap_is "$1: in one line" "$(grep -c ^assay: err)" 1
	tap_is "$1: nothing is left beside it" "$(find . -name '*.tmp')" ""
}

# Two runs of these give the same bytes.
is_stable() { case $1 in record | run_cov | hunt_cov | questions) return 1 ;; esac; }

for w in $writers; do
	try "$w: a new file" 0 "$w" "new.$w"
	size=$(stat -c %s "new.$w")
	tap_is "$w: it holds something" "$([ "$size" -gt 0 ] && echo yes)" yes
	same() { if is_stable "$w"; then cmp -s "$1" "new.$w"; else [ -s "$1" ]; fi && echo yes; }

	rm -rf n && echo old >n && chmod 640 n
	try "$w: a file that is there" 0 "$w" n
	tap_is "$w: it is replaced, its mode is not" "$(same n) $(stat -c '%a %F' n)" \
		"yes 640 regular file"

	# Links are relative to their own folder, which is another than ours.
	rm -rf n links && mkdir links && echo old >links/target && ln -s target links/first
	ln -s links/first n
	case $w in gen | import) rm n && ln -s ../links/first n ;; esac
	try "$w: a link to a link" 0 "$w" n
	tap_is "$w: they stay, the file at their end is replaced" \
		"$(stat -c %F n links/first | uniq) $(same links/target)" "symbolic link yes"

	rm -rf n links/target
	ln -s "$WORK/links/target" n
	try "$w: a link to nothing" 0 "$w" n
	tap_is "$w: it stays, and its target is there" "$(stat -c %F n) $(same links/target)" \
		"symbolic link yes"

	rm -rf n && mkdir n && echo mine >n/file
	try "$w: a folder" 2 "$w" n
	tap_is "$w: it stays as it was" "$(cat n/file)" mine

	# The reader has a name of its own for it: the node itself may be moved.
	rm -rf n reader && mkfifo n && ln n reader
	# cat opens it, not the shell, which would wait, too.
	timeout 20 cat reader >read &
	try "$w: a FIFO" 0 "$w" n
	wait
	tap_is "$w: somebody reads it, and it stays" "$(same read) $(stat -c %F n)" "yes fifo"

	rm -rf n
	if mknod n c 1 3 2>/dev/null && : >n; then
		try "$w: a device" 0 "$w" n
		tap_is "$w: it stays" "$(stat -c '%F %t %T' n)" "character special file 1 3"
		rm -rf n && mknod n c 1 7
		try "$w: a full device" 2 "$w" n
		tap_is "$w: it stays, too" "$(stat -c '%F %t %T' n)" "character special file 1 7"
		tap_like "$w: the message says why" err "No space left"
		mv n dev && ln -s "$WORK/dev" n
		try "$w: a link to a full device" 2 "$w" n
		tap_is "$w: both stay" "$(stat -c %F n) $(stat -c '%F %t' dev)" \
			"symbolic link character special file 1"
	else
		tap_skip "$w: devices" "nodes cannot be made here, or not be used"
	fi
	rm -rf n dev
done

# Standard output by its names; what comes before in a file stays.
for name in - /dev/stdout /dev/fd/1 /proc/self/fd/1; do
	"$ASSAY" disk export d.zst $name | cmp -s - new.export
	tap_is "$name is standard output" "${PIPESTATUS[*]}" "0 0"
	echo before >log
	"$ASSAY" cov feedback -o $name a.cov >>log
	tap_is "$name of a file is appended to" \
		"$(head -n 1 log) $(tail -n +2 log | cmp -s - new.feedback && echo same)" \
		"before same"
done
"$ASSAY" disk export d.zst >(cat >substituted)
tap_wait_until 10 cmp -s substituted new.export
tap_is "a process substitution gets all of it" "$(cmp substituted new.export && echo same)" same

# A file that cannot be written is not replaced, either.
if [ "$(id -u)" = 0 ]; then
	tap_skip "a file without the right to write" "root has every right"
else
	echo old >ro && chmod 444 ro
	tap_run "a file without the right to write" 2 "$ASSAY" disk export d.zst ro
	tap_is "it stays" "$(cat ro)" old
fi
mkdir shut && echo old >shut/file && chmod 555 shut
tap_run "in a folder that takes nothing new" 0 "$ASSAY" cov feedback -o shut/file a.cov
tap_is "the file is written" "$(cmp shut/file new.feedback && echo same)" same
chmod 755 shut
tap_run "a FIFO that nobody reads is no reason to wait for ever" 2 timeout 60 "$ASSAY" \
	disk export d.zst <(:) 2>/dev/null
mkfifo alone
tap_run "nor one with a name" 2 timeout 60 "$ASSAY" cov feedback -o alone a.cov
tap_like "it says so" err "nobody reads from it"

# Another user's link is not followed.
if [ "$(id -u)" = 0 ] && chown 65534 log; then
	echo precious >victim
	ln -s victim theirs && chown -h 65534 theirs
	tap_run "a link that another user made" 2 "$ASSAY" disk export d.zst theirs
	tap_is "leads nowhere" "$(cat victim)" precious
	# Nor is one in the middle: no folder is made beyond it.
	mkdir -p public beyond && chmod 1777 public
	ln -s ../beyond public/l && chown -h 65534 public/l
	through() { # NAME COMMAND...
		local name=$1
		shift
		tap_run "$name: a link of another user in the middle" 2 "$@"
		tap_is "$name: nothing is made beyond it" "$(ls -A beyond)" ""
	}
	through gen "$ASSAY" gen -o public/l/sub
	through import "$ASSAY" import --from jlang w.jlang -o public/l/sub
	through svg "$ASSAY" cov show --svg public/l/sub a.cov
	through "run --cov" "$ASSAY" run --target lab --no-store --cov public/l/sub/ \
		"$cases/02-append.txt"
	# Another user put a file where everybody can: he would own what is written.
	for w in $writers; do
		case $w in gen | import) continue ;; esac
		echo theirs >public/file && chmod 666 public/file && chown 65534 public/file
		try "$w: a file that another user put in a public folder" \
			2 "$w" public/file
		tap_is "$w: it stays as it was" "$(cat public/file)" theirs
		rm -f public/fifo && mkfifo -m 666 public/fifo && chown 65534 public/fifo
		try "$w: a FIFO there" 2 "$w" public/fifo
	done
else
	tap_skip "a link that another user made" "only root can make one"
fi

# --cov FOLDER/: a file that cannot be written is an error.
cov_in() { "$ASSAY" run --target lab --no-store --cov "$1/" "$cases/02-append.txt"; }
tap_run "--cov FOLDER/" 0 cov_in covs
tap_is "it holds a file" "$([ -s covs/0.cov ] && echo yes)" yes
echo mine >no_folder
tap_run "--cov FILE/" 2 cov_in no_folder
tap_is "the file stays" "$(cat no_folder)" mine
boxed=0
timeout 100 "$ASSAY" run --target ext4 -o boxed --cov guests/ "$cases/02-append.txt" >out 2>err ||
	boxed=$?
if [ $boxed = 3 ]; then
	tap_skip "--cov FOLDER/ of a sandbox" "$(head -n 1 err)"
else
	tap_is "--cov FOLDER/ of a sandbox holds a file" \
		"$boxed $([ -s guests/0.cov ] && echo yes)" "0 yes"
fi
# Questions that come after a while: a FIFO whose reader goes away when it has the first line.
if [[ " $writers " = *" questions "* ]]; then
	mkfifo asked
	head -n 1 asked >first &
	tap_run "questions that nobody reads any more" 2 timeout 100 "$ASSAY" fsck \
		"checker:$WORK/checker hard {disk}" --disk blank --symbolic --range 100+24 \
		--no-store --for 90s --questions asked
	wait
	tap_is "the first line was there" "$(cat first)" "assay questions 1"
fi
# What was gone for is read only from a file.
mkfifo tries
tap_run "gen --tries FIFO waits for nobody" 2 timeout 60 "$ASSAY" gen --feedback new.feedback \
	--tries tries
if mkdir small && mount -t tmpfs -o size=64k none small 2>/dev/null; then
	mkdir small/covs
	head -c 100k /dev/zero >small/fill 2>/dev/null
	tap_run "--cov FOLDER/ on a full disk" 2 cov_in small/covs
	umount small
	# A file that is a mount point, as containers have them.
	echo inner >inner && echo outer >outer && mount --bind inner outer
	tap_run "a file on which another is mounted" 0 "$ASSAY" cov feedback -o outer a.cov
	umount outer
	tap_is "is written" "$(cmp inner new.feedback && cat outer)" outer
else
	tap_skip "full disks and mounted files" "only root can mount"
fi
tap_done
