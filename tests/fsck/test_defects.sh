#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A checker of a format that assay does not know, by a description of the user's: each defect that a
# checker can have is found, as the kind that it is, and the checker without one passes. So it does
# as a static program, and as a script that lets others do the work.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

ASSAY=$(realpath "$ASSAY")
bin=$WORK/bin
mkdir "$bin" "$WORK/elsewhere"
chmod 755 "$WORK" "$bin"
cc -O1 -D_GNU_SOURCE -w -o "$bin/toy" tests/fsck/defect_checker.c || exit 1
cat >"$WORK/toy.layout" <<-'END'
	layout toy
	order little
	structure super at=0 size=512
	 magic 0 4 magic
	 count . 1 count
	 extra . 1 other
	 flag  . 1 flags
	structure slot at=512 size=512 times=100 step=512
	 mark  0 1 other
	 data  1 99 other
END
{
	printf 'TOY1\062' && head -c 507 /dev/zero
	for ((i = 0; i < 100; i++)); do
		[ $((i % 2)) = 0 ] && printf '\245' || printf '\0'
		head -c 511 /dev/zero
	done
	head -c $((65536 - 101 * 512)) /dev/zero
} >"$WORK/disk"
chmod 644 "$WORK/disk"

# judge DEFECT COMMAND [OPTION...]: a session by the description; findings are in $WORK/DEFECT
judge() {
	local defect=$1 command=$2
	shift 2
	timeout -k 5 $((120 * TAP_SLOWER)) "$ASSAY" fsck "checker:$command $defect -y {disk}" \
		--check "$command $defect -n {disk}" --disk "$WORK/disk" \
		--layout "$WORK/toy.layout" --deadline 2 --no-report -o "$WORK/$defect" "$@"
}
kinds() { # FOLDER
	cat "$1"/findings/*/finding.json 2>/dev/null |
		sed -n 's/.*"options":"fsck=\([a-z]*\) .*/\1/p' | sort -u | tr '\n' ' '
}

tap_run "a checker without a defect" 0 judge clean "$bin/toy"
# The defect, and the kinds that it is found as.
while read -r defect want; do
	tap_run "found: $defect" 1 judge "$defect" "$bin/toy" --max-findings 6
	tap_is "found as what it is: $defect" "$(kinds "$WORK/$defect")" "$want "
done <<-END
	twice twice
	never unsettled
	lies unsettled
	left-changes unsettled
	failed-changes unsettled
	left-gone twice
	silent disagrees silent
	content disagrees
	look-writes writes
	look-blind disagrees
	look-more disagrees
	look-later disagrees
	look-status status
	look-dies died
	status status
	shell status
	segv died
	abort died
END
for defect in hang look-hangs; do
	tap_run "found: $defect" 1 judge "$defect" "$bin/toy" --max-findings 1
	tap_is "found as what it is: $defect" "$(kinds "$WORK/$defect")" "hangs "
done
tap_run "one that ignores its disk is refused" 2 judge ignores "$bin/toy"
page() { echo "$WORK/$1"/findings/*/README.md; }
tap_like "a death has its address" "$(page segv)" 'SIGSEGV in .*address 0x40'
tap_like "a status of a shell is explained" "$(page shell)" 'as a shell does after SIGSEGV'
tap_like "the look after the repair is told" "$(page look-later | cut -d ' ' -f 1)" \
	'and a run after them that only looks exits 4'
for defect in twice never left-changes silent look-later segv status; do
	script=$(echo "$WORK/$defect"/findings/*/repro.sh | cut -d ' ' -f 1)
	tap_run "its script shows it: $defect" 0 sh "$script"
done
id=$(basename "$(dirname "$(page look-later | cut -d ' ' -f 1)")")
tap_run "it is replayed" 1 "$ASSAY" replay --trust -o "$WORK/look-later" "$id"
tap_like "and comes back" "$WORK/out" "reproduced"

# A path from here is good from everywhere.
cd "$bin" || exit 1
rm -rf "$WORK/twice"
tap_run "a command with a path from here" 1 judge twice ./toy --max-findings 1
cd "$WORK/elsewhere" || exit 1
tap_run "its script runs elsewhere" 0 sh "$WORK"/twice/findings/*/repro.sh
cd "$OLDPWD/../.." || exit 1

# Scripts: one that calls the program, one that works on a copy, and an interpreter as the command.
printf '#!/bin/sh\n"%s/toy" "$@"\n' "$bin" >"$bin/calls"
cat >"$bin/copies" <<-END
	#!/bin/sh
	copy=\$(mktemp) || exit 8
	cat "\$3" >"\$copy" && "$bin/toy" "\$1" "\$2" "\$copy"
	status=\$?
	[ "\$2" = -n ] || dd if="\$copy" of="\$3" bs=4096 conv=notrunc status=none || exit 8
	exit \$status
END
chmod 755 "$bin/calls" "$bin/copies"
for command in "$bin/calls" "$bin/copies" "sh $bin/calls"; do
	rm -rf "$WORK/clean" "$WORK/segv"
	name=${command//$bin\//}
	"$ASSAY" fsck "checker:$command clean -y {disk}" --disk "$WORK/disk" --lots 1 \
		--layout "$WORK/toy.layout" --no-store >"$WORK/out" 2>"$WORK/err"
	case $? in
	3) tap_skip "a script: $name" "$(tail -n 1 "$WORK/err")" ;;
	*)
		tap_run "a script passes: $name" 0 judge clean "$command" --lots 5
		tap_run "what died in a script is found: $name" 1 judge segv "$command" \
			--max-findings 1
		tap_is "as a status: $name" "$(kinds "$WORK/segv")" "status "
		;;
	esac
done
# A script finds its programs as its user does.
mkdir "$WORK/own"
ln -s "$bin/toy" "$WORK/own/mytoy"
printf '#!/bin/sh\nmytoy "$@"\n' >"$bin/finds"
chmod 755 "$bin/finds"
rm -rf "$WORK/clean"
if PATH=$WORK/own:$PATH judge clean "$bin/finds" --lots 2 >"$WORK/out" 2>"$WORK/err"; then
	tap_ok "a script whose program is in PATH"
else
	[ $? = 3 ] && tap_skip "a script whose program is in PATH" "$(tail -n 1 "$WORK/err")" ||
		tap_not_ok "a script whose program is in PATH" "$(cat "$WORK/err")"
fi
# The disk may be a part of a word, also where it is a file of a mount.
printf '#!/bin/sh\n"%s/toy" clean -y "${1#--on=}"\n' "$bin" >"$bin/equals"
chmod 755 "$bin/equals"
"$ASSAY" fsck "checker:$bin/equals --on={disk}" --disk "$WORK/disk" --lots 2 --no-store \
	--layout "$WORK/toy.layout" >"$WORK/out" 2>"$WORK/err"
status=$?
if [ $status = 3 ]; then
	tap_skip "a disk within a word" "$(tail -n 1 "$WORK/err")"
else
	tap_is "a disk within a word" $status 0
fi
tap_run "a status with two meanings" 2 judge clean "$bin/toy" --exits "0=clean 0-3=left"
tap_like "it is said which" "$WORK/err" "0-3=left: 0 has a meaning already"
tap_run "a script that ignores its disk is refused" 2 judge ignores "sh $bin/calls"

# ---- The description -----------------------------------------------------------------------------

refused() { # NAME WORDS: the description is on standard input
	cat >"$WORK/bad.layout"
	tap_run "$1" 2 "$ASSAY" fsck "checker:$bin/toy clean -y {disk}" --disk "$WORK/disk" \
		--layout "$WORK/bad.layout" --no-store
	tap_like "$1: it is said where" "$WORK/err" "$2"
}
refused "fields that overlap" "bad.layout:4:2: the field overlaps a of line 3" <<-'END'
	layout x
	structure super at=0 size=512
	 a 0 4 count
	 b 2 4 count
END
refused "a negative place" "bad.layout:3:4: " <<-'END'
	layout x
	structure super at=0 size=512
	 a -3 4 count
END
refused "a structure outside of the disk" "bad.layout:2:.*outside of the disk" <<-'END'
	layout x
	structure super at=70000 size=512
	 a 0 4 count
END
tap_run "no such description" 2 "$ASSAY" fsck "checker:$bin/toy clean -y {disk}" \
	--disk "$WORK/disk" --layout "$WORK/none" --no-store
tap_done
