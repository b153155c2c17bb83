#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The command line: every bad input gets one line that names it, and the right exit status; broken
# plugins are findings or refusals, never the end of assay; nothing is left behind.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
ROOT=$PWD
CC=${CC:-cc}
export LC_ALL=C
# A sanitizer's own exit status would hide ours.
export ASAN_OPTIONS=detect_leaks=0

echo 'mkdir /a 0755' >"$WORK/good.txt"

# refuses NAME STATUS REGEX COMMAND...: exactly one line on stderr, "assay: ...", and nothing else
# that could be taken for success.
refuses() {
	local name=$1 want=$2 regex=$3 got=0 lines
	shift 3
	(cd "$WORK" && "$@") >"$WORK/out" 2>"$WORK/err" </dev/null || got=$?
	lines=$(wc -l <"$WORK/err")
	if [ "$got" = "$want" ] && [ "$lines" = 1 ] &&
		grep -Eq "^assay: .*($regex)" "$WORK/err"; then
		tap_ok "$name"
	else
		tap_not_ok "$name" "exit status $got, wanted $want; $lines lines; wanted /$regex/" \
			"$(head -n 5 "$WORK/out")" "$(head -n 5 "$WORK/err")"
	fi
}

# build NAME FLAG...: a broken plugin.
build() {
	local name=$1
	shift
	"$CC" -std=gnu11 -D_GNU_SOURCE -O1 -fPIC -shared -fvisibility=hidden -Iinclude "$@" \
		tests/target/plugins/broken.c -o "$WORK/$name.so" || tap_not_ok "building $name"
}

# ---- Wrong use ----
refuses "no command" 2 "no command given" "$ASSAY"
refuses "unknown command" 2 "unknown command 'frobnicate'" "$ASSAY" frobnicate
refuses "unknown option" 2 "unknown option --frob" "$ASSAY" run --frob good.txt
refuses "unknown letter" 2 "unknown option -zlab" "$ASSAY" run -zlab good.txt
refuses "a letter and its value are one word" 2 "unknown target 'nosuch'" \
	"$ASSAY" run -tnosuch good.txt
refuses "a dash alone before a value" 2 "unknown option -target=lab" \
	"$ASSAY" emit-c -target=lab good.txt
refuses "no operand" 2 "expected FILE" "$ASSAY" run --target lab
refuses "one operand too many" 2 "too many" "$ASSAY" emit-c good.txt good.txt
refuses "option given twice" 2 "--target was given twice" \
	"$ASSAY" run --target lab --target lab good.txt
refuses "option without value" 2 "--target needs a value" "$ASSAY" run good.txt --target
refuses "flag with value" 2 "--json takes no value" "$ASSAY" run --json=1 good.txt
refuses "number out of range" 2 "--deadline: 0 is out of range: expected 1 to 3600" \
	"$ASSAY" run --deadline 0 --target lab good.txt
refuses "number that is none" 2 "--deadline: 'soon' is not a number" \
	"$ASSAY" run --deadline soon --target lab good.txt
refuses "choice that is none" 2 "--check: 'never' is not one of op\|end" \
	"$ASSAY" run --check never --target lab good.txt
refuses "size that is none" 2 "--size: 'big' is not a size" \
	"$ASSAY" run --size big --target lab good.txt
refuses "size too small" 2 "disk of 512 bytes is too small" \
	"$ASSAY" run --size 512 --target lab good.txt
refuses "fault that is none" 2 "fault" "$ASSAY" run --fault read:x:eio --target lab good.txt
refuses "alloc fault that is none" 2 "expected alloc:N" \
	"$ASSAY" run --fault alloc:0 --target lab good.txt
refuses "sweep and fault" 2 "exclude each other" \
	"$ASSAY" run --sweep read --fault alloc:1 --target lab good.txt
refuses "fault on a directory" 2 "need a disk" \
	"$ASSAY" run --fault read:1:eio --target "dir:$WORK" good.txt
refuses "help of an unknown command" 2 "unknown command 'x'" "$ASSAY" help x
refuses "unknown benchmark" 2 "no benchmark is called 'zzz'" "$ASSAY" bench zzz

# ---- Files ----
refuses "missing file" 2 "nosuch.txt" "$ASSAY" run --target lab nosuch.txt
refuses "directory as a file" 2 "$(basename "$WORK"): Is a directory" \
	"$ASSAY" run --target lab "$WORK"
echo 'mkdir /a 0755 7' >"$WORK/bad.txt"
refuses "malformed workload" 2 "bad.txt:1:[0-9]+: expected" "$ASSAY" run --target lab bad.txt
echo 'frobnicate /a' >"$WORK/bad.txt"
refuses "unknown operation" 2 "bad.txt:1:1: .*frobnicate" "$ASSAY" run --target lab bad.txt
head -c 3000 /dev/urandom >"$WORK/bad.txt"
refuses "noise" 2 "bad.txt:[0-9]+:[0-9]+: " "$ASSAY" run --target lab bad.txt
refuses "noise to fmt" 2 "bad.txt:[0-9]+:[0-9]+: " "$ASSAY" fmt bad.txt
refuses "noise to emit-c" 2 "bad.txt:[0-9]+:[0-9]+: " "$ASSAY" emit-c bad.txt
refuses "a bad file after a good one runs nothing" 2 "bad.txt" \
	"$ASSAY" run --target lab good.txt bad.txt
tap_is "nothing was said about the good one" "$(cat "$WORK/out")" ""
refuses "standard input twice" 2 "standard input was given twice" "$ASSAY" run --target lab - -
: >"$WORK/empty.txt"
refuses "empty file" 2 "nothing was run: there is no operation in the workload" \
	"$ASSAY" run --no-store --target lab empty.txt
refuses "two empty files" 2 "no operation in any of the workloads" \
	"$ASSAY" run --no-store --target lab empty.txt empty.txt
refuses "an empty list" 2 "expected FILE" "$ASSAY" run --target lab --list empty.txt
refuses "an empty list of lists" 2 "nothing was run: no workload was named" \
	"$ASSAY" run --target lab --list -
echo '1 brk(NULL) = 0x5555' >"$WORK/none.strace"
refuses "import of nothing" 2 "nothing in it|no operation" "$ASSAY" import --from strace none.strace

# ---- Targets ----
refuses "no target" 2 "good.txt: no --target given" "$ASSAY" run good.txt
refuses "unknown target" 2 "unknown target 'zfs'; known are lab.*plugin:.*dir:" \
	"$ASSAY" run --target zfs good.txt
refuses "unknown bug" 2 "unknown option in 'bug=999'" "$ASSAY" run --target lab:bug=999 good.txt
refuses "plugin that is not there" 2 "nosuch.so: no such file" \
	"$ASSAY" run --target plugin:./nosuch.so good.txt
refuses "plugin without a path" 2 "expected plugin:PATH.so" "$ASSAY" run --target plugin: good.txt
cp "$WORK/good.txt" "$WORK/text.so"
refuses "plugin that is no library" 2 "text.so: cannot be loaded" \
	"$ASSAY" run --target plugin:./text.so good.txt
refuses "directory that is not there" 2 "dir:/nosuch" "$ASSAY" run --target dir:/nosuch good.txt
refuses "directory that is none" 2 "not a directory" "$ASSAY" run --target dir:good.txt good.txt
printf '@target lab size=tiny\nsync\n' >"$WORK/meta.txt"
refuses "@target with a bad size" 2 "meta.txt: .*'tiny' is not a size" "$ASSAY" run meta.txt
printf '@target lab speed=9\nsync\n' >"$WORK/meta.txt"
refuses "@target with an unknown word" 2 "'speed=9' is neither" "$ASSAY" run meta.txt
printf '@target lab size=2M opts=commit=every\nsync\n' >"$WORK/meta.txt"
tap_run "@target with size and options" 0 "$ASSAY" run --no-store "$WORK/meta.txt"

build symbol -DBREAK_symbol
refuses "plugin without the symbol" 2 "exports no symbol 'as_target'" \
	"$ASSAY" run --target plugin:./symbol.so good.txt
build api -DBREAK_api
refuses "plugin of another version" 2 "built for version 99 .* this assay has 3" \
	"$ASSAY" run --target plugin:./api.so good.txt
build function -DBREAK_function
refuses "plugin that lacks a function" 2 "lacks the required function 'rename'" \
	"$ASSAY" run --target plugin:./function.so good.txt
build capability -DBREAK_capability
refuses "plugin with an empty capability" 2 "AS_CAP_SYMLINK but lacks the function 'symlink'" \
	"$ASSAY" run --target plugin:./capability.so good.txt
build mkfs -DBREAK_mkfs
refuses "plugin whose mkfs fails" 2 "mkfs failed: EIO" \
	"$ASSAY" run --target plugin:./mkfs.so good.txt
build good
refuses "plugin given unknown options" 2 "mkfs failed: EINVAL" \
	"$ASSAY" run --target plugin:./good.so:speed=9 good.txt
tap_run "the plugin itself is clean" 0 \
	"$ASSAY" run --no-store --target "plugin:$WORK/good.so" "$WORK/good.txt"

# ---- Broken plugins are findings ----
# finds NAME KIND REGEX ARG...; BREAK: what is broken, in place of mkdir.
finds() {
	local name=$1 kind=$2 regex=$3 got=0
	shift 3
	build "$name" "-D${BREAK:-BREAK_mkdir=op_$name}"
	(cd "$WORK" && "$ASSAY" run --target "plugin:./$name.so" "$@" good.txt) \
		>"$WORK/out" 2>"$WORK/err" || got=$?
	if [ "$got" = 1 ] && grep -Eq "^broken-$kind-[0-9a-f]{8}  " "$WORK/out" &&
		grep -Eq "$regex" "$WORK/out"; then
		tap_ok "plugin: $name"
	else
		tap_not_ok "plugin: $name" "exit status $got" "$(head -n 8 "$WORK/out" "$WORK/err")"
	fi
	local id
	id=$(grep -Eo "^broken-$kind-[0-9a-f]{8}" "$WORK/out")
	(cd "$WORK" && "$ASSAY" replay "$id") >"$WORK/again" 2>&1
	tap_is "replay of $name: exit status" $? 1
	tap_like "replay of $name: said" "$WORK/again" "^$id: reproduced$"
}
finds crash signal "op 1: mkdir /a 0755: the target died of SIGSEGV"
finds abort signal "the target died of SIGABRT"
finds exit signal "the target called exit\(0\)"
finds hang hang "op 1: mkdir /a 0755: the target did not come back within 1000 ms" --deadline 1
finds leak leak "1 allocation, 100 bytes, left after unmount"
finds double_free misuse "op 1: .*freed memory that is not allocated"
finds overrun misuse "op 1: .*wrote past the end of an allocation of 100 bytes"
finds outside misuse "op 1: .*read of 512 bytes at [0-9]+ of [0-9]+: outside the disk"
finds chdir misuse "unmount: changed the working directory"
finds handler misuse "unmount: changed the handler of SIGPIPE"
finds block misuse "unmount: left blocked SIGHUP"
BREAK=BREAK_mount=mount_crash finds mount_crash signal \
	"mount of a fresh disk: the target died of SIGSEGV"
BREAK=BREAK_mount=mount_hang finds mount_hang hang \
	"mount of a fresh disk: the target did not come back" --deadline 1
build unmount -DBREAK_unmount
tap_run "plugin: unmount fails" 1 \
	"$ASSAY" run --no-store --target "plugin:$WORK/unmount.so" "$WORK/good.txt"
tap_like "plugin: unmount fails: said" "$WORK/out" "unmount: answered EIO though nothing was wrong"
build print -DBREAK_mkdir=op_print
tap_run "plugin that prints: JSON stays JSON" 0 \
	"$ASSAY" run --json --no-store --target "plugin:$WORK/print.so" "$WORK/good.txt"
tap_is "plugin that prints: every line an object" "$(grep -vc '^{.*}$' "$WORK/out")" 0

# ---- Output folder ----
: >"$WORK/file"
refuses "output folder below a file" 2 "output folder file/x" \
	"$ASSAY" run -o file/x --target lab good.txt
refuses "output folder that is a file" 2 "output folder file: Not a directory" \
	"$ASSAY" run -o file --target lab good.txt
(cd "$WORK" && "$ASSAY" run -o clean --target lab good.txt >/dev/null)
[ -e "$WORK/clean" ]
tap_is "nothing found leaves no folder" $? 1
(cd "$WORK" && "$ASSAY" run -o kept --target lab:bug=1 "$ROOT/labfs/cases/01-rename-over.txt") \
	>"$WORK/out" 2>&1
tap_is "a finding's exit status" $? 1
id=$(grep -Eo '^lab-outcome-[0-9a-f]{8}' "$WORK/out")
for part in finding.json workload.txt repro.c README.md disk.img.zst; do
	[ -s "$WORK/kept/findings/$id/$part" ]
	tap_is "the finding's folder holds $part" $? 0
done
(cd "$WORK" && "$ASSAY" run -o kept --target lab:bug=1 "$ROOT/labfs/cases/01-rename-over.txt") \
	>/dev/null 2>&1
tap_like "the second time only counts" "$WORK/kept/findings/$id/finding.json" '"count": ?2'

# Where nothing can be written, the message says what to do.
as_other=()
[ "$(id -u)" != 0 ] || as_other=(setpriv --reuid 65534 --regid 65534 --clear-groups)
mkdir "$WORK/closed" && cp "$ASSAY" "$WORK/assay" && chmod 755 "$WORK" && chmod 555 "$WORK/closed"
for words in "run --target lab ../good.txt" "hunt --target lab --max-workloads 1" \
	"crash --target lab ../good.txt" "check --target lab --depth 1" "report ../kept" \
	"merge ../kept -o joined" demo "plugin new some" \
	"run -o ../kept --target lab ../good.txt"; do
	# shellcheck disable=SC2086 # several words
	(cd "$WORK/closed" && "${as_other[@]}" ../assay $words) >"$WORK/out" 2>&1 </dev/null
	tap_is "where nothing can be written: $words" $? 2
	tap_like "what to do: $words" "$WORK/out" \
		'^assay: .*Permission denied: .*(with -o|go to another folder)'
done
mapfile -t labfs < <(find labfs -name '*.c' ! -name '*_main.c')
tap_run "reproducer compiles" 0 "$CC" -D_GNU_SOURCE -Iinclude "$WORK/kept/findings/$id/repro.c" \
	"${labfs[@]}" -o "$WORK/repro"
tap_run "and says that it reproduces" 0 "$WORK/repro"
tap_run "replay by id" 1 "$ASSAY" replay -o "$WORK/kept" "$id"
tap_run "replay by folder" 1 "$ASSAY" replay "$WORK/kept/findings/$id"
tap_like "replay says so" "$WORK/out" "^$id: reproduced"
refuses "replay of an unknown id" 2 "no finding nosuch in kept/findings" \
	"$ASSAY" replay -o kept nosuch
refuses "replay of a folder that is none" 2 "not the folder of a finding" \
	"$ASSAY" replay ./kept/nosuch
(cd "$WORK" && "$ASSAY" run -o kept --sandbox host --target lab:bug=3 \
	"$ROOT/labfs/cases/03-size-seen.txt") >"$WORK/out" 2>&1
tap_like "the running kernel is part of the command that is shown" "$WORK/out" \
	'again: assay replay --sandbox host -o kept lab-'
host=$(sed -n 's/.*again: assay replay .* //p' "$WORK/out")
# The command that is shown is the one that does it, wherever the finding is kept.
ODD="kept \$HOME's"
(cd "$WORK" && "$ASSAY" run -o "$ODD" --target lab:bug=3 "$ROOT/labfs/cases/03-size-seen.txt") \
	>"$WORK/out" 2>&1
shown=$(sed -n 's/.*again: assay//p' "$WORK/out")
tap_run "the command that is shown" 1 bash -c "cd '$WORK' && '$ASSAY' $shown"
tap_like "it reproduces" "$WORK/out" '^lab-.*: reproduced'
tap_like "and is shown again" "$WORK/out" "again: assay replay -o 'kept .HOME'.''s' lab-"
sed 's/lab:bug=3"/lab"/' -i "$WORK/kept/findings/$host/finding.json"
tap_run "what was found on the running kernel does not come back" 0 "$ASSAY" replay \
	-o "$WORK/kept" "$host"
tap_like "it is said where it was found" "$WORK/out" 'did not reproduce: it was found with --sand'
tap_run "a fault in the mount" 0 "$ASSAY" run --no-store --target lab --fault read:1:eio \
	labfs/cases/03-size-seen.txt
tap_like "a fault in the mount: said" "$WORK/out" 'the mount failed by the fault'
sed 's/lab:bug=1"/lab"/' -i "$WORK/kept/findings/$id/finding.json"
tap_run "replay of what was repaired" 0 "$ASSAY" replay "$WORK/kept/findings/$id"
tap_like "replay of what was repaired: said" "$WORK/out" "did not reproduce"
echo '{' >"$WORK/kept/findings/$id/finding.json"
refuses "replay of a damaged finding" 2 "finding.json:[0-9]+: not a finding" \
	"$ASSAY" replay -o kept "$id"
echo '{}' >"$WORK/kept/findings/$id/finding.json"
refuses "replay of an empty finding" 2 "it lacks id, target, signature or options" \
	"$ASSAY" replay -o kept "$id"

# ---- Disks ----
disk=$WORK/kept/findings/$id/disk.img.zst
tap_run "disk info" 0 "$ASSAY" disk info "$disk"
tap_run "disk export" 0 "$ASSAY" disk export "$disk" "$WORK/raw.img"
[ -s "$WORK/raw.img" ]
tap_is "disk export wrote" $? 0
if command -v zstd >/dev/null; then
	tap_run "a finding's disk is a zstd file" 0 zstd -q -d "$disk" -o "$WORK/unpacked.img"
	tap_run "of the raw disk" 0 cmp "$WORK/unpacked.img" "$WORK/raw.img"
else
	tap_skip "a finding's disk is a zstd file" "zstd is not here (package zstd)"
fi
head -c 200 "$disk" >"$WORK/cut.zst"
refuses "disk cut short" 2 "cut.zst" "$ASSAY" disk info cut.zst
cp "$disk" "$WORK/flipped.zst"
printf '\377' | dd of="$WORK/flipped.zst" bs=1 seek=150 conv=notrunc status=none
refuses "damaged disk" 2 "flipped.zst" "$ASSAY" disk info flipped.zst
refuses "disk that is none" 2 "good.txt" "$ASSAY" disk info good.txt
refuses "disk verb that is none" 2 "'frob' is neither show, info nor export" "$ASSAY" disk frob x
refuses "disk export without a name" 2 "expected .disk show IMAGE" "$ASSAY" disk export x

# ---- What works ----
tap_run "--version" 0 "$ASSAY" --version
tap_like "--version says" "$WORK/out" '^assay [0-9]+\.[0-9]+\.[0-9]+$'
tap_run "help" 0 "$ASSAY" help
"$ASSAY" help | sed -nE 's/^  ([a-z][a-z-]*) .*/\1/p' >"$WORK/commands"
# One file a command, and help lists every one.
tap_is "help lists the commands" "$(wc -l <"$WORK/commands")" "$(ls src/cmd/cmd_*.c | wc -l)"
while read -r command; do
	tap_run "help $command" 0 "$ASSAY" help "$command"
	cp "$WORK/out" "$WORK/help"
	tap_is "help $command has no option twice" \
		"$(sed -nE 's/^  (-., )?(--[a-z-]+).*/\2/p' "$WORK/help" | sort | uniq -d)" ""
	[ "$command" = help ] && continue
	tap_run "$command --help" 0 "$ASSAY" "$command" --help
	tap_is "$command --help says the same" "$(cmp "$WORK/out" "$WORK/help" && echo same)" same
done <"$WORK/commands"
tap_run "help --man" 0 "$ASSAY" help --man
tap_is "the man page is up to date" "$(diff "$WORK/out" docs/assay.1 >/dev/null && echo same)" same
tap_run "ops" 0 "$ASSAY" ops
tap_like "ops lists rename2" "$WORK/out" "^rename2 +more"
tap_run "ops --json" 0 "$ASSAY" ops --json
tap_run "targets" 0 "$ASSAY" targets
tap_run "targets --bugs" 0 "$ASSAY" targets --bugs
tap_like "bugs are listed" "$WORK/out" "lab:bug=1 +semantics"
tap_run "targets --json" 0 "$ASSAY" targets --json
tap_run "doctor" 0 "$ASSAY" doctor
tap_like "doctor names the kernel" "$WORK/out" "kernel +Linux"
tap_run "doctor --json" 0 "$ASSAY" doctor --json
echo '   mkdir   /a   0755   # x' >"$WORK/ugly.txt"
tap_run "fmt --check of what is not canonical" 1 "$ASSAY" fmt --check "$WORK/ugly.txt"
"$ASSAY" fmt "$WORK/ugly.txt" >"$WORK/nice.txt"
tap_is "fmt" "$(cat "$WORK/nice.txt")" "mkdir /a 0755"
tap_run "fmt -c of what is" 0 "$ASSAY" fmt -c "$WORK/nice.txt"
tap_run "run from standard input" 0 \
	sh -c "echo 'mkdir /a 0755' | '$ASSAY' run --no-store --target lab -"
tap_run "smoke on lab" 0 "$ASSAY" run --no-store --check op examples/smoke.txt
tap_run "smoke on a directory" 0 "$ASSAY" run --no-store --target "dir:$WORK" examples/smoke.txt
left=$(find "$WORK" -mindepth 1 -maxdepth 1 -name 'assay-*' | wc -l)
tap_is "the directory is left as it was" "$left" 0
tap_run "output that cannot be written" 2 sh -c "'$ASSAY' ops >/dev/full"

# ---- Killed ----
(cd "$WORK" && exec "$ASSAY" run --no-store --deadline 3600 --target plugin:./hang.so good.txt) \
	>/dev/null 2>&1 &
assay=$!
child=
for _ in $(seq 10000); do
	child=$(tap_children "$assay" | head -n 1)
	[ -n "$child" ] && break
done
kill -KILL "$assay"
wait "$assay" 2>/dev/null
tap_run "SIGKILL leaves no child" 0 timeout 20 tail --pid="${child:-$$}" -s 0.05 -f /dev/null

# A workload that shows what an earlier one showed is not fine.
tap_run "the same finding twice" 1 "$ASSAY" run --no-store --target lab:bug=3 \
	labfs/cases/03-size-seen.txt labfs/cases/03-size-seen.txt
tap_is "the second workload is not ok" "$(grep -cE '^(FOUND|again) ' "$WORK/out")" 2
tap_done
