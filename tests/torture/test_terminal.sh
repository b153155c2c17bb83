#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Text from outside that a terminal would obey: in names of files, in what plugins, servers and
# kernels print, in workloads, findings, states of hunts and traces. None of it may come out as it
# went in, neither on the terminal nor in what is kept; all that comes out is UTF-8.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
CC=${CC:-gcc}
ASSAY=$(realpath "$ASSAY")
cases=$PWD/labfs/cases
"$CC" -std=gnu11 -D_GNU_SOURCE -w -fPIC -shared -fvisibility=hidden -Iinclude \
	tests/torture/bad_plugin.c -o "$WORK/bad.so" || tap_not_ok "building the plugin"
cd "$WORK" || exit 2

# C0, DEL, C1 as a byte and as UTF-8, what turns the writing around; a newline may come out only
# where assay ends a line.
BAD=$'\e]0;t\a\e[31m\xc2\x9b31m\x9b\xe2\x80\xae\xe2\x81\xa6\xff\x7f\r'
obeyed='[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae\x8b-\x8f]|\xe2\x81[\xa6-\xa9]'

# clean NAME FILE...: nothing in them that a terminal obeys, and all is UTF-8.
clean() {
	local name=$1 file bad=
	shift
	for file; do
		if LC_ALL=C grep -aqP "$obeyed" "$file"; then bad="$bad $file: obeyed;"; fi
		if ! iconv -f UTF-8 -t UTF-8 "$file" >/dev/null 2>&1; then
			bad="$bad $file: not UTF-8;"
		fi
	done
	if [ -z "$bad" ]; then
		tap_ok "$name"
	else
		tap_not_ok "$name" "$bad" "$(cat -v "$@" | head -n 12)"
	fi
}

# says NAME COMMAND...: whatever comes of it, it is fit to be read, and an error is one line.
says() {
	local name=$1 got=0 lines
	shift
	timeout -s KILL 60 "$ASSAY" "$@" >out 2>err </dev/null || got=$?
	clean "$name" out err
	lines=$(grep -c '^assay: ' err)
	if [ "$got" -gt 3 ] || { [ "$got" -ge 2 ] && [ "$lines" != 1 ]; }; then
		tap_not_ok "$name: an error is one line" "exit status $got" "$(cat -v err)"
	fi
}

# ---- Names on the command line ----
NAME="n$BAD"$'\n'x
printf 'mkdir /a 0755\nmkdir /a 0755\n' >"$NAME"
printf 'frobnicate %s\n' "$BAD" >bad.txt
says "a command" "$NAME"
says "an option" run "--$NAME"
for command in run crash fmt emit-c "import --from strace" "disk info" "recover -t ext2" \
	"cov read" "cov show" "cov record --" replay reduce "gen -p" "hunt -t lab --resume -o" \
	"hunt --resume -t" "gen -t" "run -t" help bench; do
	# shellcheck disable=SC2086 # words
	says "a file that is not there: $command" $command "./$NAME.no"
	# shellcheck disable=SC2086
	says "a file of that name: $command" $command "$NAME"
done
for option in --target --size --fault --sweep --scenario --known --list --deadline --uml \
	--uml-core --sandbox --check; do
	says "a value of run $option" run --no-store -t lab "$option=$BAD" "$NAME"
done
says "a plugin of that name" run -t "plugin:./$NAME.so" "$NAME"
says "a folder of that name" run -t "dir:/$NAME" "$NAME"
says "a command of that name" run -t "fuse:./$NAME {mnt} {src}" "$NAME"
says "a workload of that name" run --no-store -t lab "$NAME"
says "noise in a workload" run -t lab bad.txt

# ---- Findings: what a plugin logs and prints, names, workloads, their names ----
printf '@workload "w%b"\n@about "%b"\nmkdir "/%b" 0755\n' '\\x1b[31m`' '\\xc2\\x9b' \
	'\\x1b[2J\\xe2\\x80\\xae\\xff' >w.txt
cp w.txt "w$BAD.txt"
BAD_WHEN=mkdir BAD_DO=log says "a plugin that logs" run -t plugin:./bad.so "w$BAD.txt"
tap_like "it was found" out "bad-outcome-"
folder=$(echo assay.out/findings/bad-*)
for file in README.md finding.json workload.txt repro.c; do
	clean "$file of the finding" "$folder/$file"
done
BAD_WHEN=mkdir BAD_DO=log says "as JSON" run --json -t plugin:./bad.so "w$BAD.txt"
if command -v jq >/dev/null; then
	tap_is "as JSON: all of it is" "$(jq -es length out >/dev/null && echo yes)" yes
else
	tap_skip "as JSON: all of it is" "jq is not installed"
fi
# Outside of the quotations of README.md nothing of the hostile text is left.
awk '/^```+$/ { if (fence == "") fence = $0; else if ($0 == fence) fence = ""; next }
	fence == ""' "$folder/README.md" >page
if grep -q 'script\|^# heading' page; then
	tap_not_ok "README.md: hostile text stays quoted" "$(cat page)"
else
	tap_ok "README.md: hostile text stays quoted"
fi
# A program that somebody else's names cannot add to, and that compiles.
cat >names.txt <<-'END'
	mkdir "/\"); system(\"touch pwned\"); //" 0755
	mkdir "/??/ */ %s %n \n#error" 0755
	mkdir "/\\\n\x22" 0755
	symlink "*/ int x; /*" /b
END
tap_run "emit-c of hostile names" 0 "$ASSAY" emit-c names.txt
mv out repro.c
for standard in gnu11 c99; do
	tap_run "it compiles ($standard)" 0 "$CC" "-std=$standard" -D_GNU_SOURCE -Wall repro.c \
		-o repro
done
mkdir room
./repro room >out 2>err
tap_is "it runs nothing else" "$(ls -d pwned room/pwned 2>/dev/null)" ""

# What is good passes the filter unchanged, wherever a buffer ends.
for ((i = 0; i < 3000; i++)); do
	printf 'mkdir /\xc3\xa9%d\xe2\x82\xac\xf0\x9f\x90\xa7 0755\n' "$i"
done >letters.txt
tap_run "letters of many alphabets" 0 "$ASSAY" fmt letters.txt
tap_is "they come out as they went in" "$(cmp out letters.txt && echo same)" same
printf '@target "lab"\nmkdir /\xe2\x82' >cut.txt
says "a text that is cut" fmt cut.txt

# ---- Somebody else's JSON ----
mkdir -p f
cp "$cases/02-append.txt" f/workload.txt
printf '%s' '{"id":"\u001b[31m\u009b\u202e\nx","target":"lab:bug=2","options":"check=end",' \
	'"signature":"\u001b]0;t\u0007","summary":"\u009b31m\n\u202e","kind":"data"}' \
	>f/finding.json
says "a hostile finding" replay f
says "a hostile finding, reduced" reduce f
sed -i 's/check=end/check=\\u001b[31m/' f/finding.json
says "its options" replay f
sed -i 's/"id":"[^"]*"/"id":"lab-data-00000000"/; s/check=..001b.31m/check=end/' f/finding.json
sed -i 's/lab:bug=2/plugin:.\\u001b[31m\\u202e.so/' f/finding.json
says "its target" replay f
tap_like "its target is told, escaped" err 'run the plugin \.\\x1b\[31m\\u\{202e\}\.so'
says "a hunt" hunt -t lab:bug=2 -o h --max-workloads 3 --no-reduce
sed -i 's/"signature":"/&\\u001b[31m\\u009b\\u202e/; s/"id":"/&\\u001b[2J/' h/hunt/state.json
says "a hostile state" hunt -o h --resume --max-workloads 3 --no-reduce
sed -i 's/"words":\[/&"--\\u001b[31m",/' h/hunt/state.json
says "hostile options of a hunt" hunt -o h --resume --max-workloads 3 --no-reduce

# ---- Servers ----
cat >server <<-'END'
	#!/bin/sh
	printf '\033]0;t\007\033[31m \302\233 \233 \342\200\256 ```\n' >&2
	exit 1
END
chmod +x server
says "a FUSE server" run -t "fuse:$PWD/server {mnt} {src}" w.txt

# ---- Traces ----
printf '10 openat(AT_FDCWD, "/mnt/%s", O_RDWR|O_CREAT, 0644) = 3\n10 wri%ste(3, "", 1) = 1\n' \
	"$BAD" "$BAD" >trace
printf '10 \033[31mopen(1) = 0\n%s\n10 write(3, "x"..., 4096) = 4096\n' "$BAD" >>trace
cp trace "trace$BAD"
says "a trace" cov read --max-unknown 100 "trace$BAD" -o "c$BAD.cov"
clean "its counts" "c$BAD.cov"
for how in "" --json --csv "--html page.html" "--svg ."; do
	# shellcheck disable=SC2086 # words
	says "cov show $how" cov show "c$BAD.cov" $how
done
clean "the page" page.html
cp "c$BAD.cov" 'c<script>"&.cov'
says "a page of a file with HTML in its name" cov show 'c<script>"&.cov' --html page.html
tap_is "it is text in the page" "$(grep -c 'c<script>' page.html)" 0
sed 's/"openat"/"op\\u001b[31m\\u009b\\u202een"/' "c$BAD.cov" >hostile.cov
says "hostile counts" cov show hostile.cov
says "hostile counts, untested" cov untested hostile.cov
tap_done
