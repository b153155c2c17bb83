#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The report for a browser: what stands in the page, and what a browser makes of it.
. "$(dirname "$0")/../tap.sh"

run=$WORK/run
page=$WORK/report.html
"$ASSAY" run --target lab:bug=3 labfs/cases/03-size-seen.txt -o "$run" >/dev/null 2>&1
id=$(basename "$run"/findings/*)

tap_run "a report of a run" 0 "$ASSAY" report "$run" -o "$page"
tap_like "it says what it wrote" "$WORK/err" 'report.html: 1 finding of 1 run'
tap_like "the finding stands in it" "$page" "$id"
tap_is "nothing is fetched from elsewhere" "$(grep -cE '(src|href)="(https?:)?//' "$page")" 0
tap_run "the data alone" 0 "$ASSAY" report "$run" --json
tap_like "have a version and the finding" "$WORK/out" '^\{"format":1,.*"findings":\[\{"id":"lab-'

# Texts from outside cannot end the script that they stand in.
sed 's|"summary":"|&</script><script>document.title=1</script>|' -i "$run/findings/$id/finding.json"
"$ASSAY" report "$run" -o "$page" 2>/dev/null
tap_is "a text ends no script" "$(grep -c '</script><script>document' "$page")" 0
mkdir "$run/findings/other-data-00000000"
echo '{' >"$run/findings/other-data-00000000/finding.json"
tap_run "a finding that cannot be read" 0 "$ASSAY" report "$run" -o "$page"
tap_like "is counted" "$WORK/err" '1 finding could not be read and was left out'
tap_is "all other files were read" "$(grep -c 'of runs could not' "$WORK/err")" 0
"$ASSAY" hunt -t lab --seed 1 --max-workloads 2 -o "$WORK/hurt" >/dev/null 2>&1
tap_run "a hunt" 0 "$ASSAY" report "$WORK/hurt" -o "$WORK/hurt.html"
tap_is "a hunt: all files were read" "$(grep -c 'could not' "$WORK/err")" 0
broken=0
printf 'file,function,places\nfs/a/b.c,one,3\nfs/a/b.c,two,0\nfs/a/c.c,one,1\n' \
	>"$WORK/hurt/code.csv"
tap_run "code of a kernel" 0 "$ASSAY" report "$WORK/hurt" --json
tap_like "code of a kernel: by file" "$WORK/out" \
	'"code":\[\{"file":"fs/a/b.c","functions":\[\["one",3\],\["two",0\]\]\},\{"file":"fs/a/c'
for file in progress.json history.csv code.csv hunt/state.json; do
	echo '{' >"$WORK/hurt/$file"
	broken=$((broken + 1))
	tap_run "a broken $file" 0 "$ASSAY" report "$WORK/hurt" -o "$WORK/hurt.html"
	tap_like "a broken $file: it is said" "$WORK/err" \
		"^assay: $broken files? of runs could not be read: what (it|they) says? is"
done
mkdir "$WORK/empty"
tap_run "a folder without a run" 2 "$ASSAY" report "$WORK/empty" -o "$page"
tap_like "is named" "$WORK/err" 'empty: not the folder of a run'

# ---- In a browser --------------------------------------------------------------------------------

if ! command -v chromium >/dev/null; then
	tap_skip "the report in a browser" "chromium is not installed"
	tap_done
	exit 0
fi
# The path of its socket must be short.
browse() {
	TMPDIR=/tmp timeout 100 chromium --headless --no-sandbox --disable-gpu \
		--enable-logging=stderr --user-data-dir="$WORK/chromium" \
		--dump-dom "file://$page$1" \
		>"$WORK/dom" 2>"$WORK/console"
}
browse "#$id"
tap_like "the list has the finding" "$WORK/dom" 'class="row"[^>]*aria-expanded="true"'
tap_like "it is open, by the address of the page" "$WORK/dom" 'The workload</h3>'
tap_like "the guilty operation is marked" "$WORK/dom" 'class="guilty"'
tap_is "the browser complains of nothing" "$(grep -c 'CONSOLE' "$WORK/console")" 0
tap_like "markup in a text is text" "$WORK/dom" '&lt;script&gt;document.title'
tap_done
