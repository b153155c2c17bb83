#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Recording under attack: the recorder is killed, stopped and interrupted at any moment; its output
# cannot be written; the command floods it. Nothing may stay: no process that hangs or is left
# stopped, no shared memory, no half of a file.
# TORTURE_SECONDS=N goes on with other moments for about N seconds.
. tests/tap.sh

tree=$WORK/tree
under=$tree
cov=$WORK/x.cov
mkdir "$tree"
RANDOM=${TORTURE_SEED:-7}
end=$((SECONDS + ${TORTURE_SECONDS:-0}))

ways=
for how in ptrace inprocess bpf; do
	if "$ASSAY" cov record --how $how -o "$cov" -- true >/dev/null 2>"$WORK/why"; then
		ways="$ways $how"
	else
		tap_skip "recording by $how" "$(head -n 1 "$WORK/why")"
	fi
done
rm -f "$cov"

# No segment of shared memory is left that this process made.
no_segments() { # PID
	! awk 'NR > 1 { print $5 }' /proc/sysvipc/shm | grep -qx "$1"
}

none_left() { # FILE: none of the processes in it is there any more
	local pid
	while read -r pid; do
		[ ! -e "/proc/$pid" ] || grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null ||
			return 1
	done <"$1"
}

# A command of several processes, all of which write their numbers down, and end by themselves.
cat >"$WORK/command" <<'END'
cd "$1"
for n in 1 2 3; do
	(echo $BASHPID >>"$2"; for i in $(seq 60); do echo x >"f$n"; cat "f$n" >/dev/null; done) &
done
echo $$ >>"$2"
wait
END

kill_one() { # HOW: at a moment of chance; what is left?
	local how=$1 recorder
	: >"$WORK/pids"
	rm -f "$cov"
	"$ASSAY" cov record --how "$how" --under "$under" -o "$cov" -- \
		bash "$WORK/command" "$tree" "$WORK/pids" >/dev/null 2>&1 &
	recorder=$!
	# The moment is what is tested.
	sleep "0.$((RANDOM % 6))$((RANDOM % 10))"
	kill -KILL $recorder 2>/dev/null
	wait $recorder 2>/dev/null
	tap_wait_until 60 none_left "$WORK/pids" || { echo "# $how: processes stay"; return 1; }
	tap_wait_until 60 no_segments $recorder || { echo "# $how: shared memory stays"; return 1; }
	[ ! -e "$cov" ] || "$ASSAY" cov show "$cov" >/dev/null || return 1
}

for how in $ways; do
	bad=0
	for _ in 1 2; do
		kill_one "$how" || bad=$((bad + 1))
	done
	tap_is "$how: two kills leave nothing" $bad 0
done

# Stopped and continued, the recorder goes on.
for how in $ways; do
	"$ASSAY" cov record --how "$how" --under "$under" -o "$cov" -- \
		bash "$WORK/command" "$tree" "$WORK/pids" >/dev/null 2>"$WORK/err" &
	recorder=$!
	# It stands still for a while, at three moments.
	for _ in 1 2 3; do
		kill -STOP $recorder
		sleep 0.05
		kill -CONT $recorder
		sleep 0.05
	done
	wait $recorder
	tap_is "$how: stopped and continued" $? 0
done

# Output that cannot be written is said before the command runs.
for where in /no/such/x.cov "$WORK/tree/no/x.cov" ""; do
	rm -f "$WORK/ran"
	tap_run "output '$where'" 125 "$ASSAY" cov record -o "$where" -- touch "$WORK/ran"
	tap_is "the command was not run" "$(ls "$WORK/ran" 2>/dev/null)" ""
done
ln -s loop "$WORK/loop"
tap_run "output that is a loop" 125 "$ASSAY" cov record -o "$WORK/loop" -- true

# A command that ends while a child of it is there; only then does the child make its folder.
cat >"$WORK/leaves" <<'END'
(while grep -qx "PPid:.$$" "/proc/$BASHPID/status"; do sleep 0.01; done; mkdir "$1") &
END

# The command closes, floods and leaves.
for how in $ways; do
	tap_run "$how: all descriptors closed" 0 timeout 60 "$ASSAY" cov record --how "$how" \
		--under "$under" -o "$cov" -- \
		bash -c "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; echo x >$tree/g"
	tap_run "$how: a cleaned environment" 0 timeout 60 "$ASSAY" cov record --how "$how" \
		--under "$under" -o "$cov" -- env -i /bin/sh -c "echo x >$tree/h"
	tap_run "$how: what it wrote is counted" 0 "$ASSAY" cov show --syscall write "$cov"
	tap_like "$how: once" "$WORK/out" '^ +write +1$'
	tap_run "$how: 200 processes" 0 timeout 100 "$ASSAY" cov record --how "$how" \
		--under "$under" -o "$cov" -- \
		bash -c "for i in \$(seq 200); do (echo x >$tree/p\$i) & done; wait"
	tap_run "$how: all are counted" 0 "$ASSAY" cov show --syscall write "$cov"
	tap_like "$how: 200 writes" "$WORK/out" '^ +write +200$'
	# A process that outlives the command is waited for.
	tap_run "$how: left to itself" 0 timeout 60 "$ASSAY" cov record --how "$how" \
		--under "$under" -o "$cov" -- bash "$WORK/leaves" "$tree/late.$how"
	tap_is "$how: it was waited for" "$(ls -d "$tree/late.$how")" "$tree/late.$how"
done

rounds=0
bad=0
while [ $SECONDS -lt $end ]; do
	for how in $ways; do
		kill_one "$how" || bad=$((bad + 1))
		rounds=$((rounds + 1))
	done
done
[ $rounds -eq 0 ] || tap_is "$rounds more kills leave nothing" $bad 0

tap_done
