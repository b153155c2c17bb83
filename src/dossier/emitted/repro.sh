# SPDX-License-Identifier: MIT
# ---- Below here, all such scripts are the same ---------------------------------------------------

usage() {
	cat <<-'END'
	usage: repro.sh [--sandbox | --host | --assay] [--uml PROGRAM] [DIRECTORY]
	Makes a disk image in a temporary directory of its own, and touches no other disk and no
	other directory. A finding of a directory takes DIRECTORY: it works in a new directory in
	it, which it removes at the end.
	  --sandbox  in a kernel that runs as a program (User-Mode Linux, program `linux`): no root
	  --uml PROGRAM  this kernel in place of `linux`, or of the one that it was found in
	  --host     on the running kernel, as root: a bug can take this machine down
	  --assay    by `assay replay`, for findings that only assay can judge
	DEADLINE=SECONDS in the environment: so long the calls may take; default 60.
	It says REPRODUCED, with exit status 0, or NOT REPRODUCED, with 1, or NEEDS ASSAY, with 125:
	a step can be done by assay alone, which is not here. 2: it cannot be run here.
	END
	exit 2
}

here=$(cd "$(dirname "$0")" && pwd) || exit 2
way= directory= asked= expects=
for word; do
	if [ -n "$expects" ]; then
		asked=$word expects=
		continue
	fi
	case $word in
	--inside | --mounter) break ;;
	--uml) expects=yes ;;
	--uml=*) asked=${word#--uml=} ;;
	--sandbox | --host | --assay) way=${word#--} ;;
	-*) usage ;;
	*) directory=$word ;;
	esac
done

[ -z "$expects" ] || usage

quote() { # WORD...
	for word; do printf "'%s' " "$(printf %s "$word" | sed "s/'/'\\\\''/g")"; done
}

lack() {
	echo "cannot be run: $*" >&2
	exit 2
}

need() {
	command -v "$1" >/dev/null || lack "the program $1 is not here"
}

# The kernel of the sandbox: the one that was asked for, or that `assay kernel` has built under the
# name with which it was found, or `linux`.
choose_kernel() {
	uml=${asked:-linux}
	[ -z "$asked" ] && [ -n "$kernel" ] && [ "$kernel" != debian ] || return 0
	for uml in "$HOME/.cache/assay" "/var/tmp/assay-$(id -u)" "/tmp/assay-$(id -u)"; do
		uml=$uml/kernels/built/$kernel/linux
		[ ! -x "$uml" ] || return 0
	done
	lack "the kernel $kernel, in which it was found, is not here: \`assay kernel build\`" \
		"builds kernels (docs/KERNELS.md); --uml PROGRAM takes another one, --host the" \
		"running one"
}

# Nothing is wrong in what was done, but that is not all of it: nobody may take it for a "no".
needs_assay() {
	echo "this needs assay: $why" >&2
	echo 'NEEDS ASSAY'
	exit 125
}

# What is wrong goes to a file, because parts of this run in another kernel.
wrong() {
	echo "wrong: $*"
	echo "$*" >>"$work/wrong"
}

finish() {
	if [ -s "$work/wrong" ]; then
		echo REPRODUCED
		exit 0
	fi
	echo 'NOT REPRODUCED'
	exit 1
}

# Type, mode, owners, links, size, name: one line for each name, in the order of bytes; a line
# end in a name is shown as '?'. What mkfs has made is not a part of it.
tree() {
	(cd "$1" && find . \( -path ./lost+found -o -path ./.nilfs \) -prune -o \
		-type d -printf 'd %m %U:%G - - /%P\0' -o \
		-type l -printf 'l - %U:%G %n %s /%P\0' -o \
		-type f -printf 'f %m %U:%G %n %s /%P\0' -o -printf '%y %m %U:%G %n - /%P\0') |
		LC_ALL=C sort -z | tr '\0\n' '\n?'
}

compare_lines() { # EXPECTED FILE WHAT
	[ -f "$here/$1" ] && [ ! -e "$work/unsure" ] || return 0
	cmp -s "$here/$1" "$2" && return
	diff "$here/$1" "$2" | sed -n 's/^</  expected: /p; s/^>/  found:    /p'
	wrong "$3 not as expected"
}

# Check sums, as cksum has them, of what is in the files, where that is what the finding is about.
compare_inside() { # DIRECTORY WHEN
	for what in data attrs; do
		[ -f "$here/expected.$what" ] && [ -x "$work/look" ] || continue
		"$work/look" $what "$1" >"$work/looked" || {
			echo "the $what of all files cannot be read $2, so they are not compared"
			continue
		}
		LC_ALL=C sort -z "$work/looked" | tr '\0\n' '\n?' >"$work/$what"
		compare_lines expected.$what "$work/$what" "the $what of the files $2 are"
	done
}

compare() { # DIRECTORY FILE WHEN
	compare_lines expected.tree "$2" "the tree $3 is"
	compare_inside "$1" "$3"
}

# ---- One mount: also in the sandbox --------------------------------------------------------------

# An overlay of folders that are on the disk. The first mount makes them.
start_over() {
	mkdir -p "$mnt.base" && mount -t "$over" "$device" "$mnt.base" || return
	(cd "$mnt.base" && [ ! -d upper ] || exit 0
		cd "$mnt.base" && umask 022 && mkdir upper work lower lower/low lower/low/d &&
			: >lower/low/d/h && : >lower/low/f && : >lower/low/g &&
			chmod 600 lower/low/g)
	layers="lowerdir=$mnt.base/lower,upperdir=$mnt.base/upper,workdir=$mnt.base/work"
	mount -t "$type" -o "$options,$layers" overlay "$mnt" || {
		umount "$mnt.base"
		return 1
	}
}

start() {
	if [ -n "${over:-}" ]; then
		start_over
	elif [ -n "$server" ]; then
		serve >"$work/server.out" 2>&1 </dev/null &
		serving=$!
		waited=0
		until mountpoint -q "$mnt"; do
			waited=$((waited + 1))
			[ $waited -lt 100 ] || return 1
			sleep 0.1
		done
	else
		mount -t "$type" -o "$options" "$device" "$mnt"
	fi
}

stop() {
	if [ -z "$server" ]; then
		umount "$mnt" && { [ -z "${over:-}" ] || umount "$mnt.base"; }
	else
		{ fusermount3 -u "$mnt" 2>/dev/null || umount "$mnt"; } && wait
	fi
}

# What the program asks to unmount and to mount in between. A server is a child of this script.
mounter() {
	if [ -n "$server" ] || ! grep -q find_mounter "$here/repro.c"; then return; fi
	cat >"$work/mounter" <<-END
	#!/bin/sh
	exec /bin/sh $(quote "$here/repro.sh") --mounter $(quote "$work" "$device" "$options") "\$@"
	END
	chmod 755 "$work/mounter"
	with_mounter=yes
}

run_calls() { # DIRECTORY
	set -- "$1" ${with_mounter:+--mounter "$work/mounter"}
	timeout -k 5 "$deadline" "$work/repro" "$@" >"$work/answers" 2>&1
	status=$?
	cat "$work/answers"
	case $status in
	0) ;;
	1) wrong 'a call does not answer as expected (see the lines "op N: expected")' ;;
	3) : >"$work/unsure" ;;
	125)
		: >"$work/left-out"
		# Then the tree may be another one, too.
		! grep -q 'is not compared\|without --mounter' "$work/answers" || : >"$work/unsure"
		;;
	124 | 137)
		wrong "the calls do not come back"
		: >"$work/hangs"
		;;
	*)
		if [ $status -gt 128 ]; then
			wrong "the calls end by signal $((status - 128))"
		else
			lack "repro ended with $status"
		fi
		;;
	esac
}

# The line of the first step that the program did not do, which says why.
what_was_left_out() {
	sed -n 's/ (\{0,1\}not done: this step needs assay: \([^)]*\).*/: \1/p' "$work/answers" |
		head -n 1
}

once_mounted() {
	if ! start; then
		# A checker that only replays the log may leave a disk that has to be repaired.
		[ "$how$replay" = crashyes ] || wrong "it cannot be mounted"
		return
	fi
	mounter
	[ "$how" = crash ] || run_calls "$mnt"
	# Whoever looks at it would not come back, too.
	[ ! -e "$work/hangs" ] || return
	if ! mountpoint -q "$mnt" && ! start; then
		wrong "it cannot be mounted again"
		return
	fi
	tree "$mnt" >"$work/tree.1" || wrong "the tree cannot be read"
	[ "$how" = crash ] || compare "$mnt" "$work/tree.1" "after the calls"
	if ! stop; then
		wrong "it cannot be unmounted"
		return
	fi
	if start; then
		tree "$mnt" >"$work/tree.2" || wrong "the tree cannot be read after another mount"
		[ "$how" = crash ] || compare "$mnt" "$work/tree.2" "after another mount"
		stop
	else
		wrong "it cannot be mounted again"
	fi
}

# Loads a module of the sandbox's kernel after those that it needs; modprobe may not be there. One
# that is built in is in no list.
load() { # MODULE
	folder=$work/modules/lib/modules/$(uname -r)
	line=$(grep "/$(echo "$1" | sed 's/[-_]/[-_]/g')\.ko:" "$folder/modules.dep" | head -n 1)
	files=
	for file in ${line%%:*} ${line#*:}; do files="$folder/$file $files"; done
	[ -z "$line" ] || "$work/guest" $files
}

# In the sandbox this is the first process: it needs what a kernel needs to mount something.
inside() {
	mount -t proc proc /proc
	mount -t sysfs sysfs /sys 2>/dev/null
	mount -t devtmpfs dev /dev 2>/dev/null
	for module in $modules; do
		load "${module%\?}" 2>/dev/null
	done
	device=/dev/ubda
	if grep -qw "${over:-$type}" /proc/filesystems && grep -qw "$type" /proc/filesystems; then
		once_mounted
	else
		echo "the kernel of the sandbox does not know $type" >"$work/lacks"
	fi
	[ -e "$work/hangs" ] || sync
	: >"$work/ended"
	exec "$work/guest"
}

# The program has compared all that the guilty call handed over, so assay has nothing to add; of
# attributes it does not compare the times.
has_compared_all() {
	[ ! -e "$work/unsure" ] && [ ! -e "$work/left-out" ] &&
		! grep -q 'mounted all the time' "$work/answers" &&
		grep -q '^	told_\(bytes\|text\|names\)(' "$here/repro.c"
}

# ---- Around it -----------------------------------------------------------------------------------

compile() {
	need cc
	cc -o "$work/repro" "$here/repro.c" || lack "repro.c does not compile"
	[ ! -f "$here/look.c" ] || cc -o "$work/look" "$here/look.c" ||
		lack "look.c does not compile"
}

make_image() {
	if [ "$how" = crash ]; then
		need zstd
		zstd -q -d -f "$here/disk.img.zst" -o "$disk" ||
			lack "disk.img.zst cannot be unpacked"
		if [ -f "$here/before.img.zst" ] && [ -f "$here/writes.txt" ]; then rebuild; fi
		if [ -n "$replay" ]; then
			replay_fs >"$work/replay.out" 2>&1
			status=$?
			[ $status != 127 ] || lack "the checker, which replays the log, is not here"
			echo "the checker has replayed the log, with status $status"
		fi
		return
	fi
	[ -n "$size" ] || return 0
	truncate -s "$size" "$disk" || exit 2
	make_fs >"$work/mkfs.out" 2>&1 || {
		cat "$work/mkfs.out"
		lack "the file system cannot be made"
	}
}

# The disk before the workload, with the writes that reached it, is the disk that the cut left.
rebuild() {
	zstd -q -d -f "$here/before.img.zst" -o "$work/built" || exit 2
	zstd -q -d -f "$here/writes.bin.zst" -o "$work/writes" || exit 2
	from=0
	while read -r offset length _; do
		case $offset in \#* | '') continue ;; esac
		dd if="$work/writes" of="$work/built" bs=512 skip=$((from / 512)) \
			seek=$((offset / 512)) count=$((length / 512)) conv=notrunc status=none
		from=$((from + length))
	done <"$here/writes.txt"
	cmp -s "$work/built" "$disk" && echo "before.img + writes = disk.img" ||
		echo "before.img with the writes is not disk.img"
}

check_image() {
	[ -n "$good" ] && [ -s "$disk" ] && [ ! -e "$work/hangs" ] || return 0
	check_fs >"$work/fsck.out" 2>&1
	status=$?
	case " $good " in
	*" $status "*) return 0 ;;
	esac
	# It tells of repairs, and all of them are of things that are not wrong.
	if [ $status = 1 ] && [ -n "$harmless" ] && grep -q '? yes' "$work/fsck.out" &&
		! grep '? yes' "$work/fsck.out" | grep -qvF "$harmless"; then
		return 0
	fi
	tail -n 20 "$work/fsck.out"
	if [ $status = 127 ]; then
		echo "not checked: the checker is not here"
		return
	fi
	wrong "the checker ends with status $status"
}

look_at_log() { # FILE
	grep -aE 'BUG:|WARNING: |Oops|Kernel panic|general protection|KASAN|UBSAN|INFO: task' \
		"$1" >"$work/log" && { cat "$work/log"; wrong "the kernel complains"; }
	[ -n "$type" ] && grep -aiE "$type.*(error|corrupt)" "$1" >"$work/log" &&
		{ cat "$work/log"; wrong "the file system complains in the kernel's log"; }
	return 0
}

on_host() {
	if [ -z "$server" ]; then
		[ "$(id -u)" = 0 ] || lack "to mount takes root; try --sandbox"
		grep -qw "$type" /proc/filesystems || modprobe -q "${modules%% *}"
		grep -qw "$type" /proc/filesystems || lack "this kernel does not know $type"
	fi
	dmesg >"$work/dmesg.1" 2>/dev/null
	options="$options${options:+,}loop"
	device=$disk
	once_mounted
	dmesg 2>/dev/null | tail -n +"$(($(wc -l <"$work/dmesg.1") + 1))" >"$work/console"
	look_at_log "$work/console"
}

in_sandbox() {
	choose_kernel
	need "$uml"
	need cc
	# What the first process has no program for: it loads modules, or turns the power off.
	cat >"$work/guest.c" <<-'END'
	#include <fcntl.h>
	#include <sys/reboot.h>
	#include <sys/syscall.h>
	#include <unistd.h>
	int main(int n, char **file)
	{
		if (n == 1)
			reboot(RB_POWER_OFF);
		while (*++file)
			syscall(SYS_finit_module, open(*file, O_RDONLY), "", 0);
		return 0;
	}
	END
	cc -D_GNU_SOURCE -o "$work/guest" "$work/guest.c" || exit 2
	# Variables of this script, as the first process sees them.
	cat >"$work/init" <<-END
	#!/bin/sh
	exec /bin/sh $(quote "$here/repro.sh") --inside $(quote "$work")
	END
	chmod 755 "$work/init"
	mkdir -p "$work/modules/lib"
	ln -s /usr/lib/uml/modules "$work/modules/lib/modules"
	mkdir -p "$work/uml"
	PATH=$PATH:/usr/sbin:/sbin TMPDIR=$work timeout -k 5 300 "$uml" mem=256M \
		uml_dir="$work/uml" umid=repro ubda="$disk" root=/dev/root rootfstype=hostfs \
		rootflags=/ rw init="$work/init" con0=fd:0,fd:1 con=null quiet selinux=0 \
		</dev/null >"$work/console" 2>&1
	status=$?
	tr -d '\r' <"$work/console"
	[ ! -s "$work/lacks" ] || lack "$(cat "$work/lacks")"
	look_at_log "$work/console"
	[ -e "$work/ended" ] && return
	if grep -aq 'Kernel panic\|BUG:' "$work/console"; then
		wrong "the kernel died"
	elif [ $status = 124 ] || [ $status = 137 ]; then
		wrong "the kernel hangs"
	else
		lack "the sandbox ended with $status"
	fi
}

by_assay() {
	command -v assay >/dev/null || needs_assay
	echo "by assay: $why"
	set -- "$here"
	[ -z "$asked" ] || set -- "$here" --uml "$(command -v "$asked")"
	assay replay "$@" $trust >"$work/replay" 2>&1
	status=$?
	cat "$work/replay"
	case $status in
	0) ;;
	1) wrong "assay reproduces it" ;;
	*) lack "assay replay ended with $status" ;;
	esac
}

# The program of a library says REPRODUCED itself.
by_library() {
	if ! grep -q 'assay/solo.h' "$here/repro.c"; then
		why="the program of this library cannot show it without assay"
		by_assay
		return
	fi
	need cc
	headers=${ASSAY_SRC:+-I$ASSAY_SRC/include}
	[ -n "$headers" ] || headers=$(pkg-config --cflags assay 2>/dev/null)
	if [ -n "$sources" ]; then
		[ -d "${ASSAY_SRC:-/none}/labfs" ] ||
			{
				why="or ASSAY_SRC=CHECKOUT, for the sources of labfs"
				by_assay
				return
			}
		set -- $(find "$ASSAY_SRC/labfs" -name '*.c' ! -name '*_main.c')
	else
		object=${OBJECT:-$object}
		[ -e "$object" ] ||
			lack "the library $object is not here; OBJECT=PATH names another one"
		object=$(cd "$(dirname "$object")" && pwd)/$(basename "$object")
		set -- "$object"
	fi
	# shellcheck disable=SC2086
	cc -D_GNU_SOURCE $headers "$here/repro.c" "$@" -ldl -lpthread -o "$work/repro" \
		2>"$work/cc.out" || {
		why="repro.c does not link with the library here: $(head -n 1 "$work/cc.out")"
		by_assay
		return
	}
	(cd "$work" && LD_LIBRARY_PATH=$(dirname "$object") timeout -k 5 "$deadline" ./repro)
	status=$?
	case $status in
	0) wrong "the program says so" ;;
	1) ;;
	124 | 137) wrong "it does not come back" ;;
	*)
		[ $status -gt 128 ] || lack "repro ended with $status"
		wrong "it dies of signal $((status - 128))"
		;;
	esac
}

in_directory() {
	[ -n "$directory" ] || lack "give a directory of the file system that is to be tested"
	mnt=$(mktemp -d "$directory/assay-repro-XXXXXX") || exit 2
	own=$mnt
	compile
	chmod 755 "$mnt"
	run_calls "$mnt"
	if [ -e "$work/hangs" ]; then
		own=
		echo "$mnt is left: who removes it may not come back"
		return
	fi
	tree "$mnt" >"$work/tree.1" || wrong "the tree cannot be read"
	compare "$mnt" "$work/tree.1" "after the calls"
	if [ -e "$work/left-out" ] && [ ! -s "$work/wrong" ]; then
		why=$(what_was_left_out)
		needs_assay
	fi
}

clean() {
	# A server that hangs answers nobody who looks at its mount, umount too: it goes first.
	if [ -e "$work/hangs" ] && [ -n "$serving" ]; then
		kill -9 "$serving" 2>/dev/null
		wait "$serving" 2>/dev/null
		umount -l "$work/mnt" 2>/dev/null || fusermount3 -u -z "$work/mnt" 2>/dev/null
	fi
	if mountpoint -q "$work/mnt" 2>/dev/null; then stop 2>/dev/null || umount -l "$work/mnt"; fi
	[ -z "$own" ] || rm -rf -- "$own"
	rm -rf -- "$work"
}

# ---- What is done --------------------------------------------------------------------------------

own= serving= with_mounter=
deadline=${DEADLINE:-60}
if [ "$1" = --inside ]; then
	work=$2
	disk=$work/disk.img mnt=$work/mnt
	inside
fi
if [ "$1" = --mounter ]; then
	work=$2 device=$3 options=$4
	mnt=$work/mnt
	case $5 in
	umount) stop ;;
	options)
		# What an overlay was made of cannot be said again.
		[ -z "${over:-}" ] && echo "$options" | sed 's/,*loop$//'
		;;
	*)
		options=$options${6:+${options:+,}$6}
		start
		;;
	esac
	exit
fi
work=$(mktemp -d) || exit 2
trap clean EXIT
trap 'exit 2' INT TERM HUP
disk=$work/disk.img mnt=$work/mnt
mkdir "$mnt" "$work/src" || exit 2
if [ -z "$way" ]; then
	way=$found_in
	[ "$way" = host ] || [ -n "$kernel$asked" ] || command -v linux >/dev/null || way=host
	[ "$way" = sandbox ] || [ "$(id -u)" = 0 ] || [ -n "$server" ] || way=sandbox
fi
case $how in
assay) by_assay ;;
library) if [ "$way" = assay ]; then by_assay; else by_library; fi ;;
dir) if [ "$way" = assay ]; then by_assay; else in_directory; fi ;;
*)
	if [ "$way" = assay ]; then
		by_assay
		finish
	fi
	[ "$how" = crash ] || compile
	make_image
	if [ "$way" = sandbox ] && [ -z "$server" ]; then in_sandbox; else on_host; fi
	check_image
	if [ "$how" = crash ] && [ -s "$work/tree.1" ]; then
		echo 'the recovered tree (type, mode, owners, links, size, name):'
		sed 's/^/  /' "$work/tree.1"
	fi
	if grep -qs 'mounted all the time' "$work/answers"; then
		why=${why:-"the server is started again in between"}
	fi
	if [ -e "$work/left-out" ]; then why=$(what_was_left_out); fi
	if [ -n "$why" ] && [ ! -s "$work/wrong" ] && ! has_compared_all; then
		echo "nothing is wrong that shows without assay"
		by_assay
	fi
	;;
esac
finish
