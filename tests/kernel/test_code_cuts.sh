#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The code of the kernel that checks reach, and hunts that cut the power: --kcov (test_code.sh).
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
export LC_ALL=C
ASSAY=$(realpath "$ASSAY")
cd "$WORK" || exit 2

kernel=$("$ASSAY" kernel list --json |
	sed -n 's/.*"name":"\([^"]*\)".*"with":"[^"]*kcov[^"]*","patches":\[\].*/\1/p' | head -n 1)
printf 'assay-code 1\nkernel -\n6000a001\n' >x.kcov
if [ -z "$kernel" ] || ! tap_uml ext2 ||
	! "$ASSAY" cov code --kernel "$kernel" x.kcov >/dev/null 2>&1; then
	tap_skip "a kernel with kcov" "none runs here: assay kernel build debug"
	tap_done
	exit
fi
places() { sed 1,2d "$1/code.kcov" | wc -l; }

# ---- hunt ----
tap_run "two jobs, with power cuts" 0 "$ASSAY" hunt --crash --kernel "$kernel" --kcov --jobs 2 \
	--target ext4 --no-draw --seed 3 --max-workloads 2 --length 8 -o cut
"$ASSAY" cov code --functions --under fs/jbd2 cut >cut.out
tap_like "record what commits" cut.out '^ *[1-9][0-9]* places  jbd2__journal_start +fs/jbd2/'
tap_like "and what recovers" cut.out '^ *[1-9][0-9]* places  jbd2_journal_recover +fs/jbd2/recovery'

# ---- check ----
# With power cuts, a worker has several mounts, one of them where the kernel's buffer is found.
tap_run "check" 0 "$ASSAY" check --kernel "$kernel" --kcov --target ext2 --nodes 1 \
	--search novelty --max-transitions 60 --for 120s --json -o check
tap_like "tells how many" "$WORK/out" '"event":"code","places":[1-9]'
"$ASSAY" cov code --functions --under fs/ext2 check >check.out
tap_like "mkdir is reached" check.out '^ *[1-9][0-9]* places  ext2_mkdir +fs/ext2/namei.c'
before=$(places check)
tap_run "it goes on, in two jobs" 0 "$ASSAY" check --kernel "$kernel" --kcov --target ext2 \
	--nodes 1 --search novelty --max-transitions 60 --for 120s --jobs 2 --resume -o check
tap_is "and forgets nothing" "$(($(places check) >= before))" 1
tap_like "its report has the functions" check/report.html '"functions":.*"ext2_mkdir",[1-9]'
# If the kernel's buffer runs full between two operations, an eighth of it is missing.
recovery() {
	"$ASSAY" cov code --under fs/jbd2/recovery.c --json "$1" |
		sed -n 's/.*"all","places":\([0-9]*\).*/\1/p'
}
tap_run "recovery by a check" 0 "$ASSAY" check --kernel "$kernel" --kcov --target ext4 --nodes 1 \
	--max-transitions 60 --for 200s -o recovery
tap_is "reaches nearly what it reaches in a hunt" \
	"$(($(recovery recovery) * 100 > $(recovery cut) * 93))" 1
tap_run "a shard, which follows states in the model alone" 0 "$ASSAY" check --kernel "$kernel" \
	--kcov --target ext2 --nodes 1 --search novelty --no-crash --max-transitions 40 \
	--shard 1/2 --for 120s --json -o shard
tap_like "records code, too" "$WORK/out" '"event":"code","places":[1-9]'
tap_run "a start" 0 "$ASSAY" check --kernel "$kernel" --kcov --target ext2 --nodes 1 \
	--start names --no-crash --max-transitions 20 --for 120s --json -o start
tap_like "records code, too" "$WORK/out" '"event":"code","places":[1-9]'
tap_done
