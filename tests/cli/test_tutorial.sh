#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# docs/TUTORIAL.md: every command in it runs, in the order of the page, and prints the lines that
# are shown below it. In these, "..." stands for anything, alone on a line for any number of lines;
# numbers of ms and s may differ. Lines of progress are left out: on a slow machine there are some.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
tree=$PWD
mkdir "$WORK/bin" "$WORK/here"
ln -s "$(realpath "$ASSAY")" "$WORK/bin/assay"
export PATH=$WORK/bin:$PATH PREFIX_OF_ASSAY=$tree

# matches WANTED GOT: both are files.
matches() {
	awk '
	function pattern(line) {
		gsub(/[][\\.*^$+?(){}|]/, "\\\\&", line)
		gsub(/\\\.\\\.\\\./, ".*", line)
		gsub(/[0-9]+\\\.[0-9]+ (ms|s)$/, "[0-9.]+ (ms|s)", line)
		return "^" line "$"
	}
	NR == FNR { want[++n] = $0; next }
	!/^[0-9:]+:[0-9][0-9], / { got[++m] = $0 }
	END {
		i = 1
		skip = 0
		for (k = 1; k <= n; k++) {
			if (want[k] == "...") { skip = 1; continue }
			while (skip && i <= m && got[i] !~ pattern(want[k])) i++
			if (i > m || got[i] !~ pattern(want[k])) {
				print "# missing: " want[k] "\n# at: " got[i]
				exit 1
			}
			i++
			skip = 0
		}
		exit !(i > m || skip || !n)
	}' "$1" "$2"
}

# The test of the comparison itself.
printf 'a\n...\nb 1.0 ms\n' >"$WORK/want"
printf 'a\n0:10, 4 %% done\nx\ny\nb 22.5 ms\n' >"$WORK/got"
tap_run "the comparison passes what is the same" 0 matches "$WORK/want" "$WORK/got"
printf 'a\nx\nc 22.5 ms\n' >"$WORK/got"
tap_run "and not what is other" 1 matches "$WORK/want" "$WORK/got"
printf 'a\nb 1.0 ms\nc\n' >"$WORK/got"
tap_run "nor what is more" 1 matches "$WORK/want" "$WORK/got"

lacks() {
	case $1 in
	*--target\ ext4*) command -v linux >/dev/null || echo "no linux (user-mode-linux)" ;;
	*bindfs*)
		{ command -v bindfs && [ -w /dev/fuse ]; } >/dev/null || echo "no bindfs or FUSE"
		;;
	*pkg-config*) command -v make >/dev/null || echo "no make" ;;
	esac
}

n=0
try() { # COMMAND, and the file $WORK/want
	local got=0 why
	[ -n "$1" ] || return
	n=$((n + 1))
	why=$(lacks "$1")
	if [ -n "$why" ]; then
		tap_skip "$1" "$why"
		return
	fi
	(cd "$WORK/here" && bash -c "$1") >"$WORK/got" 2>"$WORK/err" || got=$?
	if [ $got = 3 ] && grep -q 'built with the address sanitizer' "$WORK/err"; then
		tap_skip "${1:0:70}" "$(tail -n 1 "$WORK/err")"
	elif [ $got -gt 1 ]; then
		tap_not_ok "${1:0:70}" "exit status $got" "$(tail -n 5 "$WORK/err")"
	elif [ -s "$WORK/want" ] && ! matches "$WORK/want" "$WORK/got" >"$WORK/why"; then
		tap_not_ok "${1:0:70}" "$(cat "$WORK/why")" "$(head -n 30 "$WORK/got")"
	else
		tap_ok "${1:0:70}"
	fi
}

command=
inside=no
: >"$WORK/want"
while IFS= read -r line; do
	case $line in
	'```')
		try "$command"
		command=
		: >"$WORK/want"
		[ $inside = no ] && inside=yes || inside=no
		;;
	'$ '*)
		[ $inside = yes ] || continue
		try "$command"
		command=${line#"$ "}
		: >"$WORK/want"
		;;
	*) [ $inside = no ] || [ -z "$command" ] || printf '%s\n' "$line" >>"$WORK/want" ;;
	esac
done <docs/TUTORIAL.md
tap_is "there are commands" "$([ $n -ge 18 ] && echo yes)" yes
tap_is "the report is there" "$([ -s "$WORK/here/report.html" ] && echo yes)" yes
tap_done
