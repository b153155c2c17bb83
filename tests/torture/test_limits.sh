#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Under limits: file sizes, memory, a full disk, closed or broken standard output. Each ends with
# one line and exit status 2, no half finding is kept, and none that is complete is lost.
# TORTURE_SECONDS=N: other limits, for about that long.
set -u
cd "$(dirname "$0")/../.."
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
cases=$(realpath labfs/cases)
cd "$WORK" || exit 1
w=$cases/02-append.txt
id=lab-data-6c4080d6
printf '%s\n' 'create /a 0644' 'sync' 'rename /a /b' 'sync' >rename.txt

# A finding that was not finished when memory ran out has another name; the next run removes it.
half() { # FOLDER: findings that are not whole, and what is left of those that were begun
	[ ! -d "$1" ] || "$ASSAY" run -t lab -o "$1" "$w" >/dev/null 2>&1
	find "$1" -name '.part-*' -o -name '*.tmp' 2>/dev/null
	for f in "$1"/findings/*/; do [ ! -d "$f" ] || [ -s "$f/finding.json" ] || echo "$f"; done
}
# ends NAME FOLDER COMMAND...: well (0, 1), or with one line and status 2.
ends() {
	local name=$1 folder=$2 got=0
	shift 2
	# The output goes through a pipe, so that the limit does not apply to it.
	"$@" 2>&1 >/dev/null </dev/null | cat >err
	got=${PIPESTATUS[0]}
	if [ $got -gt 2 ]; then
		tap_not_ok "$name" "exit status $got" "$(head -n 5 err)"
	elif [ $got = 2 ] && [ "$(grep -c '^assay: ' err)$(grep -vc '^assay: ' err)" != 10 ]; then
		tap_not_ok "$name" "not one line: $(head -n 5 err)"
	else
		tap_is "$name (exit status $got)" "$(half "$folder")" ""
	fi
}
limited() { # "ulimit's options" COMMAND...
	local limit=$1
	shift
	timeout 100 bash -c "ulimit $limit && exec \"\$@\"" _ "$@"
}

# ---- Files ----
for blocks in 0 1 2 8 64; do
	rm -rf o
	ends "run with ulimit -f $blocks" o limited "-f $blocks" \
		"$ASSAY" run --target lab:bug=2 -o o "$w"
	ends "hunt with ulimit -f $blocks" h limited "-f $blocks" "$ASSAY" hunt --target lab:bug=2 \
		--max-workloads 20 --no-reduce -o h
	rm -rf h
done
"$ASSAY" run --target lab:bug=2 -o kept "$w" >/dev/null
cp "kept/findings/$id/disk.img.zst" d.zst
tap_run "an output that may not get so long" 2 limited "-f 100" "$ASSAY" disk export d.zst raw
tap_like "the message says so" err "File too large"
tap_is "nothing is left of it" "$(ls raw .raw.* 2>/dev/null)" ""

# ---- Memory ----
for kb in 10500 12000 14000 20000 40000; do
	# With less memory than loading the program takes, assay cannot answer.
	limited "-v $kb" "$ASSAY" --version >/dev/null 2>&1 || continue
	rm -rf o
	ends "run in $kb KiB" o limited "-v $kb" "$ASSAY" run --target lab:bug=2 -o o "$w"
	ends "hunt in $kb KiB" h limited "-v $kb" "$ASSAY" hunt --target lab:bug=2 \
		--max-workloads 20 --reduce-for 1 -o h
	ends "crash in $kb KiB" c limited "-v $kb" \
		"$ASSAY" crash --target lab:bug=26 -o c rename.txt
	rm -rf h c
done
# This must not give a finding: the file system is sound.
for kb in 10500 11000 12000 13000 14000 15000 16000; do
	limited "-v $kb" "$ASSAY" --version >/dev/null 2>&1 || continue
	limited "-v $kb" "$ASSAY" run --target lab --no-store "$w" >out 2>err
	got=$?
	tap_is "$kb KiB make no finding" "$([ $got = 1 ] && cat out)" ""
done

# ---- A disk that is full ----
mkdir small
if unshare -rm sh -c 'mount -t tmpfs -o size=64k none small' 2>/dev/null; then
	cat >filled.sh <<-'END'
	mount -t tmpfs -o size=64k none small && head -c "$1" /dev/zero >small/fill
	shift
	"$@"
	got=$?
	find small -name '.part-*' -o -name '*.tmp' >leftover
	# What was reported as found can be read.
	sed -n 's/.*again: assay replay \([^ ]*\).*/\1/p' said | while read -r id; do
		[ -s small/o/findings/$id/finding.json ] || echo "$id" >>leftover
	done
	exit $got
	END
	for bytes in 0 30000 45000 50000 54000 58000 62000 65536; do
		rm -f leftover
		for c in "run --target lab:bug=2 $w" \
			"crash --target lab:bug=26 --again 0 rename.txt" \
			"hunt --target lab:bug=2 --max-workloads 40 --no-reduce"; do
			ends "${c%% *}: $bytes of 65536 bytes taken" none unshare -rm bash -c \
				'bash filled.sh "$1" bash -c "$2 $3 -o small/o >said"' _ \
				"$bytes" "$ASSAY" "$c"
			tap_is "${c%% *}: nothing half, nothing lost" "$(cat leftover)" ""
		done
	done
else
	tap_skip "a full disk" "a small file system cannot be mounted here"
fi

# ---- Standard output ----
rm -rf o
"$ASSAY" run --target lab:bug=2 -o o "$w" >&- 2>err
tap_is "closed standard output is an error" "$? $(cat err)" \
	"2 assay: cannot write to standard output"
tap_is "what was found is kept" "$(ls o/findings)" "$id"
"$ASSAY" ops >&- 2>err
tap_is "for every command" $? 2
"$ASSAY" run --target lab:bug=2 -o o "$w" 2>&- >out
tap_is "closed standard error is not" $? 1
"$ASSAY" run --target lab -o o "$w" <&- >out
tap_is "nor closed standard input" $? 0
tap_run "unless it is read" 2 bash -c '"$1" run --target lab --no-store - <&-' _ "$ASSAY"
rm -rf h
"$ASSAY" hunt --target lab:bug=2 --for 60s --no-reduce -o h 2>err |
	grep -m 1 "^lab-" >out
status=("${PIPESTATUS[@]}")
tap_is "a hunt whose reader goes ends as usual" "${status[0]} $(cat err)" "141 "
tap_is "what it said is kept" "$([ -d "h/findings/$(cut -d' ' -f1 out)" ] && echo yes)" yes
tap_run "and it can go on" 1 "$ASSAY" hunt --resume --max-workloads 5 -o h
mapfile -t many < <(yes "$w" | head -n 300)
"$ASSAY" run --target lab:bug=2 -o o "${many[@]}" 2>err | head -n 1 >out
tap_is "so does a run" "$(cat err)" ""
"$ASSAY" cov record --how ptrace -o x.cov -- bash -c 'yes; echo $?' 2>err | head -n 1 >out
tap_is "a command that is recorded meets the signals it is used to" "$(grep -c 'Broken pipe' err)" 0

until=$((SECONDS + ${TORTURE_SECONDS:-0}))
while [ $SECONDS -lt $until ]; do
	kb=$((RANDOM % 30000 + 10500)) blocks=$((RANDOM % 40))
	rm -rf o
	ends "run in $kb KiB" o limited "-v $kb" "$ASSAY" run --target lab:bug=2 -o o "$w"
	ends "run with ulimit -f $blocks" o limited "-f $blocks" \
		"$ASSAY" run --target lab:bug=2 -o o "$w"
done
tap_done
