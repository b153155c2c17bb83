#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Hunts, checks, sessions of checkers and swarms that are killed at moments of chance, again and
# again, each time resumed: every finding that was announced is in the folder and can be read, the
# folder opens without a complaint, --resume goes on, and a merge of the folder has the same
# findings.
# TORTURE_SECONDS=N: more kills, at other moments, for about that long.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
RANDOM=$([ -n "${TORTURE_SECONDS:-}" ] && echo $$ || echo 5)
cd "$WORK" || exit 1
export PATH=$(dirname "$ASSAY"):$PATH # for labfs-fsck

announced=$WORK/announced
: >"$announced"
kills=0 resumed=0

# Those that the output named, in one run or an earlier one, and that are not there as a whole.
lost() { # FOLDER
	while read -r id; do
		grep -q '}$' "$1/findings/$id/finding.json" 2>/dev/null &&
			[ -s "$1/findings/$id/repro.sh" ] && [ -s "$1/findings/$id/report.txt" ] ||
			echo "$id"
	done < <(sort -u "$announced")
}

# attack FOLDER COMMAND...: kills it at some moment, and looks at the folder.
attack() {
	local folder=$1 resume= ms=$((RANDOM % 1500))
	shift
	# Before its first state was kept, there is nothing to resume.
	[ ! -e "$folder/.begun" ] || resume=--resume
	setsid "$ASSAY" "$@" --json -o "$folder" $resume >said 2>complained </dev/null &
	local pid=$!
	sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
	kill -9 -- -$pid 2>/dev/null
	wait $pid 2>/dev/null
	local status=$?
	kills=$((kills + 1))
	if [ -n "$resume" ] && [ $status = 2 ]; then
		# A kill between its first file and its first state.
		grep -Eq 'nothing to (resume|go on)|no hunt|no check|no session|is over' \
			complained || { cat complained; wrong=$((wrong + 1)); }
	elif [ -n "$resume" ]; then
		resumed=$((resumed + 1))
	fi
	grep -o '"event":"finding","id":"[^"]*"' said | sed 's/.*"id":"//; s/"//' >>"$announced"
	[ -z "$(lost "$folder")" ] || { echo "# lost: $(lost "$folder")"; wrong=$((wrong + 1)); }
	[ ! -e "$folder/.assay-run" ] || "$ASSAY" report --tap "$folder" >tap 2>complained ||
		{ sed 's/^/# report: /' complained; wrong=$((wrong + 1)); }
	if grep 'could not be read' complained tap | sed 's/^/# /' | grep .; then
		wrong=$((wrong + 1))
	fi
}

# What was killed remembers something as soon as its state is there.
begun() { # FOLDER FILE...
	local folder=$1
	shift
	for file; do [ ! -e "$folder/$file" ] || touch "$folder/.begun"; done
}

campaign() { # NAME SECONDS-OR-TIMES STATE-FILE COMMAND...
	local name=$1 times=$2 state=$3 until=$((SECONDS + ${TORTURE_SECONDS:-0} / 4))
	shift 3
	wrong=0
	: >"$announced"
	local i=0
	while [ $i -lt "$times" ] || [ $SECONDS -lt $until ]; do
		i=$((i + 1))
		attack "$name" "$@"
		begun "$name" $state
	done
	tap_is "$name: $i kills" "$wrong" 0
	local resume=
	[ ! -e "$name/.begun" ] || resume=--resume
	rm -f "$name/.begun"
	"$ASSAY" "$@" -o "$name" $resume >said 2>complained
	local status=$?
	tap_is "$name: it goes on to its end" "$([ $status -le 1 ] && echo yes ||
		cat complained)" yes
	tap_is "$name: no finding that was announced is missing" "$(lost "$name")" ""
	tap_is "$name: nothing of the dead is left" \
		"$(find "$name" -name '.part-*' -o -name '.*.tmp' | head -n 3)" ""
	"$ASSAY" merge "$name" -o "$name.all" >/dev/null 2>complained
	tap_is "$name: joined, it has the same findings" "$(ls "$name.all/findings" 2>/dev/null)" \
		"$(ls "$name/findings" 2>/dev/null)"
}

campaign hunt 16 hunt/state.json hunt --target lab:bug=2,bug=3 --seed 4 --max-workloads 30 \
	--max-findings 4
campaign check 12 "check/state.json check/meta.json check" check --target lab:bug=26 --nodes 2 \
	--depth 2 --for 10s
campaign fsck 12 "fsck/state.json fsck" fsck labfs-fsck:bug=50 --for 4s
# A swarm is many of them at once: its cells are killed with it, and `run` goes on by itself.
cat >many.campaign <<'END'
campaign many
time 6s
rounds 3
cells hunt --target {fs} --seed {seed} --max-findings 2
    fs lab:bug=2 lab:bug=3
    seed 1 2
cells fsck labfs-fsck:bug=53 --max-findings 1
END
# Those that a cell kept, which are whole or not there.
broken() {
	local finding
	for finding in "$1"/cells/*/findings/*/; do
		[ ! -d "$finding" ] || { grep -q '}$' "$finding/finding.json" &&
			[ -s "$finding/repro.sh" ] && [ -s "$finding/report.txt" ]; } ||
			echo "$finding"
	done
}
ids() { ls "$@" 2>/dev/null | grep -E '^[a-z].*-[0-9a-f]{8}$' | sort -u; }
swarm() { # TIMES
	local i=0 until=$((SECONDS + ${TORTURE_SECONDS:-0} / 4)) ms pid had= wrong=0
	: >"$announced"
	while [ $i -lt "$1" ] || [ $SECONDS -lt $until ]; do
		i=$((i + 1)) ms=$((RANDOM % 2500))
		setsid "$ASSAY" swarm run many.campaign -o swarm --trust -j 2 >said 2>complained \
			</dev/null &
		pid=$!
		sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
		kill -9 -- -$pid 2>/dev/null
		wait $pid 2>/dev/null
		kills=$((kills + 1)) resumed=$((resumed + 1))
		[ -z "$(broken swarm)" ] || { echo "# $(broken swarm)"; wrong=$((wrong + 1)); }
		[ -z "$(comm -23 <(echo "$had") <(ids swarm/cells/*/findings))" ] ||
			wrong=$((wrong + 1))
		grep -ahso '"event":"finding","id":"[^"]*"' swarm/swarm/*.out |
			sed 's/.*"id":"//; s/"//' | sort -u >>"$announced"
		had=$(ids swarm/cells/*/findings)
		[ -z "$(comm -13 <(echo "$had") <(sort -u "$announced"))" ] ||
			wrong=$((wrong + 1))
		[ ! -d swarm ] || "$ASSAY" swarm status swarm >status 2>complained ||
			{ sed 's/^/# /' complained; wrong=$((wrong + 1)); }
	done
	tap_is "swarm: $i kills" "$wrong" 0
	"$ASSAY" swarm run many.campaign -o swarm --trust -j 2 >said 2>complained
	tap_is "swarm: it goes on to its end" "$([ $? -le 1 ] && echo yes || cat complained)" yes
	"$ASSAY" swarm merge swarm >/dev/null 2>complained
	tap_is "swarm: joined, it has the findings of all cells" "$(ids swarm/merged/findings)" \
		"$(ids swarm/cells/*/findings)"
	tap_is "swarm: there are some" "$([ -n "$had" ] && echo yes)" yes
}
swarm 12
echo "# $kills kills, $resumed of what was killed went on"
tap_done
