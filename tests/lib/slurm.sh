# SPDX-License-Identifier: GPL-2.0-or-later
# slurm.sh: sourced by tests that need a Slurm: one node, on loopback, in $SLURM_DIR, stopped when
# the test ends. slurm_start: 0 if it runs, else $SLURM_WHY says why not.
SLURM_WHY=
# Its sockets are in there, and their paths may have 107 bytes only.
SLURM_DIR=
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
	AuthInfo=socket=$SLURM_DIR/munge.sock
	CryptoType=crypto/munge
	ProctrackType=proctrack/linuxproc
	TaskPlugin=task/none
	MpiDefault=none
	SelectType=select/cons_tres
	SelectTypeParameters=CR_CPU
	SlurmctldPort=$SLURM_PORT
	SlurmdPort=$((SLURM_PORT + 1))
	SlurmctldPidFile=$SLURM_DIR/slurmctld.pid
	SlurmdPidFile=$SLURM_DIR/slurmd.pid
	SlurmctldLogFile=$SLURM_DIR/slurmctld.log
	SlurmdLogFile=$SLURM_DIR/slurmd.log
	StateSaveLocation=$SLURM_DIR/state
	SlurmdSpoolDir=$SLURM_DIR/spool
	SlurmdTimeout=5
	ReturnToService=2
	MinJobAge=10
	NodeName=$host NodeAddr=127.0.0.1 CPUs=$cores RealMemory=4096 State=UNKNOWN
	PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
	END
}

slurmd_start() {
	PATH=$PATH:/usr/sbin slurmd -f "$SLURM_DIR/slurm.conf" >/dev/null 2>&1
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
	SLURM_DIR=$(mktemp -d /tmp/assay-slurm-XXXXXX)
	mkdir -p "$SLURM_DIR/state" "$SLURM_DIR/spool"
	chmod 755 "$WORK" "$SLURM_DIR"
	export SLURM_CONF=$SLURM_DIR/slurm.conf
	slurm_conf >"$SLURM_CONF"
	head -c 1024 /dev/urandom >"$SLURM_DIR/munge.key"
	chmod 400 "$SLURM_DIR/munge.key"
	trap 'slurm_stop; rm -rf "$WORK" "$SLURM_DIR"' EXIT
	PATH=$PATH:/usr/sbin munged --force --key-file="$SLURM_DIR/munge.key" \
		--socket="$SLURM_DIR/munge.sock" --pid-file="$SLURM_DIR/munge.pid" \
		--log-file="$SLURM_DIR/munge.log" --seed-file="$SLURM_DIR/munge.seed" \
		>"$SLURM_DIR/munged.out" 2>&1 || {
		SLURM_WHY="munged does not start: $(tail -n 1 "$SLURM_DIR/munged.out")"
		return 1
	}
	PATH=$PATH:/usr/sbin slurmctld -c -f "$SLURM_CONF" >/dev/null 2>&1
	slurmd_start
	tap_wait_until 60 slurm_is_up && return 0
	SLURM_WHY="it does not come up: $(tail -n 1 "$SLURM_DIR/slurmctld.log" 2>/dev/null)"
	return 1
}

slurm_is_up() {
	[ "$(sinfo -h -o %t 2>/dev/null)" = idle ]
}

# Ends what slurm_start started, by its files.
slurm_stop() {
	local name pid
	for name in slurmd slurmctld munge; do
		pid=$(cat "$SLURM_DIR/$name.pid" 2>/dev/null) || continue
		kill "$pid" 2>/dev/null
	done
	for name in slurmd slurmctld munge; do
		pid=$(cat "$SLURM_DIR/$name.pid" 2>/dev/null) || continue
		tap_wait_until 5 slurm_is_gone "$pid" || kill -9 "$pid" 2>/dev/null
	done
}

slurm_is_gone() {
	! kill -0 "$1" 2>/dev/null
}
