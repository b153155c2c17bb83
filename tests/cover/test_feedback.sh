#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The loop from coverage to generator: with `assay cov feedback` between small batches of workloads,
# the inputs that one long run without it meets are met in at most half the operations.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
export LC_ALL=C
cd "$WORK" || exit 2

# go SEED COUNT [OPTION...]: workloads, run on the laboratory file system, counted in one.cov.
go() {
	local seed=$1 count=$2
	shift 2
	"$ASSAY" gen -p coverage -s "$seed" -n "$count" -t lab "$@" >w.txt &&
		"$ASSAY" run --target lab --cov one.cov w.txt >log 2>&1
	grep -oE '[0-9]+ operations, [0-9]+ findings' log | cut -d' ' -f1
}

inputs() {
	"$ASSAY" cov show "$1" | awk '$1 == "all" { print $3 }'
}

plain_ops=$(go 1 60)
plain=$(inputs one.cov)
echo "# without feedback: $plain inputs in $plain_ops operations"
ops=0
met=0
rm -f one.cov
for ((seed = 1; ops <= plain_ops / 2 && met < plain; seed++)); do
	if [ -f all.cov ]; then
		"$ASSAY" cov feedback all.cov -o counts.json || break
		ops=$((ops + $(go "$seed" 4 --feedback counts.json)))
		"$ASSAY" cov merge all.cov one.cov -o all.cov || break
	else
		ops=$((ops + $(go "$seed" 4)))
		cp one.cov all.cov
	fi
	met=$(inputs all.cov)
done
echo "# with feedback: $met inputs in $ops operations"
if [ "$plain" -gt 200 ] && [ "$met" -ge "$plain" ] && [ "$ops" -le $((plain_ops / 2)) ]; then
	tap_ok "the same coverage in half the operations"
else
	tap_not_ok "the same coverage in half the operations" \
		"without: $plain in $plain_ops, with: $met in $ops"
fi
tap_done
