#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# FUSE servers that misbehave (bad_server.c): each run ends soon after its deadline with a finding
# or an error in a line, with bounded memory, and leaves no process, mount or folder. The same for
# directories on file systems that do not answer, and for plugins. Servers are found wherever they
# are. TORTURE_SECONDS=N: all ways, in an order of chance, for about N seconds.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
root=$PWD
DEADLINE=$((2 * TAP_SLOWER)) # seconds
slow=$(tap_slowness)
SLACK_MS=$((12000 * slow))   # beyond the deadlines: the machine may be busy
MEMORY_KB=700000
# A build with a sanitizer reserves more memory than any limit allows.
bounded=yes
bash -c 'ulimit -d 300000 && "$0" help' "$ASSAY" >/dev/null 2>&1 || bounded=

why=
[ "$(id -u)" = 0 ] || why="needs root"
[ -e /dev/fuse ] || why="needs /dev/fuse"
bin="$WORK/a folder/bin"
mkdir -p "$bin"
for program in bad_server measure; do
	[ -n "$why" ] || "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O1 -o "$bin/$program" \
		tests/torture/$program.c 2>"$WORK/err" || why="$program.c does not compile here"
done
if [ -n "$why" ]; then
	tap_skip "misbehaving servers" "$why"
	tap_done
	exit
fi
server="$bin/bad_server"
cat >"$WORK/w.txt" <<-'END'
	mkdir /d 0755
	$0 = open /d/f O_RDWR|O_CREAT 0644
	write $0 len=5000 fill=1
	fsync $0
	pread $0 len=100 at=0
	close $0
	symlink d/f /l
	readlink /l
	stat /d/f
	readdir /d
	truncate /d/f 100
	statfs /
	listxattr /d
	readdir /
	$1 = open /d/g O_WRONLY|O_CREAT 0644
	close $1
	unlink /d/g
END

# ---- Each way ------------------------------------------------------------------------------------

begin() { # WAY STATUS: in the background
	local way=$1 memory= deadline=$DEADLINE work=("$WORK/w.txt")
	# A second workload must come to its turn, too.
	case $2-$way in 0-* | *-hang-write | *-segv-mkdir) work+=("$WORK/w.txt") ;; esac
	# Nothing is to be waited for, and the machine may be busy.
	case $2-$way in
	0-* | *-exit* | *-mount-exit | *-segv-* | *-abort-* | *-errno-* | *-relay-* | \
		*-readonly-* | *-twice-* | *-*-link)
		deadline=10
		;;
	esac
	# It takes what it gets: let that be little.
	[ "$way" != memory ] || memory=300000
	(
		[ -z "$memory" ] || ulimit -d "$memory"
		exec "$bin/measure" "$WORK/$way.measured" "$ASSAY" run -o "$WORK/$way.out" \
			--deadline $deadline -t "fuse:'$server' $way {mnt} {src}" \
			"${work[@]}" \
			>"$WORK/$way.said" 2>&1 </dev/null
	) &
}

ended_well() { # WAY: what all of them have in common; prints what is wrong
	local way=$1 status ms kb
	read -r status ms kb <"$WORK/$way.measured"
	case $status in
	0 | 1 | 2) ;;
	*) echo "exit status $status" ;;
	esac
	# Made and mounted once, then two workloads, each of which may hang twice.
	[ "$ms" -le $((DEADLINE * 5000 + SLACK_MS)) ] || echo "it took $ms ms"
	[ "$kb" -le $MEMORY_KB ] || echo "it took $kb KiB"
	[ "$status" != 2 ] || [ "$(grep -c '^assay: ' "$WORK/$way.said")" = 1 ] ||
		echo "an error that is not told in one line"
	[ "$status" != 1 ] || grep -q '^FOUND' "$WORK/$way.said" || echo "no finding is told"
}

no_server() { ! pgrep -f "^$(tap_regex "$server") "; }
nothing_left() { # prints what is
	tap_wait_until 60 no_server
	pgrep -af "^$(tap_regex "$server") "
	grep bad_server /proc/self/mountinfo
}

# WAY STATUS REGEX: of what the run says. A server that is right, or hurts only itself, finds 0.
rows() {
	cat <<-'END'
	none 0 ^2.workloads
	never 2 mounted.nothing.in.time
	exit0 2 ended.before.it.served
	exit1 2 ended.before.it.served
	mount-exit 2 ended.before.it.served
	hang-init 2 did.not.come.back.within
	hang-lookup 1 mkdir.*did.not.come.back
	hang-getattr=3 1 did.not.come.back
	hang-open 1 -hang-
	hang-read 1 pread.*did.not.come.back
	hang-write 1 ^2.workloads.*1.finding
	hang-fsync 1 fsync.*did.not.come.back
	hang-flush 1 close.*did.not.come.back
	hang-readdir=4 1 did.not.come.back
	hang-statfs 1 statfs.*did.not.come.back
	spin-mkdir 1 mkdir.*did.not.come.back
	stop-create 1 open.*did.not.come.back
	self-symlink 1 -hang-
	stranger-mkdir 1 -hang-
	segv-mkdir 1 the.server.died.of.SIGSEGV
	abort-write 1 the.server.died.of.SIGABRT
	exit-fsync 1 ended.with.status.0.while.it.was.mounted
	errno-mkdir 1 mkdir
	short-create 1 open
	long-write 1 write
	endless 2 .
	same-offset 2 .
	loop 2 .
	twins 1 .
	slashes 2 .
	huge-size 1 .
	long-link 1 readlink
	nul-link 1 readlink
	types 1 .
	xattrs 0 ^2.workloads
	linger 1 did.not.end.within
	deadlock 1 did.not.come.back
	daemon 0 ^2.workloads
	flood 0 ^2.workloads
	notify 0 ^2.workloads
	forever 0 ^2.workloads
	generation 0 ^2.workloads
	reuse 1 .
	old 2 ended.before.it.served
	new 2 ended.before.it.served
	root-file 2 ended.before.it.served
	umount-mkdir 1 .
	cover-mkdir 1 .
	again-lookup 1 .
	move-write 1 .
	readonly-lookup 1 EROFS
	busy-mkdir 1 .
	exec-mkdir 0 ^2.workloads
	relay-lookup 1 ended.with.status.0.while.it.was.mounted
	killer-mkdir 0 ^2.workloads
	stopper-mkdir 1 did.not.(come.back|end)
	twice-mkdir 1 mkdir
	slow-lookup 1 did.not.come.back
	END
	[ -z "$bounded" ] || echo 'memory 0 ^2.workloads'
}

check() { # WAY STATUS REGEX
	local wrong
	wrong=$(
		ended_well "$1"
		[ -z "$2" ] || grep -q "^$2 " "$WORK/$1.measured" ||
			echo "status $(cat "$WORK/$1.measured"), wanted $2"
		[ -z "$3" ] || grep -Eq -- "$3" "$WORK/$1.said" || echo "it does not say $3"
	)
	if [ -z "$wrong" ]; then
		tap_ok "a server of the way $1"
	else
		tap_not_ok "a server of the way $1" "$wrong" "$(head -n 20 "$WORK/$1.said")"
	fi
}

some() { # rows on stdin, all at a time
	local way status regex list
	list=$(cat)
	while read -r way status regex; do
		begin "$way" "$status"
	done <<<"$list"
	wait
	while read -r way status regex; do
		check "$way" "$status" "$regex"
	done <<<"$list"
}

# ---- All at a time -------------------------------------------------------------------------------

# The mount is of a namespace that ends with this.
on_hung() { # WAY: in the background
	"$bin/measure" "$WORK/dir-$1.measured" unshare -m bash -c '
		mount --make-rprivate / && mkdir -p "$2/mnt-$1" || exit 99
		"$3" "$1" "$2/mnt-$1" &
		until grep -qF " $2/mnt-$1 " /proc/self/mountinfo; do sleep 0.01; done
		"$4" run --no-store --deadline "$5" -t "dir:$2/mnt-$1" "$2/w.txt" \
			>"$2/dir-$1.said" 2>&1 </dev/null
		status=$?
		kill -KILL $!
		wait
		exit $status
	' sh "$1" "$WORK" "$server" "$ASSAY" $DEADLINE 2>/dev/null &
}
hung() {
	cat <<-'END'
	none 0 ^1.workload
	hang-statfs 2 does.not.answer.within
	hang-mkdir 2 does.not.answer.within
	hang-write 1 cannot.be.killed:.it.is.left
	hang-unlink 2 does.not.answer.within
	loop 2 .
	END
}
tmp_before=$(ls -A /tmp /dev/shm | grep -v "${WORK##*/}" | sort)
while read -r way _; do
	on_hung "$way"
done < <(hung)
for first in 1 21 41; do
	some < <(rows | tail -n +$first | head -n 20)
done
tap_is "no server and no mount is left" "$(nothing_left)" ""
if pgrep -x assay >/dev/null; then
	tap_skip "no folder is left" "others run assay on this machine"
else
	tap_is "no folder is left" \
		"$(comm -13 <(echo "$tmp_before") <(ls -A /tmp /dev/shm | sort) |
			grep -i assay | grep -v "${WORK##*/}" | grep -v 'assay-test-')" ""
fi

# ---- What is found comes back -------------------------------------------------------------------

trust=
"$ASSAY" help replay 2>/dev/null | grep -q -- --trust && trust=--trust
id=$(ls "$WORK/hang-write.out/findings" 2>/dev/null | head -n 1)
tap_run "a hang comes back" 1 "$ASSAY" replay $trust -o "$WORK/hang-write.out" "$id"

# ---- Wherever the server is ---------------------------------------------------------------------

run_server() { # NAME WORD...: the words before {mnt}
	local name=$1
	shift
	tap_run "$name" 0 "$ASSAY" run --no-store --check op -t "fuse:$* {mnt} {src}" "$WORK/w.txt"
}
cat >"$bin/script" <<-END
	#!/bin/sh
	read -r way <"\$1" && shift && exec "$server" "\$way" "\$@"
END
chmod +x "$bin/script"
echo none >"$WORK/config"
run_server "a server below /tmp, in a folder with a blank" "'$server' none"
run_server "a script there, that reads a file there" "\"$bin/script\" '$WORK/config'"
shm=$(mktemp -d /dev/shm/assay-test-XXXXXX)
cp "$server" "$shm/server"
run_server "a server below /dev/shm" "$shm/server none"
rm -rf "$shm"
case $ASSAY in /*) ;; *) ASSAY=$root/$ASSAY ;; esac
cd "$bin" || exit 1
run_server "a server by a relative path" "./bad_server none"
run_server "a script by a relative path, with its file" "./script ../../config"
PATH=$bin:$PATH run_server "a server found in PATH" "bad_server none"
chmod -x script
tap_run "a program that may not be started" 3 "$ASSAY" run --no-store \
	-t "fuse:./script ../../config {mnt} {src}" "$WORK/w.txt"
printf '#!/no/such/interpreter\n' >script
chmod +x script
tap_run "a script whose interpreter is not there" 3 "$ASSAY" run --no-store \
	-t "fuse:./script ../../config {mnt} {src}" "$WORK/w.txt"
tap_like "why it cannot be started is said" "$WORK/err" "cannot be started: No such file"
cd "$root" || exit 1

# ---- Directories on file systems that do not answer ---------------------------------------------

while read -r way want regex; do
	read -r status ms kb <"$WORK/dir-$way.measured"
	tap_is "a directory of the way $way" \
		"$status $([ "$ms" -le $((DEADLINE * 5000 + SLACK_MS)) ] && echo in time)" \
		"$want in time"
	tap_like "it says so" "$WORK/dir-$way.said" "$regex"
done < <(hung)
tap_is "nor is anything left of these" "$(nothing_left)" ""

# ---- Killed, stopped, without root ---------------------------------------------------------------

for way in hang-write stop-mkdir deadlock hang-init; do
	"$ASSAY" run --no-store --deadline 100 -t "fuse:'$server' $way {mnt} {src}" "$WORK/w.txt" \
		>/dev/null 2>&1 </dev/null &
	pid=$!
	tap_wait_until 60 pgrep -f "^$(tap_regex "$server") $way "
	sleep 0.3 # some moment of the hang
	kill -KILL $pid
	wait $pid 2>/dev/null
done
tap_is "killed in the middle of a hang it leaves nothing" "$(nothing_left)" ""

# as_nobody WAY: /dev/fuse as most machines have it, for everyone.
as_nobody() {
	unshare -m bash -c '
		mount --make-rprivate / && mount -t tmpfs -o mode=0755 none /mnt &&
		mknod /mnt/fuse c 10 229 && chmod 666 /mnt/fuse &&
		mount --bind /mnt/fuse /dev/fuse && cp "$1" "$2" "$3" /mnt/ &&
		chmod 755 /mnt/assay /mnt/bad_server && chmod 644 /mnt/w.txt && cd / &&
		exec setpriv --reuid 65534 --regid 65534 --clear-groups env -i PATH="$PATH" \
			HOME=/nonexistent timeout "$6" /mnt/assay run --no-store --deadline "$5" \
			--target "fuse:/mnt/bad_server $4 {mnt} {src}" /mnt/w.txt
	' sh "$ASSAY" "$server" "$WORK/w.txt" "$1" $DEADLINE $((30 * TAP_SLOWER))
}
if ! setpriv --reuid 65534 --regid 65534 --clear-groups unshare -U true 2>/dev/null; then
	tap_skip "without root" "user namespaces are not allowed here"
else
	for way in hang-write deadlock daemon; do
		(
			status=0
			as_nobody $way >"$WORK/nobody-$way.said" 2>&1 </dev/null || status=$?
			echo $status >"$WORK/nobody-$way"
		) &
	done
	wait
	tap_is "without root: a hang" "$(cat "$WORK/nobody-hang-write")" 1
	tap_is "without root: a server that waits for itself" "$(cat "$WORK/nobody-deadlock")" 1
	tap_is "without root: a daemon" "$(cat "$WORK/nobody-daemon")" 0
	nobodys() { pgrep -af '^/mnt/bad_server '; }
	none_of_nobodys() { ! nobodys; }
	tap_wait_until 60 none_of_nobodys
	tap_is "nothing is left of these" "$(nobodys)" ""
fi

# below PID NAME: the processes of this name among those that it started, and so on.
below() {
	local child
	for child in $(pgrep -P "$1"); do
		[ "$(cat "/proc/$child/comm" 2>/dev/null)" != "$2" ] || echo "$child"
		below "$child" "$2"
	done
}

if ! command -v fuse2fs >/dev/null; then
	tap_skip "fuse2fs, stopped" "needs the program fuse2fs"
else
	seq 1 3000 | sed 's|.*|mkdir /d& 0755|' >"$WORK/long.txt"
	"$ASSAY" run -o "$WORK/stopped" --deadline $DEADLINE -t fuse2fs "$WORK/long.txt" \
		>"$WORK/out" 2>&1 </dev/null &
	pid=$!
	# The first one makes sure that the disk is sound.
	first= last=
	is_second_server() {
		last=$(below $pid fuse2fs | head -n 1)
		[ -n "$last" ] && [ "$last" != "${first:=$last}" ]
	}
	tap_wait_until 20 is_second_server
	[ -z "$last" ] || kill -STOP "$last" 2>/dev/null
	status=0
	wait $pid || status=$?
	case $status in
	1) tap_like "fuse2fs, stopped by somebody, is a hang" "$WORK/out" "-hang-" ;;
	*) tap_skip "fuse2fs, stopped by somebody" "it was not met at the right moment" ;;
	esac
	tap_is "and it is gone" "$(ps -o pid= -p "${last:-1}" | grep -v '^ *1$')" ""
fi

# ---- Plugins ------------------------------------------------------------------------------------

labfs=$ASSAY_BUILD/plugins/labfs.so
if ! "${CC:-cc}" -shared -fPIC -std=gnu11 -D_GNU_SOURCE -Iinclude \
	-DLABFS_SO="\"$(realpath "$labfs")\"" tests/torture/bad_labfs.c -o "$WORK/bad.so" -ldl \
	2>"$WORK/err"; then
	tap_skip "plugins that misbehave" "bad_labfs.c does not compile here"
else
	plugins() {
		cat <<-'END'
		hang 1 mkdir.*did.not.come.back
		spin 1 mkdir.*did.not.come.back
		flood 1 did.not.come.back.within
		endless 2 TOO_MUCH
		deaf 1 did.not.come.back
		long-read 1 pread.*TOO_MUCH
		long-link 1 readlink.*TOO_MUCH
		END
		[ -z "$bounded" ] || echo 'memory 1 the.target.(died.of|did.not.come.back)'
	}
	while read -r way _; do
		deadline=$DEADLINE
		case $way in endless | long-*) deadline=$((10 * TAP_SLOWER)) ;; esac
		(
			[ -z "$bounded" ] || ulimit -d 300000
			exec "$bin/measure" "$WORK/p-$way.measured" "$ASSAY" run --no-store \
				--deadline $deadline -t "plugin:$WORK/bad.so:$way" "$WORK/w.txt" \
				>"$WORK/p-$way.said" 2>&1 </dev/null
		) &
	done < <(plugins)
	wait
	while read -r way want regex; do
		read -r status ms kb <"$WORK/p-$way.measured"
		tap_is "a plugin of the way $way" \
			"$status $([ "$ms" -le $((30000 * TAP_SLOWER)) ] && echo in time)" \
			"$want in time"
		tap_like "it says so" "$WORK/p-$way.said" "$regex"
	done < <(plugins)
	tap_is "a flood is cut short" "$(($(stat -c %s "$WORK/p-flood.said") < 2000000))" 1
fi

# ---- Longer -------------------------------------------------------------------------------------

if [ -n "${TORTURE_SECONDS:-}" ]; then
	end=$((SECONDS + TORTURE_SECONDS))
	while [ $SECONDS -lt $end ]; do
		some < <("$server" --list | shuf -n 6 | while read -r way; do
			case $way in *-*) way=$way=$((RANDOM % 6 + 1)) ;; esac
			[ -e "$WORK/$way.measured" ] || echo "$way"
		done | sed 's/^\(mount-exit\|same-offset\|huge-size\|long-link\|nul-link\)=.*/\1/' |
			sort -u)
		tap_is "nothing is left" "$(nothing_left)" ""
	done
fi
tap_done
