#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The sandbox uml from the command line, as an ordinary user (`nobody` when we are root): each file
# system type passes a small workload, findings are on this side and come back, the guest sees
# nothing but its folder, whoever is killed leaves nothing, and bad input gets one line.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
export LC_ALL=C
export ASAN_OPTIONS=detect_leaks=0

# Where an ordinary user can read and write.
HOME_=$(mktemp -d /tmp/assay-uml-test-XXXXXX)
trap 'rm -rf "$WORK" "$HOME_"' EXIT
cp "$(realpath "$ASSAY")" "$HOME_/assay"
cp examples/smoke.txt labfs/cases/01-rename-over.txt "$HOME_"
chmod -R a+rX "$HOME_"
chmod a+rwx "$HOME_"
cd "$HOME_" || exit 2

# as_user COMMAND...
user=()
[ "$(id -u)" != 0 ] || user=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
as_user() { "${user[@]}" "$@"; }

# refuses NAME STATUS REGEX COMMAND...
refuses() {
	local name=$1 want=$2 regex=$3 got=0
	shift 3
	as_user "$@" >"$WORK/out" 2>"$WORK/err" </dev/null || got=$?
	if [ "$got" = "$want" ] && [ "$(wc -l <"$WORK/err")" = 1 ] &&
		grep -Eq "^assay: .*($regex)" "$WORK/err"; then
		tap_ok "$name"
	else
		tap_not_ok "$name" "exit status $got, wanted $want, /$regex/" "$(cat "$WORK/err")"
	fi
}

# ---- Bad input: nothing is booted ----
refuses "a kernel that is not there" 2 "--uml /nowhere/linux: No such file" \
	./assay run --target ext4 --uml /nowhere/linux smoke.txt
refuses "a kernel that is no program" 2 "smoke.txt: not a program" \
	./assay run --target ext4 --uml ./smoke.txt smoke.txt
refuses "a program that is no kernel" 2 "not a User-Mode Linux kernel" \
	./assay run --target ext4 --uml /bin/true smoke.txt
refuses "no kernel at all" 3 "package user-mode-linux" \
	env PATH=/nowhere ./assay run --target ext4 smoke.txt
refuses "too little memory" 2 "--uml-mem: expected 64 to" \
	./assay run --target ext4 --uml-mem 1M smoke.txt
refuses "absurd memory" 2 "--uml-mem: (expected|this machine has)" \
	./assay run --target ext4 --uml-mem 4000G smoke.txt
refuses "a core that is none" 2 "--uml-core: 'x' is not the number" \
	./assay run --target ext4 --uml-core x smoke.txt
refuses "a core we do not have" 2 "--uml-core: core 60000 is not available" \
	./assay run --target ext4 --uml-core 60000 smoke.txt
refuses "uml options without uml" 2 "--uml-mem needs --sandbox uml" \
	./assay run --target lab --uml-mem 128M smoke.txt
refuses "a plugin" 2 "needs no sandbox" \
	./assay run --target plugin:x.so --sandbox uml smoke.txt
refuses "a sandbox nobody knows" 2 "'qemu' is not one of host.uml" \
	./assay run --target ext4 --sandbox qemu smoke.txt
refuses "host without root" 2 "takes root" \
	$([ "$(id -u)" = 0 ] || echo env) ./assay run --target ext4 --sandbox host smoke.txt

got=0
as_user ./assay run --no-store --sandbox uml --target lab smoke.txt >"$WORK/out" 2>"$WORK/err" ||
	got=$?
if [ $got = 3 ]; then
	tap_skip "the sandbox itself" "$(sed 's/^assay: //' "$WORK/err")"
	tap_done
	exit
fi
tap_is "labfs" "$got $(cat "$WORK/err")" "0 "
tap_run "a folder with a blank" 1 as_user ./assay run --sandbox uml --target lab:bug=1 -o "a b" \
	01-rename-over.txt
tap_is "has its finding" "$(ls -A "a b/findings" | wc -l)" 1

# ---- Every type ----
for type in ext2 ext3 ext4 xfs btrfs f2fs jfs reiserfs nilfs2 minix minix2 minix3 vfat gfs2 udf \
	{ext4,xfs}:mkfs=quota {ext4,xfs}:mkfs=project; do
	got=0
	as_user timeout 100 ./assay run --no-store --target $type smoke.txt \
		>"$WORK/out" 2>"$WORK/err" || got=$?
	if [ $got = 3 ]; then
		tap_skip "$type" "$(sed 's/^assay: //' "$WORK/err")"
	else
		tap_is "$type" "$got $(cat "$WORK/err")" "0 "
		[ $got = 0 ] || sed 's/^/# /' "$WORK/out"
	fi
done
# ---- Limits, and a kernel that does not follow them ----
cat >limits.txt <<'EOF'
mkdir /d 0755
chown /d -1 8
chmod /d 02755
setquota grp 8 ihard=2 bhard=64
create /d/f 0644
create /d/g 0644
$0 = open /d/f O_RDWR
pwrite $0 len=60000 at=0 fill=1
pwrite $0 len=60000 at=60000 fill=1
ftruncate $0 200000
mmap_write $0 len=60000 at=120000 fill=1
close $0
sync
crash
quota grp 8
EOF
chmod a+r limits.txt
for type in ext4 xfs; do
	tap_run "$type: limits" 0 as_user ./assay run --no-store --target $type:mkfs=quota \
		limits.txt
done
tap_run "limits that are not followed" 1 as_user ./assay run --no-store \
	--target xfs:mkfs=quota,gqnoenforce limits.txt
tap_like "it is told" "$WORK/out" 'create /d/g 0644: returned 0, model says -1 EDQUOT'

# ---- Swap ----
cat >swap.txt <<'EOF'
$0 = open /f O_RDWR|O_CREAT 0644
pwrite $0 len=65536 at=0 fill=3
swapon /f
pread $0 len=65536 at=0
fallocate $0 KEEP_SIZE|PUNCH_HOLE at=32768 len=8192
swapon /f
stat /f
EOF
chmod a+r swap.txt
for type in ext4:mkfs=4k xfs f2fs; do
	tap_run "$type: swap" 0 as_user ./assay run --no-store --target $type swap.txt
done

# ---- A full disk, through a mapping ----
{
	echo '$0 = open /f O_RDWR|O_CREAT 0644'
	echo 'ftruncate $0 65536'
	echo '$1 = open /g O_RDWR|O_CREAT 0644'
	for len in 8000000 4000000 2000000 1000000 500000 200000 100000 50000 20000 10000; do
		for at in 0 100000000 200000000; do
			echo "fallocate \$1 KEEP_SIZE at=$at len=$len"
		done
	done
	echo 'mmap_write $0 len=65536 at=0 fill=4'
	echo 'pread $0 len=65536 at=0'
} >full.txt
chmod a+r full.txt
tap_run "a full disk" 0 as_user ./assay run --no-store --target ext4 full.txt

# ---- A mapping while the disk that assay serves is written to (disk/serve_pipe.h) ----
# mmap(2) sets the atime, which waits for a commit that has the block of the inode, with the lock of
# our memory: whoever serves the disk must not need it. Without the pipe, this ends with a hang.
{
	echo '$0 = open /f O_RDWR|O_CREAT 0644'
	echo '$1 = open /g O_RDWR|O_CREAT 0644'
	for i in $(seq 60); do
		printf '%s\n' "pwrite \$0 len=1024 at=$((i * 1024)) fill=$i" 'fsync $0' \
			'mmap $1 len=4096 at=0' 'munmap $1' 'mmap $0 len=4096 at=0' 'munmap $0'
	done
} >maps.txt
chmod a+r maps.txt
tap_run "mappings during commits" 0 as_user ./assay crash --no-store --race --threads 4 \
	--delay 10000 --repeat 2 --budget 1 --rounds 1 --deadline 30 --target ext4:strictatime \
	maps.txt

tap_run "a directory in the guest" 0 as_user ./assay run --no-store --sandbox uml \
	--target dir:/mnt 01-rename-over.txt

# ---- Findings ----
tap_run "a finding" 1 as_user ./assay run --sandbox uml --target lab:bug=1 -o found \
	smoke.txt 01-rename-over.txt
tap_like "it is told" "$WORK/out" '^FOUND  01-rename-over.txt'
tap_like "and so is the rest" "$WORK/out" '^ok     smoke.txt'
id=$(ls found/findings)
tap_is "it is kept on this side" "$(ls -A found/findings/*)" "README.md
disk.img.zst
finding.json
report.txt
repro.c
repro.sh
workload.txt"
tap_is "by the user's own name" "$(stat -c %U "found/findings/$id/finding.json")" \
	"$(as_user id -un)"
tap_like "under the name that was typed" "found/findings/$id/finding.json" \
	'"workload_name":"01-rename-over.txt"'
tap_run "it comes back in a sandbox" 1 as_user ./assay replay --sandbox uml -o found "$id"
tap_like "the same one" "$WORK/out" "$id: reproduced"
tap_run "JSON lines" 1 as_user ./assay run --json --sandbox uml --target lab:bug=1 -o found \
	01-rename-over.txt
# On a busy machine it also tells how far it is.
tap_is "each event once" \
	"$(sed 's/^{"event":"\([a-z]*\)".*/\1/' "$WORK/out" | grep -vx progress | xargs)" \
	"finding workload done"

# ---- Checkers run outside of the guest, in a process of their own ----
# The size of the disk tells it from those of other tests.
checker() { pgrep -f "^assay check-outside ext4 17825792 "; }
hunt() { # OUT
	"${user[@]}" ./assay hunt --no-draw --no-reduce --target ext4 --size 17M \
		--max-workloads 48 -o "$1" >"$WORK/hunt" 2>"$WORK/err" </dev/null
}
if as_user ./assay doctor 2>&1 | grep -q 'not available here:.*namespaces'; then
	tap_skip "a checker outside" "no namespaces"
elif ! as_user ./assay targets | grep -Eq '^ *ext4 .*ready'; then
	tap_skip "a checker outside" "ext4 cannot be tested here"
else
	hunt whole
	tap_like "a hunt" "$WORK/hunt" '^48 workloads'
	hunt shot &
	tap_wait_until 60 checker >/dev/null
	tap_is "a checker outside, which is killed" \
		"$(checker | xargs -r kill -KILL && echo killed)" killed
	wait $!
	tap_like "the hunt goes on" "$WORK/hunt" '^48 workloads'
	tap_is "the checker in the guest finds the same" \
		"$(ls -A shot/findings 2>/dev/null)" "$(ls -A whole/findings 2>/dev/null)"
	tap_is "nobody complains" "$(cat "$WORK/err")" ""
fi

# ---- Nothing is left, whoever is killed ----
for i in $(seq 60000); do echo "create /f$i 0644"; done >long.txt
"${user[@]}" ./assay run --sandbox uml --target dir:/mnt -o killed long.txt >/dev/null 2>&1 &
job=$!
# setpriv becomes the program: the job is assay itself, and the kernel's command line names it.
boxes() { pgrep -f "assay.of=$job( |\$)" | wc -l; }
# Its kernel, and processes of its own: the first few come and go while it looks at the machine.
is_up() { [ "$(boxes)" -ge 4 ]; }
tap_is "a guest is running" "$(tap_wait_until 60 is_up && echo yes)" yes
leftovers() { ls -d /dev/shm/assay-* /tmp/assay-temp-* /var/tmp/assay-temp-* 2>/dev/null; }
kill -KILL $job
wait $job 2>/dev/null
alive() { pgrep -f "assay.of=$job( |\$)" -r R,S,D,T | wc -l; }
is_dead() { [ "$(alive)" = 0 ]; }
tap_wait_until 10 is_dead
tap_is "it dies with us" "$(alive)" 0
tap_is "it leaves nothing in the folder" "$(ls -A killed/findings 2>/dev/null)" ""
tap_is "nor anywhere else" \
	"$(leftovers | xargs -r stat -c '%U %n' | grep -w "$(as_user id -un)")" ""
tap_run "the next run" 0 as_user ./assay run --sandbox uml --target lab -o killed smoke.txt
tap_is "tidies up after it" "$(ls -A killed 2>/dev/null)" ".assay-run"
# A type is ready where the kernel has it: mounting it is tried, or said to be in vain.
"$ASSAY" targets >"$WORK/targets"
echo 'mkdir /a 0755' >"$WORK/type.txt"
for type in exfat ntfs3 minix3 udf; do
	grep -q "^  $type .*uml" "$WORK/targets" || continue # its mkfs is not here
	tap_uml $type && want=0 || want=3
	tap_run "$type is ready as it is said" $want "$ASSAY" run --sandbox uml --no-store \
		--target $type "$WORK/type.txt"
done
tap_done
