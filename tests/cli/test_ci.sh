#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# examples/ci: the shell lines of the jobs, as they stand there, with a plugin that is right and one
# that is not, and a FUSE server. Only the lines that install packages are left out.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
tree=$PWD
mkdir "$WORK/bin"
ln -s "$(realpath "$ASSAY")" "$WORK/bin/assay"
export PATH=$WORK/bin:$PATH SECONDS_EACH=$((3 * TAP_SLOWER)) PLUGIN=./myfs.so
export SERVER='bindfs -f {src} {mnt}' GITHUB_STEP_SUMMARY=$WORK/summary

# lines FILE JOB: the commands of a job, a line each; without those of apt and of failures.
lines() {
	awk -v job="$2" '
	$0 ~ "^ *" job ":$" { on = 1; next }
	on && /^( {2})?[a-z][a-z ]*:$/ && !/^ +[a-z_]+:$/ { on = 0 }
	on && /^  [a-z]+:$/ && FILENAME ~ /github/ { on = 0 }
	on && /if: failure/ { failure = 1 }
	on && /- (name|uses|if|run):/ && !/if: failure/ { failure = /- (if)/ }
	on && /^ +run: / { line = $0; sub(/^ +run: /, "", line); if (!after_failure) print line }
	on && /^    - / && FILENAME ~ /gitlab/ { line = $0; sub(/^    - /, "", line); print line }
	{ after_failure = on && /if: failure/ }' "$1" | grep -v apt-get
}

# job NAME FILE JOB STATUS FOLDER: each line in turn, until one fails, as a runner does it.
job() {
	local got=0 line n=0
	while IFS= read -r line; do
		n=$((n + 1))
		(cd "$5" && sh -e -c "$line") >"$WORK/out" 2>"$WORK/err" || { got=$?; break; }
	done < <(lines "$2" "$3")
	tap_is "$1: exit status" "$got" "$4"
	tap_is "$1: there were lines" "$([ $n -ge 1 ] && echo yes)" yes
}

for kind in good bad; do
	mkdir "$WORK/$kind"
	object=$(realpath "$ASSAY_BUILD/plugins/labfs.so")
	[ $kind = good ] || bug=:bug=3
	printf 'myfs.so:\n\tcp %s $@\n' "$object" >"$WORK/$kind/Makefile"
done
for file in github gitlab; do
	ci=$tree/examples/ci/$file.yml
	plugin="plugin" server="server"
	[ $file = github ] || plugin="assay plugin" server="assay server"
	rm -rf "$WORK"/good/assay.* "$WORK"/bad/assay.*
	job "$file: a plugin that is right" "$ci" "$plugin" 0 "$WORK/good"
	tap_is "its report says so" \
		"$(grep -o 'failures="[0-9]*"' "$WORK/good/plugin.xml" | head -n 1)" 'failures="0"'
	PLUGIN=./myfs.so:bug=3 job "$file: one that is not" \
		<(sed 's/assay plugin check "$PLUGIN"/assay plugin check .\/myfs.so/
			s/make -C . .*/make -C . myfs.so/' "$ci" | cat) "$plugin" 1 "$WORK/bad"
done
tap_done
