#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A command that takes long ends when its time is over (--for), whatever it does then: within two
# seconds, times what the machine is busy, and with all its processes.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
. tests/cli/stops.sh

# Of a checker that hangs, something is found, put aside and judged again in that time.
times() {
	local seconds=4
	[ "${#timed[@]}" -gt 0 ] || return 0
	case $1 in
	*hangs | *confirms*) seconds=12 ;;
	*probes) seconds=3 ;; # as long as the checker does not come back
	esac
	start "${words[@]}" --for ${seconds}s
	ended_after "$(now_ms)" 60000
	judge "--for: $1" $((seconds * 1000 + SOON_MS * $(tap_slowness)))
}

each_command times
tap_done
