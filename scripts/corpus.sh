#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The frozen corpus: a fixed set of commands whose findings must stay what they are while the code
# is moved. One line a run: name, exit status, counts, digests, and each kind of finding with how
# often it was met. It is compared with tests/golden/corpus/.
#
# usage: scripts/corpus.sh [--quick] [--list] [--keep DIR [--resume]] [ASSAY=PROGRAM] [PATTERN...]
#
#   --quick      only the part that takes less than a minute of CPU
#   --list       print the names of the runs and their commands, and run nothing
#   --keep DIR   leave there what each run printed, normal (NAME.text), and its folder (NAME.out):
#                `diff -r` of two such folders says what a digest cannot
#   --resume     what has a line in DIR already is not run again
#   ASSAY=…      the program under test, also from the environment; default ./assay. Plugins and
#                tools are those that were built with it.
#   PATTERN      only runs whose names match one of these (a shell's pattern, such as 'lab.*.b26.*')
# JOBS=N runs so many at a time (default 2). UPDATE=1 writes the lines anew instead of comparing.
#
# Exit status: 0 the same, 1 not the same (the difference is printed), 2 wrong use.
#
# Method
#
# A row is a name and a command. It runs in a folder with links to labfs/, examples/ and the
# plugins, so that no path of a machine gets into a finding. What it prints (--json) and leaves is
# made normal: lines in the order in which they were printed, without the members that are time,
# memory or progress. From this come
#   ids       what was found: ID*COUNT, sorted
#   said      a digest of what was printed
#   kept      a digest of each finding's folder, without what names the kernel or the tools
#   state     a digest of the state of the hunt, from which it would be resumed
# "said", "kept" and "state" are there for runs that must be the same byte for byte: all but races,
# whose order is the machine's, and those on a kernel, whose disks have times of the clock.
#
# What is not here, as it is not the same twice: how much a race could explain (its answers depend
# on the order of threads), hunts that end after a time, checkers that were killed for their time
# (fsck.fat and reiserfsck hang on some disks, and each is waited for), all but one run of the bugs
# that hang, peaks of memory in a guest.
set -u
HERE=$PWD
ROOT=${ROOT:-$(cd "$(dirname "$0")/.." && pwd)}
cd "$ROOT" || exit 2
export ROOT
export LC_ALL=C
unset ASSAY_KERNEL

# ---- The rows ----

# row QUICK KIND NAME COMMAND...: QUICK: q or -. KIND: what of it must be the same (see `judge`).
row() { printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "${*:4}"; }

# seeded KIND NAME COMMAND...: with three seeds, the first of which is quick if QUICK is q.
seeded() {
	local seed quick=$1
	for seed in 1 2 3; do
		row "$quick" "$2" "$3.s$seed" "${@:4}" --seed "$seed"
		quick=-
	done
}

# Each bug of labfs: its case, hunts, and the check that is to find it.
lab_bugs() {
	local bug class case kind check quick n=0
	while read -r bug class; do
		quick=-
		[ $((n++ % 12)) -ne 0 ] || quick=q
		# What hangs is waited for, and that takes minutes where others run: one such.
		case $bug in
		107) continue ;;
		159)
			row - same lab.run.b159 run --target lab:bug=159 labfs/cases/159-*.txt
			continue
			;;
		esac
		for case in labfs/cases/"$(printf %02d "$bug")"-*.txt; do
			[ -f "$case" ] || continue
			row $quick same "lab.run.b$bug" run --target "lab:bug=$bug" "$case"
			row - same "lab.cut.b$bug" crash --target "lab:bug=$bug" "$case"
			[ "$class" != fault ] || for kind in alloc read write; do
				row - same "lab.sweep-$kind.b$bug" run --sweep $kind \
					--target "lab:bug=$bug" "$case"
			done
		done
		seeded $quick same "lab.hunt.b$bug" hunt --target "lab:bug=$bug" \
			--max-workloads 24 --jobs 2
		case $class in
		crash | recovery)
			seeded $quick same "lab.crash.b$bug" hunt --crash --target "lab:bug=$bug" \
				--max-workloads 6 --jobs 2
			;;
		fault)
			seeded $quick same "lab.faults.b$bug" hunt --faults \
				--target "lab:bug=$bug" --max-workloads 24 --jobs 2
			seeded - same "lab.crashfaults.b$bug" hunt --crash --faults \
				--target "lab:bug=$bug" --max-workloads 6 --jobs 2
			;;
		checker)
			row $quick same "lab.fsck.b$bug" fsck "labfs-fsck:bug=$bug" --lots 30
			;;
		esac
		check=$(sed -n "s/^$bug [0-9]* //p" labfs/checks.txt)
		[ -z "$check" ] || row $quick same "lab.check.b$bug" check \
			--target "lab:bug=$bug" $check --max-transitions 1500 --for 1h
	done < <(sed -nE 's/^ *lab:bug=([0-9]+) +([a-z]+) .*/\1 \2/p' "$BUGS")
}

lab_clean() {
	local case name
	row q same lab.run.cases run --target lab labfs/cases/*.txt
	row q same lab.crash.cases crash --target lab labfs/cases/0*.txt
	seeded q same lab.hunt.clean hunt --target lab --max-workloads 64 --jobs 2
	seeded - same lab.hunt.jobs3 hunt --target lab:bug=2 --max-workloads 96 --jobs 3
	seeded q same lab.crash.clean hunt --crash --target lab --max-workloads 12 --jobs 2
	seeded - same lab.rounds.clean hunt --crash --rounds 3 --target lab --max-workloads 6
	seeded q same lab.faults.clean hunt --faults --target lab --max-workloads 64 --jobs 2
	seeded - same lab.crashfaults.clean hunt --crash --faults --target lab \
		--max-workloads 12 --jobs 2
	seeded - same lab.corrupt.clean hunt --corrupt bits --target lab --max-workloads 12
	seeded - race lab.race.clean hunt --race --target lab --max-workloads 16
	seeded - same lab.diff.clean hunt --diff lab,lab:bug=5 --max-workloads 32
	seeded - same lab.diff.b1 hunt --diff lab,lab:bug=1,lab:bug=7 --max-workloads 48
	row - same lab.sweep.alloc run --sweep alloc --target lab labfs/cases/0[1-6]*.txt
	row - same lab.sweep.read run --sweep read --target lab labfs/cases/0[1-6]*.txt
	row - same lab.sweep.write run --sweep write --target lab labfs/cases/0[1-6]*.txt
	row - same lab.crash.smoke crash --target lab examples/smoke.txt
	row - same lab.crash.hold crash --target lab --hold 3 labfs/cases/02-append.txt
	row q same lab.check.clean check --target lab --max-transitions 1000 --for 1h
	row - same lab.check.faults check --target lab --faults all --max-transitions 600 --for 1h
	row - same lab.check.jobs check --target lab --jobs 2 --no-crash --nodes 1 --ops all \
		--depth 2 --for 1h
}

plugins() {
	local bug how case options flash plugin count
	for plugin in flashfs skeleton pairfs; do
		seeded q same "plugin.$plugin.hunt" hunt --target "plugin:plugins/$plugin.so" \
			--max-workloads 32 --jobs 2
		seeded - same "plugin.$plugin.faults" hunt --faults \
			--target "plugin:plugins/$plugin.so" --max-workloads 24 --jobs 2
		seeded - same "plugin.$plugin.crash" hunt --crash \
			--target "plugin:plugins/$plugin.so" --max-workloads 6 --jobs 2
		row - same "plugin.$plugin.check" check --target "plugin:plugins/$plugin.so" \
			--max-transitions 400 --for 1h
	done
	while read -r bug how case options; do
		flash=${options#*|}
		flash=${flash# }
		row - same "plugin.flashfs.b$bug" "$how" \
			--target "plugin:plugins/flashfs.so:bug=$bug${flash:+,$flash}" \
			"examples/flashfs/cases/$case" ${options%%|*}
	done < <(grep -v '^#' examples/flashfs/checks.txt)
	while read -r bug count flash options; do
		[ "$flash" != - ] || flash=
		[ "$options" != - ] || options=
		row - same "plugin.pairfs.b$bug" hunt \
			--target "plugin:plugins/pairfs.so:bug=$bug${flash:+,$flash}" \
			--max-workloads "$count" --jobs 2 --seed 1 $options
	done < <(grep -v '^#' examples/pairfs/checks.txt)
}

# Types of the kernel, in the sandbox. Disks have times, so the findings alone are compared.
kernels() {
	row q ids ext4.run.smoke run --target ext4 examples/smoke.txt
	row - ids ext4.run.cases run --target ext4 labfs/cases/*.txt
	row - ids ext2.run.smoke run --target ext2 examples/smoke.txt
	row - ids minix3.run.deep run --target minix3 labfs/cases/17-deep.txt
	row - ids ext4.run.faults run --target ext4 --fault read:20:eio examples/smoke.txt
	row - ids ext4.crash.append crash --target ext4 --budget 64 labfs/cases/02-append.txt
	seeded q ids ext4.hunt hunt --target ext4 --max-workloads 12 --jobs 2
	seeded - ids ext4.faults hunt --faults --target ext4 --max-workloads 12
	seeded - ids ext4.crash hunt --crash --target ext4 --max-workloads 4
	row - ids ext4.check check --target ext4 --no-crash --nodes 1 --max-transitions 200 --for 1h
	row - ids ext2.check check --target ext2 --no-crash --nodes 1 --max-transitions 200 --for 1h
}

# By lots, not by time. e2fsck, fsck.minix and labfs-fsck end on each disk.
checkers() {
	seeded q same fsck.labfs fsck labfs-fsck --lots 60
	seeded q same fsck.minix fsck fsck.minix --lots 60
	seeded q same fsck.e2fsck fsck e2fsck --lots 60
	seeded - same fsck.e2fsck.bits fsck e2fsck --model bits --lots 40
	seeded - same fsck.labfs.bits fsck labfs-fsck --model bits --lots 40
	seeded - same fsck.labfs.crash fsck labfs-fsck --model crash --lots 20
	seeded - same fsck.e2fsck.crash fsck e2fsck --model crash --lots 10
	seeded - same fsck.compare fsck --compare ext4,minix3 --lots 10
}

# Found, and then reduced, replayed and told.
chains() {
	local bug
	for bug in 1 2 9 12 18 26 29; do
		row - chain "chain.b$bug" hunt --target "lab:bug=$bug" --max-workloads 64 \
			--max-findings 2 --seed 1 $(
				case $bug in 26 | 29) echo --crash ;; esac
			)
	done
	row q chain chain.case.b2 run --target lab:bug=2 labfs/cases/02-append.txt
	row q chain chain.case.b26 crash --target lab:bug=26 labfs/cases/01-rename-over.txt
	row - chain chain.fsck fsck labfs-fsck:bug=53 --lots 20
	row - chain chain.check check --target lab:bug=7 --no-crash --nodes 2 \
		--max-transitions 500 --for 1h --reduce-for 60
}

rows() {
	lab_clean
	lab_bugs
	plugins
	kernels
	checkers
	chains
}

# ---- One run ----

# normal: JSON lines without what is time, memory or progress (a peak of stack is of the compiler).
normal() {
	sed -E '/"event":"(progress|usage)"/d
		s/"(wall|search|first|used|newest|cpu|took)_us":[0-9]+,?//g
		s/"(memory_bytes|peak_bytes|bytes|rss)":[0-9]+,?//g
		s/"kernel":"[^"]*"/"kernel":""/g
		s/"tools":\{[^}]*\}/"tools":{}/g
		s/"seconds":[0-9.e-]+,?//g
		s/, [0-9.]+ s"/, TIME"/g
		s/,}/}/g'
}

# What a person gets of it has the words of the machine, too.
normal_text() {
	sed -E 's/Linux [0-9][^ ]*( x86_64)?/LINUX/g; s/[0-9.]+ (s|ms|us)\b/TIME/g'
}

digest() { cut -c1-8 < <(sha256sum); }

# kept FOLDER: each file of its findings, the disks unpacked.
kept() {
	local file
	find "$1/findings" -type f 2>/dev/null | sort | while read -r file; do
		echo "== ${file#"$1"/}"
		case $file in
		*.zst) zstd -dcq "$file" | sha256sum ;;
		*.json) normal <"$file" ;;
		*) normal_text <"$file" ;;
		esac
	done
}

# ids RAW: ID*COUNT of what was told; a hunt tells each kind once more at its end, with its count.
ids() {
	local told='s/.*"event":"finding".*"id":"([^"]+)".*/\1 1/p'
	! grep -q '"event":"signature"' "$1" ||
		told='s/.*"event":"signature".*"id":"([^"]+)","count":([0-9]+).*/\1 \2/p'
	sed -nE "$told" "$1" |
		awk '{ n[$1] += $2 } END { for (id in n) print id "*" n[id] }' | sort | xargs
}

# after FOLDER: what is done with each finding.
after() {
	local id
	for id in $(ls "$1/findings" 2>/dev/null); do
		echo "== $id"
		"$ASSAY" reduce -o "$1" "$id" --json 2>&1 | normal
		"$ASSAY" replay -o "$1" "$id" --json 2>&1 | normal
		echo "replay: $?"
		"$ASSAY" explain -o "$1" "$id" 2>&1 | normal_text
		"$ASSAY" report --mail "$1/findings/$id" 2>&1 | normal_text
	done
}

# judge KIND STATUS NAME: the line of a run from what is in $OUT.
judge() {
	local kind=$1 status=$2 text=$OUT/$3.text out=$OUT/$3.out line
	line="$3 status=$status"
	line+=$(sed -nE '/"event":"done"/ s/.*("workloads":[0-9]+,"ops":[0-9]+).*/ \1/p' "$text" |
		tr -d '"' | tr ':,' '= ' | head -n 1)
	if [ "$kind" != ids ] && [ "$kind" != race ]; then
		line+=" said=$(digest <"$text")"
		[ ! -d "$out/findings" ] || line+=" kept=$(kept "$out" | digest)"
		[ ! -f "$out/hunt/state.json" ] ||
			line+=" state=$(normal <"$out/hunt/state.json" | digest)"
	fi
	echo "$line $(ids "$OUT/$3.raw")" | sed 's/ $//' >"$OUT/$3.line"
}

one() { # KIND NAME COMMAND
	local kind=$1 name=$2 got=0 words
	read -ra words <<<"$3"
	case ${words[0]} in
	hunt) words+=(--no-reduce --no-report) ;;
	crash | fsck) words+=(--no-report) ;;
	check) words+=(--no-reduce --no-report) ;;
	esac
	[ -z "$RESUME" ] || [ ! -f "$OUT/$name.line" ] || return 0
	rm -rf "${OUT:?}/$name".*
	"$ASSAY" "${words[@]}" --json -o "$OUT/$name.out" </dev/null \
		>"$OUT/$name.raw" 2>"$OUT/$name.err" || got=$?
	{
		normal <"$OUT/$name.raw"
		normal_text <"$OUT/$name.err"
		[ "$kind" != chain ] || after "$OUT/$name.out"
	} | sed "s,$OUT/$name.out,OUT,g" >"$OUT/$name.text"
	judge "$kind" "$got" "$name"
	[ -n "$KEEP" ] || rm -rf "${OUT:?}/$name.out" "$OUT/$name.raw" "$OUT/$name.err"
}

# ---- All of them ----

if [ "${1:-}" = --one ]; then
	cd "$OUT/here" || exit 2
	TIMEFORMAT="%U %S %R"; { time one "$2" "$3" "$4"; } 2>"$OUT/took/$3"
	exit 0
fi

QUICK='' LIST='' KEEP='' RESUME='' patterns=()
ASSAY=${ASSAY:-./assay}
while [ $# -gt 0 ]; do
	case $1 in
	--quick) QUICK=1 ;;
	--list) LIST=1 ;;
	--keep) KEEP=${2:?--keep wants a folder} && shift ;;
	--resume) RESUME=1 ;;
	ASSAY=*) ASSAY=${1#ASSAY=} ;;
	-*) sed -n '/^# usage/,/^# Exit/s/^# \?//p' "$0" && exit 2 ;;
	*) patterns+=("$1") ;;
	esac
	shift
done
ASSAY=$(cd "$HERE" && realpath -e "$ASSAY") || exit 2

WORK=$(mktemp -d "${TMPDIR:-/tmp}/assay-corpus-XXXXXX")
trap 'rm -rf "$WORK"' EXIT
OUT=$WORK/out
if [ -n "$KEEP" ]; then
	OUT=$(cd "$HERE" && mkdir -p "$KEEP" && realpath "$KEEP") || exit 2
fi
mkdir -p "$OUT/here" "$OUT/took" "$WORK/tmp"
cp "$0" "$WORK/corpus.sh" # what runs each row stays the same when this file is changed meanwhile
ln -sfn "$ROOT/labfs" "$ROOT/examples" "$(dirname "$ASSAY")/plugins" "$OUT/here"
export ASSAY OUT KEEP RESUME TMPDIR=$WORK/tmp
BUGS=$WORK/bugs
"$ASSAY" targets --bugs >"$BUGS" || exit 2

wanted() { # NAME
	local pattern
	[ ${#patterns[@]} -gt 0 ] || return 0
	for pattern in "${patterns[@]}"; do
		# shellcheck disable=SC2053 # it is a pattern
		[[ $1 == $pattern ]] && return 0
	done
	return 1
}

while IFS=$'\t' read -r quick kind name words; do
	[ -z "$QUICK" ] || [ "$quick" = q ] || continue
	wanted "$name" || continue
	if [ -n "$LIST" ]; then
		echo "$name: assay $words"
		continue
	fi
	printf '%s\0%s\0%s\0%s\0' --one "$kind" "$name" "$words"
	echo "$name" >>"$WORK/names"
done < <(rows) >"$WORK/rows"
if [ -n "$LIST" ]; then
	cat "$WORK/rows"
	exit 0
fi
[ -s "$WORK/names" ] || exit 2
xargs -0 -n 4 -P "${JOBS:-2}" "$WORK/corpus.sh" <"$WORK/rows"

golden() { cat "$ROOT"/tests/golden/corpus/*.txt 2>/dev/null | grep -v '^#'; }
while read -r name; do
	cat "$OUT/$name.line"
done <"$WORK/names" >"$WORK/got"
if [ -n "${UPDATE:-}" ]; then
	mkdir -p "$ROOT/tests/golden/corpus"
	while read -r group; do
		file=$ROOT/tests/golden/corpus/$group.txt
		# What was not run stays as it was.
		{
			grep "^$group\\." "$WORK/got"
			awk 'NR == FNR { seen[$1]; next } !($1 in seen)' "$WORK/got" \
				<(cat "$file" 2>/dev/null)
		} | sort >"$file.new"
		mv "$file.new" "$file"
	done < <(sed 's/\..*//' "$WORK/names" | sort -u)
	exit 0
fi
cat "$WORK/got"
awk 'NR == FNR { ran[$1]; next } $1 in ran' "$WORK/names" <(golden) | sort >"$WORK/want"
if diff <(cat "$WORK/want") <(sort "$WORK/got") >"$WORK/diff"; then
	echo "corpus: $(wc -l <"$WORK/got") runs, all as before"
	exit 0
fi
echo
echo "corpus: not as before (<) but now (>):"
cat "$WORK/diff"
exit 1
