#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay bench -o FILE` goes on where it was stopped, and takes no file for one of its own that is
# none.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

FILE=$WORK/numbers
names() { # FILE
	sed -nE 's/^\{"name":"([^"]*)","value":-?[0-9].*/\1/p' "$1"
}

tap_run "all of two groups" 0 "$ASSAY" bench disk labfs -o "$FILE"
names "$FILE" >"$WORK/all"
tap_is "the file has what was printed" "$(cat "$WORK/all")" "$(names "$WORK/out")"
tap_run "the second time" 0 "$ASSAY" bench disk labfs -o "$FILE"
tap_is "only the last group may not have come to its end" \
	"$(names "$WORK/out" | sed 's/\..*//' | sort -u)" labfs
tap_is "no number is there twice" "$(names "$FILE")" "$(cat "$WORK/all")"

"$ASSAY" bench disk labfs -o "$WORK/killed" >"$WORK/out" 2>&1 &
pid=$!
tap_wait_until 60 test -s "$WORK/killed"
kill -KILL $pid
wait $pid 2>/dev/null
tap_run "after it was killed" 0 "$ASSAY" bench disk labfs -o "$WORK/killed"
tap_is "all are there" "$(names "$WORK/killed" | sort)" "$(sort "$WORK/all")"

echo '{"name":"x"}' >>"$FILE"
cp "$FILE" "$WORK/before"
tap_run "a line that is no number" 2 "$ASSAY" bench disk -o "$FILE"
tap_like "says which" "$WORK/err" "numbers:$(wc -l <"$FILE"): not a number"
tap_is "the file stays" "$(cmp "$FILE" "$WORK/before" 2>&1)" ""
for file in /dev/full "$WORK" "$WORK/none/numbers"; do
	tap_run "cannot be kept in $file" 2 timeout 60 "$ASSAY" bench disk -o "$file"
done
tap_done
