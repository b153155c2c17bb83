#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A command that takes long ends when it is asked to (SIGTERM), and when its time is over, whatever
# it does then: within two seconds, times what the machine is busy, and with all its processes.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

SOON_MS=2000
bin=$WORK/bin
mkdir "$bin"
chmod 755 "$WORK" "$bin"
cc -O1 -D_GNU_SOURCE -w -o "$bin/hostile" tests/fsck/hostile_checker.c || exit 1
head -c 65536 /dev/zero | tr '\0' h >"$WORK/disk"
chmod 644 "$WORK/disk"
hangs="fsck checker:$bin/hostile+stubborn+{disk} --disk $WORK/disk --model bits"
cat >"$WORK/w.txt" <<'END'
$0 = open /f O_RDWR|O_CREAT 0644
pwrite $0 at=0 len=20000 fill=1
fsync $0
mkdir /d 0755
rename /f /d/g
pwrite $0 at=0 len=20000 fill=2
close $0
sync
END
two="$WORK/w.txt $WORK/w.txt"

# Commands, and a word that a machine may lack for each. A "+" is a space within an argument.
# NAME | NEEDS | COMMAND
commands() {
	cat <<-END
		fsck           | -         | fsck labfs-fsck --model bits
		fsck of one that hangs | - | $hangs
		fsck that confirms one | - | $hangs --lots 1
		fsck --jobs    | -         | fsck labfs-fsck --model bits --jobs 3
		fsck --compare | e2fsck    | fsck --compare ext4,ext2
		fsck --compare, jobs | e2fsck | fsck --compare ext4,ext2 --jobs 3
		fsck --score   | e2fsck    | fsck --score e2fsck
		fsck --score of one that hangs | fsck.minix | fsck --score fsck.minix --jobs 2
		fsck --symbolic | valgrind | fsck e2fsck --symbolic
		hunt           | -         | hunt --target lab --jobs 2
		hunt crash     | -         | hunt --target lab --scenario crash --jobs 2
		hunt that reduces | -      | hunt --target lab:bug=2
		check          | -         | check --target lab --jobs 2
		check that confirms | -    | check --target lab:bug=1 --no-crash --nodes 2
		crash          | -         | crash --target lab --faults all $WORK/w.txt
		crash --jobs   | -         | crash --target lab --faults all --jobs 2 $two
	END
}

# When: at once; when it has told something of what it does; and then what only some commands tell.
# MOMENT | REGULAR EXPRESSION | COMMANDS (a pattern of names)
moments() {
	cat <<-'END'
		at the start       | -                          | *
		at work            | "event":"progress"         | *
		with a problem     | "problems":[1-9]           | fsck of one that hangs
		confirming         | "problems":[2-9]           | fsck that confirms one
		reducing           | "event":"finding"          | hunt that reduces
		confirming         | "findings":[1-9]           | check that confirms
	END
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }
has_ended() { ! kill -0 "$pid" 2>/dev/null; }
reached() { grep -qE -- "$1" "$out" || has_ended; }
none_left() { ! pgrep -f -- "$folder" >/dev/null; }

run_number=0
start() { # COMMAND...: its pid, its output and its folder
	run_number=$((run_number + 1))
	folder=$WORK/run-$run_number
	out=$WORK/out-$run_number
	"$ASSAY" "$@" --json >"$out" 2>&1 &
	pid=$!
}

# Waits until it has ended; how long that took, since START_MS.
ended_after() {
	local from=$1 most=$2
	while ! has_ended && [ $(($(now_ms) - from)) -lt "$most" ]; do sleep 0.01; done
	took=$(($(now_ms) - from))
	has_ended || kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	status=$?
}

judge() { # NAME BOUND-MS
	if [ "$took" -gt "$2" ]; then
		tap_not_ok "$1" "it took $took ms, at most $2" "$(tail -n 3 "$out")"
	elif ! tap_wait_until 10 none_left; then
		tap_not_ok "$1" "processes are left:" "$(pgrep -af -- "$folder")"
	else
		tap_ok "$1"
	fi
}

is_here() { PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null; }

each_command() { # FUNCTION
	local name needs command
	while IFS='|' read -r name needs command; do
		name=$(sed 's/[[:space:]]*$//' <<<"$name")
		needs=${needs//[[:space:]]/}
		if [ "$needs" != - ] && ! is_here "$needs"; then
			tap_skip "$name" "$needs is not here"
			continue
		fi
		read -ra words <<<"$command"
		words=("${words[@]//+/ }")
		case $command in *crash\ --target*) timed=() ;; *) timed=(--for 60s) ;; esac
		"$1" "$name"
	done < <(commands)
}

stops() {
	local name=$1 moment regex which
	while IFS='|' read -r moment regex which; do
		moment=$(sed 's/[[:space:]]*$//' <<<"$moment")
		regex=$(sed 's/^ *//; s/ *$//' <<<"$regex")
		which=$(sed 's/^ *//; s/ *$//' <<<"$which")
		# shellcheck disable=SC2053 # a pattern
		[[ $name == $which ]] || continue
		start "${words[@]}" "${timed[@]}" -o "$WORK/run-$((run_number + 1))"
		[ "$regex" = - ] || tap_wait_until $((60 * TAP_SLOWER)) reached "$regex"
		if [ "$regex" != - ] && ! grep -qE -- "$regex" "$out"; then
			tap_not_ok "SIGTERM: $name, $moment" "it never came to that:" \
				"$(tail -n 3 "$out")"
			kill -KILL "$pid" 2>/dev/null
			continue
		fi
		from=$(now_ms)
		kill -TERM "$pid" 2>/dev/null
		ended_after "$from" 30000
		judge "SIGTERM: $name, $moment" $((SOON_MS * $(tap_slowness)))
	done < <(moments)
}

# Of a checker that hangs, something is found, put aside and judged again in that time.
times() {
	local seconds=4
	[ "${#timed[@]}" -gt 0 ] || return 0
	case $1 in *hangs | *confirms*) seconds=12 ;; esac
	start "${words[@]}" --for ${seconds}s -o "$WORK/run-$((run_number + 1))"
	ended_after "$(now_ms)" 60000
	judge "--for: $1" $((seconds * 1000 + SOON_MS * $(tap_slowness)))
}

each_command stops
each_command times
tap_done
