#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Puts real bugs back into kernels, and looks whether assay finds them: the rows of
# kernels/museum/rows.txt. It prints the table of docs/SCORE.md.
#
# usage: [JOBS=N] [SEED=N] [FACTOR=N] [CLEAN=no] scripts/museum.sh ASSAY [NAME...]
#
# A kernel has one bug of each file system at most (kernels/museum/NAME.patch), so 24 bugs need a
# few kernels and not 24; each is built incrementally. "found" has the number of seconds until the
# finding was there (with its reduction, the command takes longer) and the number of operations of
# its workload, after reduction where the command reduces. Then the same command runs on the kernel
# without patches: a finding with the same signature there means that the row proves nothing ("also
# without the patch"). CLEAN=no leaves this out. FACTOR multiplies all budgets, for a busy machine.
# The exit status is 1 if a bug was not found, or if a row proves nothing.
set -u
cd "$(dirname "$0")/.." || exit 2
export LC_ALL=C
ASSAY=$1
shift
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
missed=0

trim() { sed 's/^ *//; s/ *$//' <<<"$1"; }

# split ROW: sets name, class, kernel, budget, regex, command. The regular expression may have a
# bar: it is all between the fourth one and the last.
split() {
	local rest=$1
	name=$(trim "${rest%%|*}") rest=${rest#*|}
	class=$(trim "${rest%%|*}") rest=${rest#*|}
	kernel=$(trim "${rest%%|*}") rest=${rest#*|}
	budget=$(($(trim "${rest%%|*}") * ${FACTOR:-1})) rest=${rest#*|}
	command=$(trim "${rest##*| }")
	regex=$(trim "${rest%| *}")
}

# The file system that a patch changes; jbd2 is ext4's.
subject() {
	sed -n 's,^+++ b/fs/\([^/]*\)/.*,\1,p' "kernels/museum/$1.patch" | head -n 1 |
		sed 's/^jbd2$/ext4/'
}

# build KERNEL NAME [PATCH...]: KERNEL is a flavour, or options for --with.
build() {
	local kernel=$1 name=$2 patch patches=()
	shift 2
	for patch; do patches+=(--patch "kernels/museum/$patch.patch"); done
	if [ "$kernel" = plain ] || [ "$kernel" = debug ]; then
		set -- "$kernel"
	else
		set -- --with "$kernel"
	fi
	"$ASSAY" kernel build "$@" ${patches[@]+"${patches[@]}"} --name "$name" -j "${JOBS:-2}" \
		>"$WORK/built" 2>&1
}

# look FOLDER REGEX: the folder of a finding with such a signature, and the signature; or nothing.
look() {
	local id signature
	for id in "$1"/findings/*/; do
		[ -f "$id/finding.json" ] || continue
		signature=$(sed -n 's/.*"signature": *"\([^"]*\)".*/\1/p' "$id/finding.json" |
			head -n 1)
		grep -Eq -- "$2" <<<"$signature" || continue
		echo "$id $signature"
		return
	done
}

# try KERNEL SECONDS REGEX COMMAND...: prints "SECONDS OPERATIONS SIGNATURE", or nothing. It is
# ended when it has the right finding; a hunt, when this is reduced, but REDUCE_S later at most.
REDUCE_S=$((60 * ${FACTOR:-1}))
try() {
	local kernel=$1 seconds=$2 regex=$3 start=$SECONDS folder=$WORK/out
	local pid ended file got='' took=''
	shift 3
	local for_=()
	[ "$1" != hunt ] || for_=(--for "${seconds}s" --seed "${SEED:-1}")
	rm -rf "$folder"
	timeout $((seconds * 3 + 60)) "$ASSAY" "$@" ${for_[@]+"${for_[@]}"} --kernel "$kernel" \
		-o "$folder" >"$WORK/said" 2>&1 </dev/null &
	pid=$!
	while :; do
		kill -0 $pid 2>/dev/null
		ended=$?
		got=$(look "$folder" "$regex")
		[ -z "$got" ] || took=${took:-$((SECONDS - start))}
		[ $ended -eq 0 ] || break
		if [ -n "$got" ] && { [ "$1" != hunt ] ||
			[ -f "${got%% *}/workload.reduced.txt" ] ||
			[ $((SECONDS - start - took)) -gt "$REDUCE_S" ]; }; then
			kill $pid 2>/dev/null
			break
		fi
		sleep 1
	done
	wait $pid 2>/dev/null
	[ -n "$got" ] || return
	file=${got%% *}/workload.reduced.txt
	[ -f "$file" ] || file=${got%% *}/workload.txt
	echo "$took $(grep -cv '^[@#]\|^$' "$file") ${got#* }"
}

# The rows that are wanted go to packs: file $WORK/pack.N has rows of one kernel.
packs=0
while IFS= read -r row; do
	split "$row"
	[ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
	for ((n = 0; n < packs; n++)); do
		grep -Fxq -e "$kernel $(subject "$name")" "$WORK/has.$n" ||
			[ "$(cut -d' ' -f1 "$WORK/has.$n" | head -n 1)" != "$kernel" ] || break
	done
	[ "$n" -lt $packs ] || packs=$((packs + 1))
	echo "$kernel $(subject "$name")" >>"$WORK/has.$n"
	echo "$row" >>"$WORK/pack.$n"
done < <(grep -v '^#' kernels/museum/rows.txt)

echo '| bug | class | found | seconds | operations | signature |'
echo '|---|---|---|---|---|---|'
for ((n = 0; n < packs; n++)); do
	names=()
	while IFS= read -r row; do
		split "$row"
		names+=("$name")
	done <"$WORK/pack.$n"
	why=
	build "$kernel" "museum-$n" "${names[@]}" || why=$(tail -n 1 "$WORK/built")
	clean=$kernel
	if [ -z "$why" ] && [[ $kernel == *,* ]]; then
		clean=museum-clean
		build "$kernel" "$clean" || why=$(tail -n 1 "$WORK/built")
	fi
	while IFS= read -r row; do
		split "$row"
		seconds=
		# shellcheck disable=SC2086 # the command is several words
		[ -n "$why" ] || read -r seconds ops signature < <(
			try "museum-$n" "$budget" "$regex" $command
			echo
		)
		if [ -z "${seconds:-}" ]; then
			found=${why:+no kernel: $why}
			echo "| $name | $class | ${found:-**no**} | > $budget | | |"
			missed=1
			continue
		fi
		found=yes also=
		# shellcheck disable=SC2086
		[ "${CLEAN:-}" = no ] ||
			also=$(try "$clean" "$((seconds * 2 + 10))" "$regex" $command)
		if [ -n "$also" ]; then
			found="also without the patch: ${also#* * }"
			missed=1
		fi
		echo "| $name | $class | $found | $seconds | $ops | $signature |"
	done <"$WORK/pack.$n"
done
exit $missed
