# SPDX-License-Identifier: GPL-2.0-or-later
# hunts: what several tests of hunts need; they source it after tests/tap.sh.

# can OPTION...: whether such a target runs here; why not is in $WORK/err.
can() { "$ASSAY" run "$@" --no-store examples/smoke.txt >/dev/null 2>"$WORK/err"; }

# refuses NAME REGEX OPTION...
refuses() {
	local name=$1 regex=$2 got=0
	shift 2
	"$ASSAY" hunt -o "$WORK/refused" "$@" >"$WORK/out" 2>"$WORK/err" </dev/null || got=$?
	if [ "$got" = 2 ] && [ "$(wc -l <"$WORK/err")" = 1 ] &&
		grep -Eq "^assay: .*($regex)" "$WORK/err"; then
		tap_ok "$name"
	else
		tap_not_ok "$name" "exit status $got, wanted 2, /$regex/" "$(cat "$WORK/err")"
	fi
}
