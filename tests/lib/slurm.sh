# SPDX-License-Identifier: GPL-2.0-or-later
# slurm.sh: sourced by tests that need a Slurm: one node, on loopback, in $WORK/slurm, stopped when
# the test ends. slurm_start: 0 if it runs, else $SLURM_WHY says why not.
SLURM_WHY=
SLURM_PORT=$((20000 + $$ % 20000))

slurm_missing() {
	local program
	for program in munged slurmctld slurmd sbatch squeue; do
		PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || {
			echo "$program"
			return 0
		}
	done
	return 1
}

slurm_conf() {
	local host cores
	host=$(hostname -s)
	cores=$(nproc)
	cat <<-END
	ClusterName=test
	SlurmctldHost=$host(127.0.0.1)
	SlurmUser=root
	AuthType=auth/munge
	AuthInfo=socket=$WORK/slurm/munge.sock
	CryptoType=crypto/munge
	ProctrackType=proctrack/linuxproc
	TaskPlugin=task/none
	MpiDefault=none
	SelectType=select/cons_tres
	SelectTypeParameters=CR_CPU
	SlurmctldPort=$SLURM_PORT
	SlurmdPort=$((SLURM_PORT + 1))
	SlurmctldPidFile=$WORK/slurm/slurmctld.pid
	SlurmdPidFile=$WORK/slurm/slurmd.pid
	SlurmctldLogFile=$WORK/slurm/slurmctld.log
	SlurmdLogFile=$WORK/slurm/slurmd.log
	StateSaveLocation=$WORK/slurm/state
	SlurmdSpoolDir=$WORK/slurm/spool
	SlurmdTimeout=5
	ReturnToService=2
	MinJobAge=10
	NodeName=$host NodeAddr=127.0.0.1 CPUs=$cores RealMemory=4096 State=UNKNOWN
	PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
	END
}

slurmd_start() {
	PATH=$PATH:/usr/sbin slurmd -f "$WORK/slurm/slurm.conf" >/dev/null 2>&1
}

slurm_start() {
	local missing
	if missing=$(slurm_missing); then
		SLURM_WHY="$missing is missing (packages slurmctld, slurmd, slurm-client, munge)"
		return 1
	fi
	[ "$(id -u)" = 0 ] || {
		SLURM_WHY="its daemons need root"
		return 1
	}
	mkdir -p "$WORK/slurm/state" "$WORK/slurm/spool"
	chmod 755 "$WORK" "$WORK/slurm"
	export SLURM_CONF=$WORK/slurm/slurm.conf
	slurm_conf >"$SLURM_CONF"
	head -c 1024 /dev/urandom >"$WORK/slurm/munge.key"
	chmod 400 "$WORK/slurm/munge.key"
	trap 'slurm_stop; rm -rf "$WORK"' EXIT
	PATH=$PATH:/usr/sbin munged --force --key-file="$WORK/slurm/munge.key" \
		--socket="$WORK/slurm/munge.sock" --pid-file="$WORK/slurm/munge.pid" \
		--log-file="$WORK/slurm/munge.log" --seed-file="$WORK/slurm/munge.seed" \
		>"$WORK/slurm/munged.out" 2>&1 || {
		SLURM_WHY="munged does not start: $(tail -n 1 "$WORK/slurm/munged.out")"
		return 1
	}
	PATH=$PATH:/usr/sbin slurmctld -c -f "$SLURM_CONF" >/dev/null 2>&1
	slurmd_start
	tap_wait_until 60 slurm_is_up && return 0
	SLURM_WHY="it does not come up: $(tail -n 1 "$WORK/slurm/slurmctld.log" 2>/dev/null)"
	return 1
}

slurm_is_up() {
	[ "$(sinfo -h -o %t 2>/dev/null)" = idle ]
}

# Ends what slurm_start started, by its files.
slurm_stop() {
	local name pid
	for name in slurmd slurmctld munge; do
		pid=$(cat "$WORK/slurm/$name.pid" 2>/dev/null) || continue
		kill "$pid" 2>/dev/null
	done
	for name in slurmd slurmctld munge; do
		pid=$(cat "$WORK/slurm/$name.pid" 2>/dev/null) || continue
		tap_wait_until 5 slurm_is_gone "$pid" || kill -9 "$pid" 2>/dev/null
	done
}

slurm_is_gone() {
	! kill -0 "$1" 2>/dev/null
}
