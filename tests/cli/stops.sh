# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034
# stops.sh, sourced: every command that takes long, for the tests that end it: test_stop.sh,
# test_for.sh.

shopt -s extglob
SOON_MS=2000
bin=$WORK/bin
mkdir "$bin"
chmod 755 "$WORK" "$bin"
cc -O1 -D_GNU_SOURCE -w -o "$bin/hostile" tests/fsck/hostile_checker.c || exit 1
head -c 65536 /dev/zero | tr '\0' h >"$WORK/disk"
chmod 644 "$WORK/disk"
probes="checker:$bin/hostile+stubborn+{disk}"
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
cat >"$WORK/campaign" <<'END'
campaign small
time 60s
rounds 2
memory 64M
cells hunt --target lab:bug={bug} --no-reduce
    bug 2 7
END

# Commands, and what a machine may lack for each: a program, or a type in the sandbox uml. A "+" is
# a space within an argument. Where it is said to probe, the checker hangs also on the disk with
# which it is tried how it reads.
# NAME | NEEDS | HOW LONG (-: there is no --for) | COMMAND
commands() {
	cat <<-END
		fsck           | -         | 60s | fsck labfs-fsck --model bits
		fsck of one that hangs | - | 60s | $hangs
		fsck that confirms one | - | 60s | $hangs --lots 1
		fsck that probes | -       | 60s | fsck $probes --model bits
		fsck of a kernel | e2fsck uml:ext4 | 60s | fsck e2fsck --kernel --model bits
		fsck --jobs    | -         | 60s | fsck labfs-fsck --model bits --jobs 3
		fsck --compare | e2fsck    | 60s | fsck --compare ext4,ext2
		fsck --compare, jobs | e2fsck | 60s | fsck --compare ext4,ext2 --jobs 3
		fsck --compare that probes | - | 60s | fsck --compare lab,minix3=$probes
		fsck --score   | e2fsck    | 60s | fsck --score e2fsck
		fsck --score of one that hangs | fsck.minix | 60s | fsck --score fsck.minix --jobs 2
		fsck --symbolic | valgrind | 60s | fsck e2fsck --symbolic
		fsck --table   | -         | 60s | fsck --table 8 labfs-fsck
		hunt           | -         | 60s | hunt --target lab --jobs 2
		hunt crash     | -         | 60s | hunt --target lab --scenario crash --jobs 2
		hunt that reduces | -      | 60s | hunt --target lab:bug=2
		hunt in a sandbox | uml:ext4 | 60s | hunt --target ext4
		hunt crash in a sandbox | uml:ext4 | 60s | hunt --target ext4 --scenario crash
		check          | -         | 60s | check --target lab --jobs 2
		check that confirms | -    | 60s | check --target lab:bug=1 --no-crash --nodes 2
		check that starts | -      | 60s | check --target lab --start full --no-crash
		check in a sandbox | uml:ext4 | 60s | check --target ext4
		crash          | -         | -   | crash --target lab --faults all $WORK/w.txt
		crash --jobs   | -         | -   | crash --target lab --faults all --jobs 2 $two
		crash in a sandbox | uml:ext4 | - | crash --target ext4 --faults all $WORK/w.txt
		swarm          | -         | -   | swarm run $WORK/campaign --jobs 2
		cov record     | -         | -   | cov record -- sleep 600
	END
}

# When: at once; when it has told something of what it does; and then what only some commands tell.
# MOMENT | REGULAR EXPRESSION | COMMANDS (a pattern of names)
moments() {
	cat <<-'END'
		at the start       | -                          | *
		at work            | "event":"progress"         | !(*probes|*table|cov*|crash in*)
		with a problem     | "problems":[1-9]           | fsck of one that hangs
		confirming         | "problems":[2-9]           | fsck that confirms one
		reducing           | "event":"finding"          | hunt that reduces
		confirming         | "findings":[1-9]           | check that confirms
		writing its report | "event":"done"             | hunt
	END
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }
has_ended() { ! kill -0 "$pid" 2>/dev/null; }
reached() { grep -qE -- "$1" "$out" || has_ended; }
none_left() { ! pgrep -f -- "$folder" >/dev/null; }

is_shell() { [ "$(readlink "/proc/$pid/exe")" = "$(readlink /proc/$$/exe)" ]; }

run_number=0
start() { # COMMAND...: its pid, its output and its folder
	run_number=$((run_number + 1))
	folder=$WORK/run-$run_number
	out=$WORK/out-$run_number
	# What comes after a "--" is somebody else's.
	case " $* " in
	*" -- "*) set -- "${@:1:2}" --json -o "$folder" "${@:3}" ;;
	*) set -- "$@" --json -o "$folder" ;;
	esac
	"$ASSAY" "$@" >"$out" 2>&1 &
	pid=$!
	# A shell that is asked to end before it is the command does what this one does at its end.
	while is_shell; do sleep 0.001; done
}

# Waits until it has ended; how long that took, since START_MS, and with which status.
ended_after() {
	local from=$1 most=$2
	while ! has_ended && [ $(($(now_ms) - from)) -lt "$most" ]; do sleep 0.01; done
	took=$(($(now_ms) - from))
	has_ended || kill -KILL "$pid"
	status=0
	wait "$pid" 2>/dev/null || status=$?
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

is_here() { # NEED...
	for need; do
		case $need in
		-) ;;
		uml:*) tap_uml "${need#uml:}" ;;
		*) PATH=$PATH:/usr/sbin:/sbin command -v "$need" >/dev/null ;;
		esac || return
	done
}

each_command() { # FUNCTION
	local name needs long command
	while IFS='|' read -r name needs long command; do
		name=$(sed 's/[[:space:]]*$//' <<<"$name")
		# shellcheck disable=SC2086 # words
		if ! is_here $needs; then
			tap_skip "$name" "it is not here:$needs"
			continue
		fi
		read -ra words <<<"$command"
		words=("${words[@]//+/ }")
		long=${long//[[:space:]]/}
		case $long in -) timed=() ;; *) timed=(--for "$long") ;; esac
		"$1" "$name"
	done < <(commands)
}
