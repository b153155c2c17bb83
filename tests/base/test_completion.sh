#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The completion, with a pretended assay whose help it has never seen.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

cat >"$WORK/assay" <<'END'
#!/bin/bash
case "$*" in
help) printf 'usage: assay COMMAND\n\n  run      run workloads\n  replay   repeat a finding\n' ;;
"help run") printf 'usage: assay run [--target T] [--check op] FILE\n  --json  for machines\n' ;;
targets) printf 'target  what\n  lab     the laboratory\n  plugin  yours\n' ;;
esac
END
chmod +x "$WORK/assay"
. scripts/assay.bash-completion

completes() { # NAME WANTED WORD...
	local name=$1 want=$2
	shift 2
	COMP_WORDS=("$WORK/assay" "$@")
	COMP_CWORD=$#
	_assay
	tap_is "$name" "${COMPREPLY[*]-}" "$want"
}

completes "commands" "run replay" r
completes "all there is" "run replay help --version" ""
completes "topics of help" "run" help ru
completes "options of a command" "--check --json --target" run -
completes "one option" "--json" run --j
completes "targets" "lab" run --target l
completes "files are left to bash" "" run foo
completes "a command without help" "" nonsense -
tap_done
