#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Workloads that try to get out of the file system they run on: links to folders outside, dots,
# /proc, device nodes, mount options. A folder of canaries outside must stay as it is, to the
# byte, the mode and the time of change, and no device node of the workload may be reachable by
# others. Root has the most to lose; as an ordinary user the same must hold.
set -u
. tests/tap.sh

CANARY=$WORK/canary
mkdir -p "$CANARY/dir/below"
echo canary >"$CANARY/file"
echo canary >"$CANARY/dir/file"
ln -s file "$CANARY/link"
ln "$CANARY/file" "$CANARY/second"
chmod 755 "$WORK" "$CANARY"

canary_state() {
	find "$CANARY" -printf '%P %y %m %U %G %s %n %C@ %l\n' | LC_ALL=C sort
	find "$CANARY" -type f -exec md5sum {} + | LC_ALL=C sort
}

seed=1
draw() { # N: a number below N; the same for the same seed
	seed=$(((seed * 1103515245 + 12345) & 0x7fffffff))
	drawn=$((seed / 65536 % $1))
}

pick() { # WORD...: one of them, in $picked
	draw $#
	shift "$drawn"
	picked=$1
}

outside() { # A way that leads outside, in $picked.
	pick "$CANARY" "$CANARY/dir" "$CANARY/file" "$CANARY/link" \
		"../../../../../../../..$CANARY" \
		"/proc/self/root$CANARY" "/proc/1/root$CANARY" "/proc/self/cwd/../../../..$CANARY" \
		"/proc/thread-self/root$CANARY/file" "/../../..$CANARY" "//$CANARY" \
		"/./..$CANARY/file" \
		"/proc/self/fd/3" "/proc/self/fd/5/..$CANARY" "/dev/fd/4" "/sys/../..$CANARY"
}

inside() { # A name in the file system, most of them links made by start(), in $picked.
	pick /l0 /l1 /l2 /l3 /l0/file /l1/file /l2/file /l0/dir /l1/dir/file /l2/new /l3/new \
		/d/l /d/l/file "/d/../../..$CANARY/file" "/../..$CANARY/file" ../../../.. \
		"..$CANARY" /n0 /n1 /d/new "$CANARY/file" "$CANARY"
}

start() {
	echo "mkdir /d 0777"
	for n in 0 1 2 3; do
		outside
		echo "symlink \"$picked\" /l$n"
	done
	outside
	echo "symlink \"$picked\" /d/l"
	echo "mknod /n0 blk 0666 dev=7:0"
	echo "mknod /n1 chr 0666 dev=1:1"
}

line() {
	local a b
	inside
	a=$picked
	inside
	b=$picked
	draw 30
	case $drawn in
	0) echo "create \"$a\" 0666" ;;
	1) echo "mkdir \"$a\" 0777" ;;
	2) echo "hardlink \"$a\" \"$b\"" ;;
	3) echo "rename \"$a\" \"$b\"" ;;
	4) echo "rename2 \"$a\" \"$b\" RENAME_EXCHANGE" ;;
	5) echo "remove \"$a\"" ;;
	6) echo "prune \"$a\"" ;;
	7) echo "enlarge \"$a\" 20" ;;
	8) echo "deepen \"$a\" 5" ;;
	9) echo "chcwd \"$a\"" ;;
	10) echo "truncate \"$a\" 3" ;;
	11) echo "chmod \"$a\" 04777" ;;
	12) echo "chown \"$a\" 12345 12345" ;;
	13) echo "utimens \"$a\" atime=5 mtime=5" ;;
	14) echo "write_xattr \"$a\" user.x len=5 fill=1" ;;
	15) echo "removexattr \"$a\" user.x" ;;
	16) echo "unlink \"$a\"" ;;
	17) echo "rmdir \"$a\"" ;;
	18) echo "mknod \"$a\" blk 0666 dev=254:0" ;;
	19) echo "symlink \"$a\" \"$b\"" ;;
	20) echo "readdir \"$a\"" ;;
	21) echo "remount opts=bind" ;;
	22) echo "\$0 = open \"$a\" O_TMPFILE|O_RDWR 0666"; echo "link_tmpfile \$0 \"$b\"" ;;
	23 | 24 | 25)
		echo "\$1 = open \"$a\" O_RDWR|O_CREAT|O_TRUNC 0666"
		echo "write \$1 len=9 fill=3"
		;;
	26) echo "\$2 = open \"$a\" O_RDWR"; echo "mmap_write \$2 len=5 at=0 fill=2" ;;
	27) echo "\$3 = open \"$a\" O_WRONLY|O_APPEND"; echo "write \$3 len=9 fill=4" ;;
	28) echo "\$4 = open \"$a\" O_PATH"; echo "fchmod \$4 0777" ;;
	29)
		echo "\$5 = open \"$a\" O_RDONLY|O_DIRECTORY"
		echo "copy_file_range \$1 \$5 len=9 at=0 to=0"
		;;
	esac
}

workload() { # SEED
	seed=$1
	draw 2
	start
	for ((i = 0; i < 40; i++)); do
		line
	done
}

# TARGET: 0 where the type can be had by whoever runs the test.
targets=("lab" "dir:$WORK/tree")
as=()
if [ "$(id -u)" = 0 ]; then
	command -v mkfs.ext4 >/dev/null && [ -e /dev/loop-control ] &&
		targets+=("ext4 --sandbox host")
	command -v setpriv >/dev/null && as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
fi
command -v bindfs >/dev/null && [ -r /dev/fuse ] &&
	targets+=("fuse:bindfs -f {src} {mnt}")
mkdir -p "$WORK/tree" "$WORK/theirs"
before=$(canary_state)
nodes() {
	find /dev -maxdepth 1 \( -type b -o -type c \) -printf '%f %m\n' |
		grep -v ^loop | LC_ALL=C sort
}
nodes_before=$(nodes)

# attack SEED TARGET [COMMAND...]: one workload, which must be carried out (0, or 1 with findings).
attack() {
	local n=$1 target=$2 rc=0
	shift 2
	workload "$n" >"$WORK/w.txt"
	local words=(-t "$target")
	[ "$target" != "ext4 --sandbox host" ] || words=(-t ext4 --sandbox host)
	words+=(--trust --deadline 5 -o "$WORK/theirs/out")
	timeout 60 "$@" "$ASSAY" run "${words[@]}" "$WORK/w.txt" \
		>"$WORK/out" 2>&1 </dev/null || rc=$?
	rm -rf "$WORK/theirs/out"
	if [ "$rc" -gt 1 ]; then
		why="seed $n on $target: exit status $rc: $(tail -n 3 "$WORK/out")"
		return 1
	fi
	if [ "$(canary_state)" != "$before" ]; then
		why="seed $n on $target: canaries: $(diff <(echo "$before") <(canary_state))"
		return 1
	fi
	left=$(find "$WORK/tree" "$WORK/theirs" -mindepth 1 2>/dev/null | head -n 3)
	if [ -n "$left" ]; then
		why="seed $n on $target left $left"
		return 1
	fi
}

rounds() { # NAME TARGET [COMMAND...]
	local name=$1 n=0 end=$((SECONDS + ${TORTURE_SECONDS:-0} / (${#targets[@]} * 2))) why=
	shift
	first=1
	[ -z "${TORTURE_SECONDS:-}" ] || first=$RANDOM$RANDOM
	while [ "$n" -lt 6 ] || [ "$SECONDS" -lt "$end" ]; do
		if ! attack $((first + n)) "$@"; then
			tap_not_ok "$name" "$why"
			return
		fi
		n=$((n + 1))
	done
	tap_ok "$name ($n workloads)"
}

for target in "${targets[@]}"; do
	kind=${target%%:*}
	rounds "$kind: nothing outside is touched" "$target"
	[ ${#as[@]} -gt 0 ] && [ "$kind" != "ext4 --sandbox host" ] || continue
	chmod 777 "$WORK/tree" "$WORK/theirs"
	if [ "$kind" = fuse ] && ! "${as[@]}" test -w /dev/fuse; then
		tap_skip "$kind as an ordinary user" "only root may open /dev/fuse here"
	elif "${as[@]}" test -x "$ASSAY"; then
		rounds "$kind as an ordinary user: nothing outside is touched" "$target" "${as[@]}"
	else
		tap_skip "$kind as an ordinary user" "an ordinary user cannot execute $ASSAY"
	fi
	chmod 755 "$WORK/tree" "$WORK/theirs"
done

tap_is "the nodes of /dev are those that were there" "$(nodes)" "$nodes_before"

# A device node that a workload makes is never within the reach of others.
cat >"$WORK/node.txt" <<-'END'
	mknod /n blk 0666 dev=7:0
	deepen / 300
	enlarge / 3000
	prune /
END
mkdir -p "$WORK/open"
chmod 777 "$WORK/open"
if [ "$(id -u)" = 0 ]; then
	"$ASSAY" run -t "dir:$WORK/open" -o "$WORK/out.d" "$WORK/node.txt" >"$WORK/out" 2>&1 &
	run=$!
	reached=
	while kill -0 "$run" 2>/dev/null; do
		for folder in "$WORK/open"/.assay*; do
			[ -d "$folder" ] || continue
			mode=$(stat -c %a "$folder" 2>/dev/null) || continue
			[ "${mode: -1}" = 0 ] || reached="$folder has mode $mode"
		done
	done
	wait "$run"
	tap_is "others cannot get at the tree while it runs" "$reached" ""
else
	tap_skip "others cannot get at the tree while it runs" "device nodes need root"
fi
tap_done
