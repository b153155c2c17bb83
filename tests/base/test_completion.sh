#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The completions of bash and zsh: with a pretended assay whose help they have never seen, and with
# the real one. The manual page has all commands and options, too.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")

cat >"$WORK/assay" <<'END'
#!/bin/bash
case "$*" in
help) printf 'usage: assay COMMAND\n\n  run      run\n  replay   repeat\n  help     help\n' ;;
"help run") printf 'usage: assay run F\n  -t, --target T  t\n  --check op  c\n  --json  j\n' ;;
"help cov") printf 'usage: assay cov [OPTION]... record -- CMD... | read TRACE... | show F\n' ;;
targets) printf 'target  what\n  lab     the laboratory\n  plugin  yours\n' ;;
esac
END
chmod +x "$WORK/assay"

# complete_SHELL WORD...: what completes the last word, on one line.
. scripts/assay.bash-completion
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
		_files() { print }
		words=("$@")
		CURRENT=$#
		set --
		source scripts/assay.zsh-completion' zsh "$@"
}

# completes NAME WANTED PROGRAM WORD...
completes() {
	local name=$1 want=$2
	shift 2
	tap_is "$shell: $name" "$("complete_$shell" "$@")" "$want"
}

listed() { "$ASSAY" help | sed -nE 's/^  ([a-z][a-z-]*) .*/\1/p'; }
options() { "$ASSAY" help "$1" | sed -nE 's/^  (-., )?(--[a-z][a-z-]*).*/\2/p' | sort -u; }

for shell in bash zsh; do
	if ! command -v $shell >/dev/null; then
		tap_skip "$shell" "$shell is not here (package $shell)"
		continue
	fi
	completes "commands" "run replay" "$WORK/assay" r
	completes "all there is" "run replay help --version" "$WORK/assay" ""
	completes "topics of help" "run" "$WORK/assay" help ru
	completes "options of a command" "--check --json --target" "$WORK/assay" run -
	completes "one option" "--json" "$WORK/assay" run --j
	completes "targets" "lab" "$WORK/assay" run --target l
	completes "parts of a command" "record read" "$WORK/assay" cov r
	completes "files are left to the shell" "" "$WORK/assay" run foo
	completes "a command without help" "" "$WORK/assay" nonsense -
	completes "all commands" "$(listed | xargs) --version" "$ASSAY" ""
	for command in $(listed); do
		completes "all options of $command" "$(options "$command" | xargs)" \
			"$ASSAY" "$command" -
	done
done

# ---- The manual page ----
tap_is "the manual page has all commands" \
	"$(sed -nE 's/^\.SS assay ([a-z-]+).*/\1/p' docs/assay.1 | xargs)" "$(listed | xargs)"
for command in $(listed); do
	tap_is "the manual page has all options of $command" \
		"$(sed -n "/^\.SS assay $command /,/^\.S[SH] /p" docs/assay.1 | tr -d '\\' |
			sed -nE 's/^(fB-.fR, )?fB(--[a-z-]+)fR.*/\2/p' | sort -u | xargs)" \
		"$(options "$command" | xargs)"
done
tap_done
