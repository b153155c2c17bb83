#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Suites that make it hard to tell tests apart: many at once, forks in a storm, numbers of processes
# used again, the recorder killed in the middle; and files of counts that were damaged, which must
# never be taken for whole. Bounded; TORTURE_SECONDS=N goes on with fresh seeds for about N seconds.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
export LC_ALL=C
cd "$WORK" || exit 2
mkdir mnt
MNT=$WORK/mnt
UNDER=$MNT
export MNT
hows=
for how in ptrace inprocess bpf; do
	"$ASSAY" cov record --how $how -o probe.cov -- true >/dev/null 2>&1 && hows="$hows $how"
done

# A test N makes N directories, by programs, subshells and what it leaves running.
cat >test.sh <<'END'
#!/bin/bash
n=$1
dir=$MNT/$1
made=0
one() { mkdir "$dir-$1"; }
while [ $made -lt $n ]; do
	case $((made % 4)) in
	0) one $made ;;
	1) (one $made) ;;
	2) (one $made | cat) & ;;
	3) bash -c "mkdir $dir-$made" ;;
	esac
	made=$((made + 1))
done
wait
END
chmod +x test.sh

# storm HOW TESTS SEED: several at a time, in an order of chance; each must have its own number.
storm() {
	local how=$1 tests=$2 seed=$3 bad="" n
	rm -rf mnt/* "storm.$how"
	seq "$tests" | shuf --random-source=<(yes "$seed") >order
	"$ASSAY" cov record --how "$how" --under "$UNDER" --split-by 'test\.sh ([0-9]+)$' \
		-o "storm.$how" -- xargs -a order -P 6 -n 1 ./test.sh >out 2>err
	for n in $(seq "$tests"); do
		[ "$(sed -n 's/^call mkdir //p' "storm.$how/$n.cov")" = "$n" ] || bad="$bad $n"
	done
	if [ -z "$bad" ]; then
		tap_ok "a storm of $tests tests, $how, seed $seed"
	else
		tap_not_ok "a storm of $tests tests, $how, seed $seed" "wrong:$bad" "$(cat err)"
	fi
}

# killed HOW SEED: what was finished before is there, and whole.
killed() {
	local how=$1 seed=$2 bad=0 pid
	rm -rf mnt/* "killed.$how"
	setsid "$ASSAY" cov record --how "$how" --under "$UNDER" \
		--split-by 'test\.sh [0-9]+ (t[0-9]+)$' -o "killed.$how" -- \
		bash -c 'for i in $(seq 400); do rm -rf "$MNT"/*; ./test.sh 1 t$i; done' \
		>/dev/null 2>&1 &
	pid=$!
	tap_wait_until 120 test -e "killed.$how/t$((3 + seed % 10)).cov"
	kill -KILL $pid
	wait $pid 2>/dev/null
	# What eBPF watched goes on, unseen.
	kill -KILL -- -$pid 2>/dev/null
	for file in "killed.$how"/t*.cov; do
		"$ASSAY" cov show "$file" >/dev/null 2>&1 || bad=$((bad + 1))
		[ "$(grep -c '^call mkdir 1$' "$file")" = 1 ] || bad=$((bad + 1))
	done
	files=$(find "killed.$how" -name 't*.cov' | wc -l)
	tap_is "killed in the middle, $how: $files files, all whole" "$bad" 0
}

# damaged SEED: bytes of a file changed, cut off, put in: refused in one line, or nothing changed.
damaged() {
	local seed=$1 size at byte kind wrong=0
	RANDOM=$seed
	size=$(stat -c %s whole.cov)
	for _ in $(seq 10); do
		cp whole.cov dam/x.cov
		at=$(((RANDOM * 32768 + RANDOM) % size))
		byte=$(printf '\\x%02x' $((RANDOM % 256)))
		kind=$((RANDOM % 3))
		case $kind in
		0) head -c $at whole.cov >dam/x.cov ;;
		1) printf "$byte" | dd of=dam/x.cov bs=1 seek=$at conv=notrunc 2>/dev/null ;;
		2)
			{
				head -c $at whole.cov
				printf "$byte"
				tail -c +$((at + 1)) whole.cov
			} >dam/x.cov
			;;
		esac
		cmp -s whole.cov dam/x.cov && continue
		for part in "merge dam -o dam.cov" "show dam/x.cov" "rank dam" \
			"which dam --syscall open" "diff whole.cov dam/x.cov" \
			"show whole.cov --baseline dam/x.cov"; do
			# shellcheck disable=SC2086 # words
			"$ASSAY" cov $part >/dev/null 2>err
			[ $? = 2 ] && grep -q '^assay: ' err && continue
			wrong=$((wrong + 1))
			cp dam/x.cov "wrong.$seed.$wrong"
		done
	done
	tap_is "files that were damaged are refused, seed $seed" "$wrong" 0
}

mkdir dam
"$ASSAY" cov record --how ptrace -o whole.cov -- ls -la "$WORK" >/dev/null 2>&1
seed=1
begin=$SECONDS
while :; do
	for how in $hows; do
		storm $how 14 $seed
		killed $how $seed
	done
	damaged $seed
	seed=$((seed + 1))
	[ $((SECONDS - begin)) -lt "${TORTURE_SECONDS:-0}" ] || break
done
tap_done
