# SPDX-License-Identifier: GPL-2.0-or-later
# tap.sh: sourced by the shell tests. Each test is one line of TAP on stdout:
#	ok 1 - name        not ok 2 - name        ok 3 - name # SKIP reason
# End with `tap_done`. Diagnostics are lines that start with "#".
# $ASSAY is the program under test, $ASSAY_BUILD the folder with the plugins (plugins/*.so), and
# $WORK an empty folder of the test's own, removed at its end.
ASSAY=${ASSAY:-./assay}
ASSAY_BUILD=${ASSAY_BUILD:-build/gcc}
WORK=$(mktemp -d "${TMPDIR:-/tmp}/assay-test-XXXXXX")
trap 'rm -rf "$WORK"' EXIT

# tap_memory: makes $MEMORY, a folder like $WORK on a tmpfs where there is one that we may write to.
tap_memory() {
	MEMORY=$(mktemp -d /dev/shm/assay-test-XXXXXX 2>/dev/null) || MEMORY=$WORK
	trap 'rm -rf "$WORK" "$MEMORY"' EXIT
}
# A program with sanitizers ($SAN) takes about so many times as long: bounds on time are multiplied
# by it, and what only has to be long enough may be divided by it.
TAP_SLOWER=${SAN:+4}
TAP_SLOWER=${TAP_SLOWER:-1}
# tap_left_out N: whether row N of a long table is left out. With sanitizers only one of four is
# tried: what the others run is the same code. LONG=1 tries all of them.
tap_left_out() {
	[ -n "${SAN:-}" ] && [ -z "${LONG:-}" ] && [ $(($1 % 4)) -ne 0 ]
}
# tap_uml TYPE: whether this type can be tested in the sandbox uml.
tap_uml() {
	"$ASSAY" targets | grep "^  $1 " | grep -q 'ready here ([^)]*uml'
}
tap_count=0
tap_failed=0

tap_ok() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1"
}

# tap_not_ok NAME [WHY...]
tap_not_ok() {
	tap_count=$((tap_count + 1))
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_count - $1"
	shift
	[ $# -eq 0 ] || printf '%s\n' "$@" | sed 's/^/# /'
}

# tap_skip NAME REASON
tap_skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

# tap_run NAME WANTED-STATUS COMMAND...: runs it; output in $WORK/out and $WORK/err.
tap_run() {
	local name=$1 want=$2 got=0
	shift 2
	"$@" >"$WORK/out" 2>"$WORK/err" || got=$?
	if [ "$got" = "$want" ]; then
		tap_ok "$name"
	else
		tap_not_ok "$name" "$*: exit status $got, wanted $want" \
			"$(head -n 20 "$WORK/out" "$WORK/err")"
	fi
}

# tap_like NAME FILE REGEX: the file has a line that matches.
tap_like() {
	if grep -Eq -- "$3" "$2"; then
		tap_ok "$1"
	else
		tap_not_ok "$1" "no line of $2 matches: $3" "$(head -n 20 "$2")"
	fi
}

# tap_is NAME GOT WANTED
tap_is() {
	if [ "$2" = "$3" ]; then
		tap_ok "$1"
	else
		tap_not_ok "$1" "got:    $2" "wanted: $3"
	fi
}

# tap_wait_until SECONDS COMMAND...: tries the command until it succeeds, for at most so long; its
# last status. A test waits for what must come; it does not sleep for a time that seems enough.
tap_wait_until() {
	local until=$((SECONDS + $1 + 1))
	shift
	while ! "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $until ] || return 1
		sleep 0.02
	done
}

# tap_children PID: the processes that it started, without the one that shows progress. Fails if
# there are none.
tap_children() {
	ps --ppid "$1" -o pid=,comm= | awk '$2 != "assay-live" { print $1; n++ } END { exit !n }'
}

# tap_catches PID SIGNAL: the process has a handler for it, so that it ends in its own way.
tap_catches() {
	local caught
	caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null)
	[ -n "$caught" ] && ((16#${caught: -8} >> ($(kill -l "$2") - 1) & 1))
}

# tap_slowness: how many times as long work takes here as the processor is busy with it: 1 on a
# machine that nobody else uses. Bounds on time are multiplied by it.
tap_slowness() {
	local real cpu TIMEFORMAT='%3R %3U %3S' times
	times=$({ time for ((i = 0; i < 100000; i++)); do :; done; } 2>&1)
	read -r real cpu times <<<"${times//./}"
	cpu=$((10#$cpu + 10#$times))
	echo $(((10#$real + cpu - 1) / (cpu > 0 ? cpu : 1)))
}

# tap_regex TEXT: the regular expression (extended) that matches only this text. Any path that goes
# into an expression goes through it: the build folder of `make SAN=address,undefined` has a "+".
tap_regex() {
	printf '%s\n' "$1" | sed 's/[][\\.*^$+?(){}|]/\\&/g'
}

tap_done() {
	echo "1..$tap_count"
	[ "$tap_failed" = 0 ]
}
