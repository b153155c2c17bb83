#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each rule of scripts/tidy.sh must catch its seeded violation, name file and line, and say nothing
# about a clean tree. Every case is a small repository of its own.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
root=$PWD
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
gpl='/* SPDX-License-Identifier: GPL-2.0-or-later */'
mit='/* SPDX-License-Identifier: MIT */'

# A repository with one clean file in most places. One is enough: cases are undone after each run.
new_repo() {
	mkdir -p "$WORK/repo"
	cd "$WORK/repo" || exit 1
	mkdir -p scripts src/base src/model src/cli include/assay labfs tests/base
	cp "$root/scripts/tidy.sh" scripts/
	cp "$root/.clang-format" .
	printf '%s\n#ifndef ERR_H\n#define ERR_H\nint as_fail(int code);\n#endif\n' "$gpl" \
		>src/base/err.h
	printf '%s\n#include "base/err.h"\n\nint as_fail(int code)\n{\n\treturn code;\n}\n' "$gpl" \
		>src/base/err.c
	printf '%s\n#include <assay/x.h>\n#include <sys/stat.h>\n' "$gpl" >labfs/fs.c
	printf '%s\n/* x */\n' "$mit" >include/assay/x.h
	git init -q . && git add -A
	git -c user.name=t -c user.email=t@t commit -q -m start
}

# A case: NAME FILE WANTED, with the file's text on stdin. WANTED is a regular expression for the
# whole line of the violation, "" for none at all. Nothing else may be reported.
case_is() {
	local name=$1 file=$2 want=$3 got status=0
	mkdir -p "$(dirname "$file")"
	cat >"$file"
	got=$(scripts/tidy.sh 2>&1) || status=$?
	git clean -qfdx && git checkout -q .
	if [ -z "$want" ]; then
		tap_is "$name" "$status" 0
	elif [ "$status" = 1 ] && [ "$(grep -vc '^tidy: ' <<<"$got")" = 1 ] &&
		grep -Eqx -- "$want" <<<"$got"; then
		tap_ok "$name"
	else
		tap_not_ok "$name" "wanted one violation: $want" "exit status $status, got:" "$got"
	fi
}

c() { # LINE...: a C file under the GPL
	printf '%s\n' "$gpl" "$@"
}

many() { # N LINE: the line N times
	for ((i = 0; i < $1; i++)); do printf '%s\n' "$2"; done
}

new_repo
case_is "a clean tree passes" src/model/empty.c "" < <(c)

# Rooms
case_is "base may be used by all" src/model/a.c "" < <(c '#include "base/err.h"')
case_is "an arrow that is not allowed" src/model/a.c \
	'src/model/a.c:2: room model may not include disk/cow.h' < <(c '#include "disk/cow.h"')
case_is "an arrow that is" src/model/a.c "" < <(c '#include "work/op.h"')
case_is "nobody includes cli" src/run/a.c 'src/run/a.c:2: .*cli/cli.h' < <(c '#include "cli/cli.h"')
case_is "nobody includes report" src/run/a.c 'src/run/a.c:2: .*report/x.h' \
	< <(c '#include <report/x.h>')
case_is "cli includes anything" src/cli/a.c "" < <(c '#include "report/term.h"')
case_is "base includes nobody" src/base/a.c 'src/base/a.c:3: room base .*' \
	< <(c '' '#include "work/op.h"')
case_is "labfs uses only the public headers" labfs/a.c \
	'labfs/a.c:2: labfs/ may include only .* base/err.h' < <(c '#include "base/err.h"')
case_is "a room nobody drew" src/attic/a.c 'src/attic/a.c:1: room attic is not in .*' < <(c)

case_is "a private header of another room" src/model/a.c \
	'src/model/a.c:2: work/x_priv.h is private to room work' < <(c '#include "work/x_priv.h"')
case_is "a private header of one's own" src/model/a.c "" < <(c '#include "model/x_priv.h"')

# The table of arrows itself. tidy [SED]: the script, changed.
tidy() { git show HEAD:scripts/tidy.sh | sed "$1"; }
case_is "an arrow to a room above" scripts/tidy.sh 'scripts/tidy.sh:1: work is below model' \
	< <(tidy 's/^\twork$/\twork model/')
case_is "an arrow to a room that is not there" scripts/tidy.sh \
	'scripts/tidy.sh:1: model is below attic' < <(tidy 's/^\tmodel  *work$/\tmodel work attic/')
small='/^arrows() {/,/^}/c\
arrows() {\
	printf "base\\nos\\nwork\\nmodel work\\ncmd model\\n"\
}'
mkdir -p src/model src/cli src/cmd
c '#include "model/a.h"' >src/cmd/main.c
case_is "an arrow that nobody uses" scripts/tidy.sh \
	'scripts/tidy.sh:1: arrow model work is unused' < <(tidy "$small")
mkdir -p src/model src/cli src/cmd
c '#include "model/a.h"' >src/cmd/main.c
c '#include "work/op.h"' >src/model/a.c
case_is "arrows that are all used" scripts/tidy.sh "" < <(tidy "$small")

# Symbols: what is built is named in ARCHIVES.
if command -v cc >/dev/null && command -v ar >/dev/null; then
	archive() { # NAME CODE
		echo "$2" | cc -x c -c - -o "$WORK/x.o"
		rm -f "$WORK/$1"
		ar rcs "$WORK/$1" "$WORK/x.o"
	}
	archive libassay.a 'int as_a; int lab_b; static int c; int *as_d(void) { return &c; }'
	ARCHIVES=$WORK/libassay.a case_is "symbols that begin with as_" src/model/a.c "" < <(c)
	archive libassay.a 'int as_a; int accept(void) { return 0; }'
	ARCHIVES=$WORK/libassay.a case_is "a symbol that does not" src/model/a.c \
		'libassay.a:x.o: symbol accept does not begin with as_' < <(c)
	archive libtests.a 'int t_a; int as_b;'
	ARCHIVES=$WORK/libtests.a case_is "a symbol of the tests that does not begin with t_" \
		src/model/a.c 'libtests.a:x.o: symbol as_b does not begin with t_' < <(c)
	mkdir -p scripts
	archive libassay.a 'int as_a; int as_b; int as_lib_x; int *as_c(void) { return &as_a; }'
	echo 'int as_c(void); int main(void) { return as_c(); }' | cc -x c -c - -o "$WORK/main.o"
	seams() { # NAME REGEX: with the list on standard input
		cat >scripts/seams.txt
		ARCHIVES=$WORK/libassay.a PROGRAMS=$WORK/main.o \
			case_is "$1" src/model/a.c "$2" < <(c)
		rm -f scripts/seams.txt
	}
	seams "symbols that no other file uses, with reasons" "" \
		< <(printf '%s\n' '# why' 'as_a why' 'as_b why' 'as_lib_* why')
	seams "a symbol that no other file uses" \
		'scripts/seams.txt:1: as_b of x.o is used by no other file: .*' \
		< <(printf '%s\n' 'as_a why' 'as_lib_* why')
	seams "a reason for a symbol that is used" 'scripts/seams.txt:3: as_c is used' \
		< <(printf '%s\n' 'as_a why' 'as_b why' 'as_c why' 'as_lib_* why')
	seams "a reason for a symbol that is not there" 'scripts/seams.txt:4: there is no as_z' \
		< <(printf '%s\n' 'as_a why' 'as_b why' 'as_lib_* why' 'as_z why')
else
	tap_skip "symbols" "cc and ar are not here (package gcc)"
fi

# Headers
case_is "a header that needs another" src/base/a.h 'src/base/a.h:1: does not compile alone' \
	< <(c 'size_t as_a(void);')
case_is "a header of 300 lines" src/base/a.h "" < <(c "$(many 299 '/* x */')")
case_is "a header of 301 lines" src/base/a.h 'src/base/a.h:301: header of more than 300 lines' \
	< <(c "$(many 300 '/* x */')")

# Banned calls: each name of the table where it is not allowed
for name in rand srand random time gettimeofday getenv strcpy strcat sprintf vsprintf gets system \
	popen exit printf vprintf puts putchar perror as_target_library as_target_fstype \
	as_target_dir; do
	case_is "banned: $name" src/model/a.c "src/model/a.c:4: $name is banned here: .*" \
		< <(c 'void f(void)' '{' "	$name(0);" '}')
done
for name in stderr stdout; do
	case_is "banned: $name" labfs/a.c "labfs/a.c:2: $name is banned here: .*" \
		< <(c "void *f = $name;")
done
case_is "words in comments and strings are not calls" src/model/a.c "" \
	< <(c '/* time(0)' ' * rand() */' 'const char *s = "exit(1); \" system(0)"; // gets()' \
		"char q = '\"';")
case_is "code after a comment is code" src/model/a.c 'src/model/a.c:2: rand is banned here.*' \
	< <(c "/* it's */ int x = rand();")
case_is "members and longer names are not calls" src/model/a.c "" \
	< <(c 'int x = a->time(0) + b.rand() + snprintf(0) + as_time(1) + time_us;')
case_is "cli may print and exit" src/cli/a.c "" \
	< <(c 'void f(void)' '{' '	exit(printf("x"));' '}')
case_is "cli may not draw lots" src/cli/a.c 'src/cli/a.c:2: rand is banned.*' \
	< <(c 'int x = rand();')
case_is "the labfs programs may print" labfs/mkfs_main.c "" < <(c 'int x = printf("x");')
case_is "programs for others may print, and are MIT" src/dossier/emitted/a.c "" \
	< <(printf '%s\nint x = printf("x");\n' "$mit")
for file in src/target/a.c src/instance/a.c; do
	case_is "$file may ask what a target is" $file "" < <(c 'int x = as_target_library(0);')
	case_is "$file may not print" $file "$file:2: puts is banned here: .*" \
		< <(c 'int x = puts("");')
done
case_is "run may not ask what a target is" src/run/a.c 'src/run/a.c:2: as_target_dir is banned .*' \
	< <(c 'int x = as_target_dir(0);')
case_is "tests may ask the environment" tests/base/test_a.c "" < <(c 'char *x = getenv("x");')
case_is "tests may not ask the clock" tests/base/test_a.c 'tests/base/test_a.c:2: time is .*' \
	< <(c 'long x = time(0);')

# Lengths
case_is "a function of 70 lines" src/model/a.c "" < <(c 'void f(void)' '{' "$(many 68 '	g();')" '}')
case_is "a function of 71 lines" src/model/a.c 'src/model/a.c:3: function of 71 lines, at most 70' \
	< <(c 'void f(void)' '{' "$(many 69 '	g();')" '}')
case_is "three operations are no list" src/model/a.c "" < <(
	c 'int f(int code)' '{' $'\tswitch (code) {' "$(many 3 $'\tcase AS_OP_READ:')" \
		$'\t\treturn 1;' $'\tdefault:' $'\t\treturn 0;' $'\t}' '}')
case_is "a list of operations" src/model/a.c \
	'src/model/a.c:5: a list of operations: src/work/op.def has columns' < <(
	c 'int f(int code)' '{' $'\tswitch (code) {' "$(many 4 $'\tcase AS_OP_READ:')" \
		$'\t\treturn 1;' $'\tdefault:' $'\t\treturn 0;' $'\t}' '}')
case_is "100 columns" src/model/a.c "" < <(c "/*$(printf '%096d' 0)*/")
case_is "101 columns" src/model/a.c 'src/model/a.c:2: 101 columns, at most 100' \
	< <(c "/*$(printf '%097d' 0)*/")
case_is "a row of a table may go on in the next line" src/model/a.def \
	'src/model/a.def:2: 101 columns, at most 100' < <(c "ROW(\"$(printf '%094d' 0)\")")
case_is "a tab is 8 columns" src/model/a.c 'src/model/a.c:4: 101 columns, at most 100' \
	< <(c 'void f(void)' '{' "	/*$(printf '%089d' 0)*/" '}')
case_is "a letter is one column, however many bytes" src/model/a.c "" \
	< <(c "/*$(many 96 é | tr -d '\n')*/")

case_is "a file of 600 lines" src/model/a.c "" < <(c "$(many 599 '/* x */')")
case_is "a file of 601 lines" src/model/a.c 'src/model/a.c:1: file of 601 lines, at most 600' \
	< <(c "$(many 600 '/* x */')")
case_is "tests may be longer" tests/base/test_a.c "" < <(c "$(many 700 '/* x */')")

# Rooms: src/base has two files already.
fill_room() { # N FOLDER: so many tables
	mkdir -p "$2"
	for ((i = 0; i < $1; i++)); do c >"$2/t$i.def"; done
}
fill_room 42 src/base
case_is "a room of 45 files" src/base/a.c "" < <(c)
fill_room 43 src/base
case_is "a room of 46 files" src/base/a.c 'src/base:1: room of 46 files, at most 45' < <(c)
fill_room 43 src/base
case_is "a folder in a room counts for itself" src/base/part/a.c "" < <(c)
fill_room 60 tests/base
case_is "tests may be many" tests/base/a.c "" < <(c)

# The list of arrows in the design
design() { # LINE...: as it should be, and these lines
	printf '```\n'
	sed -n "/^arrows()/,/^}/s/^\t\([a-z]*\) \( *[a-z].*\)/\1 -> \2/p" scripts/tidy.sh
	printf '%s\n' "$@" '```'
}
case_is "a design with the same arrows" docs/DESIGN.md "" < <(design)
case_is "an arrow that the design has alone" docs/DESIGN.md \
	'docs/DESIGN.md:1: arrow base work is not in scripts/tidy.sh' < <(design 'base -> work')
case_is "an arrow that it lacks" docs/DESIGN.md 'docs/DESIGN.md:1: arrow model work is missing' \
	< <(design | grep -v '^model ')

# Tags and tables
mkdir -p src/model
c 'struct pair {' '	int a;' '};' >src/model/one.c
case_is "a tag twice" src/model/two.c 'src/model/two.c:2: struct pair is in src/model/one.c, too' \
	< <(c 'struct pair {' '	int b;' '};')
mkdir -p src/model
c 'struct as_disk {' '	int a;' '};' >src/model/disk_one.c
case_is "a tag twice, of a seam too" src/model/disk_two.c \
	'src/model/disk_two.c:2: struct as_disk is in src/model/disk_one.c, too' \
	< <(c 'struct as_disk {' '	int b;' '};')
case_is "a table in a function" src/model/a.c \
	'src/model/a.c:5: a table is included in a function' \
	< <(c 'int f(void)' '{' '#define ROW(x) x' '#include "work/op.def"' '	return 0;' '}')
case_is "a table outside" src/model/a.c "" < <(c '#include "work/op.def"')

# Licence, names, marks
case_is "a stray file at the root" notes.txt 'notes.txt:1: a stray file in the root folder' \
	< <(echo hello)
case_is "a test that cannot be run" tests/base/test_x.sh \
	'tests/base/test_x.sh:1: a test that cannot be run: chmod .x' \
	< <(printf '#!/bin/bash\n# SPDX-License-Identifier: GPL-2.0-or-later\n')
case_is "a private header by another name" src/model/tree_inside.h \
	'src/model/tree_inside.h:1: a private header is called X_priv.h' < <(c)
case_is "no licence" src/model/a.c 'src/model/a.c:1: wants .*GPL-2.0-or-later.*' < <(echo 'int x;')
case_is "the wrong licence" include/assay/y.h 'include/assay/y.h:1: wants .*MIT.*' < <(c)
case_is "a script wants one, too" scripts/a.sh 'scripts/a.sh:1: wants .*' < <(echo '#!/bin/sh')
case_is "a file called util" src/model/util.c 'src/model/util.c:1: no file is called .*' < <(c)
case_is "a file called common" src/model/tree_common.h 'src/model/tree_common.h:1: no file .*' \
	< <(c)
for mark in TO''DO FIX''ME X''XX; do
	case_is "a mark of unfinished work" src/model/a.c 'src/model/a.c:2: unfinished: .*' \
		< <(c "/* $mark later */")
done
case_is "a template for mkstemp is no mark" src/model/a.c "" < <(c 'char t[] = "/tmp/a-XXXXXX";')

# Layout
if command -v clang-format >/dev/null; then
	case_is "layout of a new file" src/model/a.c 'src/model/a.c:2: layout: .*' < <(c 'int   x;')
	mkdir -p src/model
	{ c 'int   old;' && many 20 '' && echo 'int fine;'; } >src/model/old.c
	git add -A && git -c user.name=t -c user.email=t@t commit -q -m old
	git -c user.name=t -c user.email=t@t commit -q --allow-empty -m later
	case_is "old lines are left in peace" src/model/old.c "" \
		< <(c 'int   old;' "$(many 20 '/* */')" 'int fine;' 'int more;')
	case_is "changed lines are not" src/model/old.c 'src/model/old.c:23: layout: .*' \
		< <(c 'int   old;' "$(many 20 '/* */')" 'int  fine;')
else
	tap_skip "layout" "clang-format is not installed"
fi
tap_done
