#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Puts real bugs back into a kernel, one after the other, and looks whether assay finds them: the
# rows of kernels/museum/rows.txt. It prints the table of docs/SCORE.md.
#
# usage: [FLAVOUR=debug] [JOBS=N] [SEED=N] scripts/museum.sh ASSAY [NAME...]
#
# Each kernel is built incrementally (kernels/museum/NAME.patch). "found" has the number of seconds
# until the finding and the number of operations of its workload, after reduction where the command
# reduces. Then the same command runs on the kernel without the patch: a finding with the same
# signature there means that the row proves nothing ("also without the patch"). The exit status is 1
# if a bug was not found, or if a row proves nothing.
set -u
cd "$(dirname "$0")/.." || exit 2
export LC_ALL=C
ASSAY=$1
shift
FLAVOUR=${FLAVOUR:-debug}
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
missed=0

trim() { sed 's/^ *//; s/ *$//' <<<"$1"; }

# try KERNEL SECONDS REGEX COMMAND...: prints "SECONDS OPERATIONS SIGNATURE", or nothing.
try() {
	local kernel=$1 seconds=$2 regex=$3 start=$SECONDS folder id
	shift 3
	local for_=()
	[ "$1" != hunt ] || for_=(--for "${seconds}s" --seed "${SEED:-1}")
	folder=$WORK/out
	rm -rf "$folder"
	timeout $((seconds * 3 + 60)) "$ASSAY" "$@" "${for_[@]}" --kernel "$kernel" -o "$folder" \
		>"$WORK/said" 2>&1 </dev/null
	for id in "$folder"/findings/*/; do
		[ -f "$id/finding.json" ] || continue
		signature=$(sed -n 's/.*"signature": *"\([^"]*\)".*/\1/p' "$id/finding.json" |
			head -n 1)
		grep -Eq -- "$regex" <<<"$signature" || continue
		echo "$((SECONDS - start)) $(grep -cv '^[@#]\|^$' "$id/workload.txt") $signature"
		return
	done
}

echo '| bug | class | found | seconds | operations | signature |'
echo '|---|---|---|---|---|---|'
while IFS= read -r row; do
	name=$(trim "${row%%|*}")
	[ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
	# The regular expression may have a bar: it is all between the third and the last.
	command=$(trim "${row##*| }") rest=${row#*|}
	class=$(trim "${rest%%|*}") rest=${rest#*|}
	budget=$(trim "${rest%%|*}") rest=${rest#*|}
	regex=$(trim "${rest%| *}")
	if ! "$ASSAY" kernel build "$FLAVOUR" --patch "kernels/museum/$name.patch" \
		--name "museum-$name" -j "${JOBS:-2}" >"$WORK/built" 2>&1; then
		echo "| $name | $class | no kernel: $(tail -n 1 "$WORK/built") | | | |"
		missed=1
		continue
	fi
	# shellcheck disable=SC2086 # the command is several words
	read -r seconds ops signature < <(try "museum-$name" "$budget" "$regex" $command; echo)
	if [ -z "${seconds:-}" ]; then
		echo "| $name | $class | **no** | > $budget | | |"
		missed=1
		continue
	fi
	# shellcheck disable=SC2086
	also=$(try "$FLAVOUR" "$((seconds * 2 + 10))" "$regex" $command)
	found=yes
	if [ -n "$also" ]; then
		found="also without the patch: ${also#* * }"
		missed=1
	fi
	echo "| $name | $class | $found | $seconds | $ops | $signature |"
done < <(grep -v '^#' kernels/museum/rows.txt)
exit $missed
