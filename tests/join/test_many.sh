#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# assay merge of many run folders (MANY=100), each with a finding of its own and one that all have:
# nothing is lost, each is counted, and time and memory are those of a list, not of its square.
#	MANY=1000 tests/join/test_many.sh
# prints what it takes for a thousand of them.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
many=${MANY:-100}
few=$((many / 10))

"$ASSAY" run --target lab:bug=2 labfs/cases/02-append.txt -o "$WORK/one" >/dev/null 2>&1
own=$(ls "$WORK/one/findings")
"$ASSAY" run --target lab:bug=3 labfs/cases/03-size-seen.txt -o "$WORK/one" >/dev/null 2>&1
common=$(ls "$WORK/one/findings" | grep -vx "$own")
tap_is "there are two findings" "$(ls "$WORK/one/findings" | wc -l)" 2

# Copies are runs of their own by the name of the run.
for ((i = 1; i <= many; i++)); do
	folder=$WORK/in/$i id=${own%-*}-$(printf '%08x' $((i + 4096)))
	mkdir -p "$folder"
	cp -r "$WORK/one/." "$folder"
	mv "$folder/findings/$own" "$folder/findings/$id"
	sed -i "s/^run: .*/run: $(printf '%032x' $i)/" "$folder/.assay-run"
	sed -i "s/$own/$id/" "$folder/findings/$id/finding.json"
done

cc -O1 -o "$WORK/measure" tests/torture/measure.c || tap_not_ok "measure.c compiles"
# joined FOLDER N: sets $cpu_ms and $memory_kb.
joined() {
	local folder=$1 TIMEFORMAT='%3U %3S' cpu
	shift
	cpu=$({ time "$WORK/measure" "$WORK/measured" "$ASSAY" merge "$@" -o "$folder" \
		>"$WORK/said" 2>"$WORK/err"; } 2>&1)
	cpu=${cpu//./}
	cpu_ms=$((10#${cpu% *} + 10#${cpu#* }))
	read -r status _ memory_kb <"$WORK/measured"
	echo "# $# folders: $cpu_ms ms of CPU time, $memory_kb KiB"
}
joined "$WORK/few" $(seq -f "$WORK/in/%.0f" "$few")
few_ms=$cpu_ms few_kb=$memory_kb
joined "$WORK/all" $(seq -f "$WORK/in/%.0f" "$many")
tap_is "$many folders are joined" "$status $(cat "$WORK/err")" "0 "
tap_like "all of them" "$WORK/said" "$many runs of $many folders, $((many + 1)) findings"
tap_is "no finding is lost" "$(ls "$WORK/all/findings" | wc -l)" $((many + 1))
tap_like "what all have met is counted" "$WORK/all/findings/$common/finding.json" \
	"\"count\":$many\\b"
tap_like "and so it is told" "$WORK/all/findings/$common/report.txt" "met $many times"
# A square would be a hundred times as much; programs start and files are flushed, too.
tap_is "ten times the folders take about ten times as long" \
	"$([ "$cpu_ms" -le $((30 * few_ms + 500)) ] && echo yes || echo "$few_ms $cpu_ms")" yes
tap_is "a folder takes less than 60 ms" \
	"$([ "$cpu_ms" -le $((60 * many * TAP_SLOWER)) ] && echo yes || echo "$cpu_ms")" yes
tap_is "memory does not grow with what is copied" \
	"$([ "$memory_kb" -le $((few_kb + 32768 * TAP_SLOWER)) ] && echo yes ||
		echo "$few_kb $memory_kb")" yes
if command -v sqlite3 >/dev/null && [ -e "$WORK/all/index.sqlite" ]; then
	tap_is "the index has all of them" "$(sqlite3 "$WORK/all/index.sqlite" \
		'SELECT (SELECT count(*) FROM runs) || " " || (SELECT count(*) FROM findings) ||
		" " || (SELECT count(*) FROM met)')" "$many $((many + 1)) $((2 * many))"
else
	tap_skip "the index has all of them" "no sqlite3, or a build without it"
fi
tap_run "a report of all" 0 "$ASSAY" report "$WORK/all" -o "$WORK/report.html"
tap_is "has each of them" "$(grep -o "\"id\": *\"${own%-*}-0000[0-9a-f]*\"" "$WORK/report.html" |
	sort -u | wc -l)" "$many"
tap_done
