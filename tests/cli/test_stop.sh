#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A command that takes long ends when it is asked to (SIGTERM), whatever it does then: within two
# seconds, times what the machine is busy, and with all its processes. It does not say then that
# nothing was found.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
. tests/cli/stops.sh

stops() {
	local name=$1 moment regex which
	while IFS='|' read -r moment regex which; do
		moment=$(sed 's/[[:space:]]*$//' <<<"$moment")
		regex=$(sed 's/^ *//; s/ *$//' <<<"$regex")
		which=$(sed 's/^ *//; s/ *$//' <<<"$which")
		# shellcheck disable=SC2053 # a pattern
		[[ $name == $which ]] || continue
		start "${words[@]}" "${timed[@]}"
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
		case $moment in
		writing*) ;; # its work is done
		*)
			[ "$status" != 1 ] || status=143
			tap_is "its status is 143, or 1: $name, $moment" "$status" 143
			;;
		esac
	done < <(moments)
}

each_command stops
tap_done
