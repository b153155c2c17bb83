#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# report.txt, `report --mail` and `explain`: what they say, that they need no assay, and that texts
# from outside cannot look like theirs.
. "$(dirname "$0")/../tap.sh"

run=$WORK/run
cat >"$WORK/w.txt" <<'END'
mkdir /unused 0755
$0 = open /f O_RDWR|O_CREAT 0644
pwrite $0 len=500 at=0 fill=1
truncate /f 5000
fstat $0
END
"$ASSAY" run --target lab:bug=3 "$WORK/w.txt" -o "$run" >/dev/null 2>&1
id=$(basename "$run"/findings/*)
mail=$run/findings/$id/report.txt
json=$run/findings/$id/finding.json

tap_like "a subject" "$mail" '^Subject: \[BUG\] lab: wrong data: fstat\(2\)'
tap_like "the kernel it ran on" "$mail" "^  Kernel      Linux $(uname -r)"
tap_like "numbered steps, as calls" "$mail" '^   2\. fd0 = open\("/f", O_RDWR \| O_CREAT, 0644\)$'
tap_like "the manual page" "$mail" 'Manual page of the call: fstat\(2\)'
tap_like "what was expected" "$mail" '^  \| 5000$'
tap_like "what was seen, quoted" "$mail" '^  \| op 5: fstat \$0: size 500$'
tap_like "that it is not reduced" "$mail" 'not reduced'
tap_is "no line is too long" "$(awk 'length > 80 && !/^Subject/' "$mail" | wc -l)" 0
tap_is "no command needs assay" "$(grep -cE '^ +assay |`assay' "$mail")" 0
tap_run "report --mail" 0 "$ASSAY" report --mail "$id" -o "$run"
tap_is "prints the same" "$(cmp "$WORK/out" "$mail" && echo same)" same

"$ASSAY" reduce -o "$run" "$id" >/dev/null 2>&1
tap_like "it is written anew when it is reduced" "$mail" 'failed in ([0-9]+) of \1 runs'
tap_is "the step that is not needed is gone" "$(grep -c 'mkdir("/unused"' "$mail")" 0
steps=$(grep -cE '^ +[0-9]+\. ' "$mail")
tap_like "what was seen has the numbers of these steps" "$mail" \
	"^  \\| op $steps: fstat \\\$0: size 0\$"
tap_is "and no others" "$(grep -c 'In the run that found it' "$mail")" 0
"$ASSAY" report "$run" -o "$WORK/page.html" >/dev/null 2>&1
tap_like "the page, too" "$WORK/page.html" "\"shows\":[{]\"summary\":\"op $steps: fstat"
"$ASSAY" run --target lab:bug=3 "$WORK/w.txt" -o "$run" >/dev/null 2>&1
tap_like "and when it is met again" "$mail" 'met 2 times'

tap_run "explain" 0 "$ASSAY" explain "$id" -o "$run"
tap_like "tells what was done" "$WORK/out" 'A fresh file system was made and mounted'
tap_like "and counts the calls that it lists" "$WORK/out" \
	"^Then $(grep -cE '^ +[0-9]+\. ' "$WORK/out") calls were made"
tap_like "how sure it is" "$WORK/out" 'failed every time'
tap_like "how to see it again" "$WORK/out" "assay replay $id -o $run\$"
again=$(sed -n 's/^ *assay replay //p' "$WORK/out")
# shellcheck disable=SC2086 # words
tap_run "that command does it" 1 "$ASSAY" replay $again
(cd "$run/findings/$id" && "$ASSAY" explain .) >"$WORK/out"
tap_like "of a folder" "$WORK/out" '^ *assay replay \.$'
tap_run "explain of nothing" 2 "$ASSAY" explain no-such-id -o "$run"
tap_run "--mail without a finding" 2 "$ASSAY" report --mail

"$ASSAY" run --target lab:bug=136 \
	"$(dirname "$0")/../../labfs/cases/136-directory-grows.txt" -o "$WORK/room" \
	>/dev/null 2>&1
room=$(echo "$WORK"/room/findings/*/report.txt)
tap_like "a subject has its numbers" "$room" \
	'^Subject: .*returned -1 ENOSPC, but [0-9]+ of [0-9]+ blocks are free, and [0-9]+ of'
tap_like "the rule of an answer" "$room" 'ENOSPC means that there is no room'

# ---- A power cut ---------------------------------------------------------------------------------

printf 'mkdir /a 0755\ncreate /a/f 0644\nrename /a/f /g\n' >"$WORK/c.txt"
"$ASSAY" crash --target lab:bug=26 "$WORK/c.txt" -o "$WORK/crash" >/dev/null 2>&1
cut=$(grep -l 'after a power cut: rename' "$WORK"/crash/findings/*/report.txt | head -1)
tap_like "the rule, in words" "$cut" 'a rename has happened or not'
tap_like "what the disk did" "$cut" 'Writes reached the disk in the order'
"$ASSAY" crash --lying-flush --target lab "$WORK/c.txt" -o "$WORK/lying" >/dev/null 2>&1
tap_is "each report of a disk that lies says so" \
	"$(grep -L 'NOTE: the disk was one whose flush' "$WORK"/lying/findings/*/report.txt)" ""
tap_like "the writes" "$cut" '^  \|       wrote journal: '
tap_like "the disk" "$cut" 'disk.img.zst \(attached\) is the disk as the power cut left it'

# What came after the power cut was never done.
printf '%s\n' 'mkdir /a 0755' 'create /a/f 0644' '$0 = open /a/f O_RDWR' 'fsync $0' \
	'rename /a/f /a/g' 'mkdir /never 0755' 'fsync $0' >"$WORK/d.txt"
"$ASSAY" crash --view 1 --target lab:bug=26 "$WORK/d.txt" -o "$WORK/during" >/dev/null 2>&1
cut=$(grep -l 'power cut during op 5 ' "$WORK"/during/findings/*/report.txt | head -1)
tap_like "the power cut has its step" "$cut" '^  During step 5, the power fails\.'
tap_is "which is the last one" "$(grep -E '^ +[0-9]+\. ' "$cut" | tail -n 1)" \
	'   5. rename("/a/f", "/a/g")'
tap_like "an open that makes nothing has no mode" "$cut" '^   3\. fd0 = open\("/a/f", O_RDWR\)$'
tap_run "explain of a power cut" 0 "$ASSAY" explain "$(dirname "$cut")"
tap_like "tells the same" "$WORK/out" \
	'^Then 5 calls were made, and the power was cut during the last one:'

# ---- Types of the kernel -------------------------------------------------------------------------

# The same finding, as if it were one of ext4, in a folder of an earlier version.
cp -r "$run/findings/$id" "$WORK/ext4"
rm "$WORK/ext4/report.txt"
sed -e 's|"target":"lab:bug=3"|"target":"ext4:mkfs=4k,data=journal"|' -e 's|,"kernel":"[^"]*"||' \
	-e 's|,"tools":{[^}]*}||' -i "$WORK/ext4/finding.json"
tap_run "a folder without report.txt" 0 "$ASSAY" report --mail "$WORK/ext4"
tap_like "the disk's size" "$WORK/out" '^    truncate -s [0-9]+ disk.img$'
tap_like "mkfs, with the variant" "$WORK/out" '^    mke2fs .*-b 4096 .*disk\.img$'
tap_like "mount, with the options" "$WORK/out" \
	"^    mount -t ext4 -o 'loop,data=journal' disk.img mnt$"
tap_like "the checker" "$WORK/out" '^    e2fsck -f -y disk.img$'
tap_like "no kernel is made up" "$WORK/out" 'Kernel      not recorded'
tap_like "how to run the program" "$WORK/out" 'cc repro.c -o repro && ./repro mnt'
sed "s|data=journal|x';reboot;'|" -i "$WORK/ext4/finding.json"
tap_run "options of somebody else" 0 "$ASSAY" report --mail "$WORK/ext4"
tap_like "stay one word" "$WORK/out" "-o 'loop,x'\\\\'';reboot;'\\\\''' disk"

# ---- A checker -----------------------------------------------------------------------------------

cp -r "$run/findings/$id" "$WORK/fsck"
rm "$WORK"/fsck/{workload,workload.reduced}.txt
sed -e 's|"target":"[^"]*"|"target":"e2fsck"|' -e 's|"options":"[^"]*"|"options":"fsck=fields"|' \
	-e 's|,"reduced":{[^}]*}||' -e 's|"kind":"data"|"kind":"fsck"|' -i "$WORK/fsck/finding.json"
for words in "report --mail" explain; do
	# shellcheck disable=SC2086 # two words
	tap_run "a finding of a checker: $words" 0 "$ASSAY" $words "$WORK/fsck"
	tap_like "names it" "$WORK/out" '^  \| e2fsck$'
	tap_is "it has no steps to reduce" "$(grep -c reduced "$WORK/out")" 0
done

# ---- Words of a checker in a subject -------------------------------------------------------------

cp -r "$(dirname "$room")" "$WORK/words"
summary='power cut: fsck: `fsck.gfs2 -f` repaired: Block 9 (0x9) of 7.'
signature='crash: fsck: `fsck.gfs# -f` repaired: Block #) of #.; after unlink'
sed -e "s|\"summary\":\"[^\"]*\"|\"summary\":\"$summary\"|" \
	-e "s|\"signature\":\"[^\"]*\"|\"signature\":\"$signature\"|" \
	-i "$WORK/words/finding.json"
tap_run "words of a checker" 0 "$ASSAY" report --mail "$WORK/words"
tap_like "are in the subject as it said them" "$WORK/out" \
	'^Subject: .*: fsck: `fsck\.gfs2 -f` repaired: Block 9 \(0x9\) of 7\.$'

# ---- Texts from outside --------------------------------------------------------------------------

sed -e 's|"summary":"|&EVIL\\nSubject: EVIL\\u001b[31m |g' \
	-e 's|"log":[^,]*,|"log":"EVIL\\nTo reproduce it\\nEVIL\\u001b]0;x\\u0007 \\u202e",|' \
	-i "$json"
for words in "report --mail" explain; do
	# shellcheck disable=SC2086 # two words
	tap_run "hostile texts: $words" 0 "$ASSAY" $words "$run/findings/$id"
	tap_is "each line of them has a bar" "$(grep EVIL "$WORK/out" | grep -vc '^  | ')" 0
	tap_is "they are there" "$(($(grep -c EVIL "$WORK/out") > 0))" 1
	tap_is "no control characters" "$(LC_ALL=C tr -d '\n\40-\176' <"$WORK/out" | wc -c)" 0
done
tap_done
