#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay plugin`, and what a CI uses: a new plugin from nothing to its first finding, findings that
# are accepted, and the report in the format of JUnit.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

ROOT=$PWD
PLUGINS=$(dirname "$ASSAY")/plugins
case $ASSAY in /*) ;; *) ASSAY=$ROOT/$ASSAY ;; esac

# ---- check ----

tap_run "a clean plugin passes" 0 "$ASSAY" plugin check --no-store "$PLUGINS/flashfs.so"
tap_like "its memory" "$WORK/out" '^memory .*erase blocks of 4096 bytes'
tap_like "its promises" "$WORK/out" '^promises .*at-close, names-now, whole-files'
tap_like "what it means" "$WORK/out" '^means .*nlink-any, full-drops'
tap_like "what it cannot" "$WORK/out" '^cannot .*hardlink'
tap_like "it was tried with power cuts" "$WORK/out" '^smoke .*crash: .* 0 findings'
tap_is "the time that it took is told" "$(grep -c '^2 workloads.* 0\.00 s$' "$WORK/out")" 0
tap_run "a broken one is found" 1 "$ASSAY" plugin check --no-store "$PLUGINS/flashfs.so:bug=11"
tap_like "by power cuts" "$WORK/out" '^smoke .*crash: .* [1-9][0-9]* findings?'
tap_run "labfs as a plugin" 0 "$ASSAY" plugin check --no-store "$PLUGINS/labfs.so"
tap_like "it promises what is assumed" "$WORK/out" 'fsync-names, fsync-times, fsync-blocks'
tap_run "no such file" 2 "$ASSAY" plugin check --no-store "$WORK/none.so"
tap_run "a directory" 2 "$ASSAY" plugin check --no-store "$WORK"
tap_like "it is said" "$WORK/err" 'not a regular file'
# A path is a path, whatever a shell would make of it.
ODD=$WORK/'a b;$(touch pwned)`touch pwned`"&'\'
mkdir "$ODD" && cp "$PLUGINS/flashfs.so" "$ODD/x y\$.so"
tap_run "a path with spaces and more" 0 "$ASSAY" plugin check --no-store "$ODD/x y\$.so"
tap_run "its findings, too" 1 "$ASSAY" plugin check "$ODD/x y\$.so:bug=11" -o "$WORK/odd"
id=$(basename "$(find "$WORK/odd/findings" -name 'flashfs-*' | head -n 1)")
tap_run "it is replayed" 1 "$ASSAY" replay -o "$WORK/odd" "$id"
tap_run "its script is one of a shell" 2 sh "$WORK/odd/findings/$id/repro.sh" --help
tap_is "and nothing was run" "$(ls pwned "$WORK/pwned" 2>/dev/null)" ""
tap_run "no such word" 2 "$ASSAY" plugin look "$PLUGINS/flashfs.so"

# ---- new: from nothing to a first finding ----

cd "$WORK" || exit 1
tap_run "a new one" 0 "$ASSAY" plugin new myfs
tap_run "it is not written over" 2 "$ASSAY" plugin new myfs
tap_run "a name that is none" 2 "$ASSAY" plugin new ../myfs
tap_is "its files" "$(ls myfs | tr '\n' ' ')" \
	"Makefile accepted.txt ci.yml first.txt include myfs.c "
tap_is "no name is left out" "$(grep -ls '@NAME@\|skeleton' myfs/*)" ""
tap_run "its headers are ours" 0 diff -r myfs/include "$ROOT/include"
tap_run "it compiles and passes" 0 make -C myfs check "ASSAY=$ASSAY"
tap_run "and is hunted" 0 make -C myfs hunt "ASSAY=$ASSAY"
tap_like "for a number of workloads" "$WORK/out" \
	'^200 workloads,|^[0-9]+ workloads.*(4[5-9]|5[0-9])\.[0-9]+ s$'
tap_run "all its states are explored" 0 make -C myfs states "ASSAY=$ASSAY"
tap_like "to the end" "$WORK/out" '^all [0-9]+ states within bounds explored: 2 nodes'
tap_like "JUnit has its report" myfs/report.xml 'failures="0"'
sed -i 's/if (rc && to.there)$/if (0)/' myfs/myfs.c
tap_run "its first bug is found" 2 make -C myfs check "ASSAY=$ASSAY"
tap_like "by a write that fails" "$WORK/out" 'with the fault write:'

# ---- Findings that are accepted ----

hunt() { # OPTION...
	"$ASSAY" hunt --target "plugin:$PLUGINS/flashfs.so:bug=11" --crash --seed 2 \
		--max-workloads 4 --no-reduce --budget 40 -o "$WORK/h$RANDOM$RANDOM" "$@"
}
tap_run "a hunt finds it" 1 hunt --json
sed -n 's/.*"signature":"\([^"]*\)".*/\1\tit is known/p' "$WORK/out" | sort -u >accepted
tap_is "there is something to accept" "$([ -s accepted ] && echo yes)" yes
tap_run "with all accepted it passes" 0 hunt --known accepted --junit report.xml
tap_like "that is said" "$WORK/out" 'accepted: flashfs-crash-.*: it is known'
tap_like "JUnit has them as skipped" report.xml '<skipped message="it is known"'
tap_like "and no failure" report.xml 'failures="0"'
tap_run "unless any fails" 1 hunt --known accepted --fail-on any
printf 'crash: never met\tfor a test\n' >other
tap_run "others are new" 1 hunt --known other --junit report.xml
tap_like "what was not met is said" "$WORK/out" 'accepted, but not met: crash: never met'
tap_like "JUnit has a failure" report.xml '<failure message='
printf 'crash: no reason\n' >reasonless
tap_run "a reason is needed" 2 hunt --known reasonless
tap_done
