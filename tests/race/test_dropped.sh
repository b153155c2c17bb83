#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A type that is full may drop what was not synced, if its contract says so (ORDER.DROPS of
# src/trial/excuse.def): then no order of the calls of several threads explains what they read. A
# run and a recording say the same of it, and only of a disk that was full.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

flash=plugin:${ASSAY_BUILD:-build/gcc}/plugins/flashfs.so:flash.tear=off
if [[ ! -e ${ASSAY_BUILD:-build/gcc}/plugins/flashfs.so ]]; then
	echo "1..0 # SKIP the plugin flashfs was not built"
	exit 0
fi

# fill FILES: each is written, read and closed.
fill() {
	for ((i = 1; i <= $1; i++)); do
		printf "\$%d = open /n%d O_RDWR|O_CREAT 0644\nwrite \$%d len=60000 fill=%d\n" \
			$((i % 8)) "$i" $((i % 8)) "$i"
		printf "pread \$%d len=60000 at=0\nclose \$%d\n" $((i % 8)) $((i % 8))
	done
}
fill 18 >"$WORK/full.txt"
fill 2 >"$WORK/room.txt"

tap_run "a run, and it is full" 0 "$ASSAY" run --no-store --scenario race:threads=2 \
	--target "$flash" "$WORK/full.txt"
tap_run "a recording: nothing is made of it" 2 "$ASSAY" crash --no-store --race --threads 2 \
	--target "$flash" "$WORK/full.txt"
tap_like "and says so" "$WORK/err" "nothing was tried"
tap_run "a recording, and there is room" 0 "$ASSAY" crash --no-store --race --threads 2 \
	--target "$flash" "$WORK/room.txt"
tap_done
