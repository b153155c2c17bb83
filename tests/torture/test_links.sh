#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Planted links and folders that are not ours: whatever a run, a hunt, a crash run, a reduction or a
# replay meets in its folder, nothing outside is written or removed, and what is not a run folder of
# assay is refused in one line.
set -u
cd "$(dirname "$0")/../.."
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
cases=$(realpath labfs/cases)
cd "$WORK" || exit 1
w=$cases/02-append.txt
id=lab-data-6c4080d6
nobody=65534
RANDOM=$([ -n "${TORTURE_SECONDS:-}" ] && echo $$ || echo 7)
is_root=$([ "$(id -u)" = 0 ] && echo yes)

# What must not be touched: plain files, hidden ones, names that assay gives to its own.
victim() {
	rm -rf victim
	mkdir -p victim/findings victim/hunt/reduce victim/hunt/job-0/findings victim/job-1
	for f in plain .hidden .part-1.0 finding.json workload.txt state.json lock profile list \
		hunt/.x hunt/.x.tmp hunt/reduce/f hunt/job-0/f hunt/lock job-1/f findings/f \
		0.cov; do
		echo "precious $f" >"victim/$f"
	done
	before=$(print)
}
print() {
	(cd victim && find . -type f -printf '%p %s %T@ %C@\n' -o -printf '%p\n' | sort | sha256sum)
}

c_run() { "$ASSAY" run --target lab:bug=2 "$w" -o "$1"; }
hunt="--target lab:bug=7 --max-workloads 3 --no-reduce"
c_hunt() { "$ASSAY" hunt $hunt -o "$1"; }
c_hunt_cov() { "$ASSAY" hunt $hunt -o "$1" --cov out.cov; }
c_resume() { "$ASSAY" hunt --resume --max-workloads 3 -o "$1"; }
c_crash() { "$ASSAY" crash --target lab:bug=26 --again 0 --view 1 rename.txt -o "$1"; }
c_reduce() { "$ASSAY" reduce $id --for 2 -o "$1"; }
c_replay() { "$ASSAY" replay $id -o "$1"; }
printf '%s\n' 'create /a 0644' 'sync' 'rename /a /b' 'sync' >rename.txt

# A good run folder with a finding and a hunt in it, to plant things in.
c_run good >/dev/null
c_hunt good >/dev/null
mkdir marked && cp good/.assay-run marked/

# unharmed NAME COMMAND FOLDER: whatever it answers, nothing outside has changed.
unharmed() {
	local got=0
	timeout 60 "c_$2" "$3" >out 2>err </dev/null || got=$?
	if [ "$(print)" != "$before" ]; then
		tap_not_ok "$1: $2 touches nothing else" "exit status $got" "$(cat err)" \
			"$(find victim -newer good/.assay-run | head)"
		victim
	elif [ $got -gt 2 ]; then
		tap_not_ok "$1: $2 ends in order" "exit status $got" "$(cat err)"
	elif [ $got = 2 ] && [ "$(wc -l <err)" != 1 ]; then
		tap_not_ok "$1: $2 says why in one line" "$(cat err)"
	else
		tap_ok "$1: $2 touches nothing else (exit status $got)"
	fi
}
export -f c_run c_hunt c_hunt_cov c_resume c_crash c_reduce c_replay
export ASSAY cases w id hunt
# timeout(1) for functions, too.
timeout() { # SECONDS COMMAND...
	local seconds=$1
	shift
	command timeout "$seconds" bash -c '"$@"' _ "$@"
}

# ---- Links in a run folder of ours ----
victim
plant() { # PATH TARGET: a link in a copy of the good folder, made by another user where we can
	rm -rf planted
	cp -a good planted
	rm -rf "planted/$1"
	mkdir -p "$(dirname "planted/$1")"
	ln -s "$2" "planted/$1"
	[ -z "$is_root" ] || [ $((RANDOM % 2)) = 0 ] || chown -h $nobody "planted/$1"
}
V=$WORK/victim
links="findings findings/.$id findings/.part-1.0 findings/$id .part-1.0 hunt hunt/lock hunt/job-0
	hunt/job-7 hunt/reduce hunt/state.json hunt/profile hunt/.state.json.1.0.tmp cov.parts
	findings/$id/workload.txt findings/$id/finding.json findings/$id/README.md
	findings/$id/workload.reduced.txt findings/$id/repro.c .assay-run"
for link in $links; do
	case $link in
	*.txt | *.json | *.md | *.c | */lock | */profile | *.tmp | .assay-run) to=$V/plain ;;
	*) to=$V ;;
	esac
	# The commands that use this entry; all commands when there is time.
	case ${TORTURE_SECONDS:+all}$link in
	hunt*) commands="hunt resume" ;;
	findings/$id/*) commands="run reduce replay" ;;
	findings*) commands="run crash reduce" ;;
	cov.parts) commands="hunt_cov" ;;
	.*) commands="run crash" ;;
	*) commands="run hunt hunt_cov crash resume reduce replay" ;;
	esac
	for c in $commands; do
		plant "$link" "$to"
		unharmed "$link is a link" "$c" planted
	done
done

# ---- Folders that are not ours, or not ours alone ----
for c in run hunt crash; do
	tap_run "$c: a folder with other files in it" 2 "c_$c" victim
	tap_is "$c: the message is one line" "$(wc -l <err)" 1
	tap_like "$c: and says what to do" err "assay-run"
	tap_is "$c: nothing is touched" "$(print)" "$before"
	rm -rf empty && mkdir empty
	tap_run "$c: an empty folder" 1 "c_$c" empty
	tap_is "$c: becomes one of ours" "$([ -f empty/.assay-run ] && echo yes)" yes
	rm -rf loose && mkdir loose && chmod 777 loose
	tap_run "$c: a folder that all can write" 2 "c_$c" loose
	tap_is "$c: gets nothing" "$(ls -A loose)" ""
	rm -rf sticky && mkdir sticky && chmod 1777 sticky
	tap_run "$c: a folder in one that all can write, as in /tmp" 1 "c_$c" sticky/out
	tap_run "$c: but not that one" 2 "c_$c" sticky
done
# An access control list: the mode alone says only that our own group may write.
cat >acl.c <<-'END'
	#include <sys/xattr.h>
	#define ID(n) n & 255, n >> 8 & 255, n >> 16 & 255, n >> 24
	#define ENTRY(tag, may, id) tag, 0, may, 0, ID(id)
	int main(int argc, char **argv)
	{
		unsigned char list[] = { 2, 0, 0, 0, ENTRY(1, 7, 0xffffffffu), ENTRY(2, 7, 12345u),
			ENTRY(4, 5, 0xffffffffu), ENTRY(16, 7, 0xffffffffu),
			ENTRY(32, 5, 0xffffffffu) };
		return setxattr(argv[argc - 1], "system.posix_acl_access", list, sizeof(list), 0);
	}
END
mkdir listed
if "${CC:-gcc}" -w acl.c -o acl && ./acl listed; then
	for c in run hunt crash; do
		tap_run "$c: a folder whose list of access rights names others" 2 "c_$c" listed
		tap_is "$c: gets nothing" "$(ls -A listed)" ""
	done
else
	tap_skip "a list of access rights" "this file system has none"
fi
rm -rf old && cp -a good old && rm old/.assay-run
tap_run "a folder of a version without marks" 1 c_resume old
tap_is "is known by its contents, and marked" "$([ -f old/.assay-run ] && echo yes)" yes
rm old/.assay-run && echo note >old/notes.txt
tap_run "with something else in it" 2 c_run old
touch old/.assay-run
tap_run "it is adopted by hand" 1 c_run old
tap_is "and keeps what is not ours" "$(cat old/notes.txt)" note
rm -rf own && cp -a good own && mv own real && ln -s real own
tap_run "a link of our own in what we name" 1 c_run own
tap_is "is followed, and stays" "$(stat -c %F own)" "symbolic link"

# ---- What another user made, met by root ----
if [ "$is_root" ]; then
	for c in run hunt crash; do
		rm -rf theirs public && mkdir theirs && chown $nobody theirs
		tap_run "$c: a folder of another user" 2 "c_$c" theirs
		tap_is "$c: gets nothing" "$(ls -A theirs)" ""
		mkdir public && chmod 777 public && ln -s ../victim public/assay.out
		chown -h $nobody public/assay.out
		tap_run "$c: a link of another user in place of our folder" 2 \
			"c_$c" public/assay.out
		tap_is "$c: leads nowhere" "$(print)" "$before"
		cp -a marked victim2 && rm -rf public/assay.out && ln -s ../victim2 public/assay.out
		chown -h $nobody public/assay.out
		tap_run "$c: not even to a run folder" 2 "c_$c" public/assay.out
		tap_is "$c: which gets nothing" "$(ls -A victim2)" .assay-run
		rm -rf victim2
	done
	# A directory to test in: what dead runs left there is removed, but not through a link.
	rm -rf theirs && mkdir theirs && chown $nobody theirs
	mkdir -p dead/tree && echo precious >dead/tree/file && : >dead/lock
	ln -s "$WORK/dead" theirs/.assay-run-00abcd
	tap_run "a directory of another user as a target" 0 "$ASSAY" run --no-store \
		--target dir:theirs "$w"
	tap_is "what his link leads to stays" "$(cat dead/tree/file)" precious
else
	tap_skip "folders and links of others" "only root can make them"
fi

# ---- Files of a finding that are none ----
spoil() { # NAME HOW: a copy of the good folder in which this file of the finding is something else
	rm -rf planted
	cp -a good planted
	file=planted/$1
	rm -rf "$file"
	case $2 in
	fifo) mkfifo "$file" ;;
	folder) mkdir "$file" ;;
	missing) ;;
	empty) : >"$file" ;;
	comment) echo '# nothing to do' >"$file" ;;
	device) mknod "$file" c 1 3 2>/dev/null || mkfifo "$file" ;;
	zero) mknod "$file" c 1 5 2>/dev/null || mkfifo "$file" ;;
	huge) truncate -s 3G "$file" ;;
	array) echo '[1, 2]' >"$file" ;;
	number) echo 17 >"$file" ;;
	shapes) echo '{"id":[],"target":{},"signature":7,"options":null,"count":"x"}' >"$file" ;;
	deep) head -c 200000 /dev/zero | tr '\0' '[' >"$file" ;;
	binary) head -c 5000 "$ASSAY" >"$file" ;;
	esac
}
# Without a workload or a valid finding.json it is an error, and nothing is waited for.
for how in fifo folder missing empty comment device zero huge binary; do
	for c in reduce replay; do
		spoil "findings/$id/workload.txt" $how
		# If there is a reduction, replay uses it.
		[ $c = reduce ] ||
			sed -i 's/,"reduced":{[^}]*}//' "planted/findings/$id/finding.json"
		tap_run "$c: workload.txt is $how" 2 timeout 60 "c_$c" planted
		tap_is "$c: $how: one line" "$(wc -l <err)" 1
	done
done
for how in fifo folder missing empty device zero huge array number shapes deep binary; do
	for c in reduce replay; do
		spoil "findings/$id/finding.json" $how
		tap_run "$c: finding.json is $how" 2 timeout 60 "c_$c" planted
		tap_is "$c: $how: one line" "$(wc -l <err)" 1
	done
	spoil hunt/state.json $how
	tap_run "resume: state.json is $how" 2 timeout 60 c_resume planted
	tap_is "resume: $how: one line" "$(wc -l <err)" 1
	spoil hunt/profile $how
	tap_run "resume: profile is $how" \
		"$(case $how in empty) echo 1 ;; *) echo 2 ;; esac)" timeout 60 c_resume planted
done
spoil "findings/$id/README.md" fifo
tap_run "reduce: README.md is a FIFO" 2 timeout 60 c_reduce planted
spoil hunt/lock fifo
tap_run "hunt: the lock is a FIFO" 2 timeout 60 c_resume planted
# What is named on the command line may be a FIFO.
tap_run "a workload from a pipe" 1 "$ASSAY" run --target lab:bug=2 --no-store <(cat "$w")
tap_run "a coverage file from a pipe" 0 bash -c \
	'"$1" run --target lab --no-store --cov a.cov "$2" && "$1" cov show <(cat a.cov)' _ \
	"$ASSAY" "$w"
tap_run "a saved disk from a pipe" 0 "$ASSAY" disk info <(cat "good/findings/$id/disk.img.zst")
tap_done
