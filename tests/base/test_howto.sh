#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# docs/HOWTO_*.md, DESIGN.md and GLOSSARY.md name only what exists: every name in backquotes that
# looks like a file, a function, a type, a macro, a table, a command or an option is looked for in
# the tree.
#   file      has a folder in front or the ending of a source; the folder may be given in part, and
#             `*`, ROOM and a leading X stand for any letters
#   word      has an underscore, is all capitals, or ends with "()"; _NAME and _WORD at its end
#             stand for any letters
#   command   `assay COMMAND --option...`, also in lines of code blocks; `make TARGET`
# Fenced blocks may show what a reader is to write, so only commands are looked at there.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
export LC_ALL=C

rooms=(src include labfs examples bench scripts tests Makefile)
find "${rooms[@]}" docs -type f >"$WORK/files"
find "${rooms[@]}" -type f ! -path 'tests/golden/*' ! -path 'tests/fuzz/corpus/*' \
	! -name test_howto.sh -exec cat {} + | tr -c 'A-Za-z0-9_' '\n' | sort -u >"$WORK/words"
"$ASSAY" help | sed -n 's/^  \([a-z-]*\)  .*/\1/p' >"$WORK/commands"
while read -r command; do
	"$ASSAY" help "$command"
done <"$WORK/commands" | grep -oE -- '--[a-z][a-z-]*' | sort -u >"$WORK/options"

as_regex() { # a name with the letters that stand for any others
	sed -e 's/[.+]/\\&/g' -e 's/\*/[^\/]*/g' -e 's/_\(NAME\|WORD\)$/_[a-z0-9_]+/' \
		-e 's,/ROOM/,/[a-z]*/,' -e 's/^X_/[a-z0-9_]*_/' <<<"$1"
}

has_file() {
	grep -qE "(^|/)$(as_regex "$1")$([ "${1%/}" = "$1" ] && echo '$')" "$WORK/files" ||
		grep -rqF -- "\"$1\"" src
}

# A word of a table's column may be the end of a constant's name: REPAIR of AS_GUARANTEE_REPAIR.
has_word() {
	grep -qxE "([A-Z_]+_)?$(as_regex "$1")" "$WORK/words"
}

# "assay COMMAND ...": the command, and each option of it.
has_command() {
	local line=$1 command option
	command=$(cut -d ' ' -f 2 <<<"$line")
	case $command in -*) return 0 ;; esac
	grep -qx -- "$command" "$WORK/commands" || return 1
	for option in $(grep -oE -- ' --[a-z][a-z-]*' <<<"${line%% -- *}"); do
		# Not by a pipe: a reader that ends early would end the writer.
		grep -qE -- "$option([^a-z-]|\$)" <<<"$("$ASSAY" help "$command")" || return 1
	done
}

# 0: it exists, or it is no name of this tree.
exists() {
	local name=$1
	case $name in
	*[\ \<\>\{\}\$=\|\;\"\'@:\\]*) ;;
	src/* | docs/* | tests/* | include/* | examples/* | labfs/* | scripts/* | bench/* | \
		*.c | *.h | *.def | *.sh | *.md) has_file "$name"; return ;;
	--[a-z]*) grep -qx -- "$name" "$WORK/options"; return ;;
	esac
	case $name in
	"struct "* | "enum "*) grep -rqE "$name( |;|\$)" src include; return ;;
	"assay "[a-z]*) has_command "$name"; return ;;
	"make "[a-z]*) grep -qE "^${name#make }:" Makefile; return ;;
	esac
	name=${name%%(*}
	[[ $name =~ ^[A-Za-z0-9_]+$ ]] || return 0
	if [[ $name == *_* || $name =~ ^[A-Z][A-Z0-9]+$ || $1 == *\(\) ]]; then
		has_word "$name"
	fi
}

names_of() { # FILE: one a line
	awk '/^```/ { fenced = !fenced; next } !fenced' "$1" | grep -oE '`[^`]+`' | tr -d '`'
	awk '/^```/ { fenced = !fenced; next } fenced || /^    /' "$1" |
		sed -n 's/^ *\(\$ \)\{0,1\}\(\.\/\)\{0,1\}assay \([a-z]\)/assay \3/p' |
		sed 's/ *#.*//'
}

missing() { # FILE: the names in it that do not exist
	names_of "$1" | sort -u | while IFS= read -r name; do
		exists "$name" || printf '%s\n' "$name"
	done
}

for doc in docs/HOWTO_*.md docs/DESIGN.md docs/GLOSSARY.md; do
	tap_is "$doc names what exists" "$(missing "$doc")" ""
done

# That the test would see a wrong name of each kind.
cp docs/HOWTO_ADD_OP.md "$WORK/copy.md"
wrong=('src/run/sys_names.c' 'sys_ops.def' 'as_sys_flock_note' 'SYS_OPS' 'struct as_no_such'
	'run_never()' 'assay huntt' 'assay run --targett lab' '--no-such-option' 'as_nothing_NAME'
	'make no-such-target')
printf 'See `%s`.\n' "${wrong[@]}" >>"$WORK/copy.md"
tap_is "a wrong name of each kind is seen" "$(missing "$WORK/copy.md")" \
	"$(printf '%s\n' "${wrong[@]}" | sort)"
right=('src/work/op.def' 'op_*.c' 'as_sys_NAME' 'AS_ERR_UNSUPPORTED' 'struct as_op' 'as_choose()'
	'assay run --target lab' '--deadline' 'make test' 'tests/golden/work/')
printf 'See `%s`.\n' "${right[@]}" >"$WORK/right.md"
tap_is "right ones are let through" "$(missing "$WORK/right.md")" ""
tap_done
