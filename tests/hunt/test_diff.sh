#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay hunt --diff`: those that answer alike pass, a broken one is the odd one out, among two by
# the model, among three wherever it stands; what is found is reduced and comes back; bad input gets
# one line.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
. tests/hunt/hunts.sh
export LC_ALL=C
export ASAN_OPTIONS=detect_leaks=0

refuses "one target" "at least two targets" --diff lab
refuses "one target with options" "at least two targets" --diff lab:bug=1,bug=2
refuses "a target nobody knows" "unknown target 'nosuch'" --diff lab,nosuch
refuses "targets named twice" "leave out --target" --target lab --diff lab,lab
if can --target ext4; then
	refuses "a directory beside a sandbox" "cannot be compared in a sandbox" \
		--diff ext4,dir:/tmp
else
	tap_skip "a directory beside a sandbox" "$(head -n 1 "$WORK/err")"
fi

# ---- Alike ----
tap_run "the same twice" 0 "$ASSAY" hunt --diff lab,lab --max-workloads 60 -o "$WORK/same"
mkdir "$WORK/tree"
if can --target "dir:$WORK/tree"; then
	tap_run "labfs and a directory" 0 "$ASSAY" hunt --diff "lab,dir:$WORK/tree" \
		--max-workloads 40 -o "$WORK/dir"
else
	tap_skip "labfs and a directory" "$(head -n 1 "$WORK/err")"
fi
if can --target ext4 --sandbox host; then
	tap_run "ext4, xfs and btrfs on the running kernel" 0 "$ASSAY" hunt --sandbox host \
		--diff ext4,xfs,btrfs --max-workloads 4 -o "$WORK/host"
else
	tap_skip "ext4, xfs and btrfs on the running kernel" "$(head -n 1 "$WORK/err")"
fi
if can --target ext4; then
	tap_run "ext4, xfs and labfs in a sandbox" 0 "$ASSAY" hunt --diff ext4,xfs,lab \
		--max-workloads 4 -o "$WORK/uml"
else
	tap_skip "ext4, xfs and labfs in a sandbox" "$(head -n 1 "$WORK/err")"
fi

# ---- Not alike ----
printf 'create /a 0644\ncreate /b 0600\nrename /a /b\nstat /b\n' >"$WORK/over.txt"
tap_run "two, and one is broken" 1 "$ASSAY" run --target lab --scenario diff:lab,lab:bug=1 \
	-o "$WORK/two" "$WORK/over.txt"
tap_like "it is named" "$WORK/out" \
	"op 3: rename /a /b: lab:bug=1 returned -1 EEXIST, lab 0; the model: returned -1 EEXIST"
tap_run "three, and the first is broken" 1 "$ASSAY" run --target lab \
	--scenario diff:lab:bug=1,lab,lab -o "$WORK/three" "$WORK/over.txt"
tap_like "it is named" "$WORK/out" "op 3: rename /a /b: lab:bug=1 returned -1 EEXIST, lab 0"
tap_like "what all answered is shown" "$WORK/out" "lab +=  *0"

# ---- Found, reduced, brought back ----
tap_run "a bug is found" 1 "$ASSAY" hunt --diff lab,lab:bug=7 --max-workloads 400 -o "$WORK/bug"
json=$(grep -lE '"signature":"diff: f?stat: says link count #, others' \
	"$WORK"/bug/findings/*/finding.json | head -n 1)
id=$(basename "$(dirname "$json")")
tap_like "as a difference" "$WORK/bug/findings/$id/finding.json" '"kind":"diff"'
tap_like "with all targets" "$WORK/bug/findings/$id/finding.json" 'scenario=diff:lab,lab:bug=7'
tap_run "comes back" 1 "$ASSAY" replay "$id" -o "$WORK/bug"
tap_like "by its name" "$WORK/out" "^$id: reproduced"
lines=$(grep -vc '^@' "$WORK/bug/findings/$id/workload.reduced.txt")
if [ "$lines" -le 6 ]; then tap_ok "reduced"; else tap_not_ok "reduced" "to $lines operations"; fi

tap_done
