#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# repro.sh of findings of many kinds, on labfs, on a plugin, on FUSE servers, in a directory, and on
# file systems of a kernel, in the sandbox and on the running one: it says REPRODUCED where the bug
# is, and NOT REPRODUCED where it is not. Names and options cannot break out of it.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
mkdir "$WORK/bin"
ln -s "$ASSAY" "$WORK/bin/assay"
with=$WORK/bin:$PATH
export ASSAY_SRC=$PWD

found() { # NAME COMMAND...: the folders of what it finds, in $WORK/NAME
	local name=$1
	shift
	"$ASSAY" "$@" -o "$WORK/$name" >"$WORK/log" 2>&1
	findings=("$WORK/$name"/findings/*/)
	if [ -d "${findings[0]}" ]; then
		return 0
	fi
	tap_not_ok "$name: something is found" "$(tail -n 5 "$WORK/log")"
	return 1
}

# reproduced NAME STATUS FOLDER [PATH [WORD...]]
reproduced() {
	local name=$1 want=$2 folder=$3 path=${4:-$PATH} got=0 word
	shift 3
	[ $# = 0 ] || shift
	(cd "$WORK" && PATH=$path sh "$folder/repro.sh" "$@") >"$WORK/out" 2>"$WORK/err" || got=$?
	case $want in
	0) word=REPRODUCED ;;
	1) word='NOT REPRODUCED' ;;
	125) word='NEEDS ASSAY' ;;
	*) word=$(tail -n 1 "$WORK/out") ;;
	esac
	if [ $got = "$want" ] && [ "$(tail -n 1 "$WORK/out")" = "$word" ]; then
		tap_ok "$name"
	else
		tap_not_ok "$name" "exit status $got, wanted $want" \
			"$(tail -n 6 "$WORK/out" "$WORK/err")"
	fi
}
whole() { # NAME FOLDER: what the folder of each finding has
	local missing=
	for file in report.txt repro.sh repro.c finding.json; do
		[ -s "$2/$file" ] || missing="$missing $file"
	done
	tap_is "$1: the folder is whole" "$missing" ""
	tap_is "$1: the script is one for sh" "$(sh -n "$2/repro.sh" 2>&1)" ""
}

# ---- The tree ------------------------------------------------------------------------------------

# What mkfs has made is not in expected.tree, so it must not be found, either.
mkdir -p "$WORK/fresh/lost+found" "$WORK/fresh/d"
touch "$WORK/fresh/.nilfs" "$WORK/fresh/d/.nilfs"
sed -n '/^tree() {/,/^}/p' src/dossier/emitted/repro.sh >"$WORK/tree.sh"
tap_is "what mkfs has made is left out, at the top alone" \
	"$(. "$WORK/tree.sh" && tree "$WORK/fresh" | sed 's/.* //' | tr '\n' ' ')" "/ /d /d/.nilfs "

# ---- Libraries -----------------------------------------------------------------------------------

library() { # NAME COMMAND...
	local name=$1
	found "$@" || return
	whole "$name" "${findings[0]}"
	reproduced "$name" 0 "${findings[0]}" "$with"
}
library data run --target lab:bug=3 labfs/cases/03-size-seen.txt
# With sanitizers it dies of another thing than the program, which is built without them.
if [ -z "${SAN:-}" ]; then
	library signal run --target lab:bug=16 labfs/cases/16-write-after-prune.txt
	library fault run --target lab:bug=21 --sweep alloc labfs/cases/21-no-memory-open.txt
fi
printf 'mkdir /a 0755\n$0 = open /f O_RDWR|O_CREAT 0644\nhardlink /f /g\nfsync $0\n' >"$WORK/w.txt"
library crash crash --target lab:bug=29 "$WORK/w.txt"
for file in before.img.zst disk.img.zst writes.txt writes.bin.zst; do
	tap_is "crash: there is $file" "$([ -s "${findings[0]}/$file" ] && echo yes)" yes
done
if found race hunt --crash --race --target lab:bug=71 --seed 1 --max-workloads 40 --max-findings 1
then
	whole race "${findings[0]}"
	reproduced "race, with a power cut" 0 "${findings[0]}" "$with"
fi
cp "$ASSAY_BUILD/plugins/labfs.so" "$WORK/my fs's.so"
(cd "$WORK" && "$ASSAY" run --target "plugin:./my fs's.so:bug=3" -o plugin \
	"$ASSAY_SRC/labfs/cases/03-size-seen.txt") >"$WORK/log" 2>&1
[ -n "${SAN:-}" ] || reproduced "a plugin with a name that needs quotes" 0 \
	"$(echo "$WORK"/plugin/findings/*)" "$with"
cp "$ASSAY_BUILD/plugins/labfs.so" "$WORK/other.so"
rm "$WORK/my fs's.so"
reproduced "a plugin that is not there" 2 "$(echo "$WORK"/plugin/findings/*)" "$with"

# inside BUG WORKLOAD LINE: of a server with this bug, whose script prints such a line.
inside() {
	found "inside.$1" run --deadline 3 --target "fuse:$WORK/wrong_server $1 {src} {mnt}" \
		"$WORK/$2" || return
	DEADLINE=4 reproduced "a server: $1, without assay" 0 "${findings[0]}"
	tap_like "and it says what is wrong" "$WORK/out" "$3"
	sed -i "s|^\(\texec .*wrong_server' \)'$1'|\1'none'|; s/^why=.*/why=''/" \
		"${findings[0]}/repro.sh"
	reproduced "the same server without the bug" 1 "${findings[0]}"
}

# told BUG LINE OPERATION...: of a server with this bug, which only these operations show; without
# the bug, the script says so by itself.
told() {
	local bug=$1 line=$2 name=${*: -1}
	shift 2
	cp "$WORK/to-read.txt" "$WORK/told.txt"
	printf '%s\n' "$@" >>"$WORK/told.txt"
	found "told.$bug.${name%% *}" run --target "fuse:$WORK/wrong_server $bug {src} {mnt}" \
		"$WORK/told.txt" || return
	reproduced "a server: $bug, by $name" 0 "${findings[0]}"
	tap_like "and it says what is wrong" "$WORK/out" "$line"
	sed -i "s|^\(\texec .*wrong_server' \)'$bug'|\1'none'|" "${findings[0]}/repro.sh"
	reproduced "$name, without the bug" 1 "${findings[0]}"
}

# ---- FUSE and directories ------------------------------------------------------------------------

if command -v bindfs >/dev/null && [ -w /dev/fuse ]; then
	if found fuse run --target 'fuse:bindfs -f {src} {mnt}' labfs/cases/16-write-after-prune.txt
	then
		whole fuse "${findings[0]}"
		reproduced "a FUSE server, without assay" 0 "${findings[0]}"
	fi
	mkdir "$WORK/below" "$WORK/dir" "$WORK/sound"
	bindfs "$WORK/below" "$WORK/dir"
	if found indir run --target "dir:$WORK/dir" labfs/cases/16-write-after-prune.txt; then
		reproduced "a directory" 0 "${findings[0]}" "$PATH" "$WORK/dir"
		tap_is "nothing is left in it" "$(ls -A "$WORK/below")" ""
		reproduced "a directory without the bug" 1 "${findings[0]}" "$PATH" "$WORK/sound"
		tap_is "nothing is left there, too" "$(ls -A "$WORK/sound")" ""
		reproduced "no directory is given" 2 "${findings[0]}"
	fi
	umount "$WORK/dir" 2>/dev/null || fusermount3 -u "$WORK/dir"
	# What is wrong is in the files; the same calls on a server without the bug show nothing.
	# shellcheck disable=SC2016
	tap_run "a server with bugs compiles" 0 sh -c \
		'cc -o "$0" tests/dossier/wrong_server.c $(pkg-config --cflags --libs fuse3)' \
		"$WORK/wrong_server"
	cat >"$WORK/inside.txt" <<-'END'
	mkdir /a 0755
	$0 = open /a/f O_RDWR|O_CREAT 0644
	write $0 len=5000 fill=3
	pwrite $0 len=9 at=70000 fill=4
	close $0
	symlink hello "/a/l\nine"
	write_xattr /a user.one len=20 fill=5
	read_xattr /a user.one
	END
	printf '%s\n' 'create /a 0644' 'rename /a /b' >"$WORK/renames.txt"
	inside data inside.txt 'found: +[0-9]+ 70009 /a/f'
	inside attr inside.txt 'found: +[0-9]+ 20 user.one /a$'
	inside text inside.txt 'found: +[0-9]+ 5 /a/l.ine'
	inside hang renames.txt 'wrong: the calls do not come back'
	cat >"$WORK/to-read.txt" <<-'END'
	mkdir /a 0755
	$0 = open /a/f O_RDWR|O_CREAT 0644
	write $0 len=4400 fill=3
	pwrite $0 len=300 at=4450 fill=4
	pwrite $0 len=9 at=70000 fill=5
	close $0
	symlink "one\"two" /a/l
	write_xattr /a/f user.one len=20 fill=6
	write_xattr /a/f user.two len=0 fill=0
	$1 = open /a/f O_RDONLY
	END
	# shellcheck disable=SC2016
	for read in 'read $1 len=80000' 'pread $1 len=1 at=4500' 'preadv2 $1 len=300 at=4450'; do
		told read 'op 11: expected 0x[0-9a-f]{2} at offset 4500, got 0x[0-9a-f]{2}$' \
			"$read"
	done
	# shellcheck disable=SC2016
	told read 'op 12: expected 0x[0-9a-f]{2} at offset 4500, got 0x[0-9a-f]{2}$' \
		'mmap $1 len=12288 at=0 prot=PROT_READ' 'mload $1 len=9000 at=0'
	told value 'op 11: expected 0x[0-9a-f]{2} at offset 19, got' 'read_xattr /a/f user.one'
	told link 'op 11: expected "one\\042two", got "one\\042twn"' 'readlink /a/l'
	told name 'op 11: expected "(f|l) \((file|symbolic link)\)", got "[^fl] ' 'readdir /a'
	told type 'op 11: expected "f \(file\)", got "f \(fifo\)"' 'readdir /a'
	told list 'op 11: expected "user.(one|two)", got "user' 'listxattr /a/f'
	(cat "$WORK/to-read.txt" && echo 'stat /a/f') >"$WORK/told.txt"
	if found told.size run --target "fuse:$WORK/wrong_server size {src} {mnt}" \
		"$WORK/told.txt"; then
		reproduced "attributes" 0 "${findings[0]}"
		tap_like "it says which" "$WORK/out" 'op [0-9]*: expected size 70009, got 70010'
	fi
	tap_is "no server is left" "$(pgrep -fc "^$WORK/wrong_server")" 0
else
	tap_skip "a FUSE server" "no bindfs, or no /dev/fuse"
fi
if command -v fuse2fs >/dev/null && [ -w /dev/fuse ] &&
	found fuse2fs run --target fuse2fs labfs/cases/14-longest-name.txt; then
	reproduced "a FUSE server on a disk" 0 "${findings[0]}"
fi

# ---- Kernels -------------------------------------------------------------------------------------

# What is made in a directory gets its group with this option: the model knows nothing of it.
printf '%s\n' 'mkdir /d 0755' 'chown /d 5 7' 'create /d/f 0644' 'hardlink /d/f /g' >"$WORK/g.txt"
cat >"$WORK/both.txt" <<'END'
mkdir /d 0755
chown /d 5 7
$0 = open /d/f O_RDWR|O_CREAT 0644
write $0 len=5000 fill=3
pwrite $0 len=9 at=70000 fill=4
close $0
symlink hello /d/l
write_xattr /d/f user.one len=20 fill=5
END
if tap_uml ext4; then
	if found minix run --target minix3 labfs/cases/17-deep.txt; then
		whole minix "${findings[0]}"
		reproduced "a checker, in the sandbox, without assay" 0 "${findings[0]}"
		mkdir "$WORK/fake"
		printf '#!/bin/sh\nexit 0\n' >"$WORK/fake/fsck.minix"
		chmod 755 "$WORK/fake/fsck.minix"
		reproduced "a checker that is content" 1 "${findings[0]}" "$WORK/fake:$PATH"
	fi
	if found ext4 run --target ext4:grpid "$WORK/g.txt"; then
		reproduced "ext4, in the sandbox, without assay" 0 "${findings[0]}" "$PATH" \
			--sandbox
		tap_like "it says what is wrong" "$WORK/out" 'found: +f 644 0:7 2 0 /d/f'
		sed "s/^options=.*/options=''/; s/^why=.*/why=''/" "${findings[0]}/repro.sh" \
			>"${findings[0]}/other.sh"
		mv "${findings[0]}/other.sh" "${findings[0]}/repro.sh"
		reproduced "without the option it is not there" 1 "${findings[0]}" "$PATH" --sandbox
		sed -i "s/^type=.*/type=none-such/" "${findings[0]}/repro.sh"
		reproduced "a type that the kernel does not know" 2 "${findings[0]}" "$PATH" \
			--sandbox
	fi
	if found used run --target ext4:mkfs=used,grpid "$WORK/g.txt"; then
		sed -i "s,LC_ALL=C tr,tee '$WORK/filled' | &," "${findings[0]}/repro.sh"
		reproduced "a disk that was used before" 0 "${findings[0]}" "$PATH" --sandbox
		tap_is "is filled before mkfs" "$([ -s "$WORK/filled" ] && echo yes)" yes
	fi
	# A remount with options is done; a step that takes assay is not taken for a sound one.
	cp "$WORK/g.txt" "$WORK/remount.txt"
	printf '%s\n' 'remount opts=noatime,errors=continue' 'mkdir /e 0755' >>"$WORK/remount.txt"
	(echo crash && cat "$WORK/g.txt") >"$WORK/crash.txt"
	if found options run --target ext4:grpid "$WORK/remount.txt"; then
		sed -i "s/^options=.*/options='data=writeback'/; s/^why=.*/why=''/" \
			"${findings[0]}/repro.sh"
		reproduced "a remount with options" 1 "${findings[0]}" "$PATH" --sandbox
		tap_like "is done" "$WORK/out" '^remount opts=noatime,errors=continue = 0'
		sed -i 's/^	with_mounter=yes/	:/' "${findings[0]}/repro.sh"
		reproduced "without a mounter" 125 "${findings[0]}" "$PATH" --sandbox
		tap_like "it says which step" "$WORK/err" \
			'needs assay: remount opts=noatime,errors=continue: without --mounter'
	fi
	if found step run --target ext4:grpid "$WORK/crash.txt"; then
		reproduced "what is wrong before a step that takes assay" 0 "${findings[0]}" \
			"$PATH" --sandbox
		tap_like "the letter names the step" "${findings[0]}/report.txt" \
			'^  Step 1: a program cannot cut the power\.'
		sed -i "s/^options=.*/options=''/; s/^why=.*/why=''/" "${findings[0]}/repro.sh"
		reproduced "such a step, and nothing wrong" 125 "${findings[0]}" "$PATH" --sandbox
		tap_like "says which step" "$WORK/err" \
			'this needs assay: crash: a program cannot cut the power'
	fi
	# What ext4 keeps in a file is what the model expects.
	if found bytes run --target ext4:grpid "$WORK/both.txt"; then
		reproduced "ext4, with data and attributes" 0 "${findings[0]}" "$PATH" --sandbox
		tap_is "only the group is wrong" "$(grep '^wrong' "$WORK/out" | sort -u)" \
			"wrong: the tree after another mount is not as expected
wrong: the tree after the calls is not as expected"
		tap_is "the data were compared" \
			"$(cut -d' ' -f2- "${findings[0]}/expected.data" | sort)" "5 /d/l
70009 /d/f"
	fi
	# A read that zeroes a page of which a part was written (docs/FOUND.md).
	cat >"$WORK/zeroed.txt" <<-'END'
	$0 = open /f O_RDWR|O_CREAT 0644
	pwrite $0 len=1 at=0 fill=1
	pwrite $0 len=1 at=10040 fill=2
	pread $0 len=1 at=9000
	pread $0 len=3000 at=9000
	END
	if found read run --target ext4:mkfs=inline_data "$WORK/zeroed.txt"; then
		reproduced "a read of ext4 with inline data" 0 "${findings[0]}" "$PATH" --sandbox
		tap_like "it says which byte" "$WORK/out" \
			'op 5: expected 0xc3 at offset 10040, got 0x00'
		sed -i 's/inline_data/^inline_data/' "${findings[0]}/repro.sh"
		reproduced "ext4 without inline data" 1 "${findings[0]}" "$PATH" --sandbox
	fi
	# The rest of the last block after a truncate, from a disk that was unmounted in between.
	cat >"$WORK/between.txt" <<-'END'
	$1 = open /c O_RDWR|O_CREAT 0644
	write $1 len=8193 fill=1
	umount
	close $1
	umount
	mount opts=ro
	create /no 0644
	umount
	stat /c
	mount
	truncate /c 2685
	umount
	mount
	truncate /c 8193
	$0 = open /c O_RDWR
	read $0 len=3058
	END
	if PATH="$PATH:/usr/sbin" command -v mkfs.reiserfs >/dev/null &&
		found between run --target reiserfs "$WORK/between.txt"; then
		reproduced "mounted again in between" 0 "${findings[0]}"
		tap_is "each unmount and mount is done" \
			"$(tr -d '\r' <"$WORK/out" | grep -A 1 '^u*mount\|^create\|^stat')" \
			"umount = -1 EBUSY
close \$1 = 0
umount = 0
mount opts=ro = 0
create /no 0644 = -1 EROFS
umount = 0
stat /c skipped
mount = 0
truncate /c 2685 = 0
umount = 0
mount = 0
truncate /c 8193 = 0"
		sed -i 's/^	with_mounter=yes/	:/' "${findings[0]}/repro.sh"
		reproduced "not mounted again, it is for assay" 125 "${findings[0]}"
		tap_like "which it says" "$WORK/err" 'this needs assay: times, locks and what shows'
	fi
	if found cut crash --target jfs --view 1 "$WORK/w.txt"; then
		whole cut "${findings[0]}"
		reproduced "a power cut needs assay for its rules" 125 "${findings[0]}"
		tap_like "and says so" "$WORK/err" 'this needs assay: which trees'
		tap_like "the disk before with the writes is the disk after" "$WORK/out" \
			'before.img \+ writes = disk.img'
		reproduced "with assay" 0 "${findings[0]}" "$with"
	fi
else
	tap_skip "file systems of a kernel" "no program linux (package user-mode-linux)"
fi
if [ "$(id -u)" = 0 ] && grep -qw ext4 /proc/filesystems && [ -e /dev/loop-control ] &&
	"$ASSAY" run --no-store --sandbox host --target ext4 "$WORK/g.txt" >/dev/null 2>&1; then
	if found host run --sandbox host --target ext4:grpid "$WORK/g.txt"; then
		reproduced "ext4 of the running kernel" 0 "${findings[0]}"
		tap_is "nothing is mounted" "$(grep -c /tmp/tmp. /proc/mounts)" 0
	fi
else
	tap_skip "ext4 of the running kernel" "not root, or no loop devices"
fi

# ---- Checkers on damaged disks -------------------------------------------------------------------

ln -s "$(dirname "$ASSAY")/labfs-fsck" "$WORK/bin/labfs-fsck"
if (PATH=$with found checker fsck labfs-fsck:bug=53 --max-findings 1); then
	one=$(ls -d "$WORK"/checker/findings/* | head -n 1)
	reproduced "a checker that repairs twice" 0 "$one" "$with"
	sed 's/ --bug 53//' "$one/repro.sh" >"$WORK/other.sh"
	cp "$WORK/other.sh" "$one/repro.sh"
	reproduced "a checker without the bug" 1 "$one" "$with"
fi

# ---- Texts from outside --------------------------------------------------------------------------

cp -r "$WORK/data/findings" "$WORK/evil"
one=$(echo "$WORK"/evil/*)
cat >"$WORK/evil.sed" <<'END'
s/"target":"[^"]*"/"target":"ext4:a';touch PWNED;'b$(touch PWNED)`touch PWNED`\\ntouch PWNED"/
s/"summary":"[^"]*"/"summary":"x\\n touch PWNED\\n'$(touch PWNED)]]><\/failure>|`"/
s/"log":null/"log":"<\/failure>]]>\\u001b[31m$(touch PWNED) fs.c:12: boom"/
END
sed -f "$WORK/evil.sed" -i "$one/finding.json"
mkdir -p "$WORK/evil.run/findings"
mv "$one" "$WORK/evil.run/findings/"
one=$(echo "$WORK"/evil.run/findings/*)
touch "$WORK/evil.run/.assay-run"
for form in junit tap sarif markdown json; do
	tap_run "hostile texts: --$form" 0 "$ASSAY" report "--$form" "$WORK/evil.run"
	cp "$WORK/out" "$WORK/evil.$form"
done
if command -v xmllint >/dev/null; then
	tap_run "the XML is well-formed" 0 xmllint --noout "$WORK/evil.junit"
	tap_is "with one failure" "$(xmllint --xpath 'count(//failure)' "$WORK/evil.junit")" 1
fi
if command -v jq >/dev/null; then
	tap_is "the SARIF has one result, and its place" "$(jq -r '.runs[0].results[] | "\(
		.locations[0].physicalLocation.artifactLocation.uri) \(
		.locations[0].physicalLocation.region.startLine)"' "$WORK/evil.sarif")" "fs.c 12"
fi
tap_run "its text for maintainers" 0 "$ASSAY" report --mail "$one"
tap_is "has one subject, on the first line" "$(grep -n '^Subject:' "$WORK/out" | cut -d: -f1)" 1
# A reduction writes the script anew, of a target that is hostile in every way.
reducible=$WORK/reducible
"$ASSAY" run --target lab:bug=3 -o "$reducible" labfs/cases/03-size-seen.txt >/dev/null 2>&1
one=$(echo "$reducible"/findings/*)
sed -i "s/\"workload_name\":\"[^\"]*\"/\"workload_name\":\"';touch PWNED;'\"/
	s/\"summary\":\"/&\$(touch PWNED)\\\\ntouch PWNED '/" "$one/finding.json"
(cd "$WORK" && "$ASSAY" reduce "$one") >/dev/null 2>&1
tap_is "the script is one for sh" "$(sh -n "$one/repro.sh" 2>&1)" ""
reproduced "and does nothing else" 0 "$one" "$with"
cat >"$WORK/names.txt" <<'END'
mkdir "/a\n$(touch PWNED)" 0755
create "/q'$(touch PWNED)`x`" 0644
chown / 5 7
create /f 0644
END
"$ASSAY" fmt "$WORK/names.txt" >/dev/null 2>"$WORK/err" || tap_not_ok "names" "$(cat "$WORK/err")"
if tap_uml ext4 && found names run --target ext4:grpid "$WORK/names.txt"; then
	reproduced "names of files that are hostile" 0 "${findings[0]}"
fi
tap_is "nobody broke out" "$(find "$WORK" . -maxdepth 3 -name PWNED 2>/dev/null | head -n 1)" ""
tap_done
