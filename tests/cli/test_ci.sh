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

# lines FILE JOB: the commands of a job, a line each; those of steps for failures end with "#F".
lines() {
	case $1 in
	*github*)
		awk -v job="$2" '/^  [a-z]+:$/ { on = $1 == job ":" }
			on && /^      - / { step = "" }
			on && /if: failure\(\)/ { step = " #F" }
			on && sub(/^ +(- )?run: /, "") { print $0 step }' "$1"
		;;
	*)
		awk -v job="assay $2" '/^[a-z]/ { on = $0 == job ":" }
			on && /^  [a-z_]+:/ { script = /^  script:/ }
			on && script && sub(/^    - /, "")' "$1"
		;;
	esac | grep -v apt-get
}

# job NAME FILE JOB STATUS FOLDER: each line in turn, until one fails, as a runner does it; then the
# lines for failures.
job() {
	local got=0 line n=0
	while IFS= read -r line; do
		case $line in
		*' #F') [ $got != 0 ] || continue ;;
		*) [ $got = 0 ] || continue ;;
		esac
		n=$((n + 1))
		(cd "$5" && bash -e -c "$line") >"$WORK/out" 2>"$WORK/err" || got=$?
	done < <(lines "$2" "$3")
	tap_is "$1: exit status" "$got" "$4"
	tap_is "$1: there were lines" "$([ $n -ge 1 ] && echo yes)" yes
}

# The right one is labfs; the other one has no journal, and a power cut breaks it.
mkdir "$WORK/good" "$WORK/bad"
printf 'myfs.so:\n\tcp "%s" $@\n' "$(realpath "$ASSAY_BUILD/plugins/labfs.so")" \
	>"$WORK/good/Makefile"
printf 'myfs.so: myfs.c\n\t$(CC) -I%s/include -fPIC -shared $< -o $@\n' "$tree" \
	>"$WORK/bad/Makefile"
cp examples/plugin_skeleton/skeleton.c "$WORK/bad/myfs.c"
for file in github gitlab; do
	ci=$tree/examples/ci/$file.yml
	rm -rf "$WORK"/*/assay.* "$WORK"/*/*.xml "$WORK"/*/*.so
	job "$file: a plugin that is right" "$ci" plugin 0 "$WORK/good"
	tap_like "$file: its report says so" "$WORK/good/plugin.xml" 'failures="0"'
	job "$file: one that is not" "$ci" plugin 1 "$WORK/bad"
	[ $file = gitlab ] || tap_like "the page of the run has the findings" "$WORK/summary" \
		'^## assay: [1-9]'
	if ! command -v bindfs >/dev/null || [ ! -w /dev/fuse ]; then
		tap_skip "$file: a FUSE server" "no bindfs, or no /dev/fuse"
		continue
	fi
	mkdir -p "$WORK/server"
	rm -rf "$WORK"/server/*
	got=0
	while IFS= read -r line; do
		case $line in *' #F') continue ;; esac
		(cd "$WORK/server" && bash -e -c "$line") >"$WORK/out" 2>"$WORK/err" || got=$?
	done < <(lines "$ci" server)
	# bindfs has findings that are known (docs/FOUND.md): whether they are met in so short a
	# time is chance, and the job must say what the report says.
	failures=$(grep -o 'failures="[0-9]*"' "$WORK/server/server.xml" | tr -dc 0-9)
	tap_is "$file: a FUSE server: the job fails if there are findings" "$got" \
		"$([ "${failures:-x}" = 0 ] && echo 0 || echo 1)"
done
tap_done
