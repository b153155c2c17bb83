#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The completions of bash and zsh and the manual pages are made of the same tables as the help:
# commands, options and choices of all of them agree.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
"$ASSAY" help --completion bash >"$WORK/complete.bash"
"$ASSAY" help --completion zsh >"$WORK/complete.zsh"

# complete_SHELL WORD...: what completes the last word, on one line.
. "$WORK/complete.bash"
complete_bash() {
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_assay
	echo "${COMPREPLY[*]-}"
}
# compadd works in a completion only: this one prints what fits the last word.
complete_zsh() {
	zsh -f -c '
		compadd() { print -r -- ${(M)${(P)2}:#${words[CURRENT]}*} }
		_files() { }
		script=$1
		shift
		words=("$@")
		CURRENT=$#
		set --
		source $script' zsh "$WORK/complete.zsh" "$@"
}

# completes NAME WANTED WORD...
completes() {
	local name=$1 want=$2
	shift 2
	tap_is "$shell: $name" "$("complete_$shell" "$ASSAY" "$@" | tr ' ' '\n' | sort -u | xargs)" \
		"$(tr ' ' '\n' <<<"$want" | sort -u | xargs)"
}

listed() { "$ASSAY" help | sed -nE 's/^  ([a-z][a-z-]*) .*/\1/p'; }
options() { "$ASSAY" help "$1" | sed -nE 's/^  (-., )?(--[a-z][a-z-]*).*/\2/p' | sort -u; }

for shell in bash zsh; do
	if ! command -v $shell >/dev/null; then
		tap_skip "$shell" "$shell is not here (package $shell)"
		continue
	fi
	completes "all commands" "$(listed | xargs) --version" ""
	completes "a few of them" "replay reduce report recover" re
	completes "topics of help" "$(listed | grep ^ru)" help ru
	completes "targets" "lab" run --target lab
	completes "choices" "op end" run --check ""
	completes "one of them" "zsh" help --completion z
	completes "parts of a command" "record read rank" cov r
	completes "the value of an option is left to the shell" "" run --size ""
	completes "an unknown command" "" nonsense -
	for command in $(listed); do
		completes "all options of $command" "$(options "$command" | xargs)" "$command" -
	done
done

# ---- The manual pages ----
tap_is "the manual page has all commands" \
	"$(sed -nE 's/^\.SS assay ([a-z-]+).*/\1/p' docs/assay.1 | xargs)" "$(listed | xargs)"
man_options() { tr -d '\\' | sed -nE 's/^(fB-.fR, )?fB(--[a-z-]+)fR.*/\2/p' | sort -u | xargs; }
for command in $(listed); do
	want=$(options "$command" | xargs)
	tap_is "the manual page has all options of $command" \
		"$(sed -n "/^\.SS assay $command /,/^\.S[SH] /p" docs/assay.1 | man_options)" "$want"
	"$ASSAY" help --man "$command" >"$WORK/page"
	tap_is "and so has that of $command alone" "$(man_options <"$WORK/page")" "$want"
	tap_like "which is named so" "$WORK/page" '^\.TH ASSAY.-'
done
tap_run "the manual page of what is no command" 2 "$ASSAY" help --man nonsense
tap_done
