#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every seeded bug of labfs of the classes semantics and dogfood is found by a hunt, from one of
# three seeds (LONG=1: from each of them), within its seconds, and reduced to at most eight
# operations; labfs without bugs passes a hunt. What a hunt finds first does not depend on the
# machine's load. How long it takes does, so the limit of time is there only to end a hunt that
# hangs.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

OPS_MAX=8

"$ASSAY" targets --bugs --json >"$WORK/bugs"

field() {
	sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"
}

hunt() {
	local bug=$1 seed=$2 seconds=$3 out=$WORK/$1-$2 status=0 best kinds=1
	# Some show in several ways, of which not every one is short.
	case $bug in
	13 | 18 | 66) kinds=4 ;;
	esac
	timeout "$((seconds * 60))" "$ASSAY" hunt --json --target "lab:bug=$bug" --seed "$seed" \
		--max-findings "$kinds" --max-workloads 8192 --reduce-for "$seconds" -o "$out" \
		>"$WORK/out" 2>"$WORK/err" || status=$?
	best=$(sed -n 's/.*"event":"signature".*"ops_reduced":\([1-9][0-9]*\).*/\1/p' \
		"$WORK/out" | sort -n | head -n 1)
	if [ $status -eq 1 ] && [ "${best:-99}" -le $OPS_MAX ]; then
		tap_ok "bug $bug is found from seed $seed, in $best operations"
	else
		tap_not_ok "bug $bug is found from seed $seed" \
			"exit status $status, shortest ${best:-none}" "$(head -n 3 "$WORK/err")" \
			"$(grep -o '"signature":"[^"]*"' "$WORK/out" | sort | uniq -c | head -n 5)"
	fi
	rm -rf "$out"
}

left_out=()
while read -r row; do
	case $(field class <<<"$row") in
	semantics | dogfood) ;;
	*) continue ;;
	esac
	# Some show only on a file system that has been used: tests/check.
	[[ $(field command <<<"$row") != "assay check"* ]] || continue
	# Of a hang, every run costs the deadline: tests/labfs/test_cases.sh.
	[[ $(field command <<<"$row") != *" --deadline "* ]] || continue
	bug=$(field number <<<"$row")
	# Hunts hardly ever link a file again whose name is gone: tests/labfs/test_cases.sh.
	[ "$bug" != 147 ] || continue
	if tap_left_out "$bug"; then
		left_out+=("$bug")
		continue
	fi
	seeds=(1 2 5)
	[ -n "${LONG:-}" ] || seeds=("${seeds[bug % 3]}")
	for seed in "${seeds[@]}"; do
		hunt "$bug" "$seed" "$(field budget_s <<<"$row")"
	done
done <"$WORK/bugs"
[ ${#left_out[@]} -eq 0 ] ||
	tap_skip "bugs ${left_out[*]}" "with sanitizers one of four is tried (LONG=1: all)"
tap_run "labfs without bugs passes" 0 \
	"$ASSAY" hunt --target lab --max-workloads 512 --jobs 2 -o "$WORK/clean"
tap_done
