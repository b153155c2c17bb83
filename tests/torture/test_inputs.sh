#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Bad input for every command and every option: garbage, nothing, folders, huge and negative
# numbers, NUL bytes, long lines, deep nesting, JSON of wrong types, files that are cut or damaged.
# Each attempt ends in time, with an exit status of 0 to 3, with a line on stderr where it is 2 or
# 3, and never by a signal, an assertion or a sanitizer. By default a part of all attempts is made,
# the same each time; with TORTURE_SECONDS=N others, for about that long. SEED=N begins elsewhere.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
export LC_ALL=C
seed=${SEED:-7}
# One attempt of so many is made.
share=12
end=$((SECONDS + ${TORTURE_SECONDS:-0}))
if [ "${TORTURE_SECONDS:-}" ]; then
	seed=${SEED:-$RANDOM}
	share=6
fi
echo "# SEED=$seed"

mkdir -p "$WORK/good" "$WORK/bad" "$WORK/at/a/b"
cp labfs/cases/02-append.txt "$WORK/good/work.txt"

random() { # N: 0 to N-1, in $drawn
	seed=$(((seed * 1103515245 + 12345) & 0x7fffffff))
	drawn=$(((seed >> 8) % $1))
}

# attempt WHAT COMMAND...: counted in $made, and in $wrong where it ends as it must not. With a
# sanitizer, what it says is in err.
attempt() {
	local what=$1 got=0
	shift
	made=$((made + 1))
	timeout -s KILL 30 "$ASSAY" "$@" >"$WORK/out" 2>"$WORK/err" </dev/null || got=$?
	if [ "$got" -gt 3 ] || { [ "$got" -ge 2 ] && [ ! -s "$WORK/err" ]; } ||
		{ [ "$got" -ge 2 ] && ! grep -q '^assay: ' "$WORK/err"; } ||
		grep -Eq 'assertion failed|runtime error|Sanitizer|out of memory' "$WORK/err"; then
		wrong=$((wrong + 1))
		echo "# $what: exit status $got: assay $(printf '%q ' "${@:0:12}" | cut -c 1-300)"
		head -n 3 "$WORK/err" | cut -c 1-300 | cat -v | sed 's/^/#   /'
	fi
}

# group NAME: a line of TAP for the attempts since the last.
group() {
	tap_is "$1 ($made attempts)" "$wrong" 0
	made=0
	wrong=0
}
made=0
wrong=0
cd "$WORK/at/a/b" || exit 2

# ---- Files that are good: what is damaged later ----
"$ASSAY" run -t lab:bug=2 -o "$WORK/good/out" "$WORK/good/work.txt" >/dev/null 2>&1
finding=$(echo "$WORK"/good/out/findings/*)
cp "$finding/disk.img.zst" "$WORK/good/disk.img.zst"
"$ASSAY" hunt -t lab:bug=2 -o "$WORK/good/hunt" --max-workloads 2 --no-reduce >/dev/null 2>&1
printf '1 openat(AT_FDCWD, "/m/a", O_RDWR|O_CREAT, 0644) = 3\n1 write(3, "x"..., 9) = 9\n' \
	>"$WORK/good/strace"
"$ASSAY" cov read "$WORK/good/strace" -o "$WORK/good/c.cov" >/dev/null 2>&1
"$ASSAY" gen --show >"$WORK/good/profile.txt"
head -c 65536 /dev/zero >"$WORK/good/raw.img"

# ---- Files that are bad ----
: >"$WORK/bad/empty"
printf '\0\0\0\0' >"$WORK/bad/zeros"
printf 'mkdir /a 0755\0mkdir /b 0755\n' >"$WORK/bad/nul"
head -c 4000 /dev/urandom >"$WORK/bad/noise"
head -c 3000000 /dev/zero | tr '\0' a >"$WORK/bad/line"
head -c 200000 /dev/zero | tr '\0' '[' >"$WORK/bad/deep"
head -c 200000 /dev/zero | tr '\0' '(' >"$WORK/bad/parens"
printf 'mkdir /a 99999999999999999999999\nwrite $0 len=18446744073709551616\n' >"$WORK/bad/huge"
printf 'ftruncate $0 -1\nwrite $-1 len=-1\n' >"$WORK/bad/negative"
printf '{"id":1,"target":[],"options":{},"signature":null,"words":7,"jobs":"x"}' >"$WORK/bad/types"
printf '{"version":2,"jobs":[{}],"target":"lab","scenario":"sequential","words":[1,[],"--x"]}' \
	>"$WORK/bad/state"
printf '\x28\xb5\x2f\xfd\x04\x00\xff\xff\xff' >"$WORK/bad/packed.zst"
printf '\x1f\x8b\x08\x00garbage' >"$WORK/bad/packed.gz"
printf 'assay-cov 99999999999999999999\ncall openat -1\n' >"$WORK/bad/counts"
yes 'mkdir /a 0755' | head -n 20000 >"$WORK/bad/long"
printf '\xff\xfe\x00m' >"$WORK/bad/wide"
printf 'mkdir /a 0755\r\n' >"$WORK/bad/returns"
mkdir "$WORK/bad/folder"
ln -s self "$WORK/bad/self"
: >"$WORK/bad/closed"
chmod 0 "$WORK/bad/closed"

# ---- Operands ----
# Each line is a command; FILE is the place of a bad file.
operands() {
	cat <<-'END'
	run --no-store -t lab FILE
	run --no-store FILE
	run --no-store -t lab --list FILE
	run --no-store -t lab --known FILE GOOD
	run --no-store -t lab --scenario diff:lab,lab:bug=1 FILE
	run --no-store -t lab --sweep alloc FILE
	run --no-store -t plugin:FILE GOOD
	run --no-store -t dir:FILE GOOD
	engine FILE
	run --no-store -t ext2 --uml FILE GOOD
	crash --no-store -t lab FILE
	crash --no-store FILE
	replay FILE
	replay -o FILE x-1
	reduce --for 1 FILE
	hunt --resume --max-workloads 1 -o FILE
	hunt -t lab --max-workloads 1 --no-reduce -p FILE
	hunt -t lab --max-workloads 1 --no-reduce --feedback FILE
	gen -p FILE
	gen --feedback FILE
	import --from strace FILE
	import --from fsx FILE
	import --from jlang FILE
	import --from strace --strict FILE
	fmt FILE
	fmt --check FILE
	emit-c FILE
	disk info FILE
	disk export FILE raw
	recover -t ext2 FILE
	recover -t ext4 --mode full FILE
	cov read -o c.cov FILE
	cov read --format babeltrace -o c.cov FILE
	cov read --format syzkaller -o c.cov FILE
	cov read --format lttng -o c.cov FILE
	cov show FILE
	cov show --json FILE
	cov show FILE COV
	cov untested FILE
	cov tcd FILE
	cov tcd --targets FILE COV
	cov merge -o c.cov FILE COV
	cov diff FILE COV
	cov feedback FILE
	cov record -- FILE
	END
}

# with_file FILE: all commands, or the part of them that is drawn.
with_file() {
	local line words
	while read -r line; do
		random "$share"
		[ "$drawn" = 0 ] || continue
		line=${line//FILE/$1}
		line=${line//GOOD/$WORK/good/work.txt}
		line=${line//COV/$WORK/good/c.cov}
		read -ra words <<<"$line"
		attempt "$(basename "$1")" "${words[@]}"
	done < <(operands)
}
for file in "$WORK"/bad/* "$WORK/bad/missing" "$WORK/good/raw.img"; do
	with_file "$file"
done
group "bad files"

# ---- Good files, cut and damaged ----
damage() { # FILE: some of its bytes become others, or its end is cut off
	local size i
	size=$(stat -c %s "$1")
	[ "$size" -gt 0 ] || return
	random 4
	if [ "$drawn" = 0 ]; then
		random "$size"
		truncate -s "$drawn" "$1"
		return
	fi
	for ((i = 0; i < 3; i++)); do
		random 256
		printf '%b' "\\0$(printf %o "$drawn")" >"$WORK/byte"
		random "$size"
		dd if="$WORK/byte" of="$1" bs=1 count=1 conv=notrunc status=none seek="$drawn"
	done
}
# damaged NAME FILE COMMAND...: DAMAGED is the place of the damaged file.
damaged() {
	local name=$1 from=$2
	shift 2
	cp "$from" "$WORK/damaged${from##*/}"
	damage "$WORK/damaged${from##*/}"
	attempt "damaged $name" "${@//DAMAGED/$WORK/damaged${from##*/}}"
}
damage_all() {
	local file
	damaged workload "$WORK/good/work.txt" run --no-store -t lab DAMAGED
	damaged disk "$WORK/good/disk.img.zst" disk info DAMAGED
	damaged disk "$WORK/good/disk.img.zst" disk export DAMAGED raw
	damaged counts "$WORK/good/c.cov" cov show DAMAGED
	damaged trace "$WORK/good/strace" cov read --max-unknown 100 -o c.cov DAMAGED
	damaged trace "$WORK/good/strace" import --from strace DAMAGED
	damaged profile "$WORK/good/profile.txt" gen -p DAMAGED
	for file in finding.json workload.txt; do
		rm -rf f
		cp -r "$finding" f
		damage "f/$file"
		attempt "damaged $file" replay f
	done
	rm -rf h
	cp -r "$WORK/good/hunt" h
	random 2
	damage "h/hunt/$([ "$drawn" = 0 ] && echo state.json || echo profile)"
	attempt "damaged hunt" hunt --resume --max-workloads 2 --no-reduce -o h
}
for ((round = 0; round < 4; round++)); do
	damage_all
done
group "damaged files"

# ---- Options ----
# A command that does something, with each of its options in turn at each bad value.
commands() {
	cat <<-END
	run --no-store -t lab $WORK/good/work.txt
	crash --no-store -t lab $WORK/good/work.txt
	hunt -t lab --max-workloads 1 --no-reduce -o hunted
	replay $finding
	reduce $finding
	gen
	import --from strace $WORK/good/strace
	fmt $WORK/good/work.txt
	emit-c $WORK/good/work.txt
	ops
	targets
	disk info $WORK/good/disk.img.zst
	recover -t ext2 $WORK/good/raw.img
	cov show $WORK/good/c.cov
	cov read -o c.cov $WORK/good/strace
	cov untested $WORK/good/c.cov
	cov tcd $WORK/good/c.cov
	help
	END
}
long=$(head -c 100000 /dev/zero | tr '\0' 9)
values=('' ' ' - -- -1 0 99999999999999999999999 1e9 0x10 abc '1 2' '%n%s%s%s' ../x ,,, : '[' '('
	'*' '\' $'\n' $'\x01\xff' nosuch: lab: lab:bug=0 lab:bug=,,, 1: =1 1=)
# Those that would take long for a good reason, or write outside of this folder.
unfit() { # OPTION VALUE
	case $1 in
	--for | --max-workloads | --max-findings | --reduce-for) ;;
	--count | --exhaustive | --resume) ;;
	*) return 1 ;;
	esac
	case $2 in
	99999999999999999999999 | '' | -1 | 0 | abc | 1e9) return 1 ;;
	esac
}
with_options() { # COMMAND...
	local option value name=$1
	while read -r option; do
		for value in "${values[@]}" "$long"; do
			random $((share * 4))
			[ "$drawn" = 0 ] || continue
			unfit "$option" "$value" && continue
			attempt "option" "$@" "$option=$value"
			attempt "option" "$@" "$option" "$value"
		done
		random "$share"
		[ "$drawn" = 0 ] || continue
		unfit "$option" x || attempt "option alone" "$@" "$option"
	done < <("$ASSAY" help "$name" | grep -oE '^  .*--[a-z-]+' | grep -oE -- '--[a-z-]+$')
	attempt "operand too many" "$@" x y z
	attempt "unknown option" "$@" --nosuch
	attempt "unknown letter" "$@" -Z
	attempt "a long word" "$@" "$long"
	attempt "an empty word" "$@" ""
}
while read -ra line; do
	with_options "${line[@]}"
done < <(commands)
attempt "no command" ""
attempt "a long command" "$long"
attempt "help of it" help "$long"
attempt "bench of it" bench "$long"
group "options"

# ---- Endless ----
mapfile -t lines < <(commands)
while [ "$SECONDS" -lt "$end" ]; do
	damage_all
	head -c $((seed % 20000)) /dev/urandom >"$WORK/bad/noise"
	with_file "$WORK/bad/noise"
	random "${#lines[@]}"
	read -ra line <<<"${lines[drawn]}"
	with_options "${line[@]}"
done
if [ "${TORTURE_SECONDS:-}" ]; then group "more of it"; fi

# Nothing was left in the folders above.
tap_is "nothing is written elsewhere" "$(ls "$WORK/at")" a
chmod 600 "$WORK/bad/closed"
tap_done
