#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# assay import and assay reduce as commands: files, folders, exit statuses, what is listed, what is
# left in a finding's folder, an interrupt.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
CORPUS=$PWD/tests/fuzz/corpus/import
export LC_ALL=C ASAN_OPTIONS=detect_leaks=0

# ---- import ----
for kind in jlang fsx strace; do
	tap_run "import of $kind" 0 "$ASSAY" import --from $kind --under /t "$CORPUS/$kind"
	cp "$WORK/out" "$WORK/$kind.txt"
	tap_like "what $kind cannot say is listed" "$WORK/err" \
		"^$(tap_regex "$CORPUS/$kind"):[0-9]+: "
	tap_like "and counted" "$WORK/err" '^1 file, [0-9]+ operations, [1-9][0-9]* left out'
	tap_run "it is canonical" 0 "$ASSAY" fmt --check "$WORK/$kind.txt"
	tap_run "it runs" 0 "$ASSAY" run --target lab --no-store "$WORK/$kind.txt"
	tap_run "strict refuses" 2 "$ASSAY" import --strict --from $kind "$CORPUS/$kind"
	tap_is "and writes nothing" "$(wc -c <"$WORK/out")" 0
done
tap_run "no kind" 2 "$ASSAY" import "$CORPUS/jlang"
tap_run "unknown kind" 2 "$ASSAY" import --from klang "$CORPUS/jlang"
tap_run "missing file" 2 "$ASSAY" import --from fsx "$WORK/nosuch"
tap_run "another kind" 2 "$ASSAY" import --from fsx "$CORPUS/jlang"
tap_run "two files, no folder" 2 "$ASSAY" import --from fsx "$CORPUS/fsx" "$CORPUS/fsx"
tap_run "two files of one name" 2 \
	"$ASSAY" import --from fsx -o "$WORK/f" "$CORPUS/fsx" "$CORPUS/fsx"
tap_run "root that is not absolute" 2 "$ASSAY" import --from strace --under t "$CORPUS/strace"
tap_run "standard input" 0 "$ASSAY" import --from fsx - <"$CORPUS/fsx"
monkey=../shared/data/crashmonkey-seq1
if [ -d "$monkey" ]; then
	tap_run "all of CrashMonkey's" 0 \
		"$ASSAY" import --from jlang -o "$WORK/monkey" "$monkey"/j-lang*
	tap_like "nothing is left out" "$WORK/err" '^328 files, [0-9]+ operations, 0 left out$'
	tap_run "they run" 0 "$ASSAY" run --target lab --no-store "$WORK/monkey"/*.txt
else
	tap_skip "all of CrashMonkey's" "they are not at $monkey"
fi

# ---- reduce ----
case=$PWD/labfs/cases/16-write-after-prune.txt
(cd "$WORK" && "$ASSAY" run --target lab:bug=16 "$case" >/dev/null)
id=$(ls "$WORK/assay.out/findings")
dir=$WORK/assay.out/findings/$id
cp -r "$dir" "$WORK/before"
tap_run "reduce" 1 "$ASSAY" reduce -o "$WORK/assay.out" "$id"
tap_like "says both lengths" "$WORK/out" 'from 13 to [1-8] operations in [0-9]+ executions'
tap_like "and that it always fails" "$WORK/out" 'fails in 3 of 3 runs$'
tap_run "the reduced workload fails alone" 1 \
	"$ASSAY" run --no-store --target lab:bug=16 "$dir/workload.reduced.txt"
tap_run "and not without the bug" 0 "$ASSAY" run --no-store --target lab "$dir/workload.reduced.txt"
tap_is "the original stays" "$(cat "$dir/workload.txt")" "$(cat "$WORK/before/workload.txt")"
tap_like "README.md says both" "$dir/README.md" 'has [1-8] operations where .* has 13'
tap_like "finding.json, too" "$dir/finding.json" '"reduced":.*"ops_before":13'
mapfile -t labfs < <(find labfs -name '*.c' ! -name '*_main.c')
tap_run "repro.c compiles" 0 "${CC:-cc}" -Wall -D_GNU_SOURCE -Iinclude -o "$WORK/repro" \
	"$dir/repro.c" "${labfs[@]}"
if [ -n "${SAN:-}" ]; then
	tap_skip "and says that it reproduces" "here the sanitizer ends labfs, there a signal does"
else
	tap_run "and says that it reproduces" 0 "$WORK/repro"
fi
tap_run "replay uses it" 1 "$ASSAY" replay "$dir"
tap_like "under its name" "$WORK/out" "^$id: reproduced"
tap_like "with fewer operations" "$WORK/out" '^  op [1-8]: write'
tap_run "or the original" 1 "$ASSAY" replay --original "$dir"
tap_like "with all of them" "$WORK/out" '^  op 11: write'
tap_run "reduced again" 1 "$ASSAY" reduce --runs 5 "$dir"
tap_like "as often as asked" "$WORK/out" 'fails in 5 of 5 runs$'
tap_is "README.md says it once" "$(grep -c '^## Reduced' "$dir/README.md")" 1
tap_run "unknown finding" 2 "$ASSAY" reduce -o "$WORK/assay.out" nosuch
tap_run "no time at all" 2 "$ASSAY" reduce --for 0 "$dir"

sed -i 's/lab:bug=16/lab/' "$WORK/before/finding.json"
tap_run "what does not come back" 0 "$ASSAY" reduce "$WORK/before"
tap_like "is said" "$WORK/out" 'did not reproduce in 3 runs'
tap_is "and changes nothing" "$(ls "$WORK/before" | grep -c reduced)" 0

# An interrupt in the middle of a long reduction keeps what there is; a thousand runs at its end
# make sure that there is a middle.
for i in $(seq 300); do echo "mkdir /x$i 0755"; done >"$WORK/long.txt"
grep -v '^#' "$case" >>"$WORK/long.txt"
(cd "$WORK" && "$ASSAY" run -o long --target lab:bug=16 long.txt >/dev/null)
dir=$(echo "$WORK"/long/findings/*)
"$ASSAY" reduce --runs 1000 "$dir" >"$WORK/out" 2>"$WORK/err" &
pid=$!
until grep -q operations "$WORK/out" 2>/dev/null || ! kill -0 $pid 2>/dev/null; do :; done
kill -INT $pid
wait $pid
tap_is "an interrupt ends it well" $? 1
tap_run "and what it kept fails" 1 \
	"$ASSAY" run --no-store --target lab:bug=16 "$dir/workload.reduced.txt"
tap_done
