#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Hunts make and mount a type in drawn ways: by the seed, in turns, told in the summary, also after
# --resume; what cannot be made is left out; and a target with variants behaves as its disk does.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
export LC_ALL=C ASAN_OPTIONS=detect_leaks=0

if ! "$ASSAY" targets | grep -Eq '^ *ext4 .*ready here \(host'; then
	tap_skip "drawn sets" "ext4 cannot be mounted here"
	tap_done
	exit
fi

printf 'like small\nlength.min 1\nlength.max 2\nwalk.max 0\n' >"$WORK/short.profile"
# hunt FOLDER OPTION...: what it says of sets goes to FOLDER.sets
sandbox=host
hunt() {
	local out=$1 got=0
	shift
	"$ASSAY" hunt -o "$WORK/$out" --sandbox "$sandbox" --no-reduce --json "$@" \
		>"$WORK/$out.json" || got=$?
	grep '"event":"set"' "$WORK/$out.json" |
		sed 's/.*"target":"\([^"]*\)","workloads":\([0-9]*\).*/\1 \2/' \
		>"$WORK/$out.sets"
	return "$got"
}

short=(--target ext4 --profile "$WORK/short.profile" --seed 11)
hunt drawn "${short[@]}" --max-workloads 128
tap_is "a hunt with drawn sets passes" "$?" 0
tap_like "the plain type comes first" "$WORK/drawn.sets" '^ext4 64$'
tap_is "the rest ran on another one" "$(grep -c '^ext4:.* 64$' "$WORK/drawn.sets")" 1
hunt parts "${short[@]}" --max-workloads 70
hunt parts --resume --max-workloads 58
tap_is "the same seed draws the same, also in two parts" "$(cat "$WORK/parts.sets")" \
	"$(cat "$WORK/drawn.sets")"
hunt plain "${short[@]}" --max-workloads 1 --no-draw
tap_is "--no-draw draws nothing" "$(wc -l <"$WORK/plain.sets")" 0
hunt typed --target ext4:mkfs=4k --profile "$WORK/short.profile" --max-workloads 1
tap_is "a target with options is taken as it is" "$(wc -l <"$WORK/typed.sets")" 0

# ---- What cannot be mounted is left out ----
hunt odd "${short[@]}" --max-workloads 64
refused=ext4:mkfs=nojournal,data=journal
sed -i "s/\"target\":\"ext4:[^\"]*\"/\"target\":\"$refused\"/g" "$WORK/odd/hunt/state.json"
hunt odd --resume --max-workloads 1
tap_is "a set that the kernel refuses does not end the hunt" "$?" 0
tap_like "it is told" "$WORK/odd.json" "$refused is left out: .*cannot be mounted"
tap_like "the workloads ran on the plain type" "$WORK/odd.sets" '^ext4 65$'
if "$ASSAY" targets | grep -Eq '^ *ext4 .*ready here \(host, uml'; then
	sandbox=uml
	hunt boxed "${short[@]}" --max-workloads 64
	sed -i "s/\"target\":\"ext4:[^\"]*\"/\"target\":\"$refused\"/g" \
		"$WORK/boxed/hunt/state.json"
	hunt boxed --resume --max-workloads 1
	tap_is "in a sandbox it does not, either" "$?" 0
	tap_like "the workloads ran on the plain type there" "$WORK/boxed.sets" '^ext4 65$'
	sandbox=host
fi
sed -i 's/"target":"ext4:[^"]*"/"target":"dir:\/tmp"/g; s/,"refused":"[^"]*"//g' \
	"$WORK/odd/hunt/state.json"
hunt odd --resume --max-workloads 1
tap_like "a state cannot bring in another target" "$WORK/odd.json" 'was not drawn for ext4'

# ---- Variants change the disk and what is expected of it ----
# run NAME SPEC LINE...
run() {
	local name=$1 spec=$2
	shift 2
	printf '%s\n' "$@" >"$WORK/w.txt"
	tap_run "$name" 0 "$ASSAY" run --sandbox host --target "$spec" -o "$WORK/run" "$WORK/w.txt"
}
run "inodes of 128 bytes: seconds, until 2038" ext4:mkfs=inode128 "create /f 0644" \
	"utimens /f atime=5000000000.5 mtime=1000000000.7" "stat /f"
run "clusters: ranges of whole ones" ext4:mkfs=bigalloc '$0 = open /f O_RDWR|O_CREAT 0644' \
	'pwrite $0 len=65536 at=0 fill=1' 'fallocate $0 COLLAPSE_RANGE at=0 len=4096' \
	'fallocate $0 COLLAPSE_RANGE at=0 len=16384'
run "blocks of 4 KiB: long symbolic links" ext4:mkfs=4k \
	"symlink /$(printf '%01300d' 0) /l" "readlink /l"
tap_run "no journal: the checker recovers" 0 "$ASSAY" crash --sandbox host \
	--target ext4:mkfs=nojournal -o "$WORK/run" "$WORK/w.txt"

tap_done
