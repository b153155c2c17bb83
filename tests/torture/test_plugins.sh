#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Plugins that misbehave while they are loaded, and while they run: one clear line and exit status
# 2, or a finding; never a silent end, never exit status 0, nothing left running, no raw escape.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
CC=${CC:-gcc}
ASSAY=$(realpath "$ASSAY")
printf 'mkdir /a 0755\nmkdir /b 0755\nstat /a\n' >"$WORK/w.txt"
export BAD_DAEMON=299.$$ BAD_MARK=$WORK/mark

# build NAME FLAG...
build() {
	local name=$1
	shift
	"$CC" -std=gnu11 -D_GNU_SOURCE -w -fPIC -shared -fvisibility=hidden -Iinclude "$@" \
		tests/torture/bad_plugin.c -o "$WORK/$name.so" || tap_not_ok "building $name"
}

# attempt COMMAND...: in the test's folder, with a bound; the status is in $got.
attempt() {
	got=0
	rm -f "$BAD_MARK"
	(cd "$WORK" && timeout -s KILL 60 "$ASSAY" "$@") >"$WORK/out" 2>"$WORK/err" || got=$?
}

# bad WHEN WHAT: what bad.so does from now on. table WHAT: what is wrong with its table.
bad() {
	export BAD_WHEN=$1 BAD_DO=$2 BAD_TABLE=
}
table() {
	export BAD_WHEN= BAD_DO= BAD_TABLE=$1
}

clean_output() {
	! LC_ALL=C grep -q $'\033\|\007' "$WORK/out" "$WORK/err"
}

# Nothing but progress: a library may take ten seconds.
quiet_output() {
	! grep -qvE '^[0-9]+:[0-9]+, .*: memory ' "$WORK/out"
}

# refused NAME FILE REGEX: one line that matches, exit status 2.
refused() {
	attempt run -t "plugin:./$2.so" w.txt
	judge_refused "$1" "$3"
}

judge_refused() {
	if [ "$got" = 2 ] && [ "$(wc -l <"$WORK/err")" = 1 ] && grep -Eq "$2" "$WORK/err" &&
		quiet_output && clean_output; then
		tap_ok "$1 is refused"
	else
		tap_not_ok "$1 is refused" "exit status $got; wanted /$2/" \
			"$(head -n 5 "$WORK/out" "$WORK/err" | cat -v)"
	fi
}

# found NAME REGEX COMMAND...: a finding, exit status 1.
found() {
	local name=$1 regex=$2
	shift 2
	attempt "$@" -t plugin:./bad.so w.txt
	if [ "$got" = 1 ] && grep -Eq "$regex" "$WORK/out" && clean_output; then
		tap_ok "$name: $1 finds it"
	else
		tap_not_ok "$name: $1 finds it" "exit status $got; wanted /$regex/" \
			"$(head -n 8 "$WORK/out" "$WORK/err" | cat -v)"
	fi
}

# ---- While it is loaded ----
build bad

# Those that take until the deadline run beside the others.
slow=(loop sleep ignore)
for how in "${slow[@]}"; do
	(
		bad load "$how"
		got=0
		cd "$WORK" || exit
		timeout -s KILL 60 "$ASSAY" run -o "$how" -t plugin:./bad.so w.txt \
			>"slow_$how.out" 2>"slow_$how.err" || got=$?
		echo "$got" >"slow_$how.rc"
	) &
done
attempt run -t plugin:./bad.so w.txt
tap_is "the plugin itself is clean" "$got" 0

load_cases() {
	cat <<-'END'
	crash      it died of SIGSEGV while it was loaded
	abort      it died of SIGABRT while it was loaded
	raise      it died of SIGTERM while it was loaded
	kill       it died of SIGSYS while it was loaded
	exit       it called exit\(0\) while it was loaded
	exit_now   it called exit\(0\) while it was loaded
	exit_one   it called exit\(1\) while it was loaded
	handler    it called exit\(0\) while it was loaded
	END
}
while read -r how regex; do
	bad load "$how"
	refused "$how when it is loaded" bad "$regex"
done < <(load_cases)
bad load exit
attempt crash -t plugin:./bad.so w.txt
judge_refused "exit when it is loaded (crash)" "it called exit\(0\) while it was loaded"
attempt gen -t plugin:./bad.so
judge_refused "exit when it is loaded (gen)" "it called exit\(0\) while it was loaded"
attempt hunt --max-workloads 2 -t plugin:./bad.so
judge_refused "exit when it is loaded (hunt)" "it called exit\(0\) while it was loaded"
bad load crash
attempt hunt --max-workloads 2 --diff lab,plugin:./bad.so
judge_refused "crash when it is loaded (hunt --diff)" "it died of SIGSEGV while it was loaded"

# What does no harm to assay is no error.
for how in print flood chdir close daemon; do
	bad load "$how"
	attempt run -t plugin:./bad.so w.txt
	case $how:$got in
	close:2 | *:0) tap_ok "a constructor that does $how" ;;
	*) tap_not_ok "a constructor that does $how" "exit status $got" "$(cat "$WORK/err")" ;;
	esac
	if clean_output; then
		tap_ok "a constructor that does $how: no raw escapes"
	else
		tap_not_ok "a constructor that does $how: no raw escapes" "$(cat -v "$WORK/err")"
	fi
done
tap_is "no daemon is left" "$(pgrep -fc "^sleep $BAD_DAEMON")" 0
if [[ ${SAN:-} == *address* ]]; then
	tap_skip "100 GB in the constructor" "memory cannot be bounded with the address sanitizer"
else
	bad load memory
	refused "100 GB in the constructor" bad "it died of SIGABRT while it was loaded"
fi

# ---- What is no plugin ----
bad never nothing
head -c 3000 "$WORK/bad.so" >"$WORK/truncated.so"
refused "a truncated file" truncated "truncated.so: (cannot be loaded|it died of SIGBUS)"
size=$(stat -c %s "$WORK/bad.so")
worst=
for part in 1 2 3 4 5 6 7 8 9; do
	head -c $((size * part / 10)) "$WORK/bad.so" >"$WORK/part.so"
	attempt run -t plugin:./part.so w.txt
	case $got:$(wc -l <"$WORK/err") in
	0:0 | 2:1) ;;
	*) worst="$worst $part:$got" ;;
	esac
done
tap_is "cut at nine places" "$worst" ""
: >"$WORK/empty.so"
refused "an empty file" empty "empty.so: cannot be loaded"
mkdir "$WORK/folder.so"
refused "a folder" folder "folder.so: not a regular file"
mkfifo "$WORK/fifo.so"
refused "a FIFO" fifo "fifo.so: not a regular file"
ln -s loop.so "$WORK/loop.so"
refused "a link to itself" loop "loop.so: no such file"
echo 'not a library' >"$WORK/text.so"
refused "a text" text "text.so: cannot be loaded"
if ! echo 'int x;' | "$CC" -m32 -nostdlib -shared -x c - -o "$WORK/bits32.so" 2>/dev/null; then
	# The header of one says as much.
	printf '\177ELF\001\001\001' >"$WORK/bits32.so"
	head -c 5000 /dev/zero >>"$WORK/bits32.so"
fi
refused "one of 32 bits" bits32 "bits32.so: cannot be loaded: .*ELFCLASS32"
# The loader trusts whatever a header says.
seed=${SEED:-1}
end=$((SECONDS + ${TORTURE_SECONDS:-0}))
worst=
for ((i = 0; i < 12 || SECONDS < end; i++)); do
	cp "$WORK/bad.so" "$WORK/noise.so"
	for ((k = 0; k < 20; k++)); do
		seed=$(((seed * 1103515245 + 12345) & 0x7fffffff))
		printf '%b' "\\0$(printf %o $((seed >> 8 & 255)))" |
			dd of="$WORK/noise.so" bs=1 conv=notrunc status=none \
				seek=$(((seed >> 4) % size))
	done
	attempt run --deadline 2 -t plugin:./noise.so w.txt
	case $got in
	0 | 1 | 2) ;;
	*) worst="$worst $got(seed $seed)" ;;
	esac
done
tap_is "damaged libraries" "$worst" ""

# ---- Tables that are none ----
exported='__attribute__((visibility("default")))'
symbol() { # NAME FILE DEFINITION REGEX
	build "$2" "-DTABLE=$exported $3"
	refused "$1" "$2" "$4"
}
symbol "a function" function 'int as_target(void) { return 0; }' "'as_target' is not data"
symbol "one for each thread" tls '_Thread_local struct as_target_ops as_target;' \
	"'as_target' is not data"
symbol "a number" short 'unsigned as_target = AS_TARGET_API;' "'as_target' has 4 bytes"
symbol "a byte" byte 'char as_target = 1;' "'as_target' (has 1 bytes|is not aligned)"
symbol "zeros" zeros 'struct as_target_ops as_target;' "built for version 0"
odd='char as_room[900] __attribute__((aligned(16)));'
odd+=' __asm__(".globl as_target\n.type as_target,@object\n.size as_target,400\n"'
odd+=' ".set as_target,as_room+1");'
symbol "a table at an odd place" odd "$odd" \
	"'as_target' is not (data|aligned)|built for version"
while read -r what regex; do
	table "$what"
	refused "a table with a bad $what" bad "$regex"
done <<'END'
name      it died of SIGSEGV while it was loaded
no_name   its table has no name
limits    it died of SIGSEGV while it was loaded
caps      AS_CAP_HARDLINK but lacks
no_mkdir  lacks the required function 'mkdir'
size      not a multiple
END
table escape
attempt run -t plugin:./bad.so w.txt
tap_is "a name with an escape" "$got" 0

# ---- While it runs ----
for how in exit exit_now crash handler raise abort; do
	bad mkdir "$how"
	found "$how" "op 1: mkdir /a 0755: the target (died of|called exit)" run
done
bad mkdir exit
found exit "mkdir /a 0755: the target died: exit" crash
bad unmount exit
found "exit in unmount" "unmount: the target called exit\(0\)" run
for how in loop sleep stop ignore; do
	bad mkdir "$how"
	found "$how" "op 1: mkdir /a 0755: the target did not come back" run --deadline 1
done
for when in mkfs mount; do
	bad "$when" exit
	found "exit in $when" "the target called exit\(0\)" run
done
for how in print flood chdir daemon; do
	bad mkdir "$how"
	attempt run --json -t plugin:./bad.so w.txt
	wanted=0
	# A process that it leaves, and another working directory, are findings.
	case $how in daemon | chdir) wanted=1 ;; esac
	tap_is "an operation that does $how" "$got" "$wanted"
	tap_is "an operation that does $how: JSON only" "$(grep -vc '^{' "$WORK/out")" 0
done
tap_is "no daemon is left after operations" "$(pgrep -fc "^sleep $BAD_DAEMON")" 0
bad unload exit
attempt run -t plugin:./bad.so w.txt
tap_is "destructors are not run" "$got" 0
bad second_load exit
refused "harmless when looked at, bad when used" bad "setting up called exit\(0\)"
bad mkdir exit
attempt hunt --max-workloads 3 --no-reduce -o hunt1 -t plugin:./bad.so
tap_is "hunt: an operation that calls exit" "$got" 1
tap_like "hunt: it is told" "$WORK/out" "the target called exit\(0\)"

# A hunt that ran no workload is no success.
bad mkfs sleep
got=0
(cd "$WORK" && timeout --preserve-status -s INT 3 "$ASSAY" hunt --for 60s -o hunt2 \
	-t plugin:./bad.so) >"$WORK/out" 2>"$WORK/err" || got=$?
tap_is "a hunt that was stopped before its first workload" "$got" 130

# ---- The slow ones ----
wait
for how in "${slow[@]}"; do
	got=$(cat "$WORK/slow_$how.rc")
	mv "$WORK/slow_$how.out" "$WORK/out"
	mv "$WORK/slow_$how.err" "$WORK/err"
	judge_refused "$how when it is loaded" "it did not come back within 10 s while"
done
tap_done
