#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Kills at moments of chance: whatever was said to be found is in the folder and whole, no process,
# mount or file of ours is left, the next run tidies the folder up, and a hunt that is killed again
# and again comes to the end of one that was not.
# TORTURE_SECONDS=N: more kills, at other moments, for about that long.
set -u
cd "$(dirname "$0")/../.."
TMPDIR=/var/tmp # /tmp is looked into
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
cases=$(realpath labfs/cases)
RANDOM=$([ -n "${TORTURE_SECONDS:-}" ] && echo $$ || echo 7)
# A /tmp and a /dev/shm of our own, where that can be had: what is left there is then ours. Not
# where they would hide what is tested.
case $PWD:$ASSAY in /tmp/*:* | /dev/shm/*:* | *:/tmp/* | *:/dev/shm/*) TORTURE_PRIVATE=no ;; esac
if [ -z "${TORTURE_PRIVATE:-}" ]; then
	for how in "unshare -m" "unshare -Urm"; do
		$how sh -c 'mount --make-rprivate / && mount -t tmpfs none /tmp' 2>/dev/null ||
			continue
		rm -rf "$WORK"
		TORTURE_PRIVATE=1 exec $how sh -c '
			mount --make-rprivate / && mount -t tmpfs none /tmp &&
			mount -t tmpfs none /dev/shm && exec bash "$0"' tests/torture/test_kills.sh
	done
	TORTURE_PRIVATE=no
fi
cd "$WORK" || exit 1
mark=$WORK/$$
for ((i = 0; i < 30; i++)); do
	{ cat "$cases/02-append.txt" && echo "create /x$i 0644"; } >"found$i.txt"
done
printf '%s\n' 'create /a 0644' 'sync' 'rename /a /b' 'sync' >rename.txt
for ((i = 0; i < 8; i++)); do { cat rename.txt; echo "mkdir /d$i 0755"; } >"rename$i.txt"; done
"$ASSAY" run --target lab:bug=2 -o reducible found1.txt >/dev/null
"$ASSAY" gen --seed 3 --profile hunt >long.txt
id=$(ls reducible/findings)

processes() { grep -lzs "^TORTURE_MARK=$mark" /proc/[0-9]*/environ | cut -d/ -f3 | xargs; }
# Folders of sandboxes, which the next sandbox removes, are the affair of tests/target.
scratch() { ls -A /tmp /dev/shm 2>/dev/null | grep -Ev '^$' | xargs; }
mounts() { wc -l </proc/self/mounts; }
boxed=
"$ASSAY" run --sandbox uml --target lab --no-store rename.txt >/dev/null 2>unboxed && boxed=yes
empty=$(scratch)
mounted=$(mounts)

# start COMMAND...: in a session of its own; INT would be ignored in the background. $job is its
# number.
start() {
	TORTURE_MARK=$mark setsid env --default-signal=INT,TERM "$@" >said 2>complained </dev/null &
	job=$!
}
is_dead() { [ -z "$(processes)" ]; }

# end SIGNAL MS: after so long; waits until none of them is left.
end() {
	# The moment is what is tested.
	sleep "$(printf '%d.%03d' $(($2 / 1000)) $(($2 % 1000)))"
	kill -"$1" $job 2>/dev/null
	wait $job 2>/dev/null
	status=$?
	tap_wait_until 60 is_dead
}
lost() { # FOLDER: of what was said, what is not there as a whole
	sed -n 's/.*again: assay replay \([^ ]*\).*/\1/p' said | while read -r found; do
		[ -s "$1/findings/$found/workload.txt" ] && [ -s "$1/findings/$found/README.md" ] &&
			tail -c 2 "$1/findings/$found/finding.json" | grep -q '}$' || echo "$found"
	done
}
half() { # FOLDER: findings that are not whole
	for f in "$1"/findings/*/; do
		[ ! -d "$f" ] || [ -s "$f/finding.json" ] || echo "$f"
	done
}

# kill_one NAME FOLDER MS COMMAND...: at some moment of the first MS milliseconds.
kill_one() {
	local name=$1 folder=$2 ms=$((RANDOM % $3)) signal
	shift 3
	for signal in KILL TERM INT; do
		start "$@"
		end $signal $ms
		local bad
		bad="$(lost "$folder")$(half "$folder")$(processes)"
		[ "$TORTURE_PRIVATE" = no ] || [ "$(scratch)" = "$empty" ] || bad="$bad $(scratch)"
		[ "$(mounts)" = "$mounted" ] || bad="$bad mounts"
		[ $status -lt 3 ] || [ $status -gt 128 ] || bad="$bad status $status"
		case $status in 13[2-6] | 139) bad="$bad died of $status" ;; esac
		tap_is "$name: $signal after $ms ms" "$bad" ""
	done
	[ ! -d "$folder" ] ||
		tap_is "$name: the next one tidies up" "$(
			"$ASSAY" run --target lab -o "$folder" long.txt 2>&1 >/dev/null
			find "$folder" -name '.part-*' -o -name '*.tmp'
		)" ""
}

# all ROUND: every command once.
all() {
	kill_one "run $1" "run$1" 400 "$ASSAY" run --target lab:bug=2 -o "run$1" found*.txt
	kill_one "run --json $1" "json$1" 400 "$ASSAY" run --json --target lab:bug=2 \
		-o "json$1" found*.txt
	kill_one "crash $1" "crash$1" 500 "$ASSAY" crash --target lab:bug=26 --jobs 2 --again 0 \
		-o "crash$1" rename?.txt
	rm -rf reducing && cp -a reducible reducing
	kill_one "reduce $1" reducing 300 "$ASSAY" reduce "$id" -o reducing
	tap_run "reduce $1: it still reproduces" 1 "$ASSAY" replay "$id" -o reducing
	kill_one "cov record $1" none 300 "$ASSAY" cov record -o killed.cov --how ptrace -- \
		sleep 1
	if [ "$boxed" ]; then
		kill_one "doctor $1" none 1000 "$ASSAY" doctor
		kill_one "run in a sandbox $1" "boxed$1" 1500 "$ASSAY" run --sandbox uml \
			--target lab:bug=2 -o "boxed$1" found*.txt
	else
		tap_skip "sandboxes" "$(sed 's/^assay: //' unboxed)"
	fi
	tap_is "cov record $1: no half file" "$(find . -maxdepth 1 -name '*.cov.*')" ""
}

# ---- Hunts: killed again and again, the end is that of one that was not ----
hunt=(--target lab:bug=2 --seed 5 --max-workloads 384 --jobs 2 --no-reduce)
"$ASSAY" hunt "${hunt[@]}" -o reference >/dev/null
ends() { # FOLDER: signatures, ids and counts, and all that was run
	grep -oE '"(signature|id|count|workloads|ops|findings)":("[^"]*"|[0-9]+)' \
		"$1/hunt/state.json"
}
hunted() { # ROUND MS
	local kills=0 said_all=
	rm -rf hunted
	start "$ASSAY" hunt "${hunt[@]}" -o hunted
	while :; do
		case $((RANDOM % 3)) in 0) s=TERM ;; 1) s=INT ;; *) s=KILL ;; esac
		end $s $((RANDOM % $2))
		said_all="$said_all $(lost hunted)"
		kills=$((kills + 1))
		[ $kills -lt 5 ] || break
		if [ -f hunted/hunt/state.json ]; then
			start "$ASSAY" hunt --resume -o hunted
		else
			start "$ASSAY" hunt "${hunt[@]}" -o hunted
		fi
	done
	"$ASSAY" hunt --resume -o hunted >said 2>complained
	status=$?
	tap_is "hunt $1: nothing that was said is lost in $kills kills" "$(xargs <<<"$said_all")" ""
	tap_is "hunt $1: it comes to its end" "$status $(cat complained)" "1 "
	tap_is "hunt $1: which is that of one that was not killed" \
		"$(ends hunted | sha256sum)" "$(ends reference | sha256sum)"
	tap_is "hunt $1: all findings of its state are there" \
		"$(sed -nE 's/.*"signatures":(.*)/\1/p' hunted/hunt/state.json |
			grep -oE '"id":"[^"]*"' | cut -d'"' -f4 | while read -r f; do
			[ -s "hunted/findings/$f/finding.json" ] || echo "$f"
		done)" ""
	tap_is "hunt $1: no process is left" "$(processes)" ""
	tap_is "hunt $1: nothing is left in its folder" \
		"$(find hunted -name 'job-*' -o -name '.part-*' -o -name '*.tmp' -o \
			-name reduce)" ""
}

all 1
hunted 1 250
until=$((SECONDS + ${TORTURE_SECONDS:-0}))
for ((round = 2; SECONDS < until; round++)); do
	all $round
	hunted $round $((RANDOM % 1000 + 20))
	rm -rf run[0-9]* json[0-9]* crash[0-9]* boxed[0-9]*
done
tap_done
