#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a person gets of a finding, byte for byte: programs, the heads of scripts, letters, pages,
# stories. The sections that programs and scripts are made of are files of their own
# (src/dossier/emitted), so that only what stands after them is compared. UPDATE=1 writes the
# goldens anew.
. "$(dirname "$0")/../tap.sh"
home=$(realpath "$(dirname "$0")/../..")
ASSAY=$(realpath "$ASSAY")
goldens=$home/tests/golden/dossier
smoke=$home/examples/smoke.txt

# golden NAME <TEXT
golden() {
	# Versions, addresses, folders and builds are not the same everywhere.
	sed -E "s|$home/||g" |
		sed -E 's/Linux [^ ,"]+[^,"]*/Linux VERSION/; s/^(  Found by +assay ).*/\1VERSION/
		s/0x[0-9a-f]{8,}/ADDRESS/g' >"$WORK/text"
	if [ -n "${UPDATE:-}" ] && [ -s "$WORK/text" ]; then
		cp "$WORK/text" "$goldens/$1"
	fi
	if diff -u "$goldens/$1" "$WORK/text" >"$WORK/diff"; then
		tap_ok "$1"
	else
		tap_not_ok "$1" "$(head -n 40 "$WORK/diff")"
	fi
}

# dossier NAME FOLDER: of a finding
dossier() {
	golden "$1.letter" <"$2/report.txt"
	golden "$1.page" <"$2/README.md"
	golden "$1.script" < <(sed '/^# ---- Below here/,$d' "$2/repro.sh")
	golden "$1.program" < <(sed -n '/^int main/,$p' "$2/repro.c")
	# Without the place of the folder.
	golden "$1.story" < <("$ASSAY" explain "$2" | sed 's/assay replay .*/assay replay WHICH/')
}

# ---- Every operation -----------------------------------------------------------------------------

golden every.program < <("$ASSAY" emit-c "$smoke" | sed -n '/^int main/,$p')

# A finding of a kernel's type, as if it were of this workload: the steps in words. A letter has as
# many of them as this.
LETTER_STEPS=60
(cd "$WORK" && "$ASSAY" run --target lab:bug=3 -o lab "$home/labfs/cases/03-size-seen.txt") \
	>/dev/null 2>&1
one=$(echo "$WORK"/lab/findings/*)
part=0
"$ASSAY" fmt "$smoke" | grep -v '^#\|^$\|^@' >"$WORK/lines"
while [ $((part * LETTER_STEPS)) -lt "$(wc -l <"$WORK/lines")" ]; do
	cp -r "$one" "$WORK/every.$part"
	sed -n "$((part * LETTER_STEPS + 1)),$(((part + 1) * LETTER_STEPS))p" "$WORK/lines" \
		>"$WORK/every.$part/workload.txt"
	sed -i 's|"target":"[^"]*"|"target":"ext4"|; s|"kind":"[^"]*"|"kind":"tree"|' \
		"$WORK/every.$part/finding.json"
	golden "every.$part.letter" < <("$ASSAY" report --mail "$WORK/every.$part" |
		sed -n '/^Steps/,/^Expected/p; /^To reproduce/,$p')
	part=$((part + 1))
done

# ---- Findings ------------------------------------------------------------------------------------

dossier data "$one"
printf 'mkdir /a 0755\n$0 = open /f O_RDWR|O_CREAT 0644\nhardlink /f /g\nfsync $0\n' >"$WORK/w.txt"
(cd "$WORK" && "$ASSAY" crash --view 1 --target lab:bug=29 -o cut w.txt) >/dev/null 2>&1
dossier cut "$(echo "$WORK"/cut/findings/* | cut -d' ' -f1)"
"$ASSAY" reduce "$one" >/dev/null 2>&1
dossier reduced "$one"
tap_done
