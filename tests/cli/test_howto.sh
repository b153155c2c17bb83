#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# docs/HOWTO_ADD_TARGET.md, from nothing to a first finding: the commands of its sections 1 and 3
# are taken from the page and run in their order in an empty folder, and what the page shows of
# their output is there. Numbers, times and ids may differ.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

ROOT=$PWD
PAGE=$ROOT/docs/HOWTO_ADD_TARGET.md
case $ASSAY in /*) ;; *) ASSAY=$ROOT/$ASSAY ;; esac
mkdir "$WORK/bin" "$WORK/start"
ln -s "$ASSAY" "$WORK/bin/assay"
PATH=$WORK/bin:$PATH
cd "$WORK/start" || exit 1
ln -s "$ROOT/examples" "$ROOT/include" .

plain() { # what may not differ between two runs
	sed -E 's/-[0-9a-f]{8}/-ID/g; s/[0-9]+(\.[0-9]+)?/N/g; s/N operations/N operations/g'
}

# step COMMAND: the lines that the page shows are in $WORK/shown.
step() {
	local command=$1 id file line got=0
	id=$(basename "$(echo assay.out/findings/*)")
	file=${command#cat }
	if [ "$command" != "$file" ] && [ ! -e "$file" ]; then
		cp "$WORK/shown" "$file" # the page shows a file for the reader to write
		return
	fi
	command=$(sed -E "s/skeleton-outcome-[0-9a-f]{8}/$id/" <<<"$command")
	bash -c "$command" >"$WORK/out" 2>&1 </dev/null || got=$?
	case $command in
	*"--sweep write"*) tap_is "it finds something: $command" "$got" 1 ;;
	*) tap_is "$command" "$got" 0 ;;
	esac
	plain <"$WORK/out" >"$WORK/plain"
	while IFS= read -r line; do
		case $line in '' | ...*) continue ;; esac
		if ! grep -qxF -- "$line" "$WORK/plain"; then
			tap_not_ok "the page shows: $line" "$(cat "$WORK/out")"
		fi
	done < <(plain <"$WORK/shown")
}

section() { # NUMBER: its commands, each with the lines after it
	local command="" line
	while IFS= read -r line; do
		case $line in
		'$ '*)
			[ -z "$command" ] || step "$command"
			command=${line#'$ '}
			: >"$WORK/shown"
			;;
		'```')
			[ -z "$command" ] || step "$command"
			command=""
			;;
		*) [ -z "$command" ] || printf '%s\n' "$line" >>"$WORK/shown" ;;
		esac
	done < <(sed -n "/^## $1\\. /,/^## /p" "$PAGE")
}

section 1
section 3
tap_is "there was a finding" "$(find assay.out/findings -name 'skeleton-outcome-*' | wc -l)" 1
tap_is "and one from plugin new" \
	"$(find otherfs/assay.out/findings -name 'otherfs-outcome-*' | wc -l)" 1
cd "$ROOT" || exit 1
tap_done
