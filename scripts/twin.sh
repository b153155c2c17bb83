#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the rule `twin` saves and misses (docs/CRASH.md, "How to recover"): the same workloads with
# all rules and with the proved ones only. Each row has the kinds of findings, how many disks were
# recovered after the first power cut and after one during recovery, how often the rule applied, and
# seconds by the clock. Then follow the kinds that only one of the two has found.
#
#   scripts/twin.sh TARGET BUDGET SEED...
#   WORKLOADS=16 OPTIONS="--sandbox host" ASSAY=./assay
cd "$(dirname "$0")/.." || exit 2
[ $# -ge 3 ] || exit 2

ASSAY=${ASSAY:-./assay}
WORKLOADS=${WORKLOADS:-16}
OPTIONS=${OPTIONS:-}
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

target=$1 budget=$2
shift 2
for seed; do
	"$ASSAY" gen -p crash --seed "$seed" -n "$WORKLOADS" >>"$WORK/w" || exit 2
done

# run RULES: writes $WORK/RULES and prints what it took.
run() {
	# shellcheck disable=SC2086
	"$ASSAY" crash --json --no-store --target "$target" --budget "$budget" --again-prune "$1" \
		$OPTIONS "$WORK/w" >"$WORK/out" 2>"$WORK/err"
	[ $? -le 1 ] || { cat "$WORK/err" >&2; return 2; }
	sed -n 's/^{"event":"\(finding\|again\)".*"signature":"\([^"]*\)".*/\2/p' "$WORK/out" |
		sort -u >"$WORK/$1"
	awk '
		function get(key) {
			# The last one of that name: `again` is there twice.
			if (!match($0, "\"" key "\":[0-9]+[^{]*$"))
				return 0
			return substr($0, RSTART + length(key) + 3) + 0
		}
		/^{"event":"workload"/ {
			checked += get("checked")
			again += get("again_checked")
			twins += get("twins")
		}
		/^{"event":"done"/ { us = get("wall_us") }
		END {
			printf "%d + %d recovered, %d twins, %.1f s\n", checked, again, twins,
				us / 1e6
		}
	' "$WORK/out"
}

echo "$target, budget $budget, seeds $*, $WORKLOADS workloads each"
for rules in all proved; do
	took=$(run $rules) || exit 2
	echo "  $rules: $(wc -l <"$WORK/$rules") kinds, $took"
done
comm -23 "$WORK/all" "$WORK/proved" | sed 's/^/  only with twin: /'
comm -13 "$WORK/all" "$WORK/proved" | sed 's/^/  only without twin: /'
