#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every seeded bug of labfs of the class rules is found by a hunt's first batch; labfs without bugs
# passes hunts in which its questions are answered at random, with and without power cuts.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

"$ASSAY" targets --bugs --json >"$WORK/bugs"

field() {
	sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"
}

while read -r row; do
	[ "$(field class <<<"$row")" = rules ] || continue
	bug=$(field number <<<"$row")
	tap_run "bug $bug is found" 1 "$ASSAY" hunt --target "lab:bug=$bug" --choices seed:1 \
		--max-workloads 64 --max-findings 1 --no-reduce -o "$WORK/$bug"
done <"$WORK/bugs"

tap_run "labfs passes with random answers" 0 "$ASSAY" hunt --target lab --choices seed:1 \
	--max-workloads 256 -o "$WORK/clean"
tap_run "labfs passes with random answers and power cuts" 0 "$ASSAY" hunt --crash --target lab \
	--choices seed:1 --budget 100 --max-workloads 8 -o "$WORK/cuts"
tap_done
