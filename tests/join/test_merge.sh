#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# assay merge: nothing is lost and nothing is counted twice, whatever is joined in whatever order,
# however often, and whenever it is killed.
. "$(dirname "$0")/../tap.sh"

hunt() { # FOLDER SEED
	"$ASSAY" hunt --target lab:bug=3 --seed "$2" --max-workloads 12 --max-findings 3 -o "$1" \
		>/dev/null 2>&1
}
merge() { "$ASSAY" merge "$@" 2>"$WORK/err"; }
# "ID COUNT" lines of a folder.
counts() {
	for finding in "$1"/findings/*/finding.json; do
		[ -e "$finding" ] || continue
		sed -nE 's/.*"id": ?"([^"]*)".*"count": ?([0-9]+).*/\1 \2/p' "$finding"
	done | sort
}
sum() { awk '{n[$1] += $2} END {for (i in n) print i, n[i]}' | sort; }

hunt "$WORK/a" 1
hunt "$WORK/b" 2
"$ASSAY" run --target lab:bug=2 labfs/cases/02-append.txt -o "$WORK/c" --cov "$WORK/c/own.cov" \
	>/dev/null 2>&1
cp -r "$WORK/c" "$WORK/same"
mkdir "$WORK/d"
"$ASSAY" run --target lab:bug=2 labfs/cases/02-append.txt -o "$WORK/d" --cov "$WORK/d/own.cov" \
	>/dev/null 2>&1
want=$({ counts "$WORK/a"; counts "$WORK/b"; counts "$WORK/c"; counts "$WORK/d"; } | sum)
tap_is "there is something to join" "$([ "$(wc -l <<<"$want")" -ge 3 ] && echo yes)" yes

# ---- What is joined ------------------------------------------------------------------------------

tap_run "four folders" 0 "$ASSAY" merge "$WORK/a" "$WORK/b" "$WORK/c" "$WORK/d" -o "$WORK/m"
tap_like "it says what" "$WORK/out" '4 runs of 4 folders'
tap_is "counts are added" "$(counts "$WORK/m")" "$want"
merge "$WORK/a" "$WORK/b" "$WORK/c" "$WORK/d" -o "$WORK/m" >/dev/null
tap_is "twice is once" "$(counts "$WORK/m")" "$want"
merge "$WORK/d" -o "$WORK/n" >/dev/null
merge "$WORK/m" "$WORK/n" "$WORK/same" "$WORK/a" -o "$WORK/o" >/dev/null
tap_is "joined folders and copies are joined by their runs" "$(counts "$WORK/o")" "$want"
tap_is "the runs are apart" "$(ls "$WORK/o/runs" | wc -l)" 4
merge "$WORK/o" "$WORK/m" -o "$WORK/o" >/dev/null
tap_is "a folder joined with itself" "$(counts "$WORK/o")" "$want"
tap_is "nothing was written where it was read" "$(counts "$WORK/c")" "$(counts "$WORK/same")"
"$ASSAY" run --target lab:bug=2 labfs/cases/02-append.txt -o "$WORK/o" >/dev/null 2>&1
grown=$({ echo "$want"; echo "$(ls "$WORK/c/findings") 1"; } | sum)
merge -o "$WORK/o" >/dev/null
merge "$WORK/o" "$WORK/m" -o "$WORK/p" >/dev/null
tap_is "what is found in a joined folder counts, too" "$(counts "$WORK/p")" "$grown"
tap_run "a joined folder is a run folder: report" 0 "$ASSAY" report --tap "$WORK/m"
tap_run "which shows its runs" 0 "$ASSAY" report "$WORK/m" -o "$WORK/m.html"
tap_like "and counts them" "$WORK/err" 'findings? of 4 runs'
tap_is "each with what it met" \
	"$("$ASSAY" report --json "$WORK/m" | grep -o '"met":{"lab-' | wc -l)" 4
id=$(ls "$WORK/c/findings")
tap_run "and replay" 1 "$ASSAY" replay -o "$WORK/m" "$id"
tap_like "report.txt has the sum" "$WORK/m/findings/$id/report.txt" 'met 2 times'
tap_run "coverage is added" 0 "$ASSAY" cov diff "$WORK/c/own.cov" "$WORK/m/all.cov"
calls() { "$ASSAY" cov show --json "$1" 2>/dev/null | grep -o '"calls":[0-9]*' | head -n 1; }
tap_is "of both runs" "$(calls "$WORK/m/all.cov" | cut -d: -f2)" \
	"$((2 * $(calls "$WORK/c/own.cov" | cut -d: -f2)))"

# ---- What is refused, or damaged -----------------------------------------------------------------

mkdir "$WORK/other"
echo x >"$WORK/other/file"
tap_run "a folder that is no run" 2 "$ASSAY" merge "$WORK/a" "$WORK/other" -o "$WORK/q"
tap_is "then nothing is written" "$(ls -A "$WORK/q" 2>/dev/null)" ""
tap_run "a result that is no run" 2 "$ASSAY" merge "$WORK/a" -o "$WORK/other"
tap_run "no result" 2 "$ASSAY" merge "$WORK/a"
cp -r "$WORK/a" "$WORK/broken"
first=$(ls "$WORK/broken/findings" | head -n 1)
echo '{"id":' >"$WORK/broken/findings/$first/finding.json"
echo garbage >"$WORK/broken/hunt/state.json"
ln -s /etc/passwd "$WORK/broken/x.cov"
tap_run "a damaged folder" 0 "$ASSAY" merge "$WORK/broken" -o "$WORK/r"
tap_like "what is damaged is told" "$WORK/err" "$first.*cannot be read as a finding"
tap_is "and kept" "$(cmp "$WORK/broken/findings/$first/workload.txt" \
	"$(echo "$WORK"/r/runs/*/damaged/"$first"/workload.txt)" && echo kept)" kept
tap_is "the rest is joined" "$(ls "$WORK/r/findings" | wc -l)" \
	$(($(ls "$WORK/a/findings" | wc -l) - 1))
tap_is "links are not followed" "$(find "$WORK/r" -name x.cov)" ""
merge "$WORK/a" -o "$WORK/r" >/dev/null
tap_is "the sound folder gives what was missing" "$(counts "$WORK/r")" "$(counts "$WORK/a")"
merge "$WORK/broken" -o "$WORK/r" >/dev/null
tap_is "and the damaged one takes nothing away" "$(counts "$WORK/r")" "$(counts "$WORK/a")"
# What stands in a joined folder is looked at in the same way.
cp -r "$WORK/m" "$WORK/twice"
cp -r "$(ls -d "$WORK"/twice/runs/* | head -n 1)" "$WORK/twice/runs/$(printf '%032d' 7)"
merge -o "$WORK/twice" >/dev/null
tap_is "a run that somebody has copied in a joined folder counts once" \
	"$(counts "$WORK/twice")" "$(counts "$WORK/m")"
cp -r "$WORK/m" "$WORK/half"
echo '{"id":' >"$WORK/half/findings/$first/finding.json"
tap_run "a joined folder that is damaged" 0 "$ASSAY" merge "$WORK/half" -o "$WORK/u"
tap_like "what is damaged there is told" "$WORK/err" "$first.*cannot be read as a finding"
tap_is "and kept, too" "$(ls -d "$WORK"/u/runs/*/damaged/"$first" | wc -l)" 1
tap_is "the rest of it is joined" "$(counts "$WORK/u")" "$(counts "$WORK/m" | grep -v "^$first ")"
cp -r "$WORK/c" "$WORK/old"
rm "$WORK/old/.assay-run"
merge "$WORK/old" "$WORK/old" -o "$WORK/s" >/dev/null
cp -r "$WORK/old" "$WORK/older"
merge "$WORK/older" -o "$WORK/s" >/dev/null
tap_is "a folder of an old version has a name by what it holds" "$(counts "$WORK/s")" \
	"$(counts "$WORK/c")"
exec 9<"$WORK/b"
flock -s 9
tap_run "a folder in use" 0 "$ASSAY" merge "$WORK/b" -o "$WORK/t"
tap_like "is joined, and told" "$WORK/out" '1 folder is in use'
exec 9<&-
tap_run "--json" 0 "$ASSAY" merge "$WORK/b" -o "$WORK/t" --json
tap_like "is one line" "$WORK/out" '^\{"event":"merged".*"runs":1,.*"in_use":0'

# ---- Killed --------------------------------------------------------------------------------------

wrong=0
for i in $(seq "${KILLS:-40}"); do
	rm -rf "$WORK/k"
	# Half of them go on where the one before was killed.
	for _ in 1 2 3; do
		"$ASSAY" merge "$WORK/a" "$WORK/b" "$WORK/m" "$WORK/c" -o "$WORK/k" \
			>/dev/null 2>&1 &
		pid=$!
		sleep "0.$(printf %03d $(((i * 37) % 97)))"
		kill -9 $pid 2>/dev/null
		wait $pid 2>/dev/null
		"$ASSAY" report --tap "$WORK/k" >/dev/null 2>"$WORK/err" ||
			[ ! -e "$WORK/k/.assay-run" ] || wrong=$((wrong + 1))
		! grep -q 'could not be read' "$WORK/err" || wrong=$((wrong + 1))
		[ $((i % 2)) = 0 ] || break
	done
	merge "$WORK/a" "$WORK/b" "$WORK/m" "$WORK/c" -o "$WORK/k" >/dev/null
	[ "$(counts "$WORK/k")" = "$want" ] || wrong=$((wrong + 1))
done
tap_is "killed merges: the folder opens, and the next one does the rest" "$wrong" 0
tap_is "nothing of the dead is left" "$(find "$WORK/k" -name '.part-*')" ""
for folder in "$WORK/k" "$WORK/k"/runs/* "$WORK/k"/findings/*; do
	: >"$folder/.part-1.own.cov"
done
merge "$WORK/a" -o "$WORK/k" >/dev/null
tap_is "wherever they were killed" "$(find "$WORK/k" -name '.part-*')" ""

# ---- The index -----------------------------------------------------------------------------------

if ! command -v sqlite3 >/dev/null || [ ! -e "$WORK/m/index.sqlite" ]; then
	tap_skip "the index" "no sqlite3, or a build without it (packages sqlite3, libsqlite3-dev)"
	tap_done
	exit
fi
ask() { sqlite3 "$WORK/m/index.sqlite" "$1"; }
tap_is "the index is sound" "$(ask 'PRAGMA integrity_check')" ok
tap_is "it has a version" "$(ask 'PRAGMA user_version') $(ask "SELECT value FROM meta WHERE \
key='schema'")" "1 1"
tap_is "it has the findings" "$(ask 'SELECT id || " " || count FROM findings ORDER BY id')" "$want"
tap_is "the runs that met them add up" \
	"$(ask 'SELECT finding || " " || sum(count) FROM met GROUP BY finding ORDER BY finding')" \
	"$want"
tap_is "no row is without its run" \
	"$(ask 'SELECT count(*) FROM met WHERE run NOT IN (SELECT run FROM runs)')" 0
tap_is "coverage" "$(ask "SELECT sum(count) > 0 FROM coverage WHERE call = 'open'")" 1
# Those of the documents.
n=0
while IFS= read -r query; do
	n=$((n + 1))
	tap_run "query $n of docs/FORMAT.md" 0 sqlite3 -bail "$WORK/m/index.sqlite" "$query"
done < <(sed -n '/^```sql$/,/^```$/p' docs/FORMAT.md | grep -v '^```' | grep ';$')
tap_is "there are such queries" "$([ $n -ge 5 ] && echo yes)" yes
printf 'wall_us,ops,states\n1000000,10,2\n2000000,30,5\n3000' >"$WORK/a/history.csv"
merge "$WORK/a" -o "$WORK/m" >/dev/null
tap_is "counters over time, but for a line that is half written" \
	"$(ask "SELECT at_us || ' ' || value FROM counters WHERE name = 'states' ORDER BY at_us" |
		xargs)" "1000000 2 2000000 5"
printf 'assay-code 1\nkernel debug\n6000a001\n' >"$WORK/a/code.kcov"
printf 'file,function,places\nfs/a.c,f,1\nfs/a.c,g,0\n' >"$WORK/a/code.csv"
merge "$WORK/a" -o "$WORK/m" >/dev/null
tap_is "the code that was reached stays with its run" \
	"$(cat "$WORK"/m/runs/*/code.kcov "$WORK"/m/runs/*/code.csv)" \
	"$(cat "$WORK/a/code.kcov" "$WORK/a/code.csv")"
"$ASSAY" report "$WORK/m" -o "$WORK/m.html" >/dev/null 2>&1
tap_is "and is in the report" "$(grep -c '"file":"fs/a.c","functions":\[\["f",1\],\["g",0\]\]' \
	"$WORK/m.html")" 1
tap_done
