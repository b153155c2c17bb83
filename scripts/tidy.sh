#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# tidy.sh [FOLDER]: the rules of the house, one line a violation: file:line: what. Exit status 1 if
# there is any. BASE=COMMIT: layout is checked on the lines changed since then (default: where this
# branch left its upstream, or the commit before when it is there already).
# tests/base/test_tidy.sh proves that each rule catches what it should.
set -euo pipefail
export LC_ALL=C

FUNCTION_LINES=70
HEADER_LINES=300
FILE_LINES=600
ROOM_FILES=45
COLUMNS_MAX=100

cd "${1:-$(dirname "$0")/..}"

# Who may include whom, from the ground floor up: a room includes only what stands above its row
# here. Every room may use base, os, crew and include/assay; these, and labfs, are no arrows of a
# table. A room that is not here may not exist. Nobody but cli and cmd includes report: events go to
# sinks.
arrows() {
	cat <<-'END'
	base
	os
	crew
	progress
	work
	model     work
	gen       work model
	disk
	host      disk
	target    disk host labfs
	symptom   work model target
	mount     disk host target
	tool      disk host target
	layout    disk target labfs
	box       host target
	kernel    target
	vfs       work model host target mount
	race      work model symptom vfs progress
	reduce    work
	klog
	instance  disk host target mount tool box vfs
	trial     model disk host target vfs instance
	child     work model symptom disk host target layout box vfs race klog instance trial
	child     progress
	run       work model symptom disk host target vfs klog instance trial child progress
	supervise work symptom host target box klog instance trial child run progress
	snapshot  work model
	legal     work model target snapshot
	recover   symptom disk host target tool klog instance trial snapshot
	cuts      work disk recover progress
	recording work model disk host target mount race instance trial run snapshot legal
	recording recover cuts progress
	crash     work symptom disk host target layout race instance trial child run supervise
	crash     snapshot legal recover cuts recording progress
	scenario  work symptom target race instance child run recording crash
	hunt      work symptom gen model reduce supervise scenario progress
	check     work model symptom disk target klog instance trial child run supervise
	check     snapshot legal recording crash scenario
	calls
	trace     work calls
	record    calls trace
	cover     work calls trace
	damage    work disk host target tool box klog instance supervise snapshot trace
	fsck      work symptom disk target tool layout damage cuts recording
	cross     disk target layout snapshot damage fsck
	sym       disk target tool box layout damage fsck
	guest     work disk box supervise scenario check damage
	swarm     work target
	figure    cover
	dossier   work model disk host target vfs legal
	report    progress figure dossier
	join      cover dossier
	cli       work model symptom gen disk host target box vfs race reduce instance child run
	cli       supervise crash scenario hunt kernel cover progress figure dossier report
	cmd       work symptom gen disk target tool box vfs reduce run supervise recording crash
	cmd       scenario hunt check damage fsck cross sym guest swarm
	cmd       layout trace record cover figure dossier report join cli labfs kernel progress
	cmd       bench
	END
}

# Names that may not be used: name, where it is allowed all the same (-: nowhere), what instead.
# Places: cli (src/cli, src/cmd), mains (labfs/*_main.c, src/*/emitted, include/assay/solo*,
# examples/*/show: programs we write for others), rows (src/target, src/instance: only they ask what
# a target is), tests, bench.
banned() {
	cat <<-'END'
	rand          -                     as_choose() is the only source of chance
	srand         -                     as_choose() is the only source of chance
	random        -                     as_choose() is the only source of chance
	time          -                     as_now_us() measures; no decision may depend on a clock
	gettimeofday  -                     as_now_us() measures; no decision may depend on a clock
	getenv        tests                 options come in through the command line
	strcpy        -                     as_buf, snprintf or memcpy
	strcat        -                     as_buf
	sprintf       -                     as_buf_addf or snprintf
	vsprintf      -                     as_buf_vaddf or vsnprintf
	gets          -                     as_buf_read_file
	system        tests                 as_spawn_run
	popen         tests                 as_spawn_run
	fork          mains,tests,bench a crew (crew/crew.h), as_spawn_fork, or as_spawn_child
	vfork         mains,tests,bench a crew (crew/crew.h), as_spawn_fork, or as_spawn_child
	clone         mains,tests,bench a crew (crew/crew.h), as_spawn_fork, or as_spawn_child
	SYS_fork      mains,tests,bench a crew (crew/crew.h), as_spawn_fork, or as_spawn_child
	SYS_clone     mains,tests,bench a crew (crew/crew.h), as_spawn_fork, or as_spawn_child
	SYS_clone3    mains,tests,bench a crew (crew/crew.h), as_spawn_fork, or as_spawn_child
	exit          cli,mains,tests,bench only cli/ and cmd/ end it
	printf        cli,mains,tests,bench only cli/ and cmd/ print
	vprintf       cli,mains,tests,bench only cli/ and cmd/ print
	puts          cli,mains,tests,bench only cli/ and cmd/ print
	putchar       cli,mains,tests,bench only cli/ and cmd/ print
	perror        cli,mains,tests,bench only cli/ and cmd/ print
	stderr        cli,mains,tests,bench only cli/ and cmd/ print
	stdout        cli,mains,tests,bench only cli/ and cmd/ print
	as_target_library rows,tests        target/facts.h knows, or an instance can say
	as_target_fstype  rows,tests        target/facts.h knows, or an instance can say
	as_target_dir     rows,tests        target/facts.h knows, or an instance can say
	END
}

# The exceptions: file, name, why.
excused() {
	cat <<-'END'
	src/base/err.c    stderr  a failed assertion ends the process; nobody is left to tell
	src/os/spawn.c  fork   as_spawn_child(), which is the fork of all others
	src/os/spawn.c  vfork  a program is started; to copy this process would cost more
	src/vfs/sys_mount.c  vfork  who freezes must thaw, also when its group is killed in between
	src/box/guest.c  fork  the first process of a guest: it has no parent to die with
	src/box/sandbox_warden.c  fork  a warden outlives us, to end its box and put it away
	src/instance/folder.c  fork  the holder outlives us, to remove our folder
	src/record/record_start.c  fork  the command that is recorded; it is the user's, and goes on
	src/cli/live/live.c  fork  the ticker outlives us, to write down that we were killed
	src/record/record_ptrace.c  SYS_clone  calls of others that it looks at
	src/record/record_ptrace.c  SYS_clone3  the same
	src/swarm/slice.c  fork  a slice gets SIGTERM when we die, so that it ends in order
	src/target/server_keep.c  SYS_clone  in a new PID namespace, and without locks
	src/tool/shim/start.c  fork  inside a checker: the shim serves its forks
	src/tool/shim/stop.c  fork  inside a checker: a run goes on from where it stopped
	src/os/spawn.c  getenv  PATH, to find programs
	src/os/temp.c  getenv  TMPDIR, where temporary files belong
	src/os/sanitizer.c  getenv  how a sanitizer and the loader are told what to do
	src/cli/live/screen.c  getenv  TERM and NO_COLOR: what a terminal can do, and shall
	src/tool/shim/clock.c  time          the standing clock that checkers are given
	src/tool/shim/clock.c  gettimeofday  the same
	tests/tool/tool_subject.c  time          asks the clock that it is given
	tests/tool/tool_subject.c  gettimeofday  the same
	src/tool/shim/start.c  getenv        how a preloaded object learns what it is for
	END
}

# Lists of operations: what such a list knows is a column of src/work/op.def, so that a new
# operation has one row and no place to be forgotten. Those that are left: file, why.
code_lists() {
	cat <<-'END'
	src/race/graph.c        what a failed call leaves as it was, though its success is seen
	src/legal/legal_data.c  what an executor makes of several writes
	src/legal/legal_rest.c  which calls make files share blocks
	src/gen/steer.c         which numbers of an operation are a place in a file
	src/gen/places.c        the same, of those that a second file gets
	src/gen/reuse.c         what operations on a file must not be torn apart by
	src/child/child_kfail.c what cannot be done again
	src/check/expand.c      what a fault ends
	END
}

# ---- What is looked at ---------------------------------------------------------------------------

all_files() {
	git ls-files -co --exclude-standard | grep -Ev '^tests/(golden|fuzz/corpus)/' |
		while IFS= read -r file; do
			if [ -f "$file" ]; then printf '%s\n' "$file"; fi
		done
}

mapfile -t files < <(all_files)
pick() { # REGEX: the files whose names match
	printf '%s\n' "${files[@]}" | grep -E -- "$1" || true
}
mapfile -t c_files < <(pick '\.[ch]$')
mapfile -t headers < <(pick '\.h$')
mapfile -t texts < <(pick '\.([ch]|def|sh)$|(^|/)Makefile$|^\.ci/')
mapfile -t lines < <(pick '\.([ch]|def|sh)$|(^|/)Makefile$|^\.ci/')
none=/dev/null # an empty list must not make awk or grep read stdin

# ---- The rules -----------------------------------------------------------------------------------

check_rooms() {
	# Arrows that nobody needs are looked for where all the files are.
	awk -v whole="$([ -f src/cmd/main.c ] && echo 1 || echo 0)" '
	FILENAME == "-" {
		for (i = 2; i <= NF; i++) {
			may[$1, $i] = 1
			if (!($i in room) && $i != "labfs" && $i != "bench")
				print "scripts/tidy.sh:1: " $1 " is below " $i
		}
		room[$1] = 1
		next
	}
	FNR == 1 { split(FILENAME, part, "/"); from = part[1] == "src" ? part[2] : part[1] }
	FNR == 1 && part[1] == "src" && !(from in room) {
		print FILENAME ":1: room " from " is not in the table of scripts/tidy.sh"
	}
	/^[ \t]*#[ \t]*include[ \t]*["<]/ {
		quoted = match($0, /include[ \t]*"/)
		path = $0
		sub(/^[^"<]*["<]/, "", path)
		sub(/[">].*/, "", path)
		if (!index(path, "/"))
			next
		to = path
		sub(/\/.*/, "", to)
		if (to == from || to == "assay" || from == "tests" || from == "bench")
			next
		if (!quoted && !(to in room) && to != "labfs")
			next
		if (from == "labfs" || from == "include" || from == "examples") {
			print FILENAME ":" FNR ": " from "/ may include only <assay/...>, not " path
		} else if (to == "os" || to == "crew" ? from == "base" || from == "os" : \
				to != "base" && !((from, to) in may)) {
			print FILENAME ":" FNR ": room " from " may not include " path
		} else if (path ~ /_priv\.h$/) {
			print FILENAME ":" FNR ": " path " is private to room " to
		}
		used[from, to] = 1
	}
	END {
		for (pair in may) {
			split(pair, part, SUBSEP)
			if (whole && !(pair in used))
				print "scripts/tidy.sh:1: arrow " part[1] " " part[2] " is unused"
		}
	}' - "${c_files[@]}" < <(arrows)
}

# The design lists the same arrows: "room -> room room", and on the next lines more of them.
check_design() {
	[ -f docs/DESIGN.md ] || return 0
	diff <(arrows | awk '{ for (i = 2; i <= NF; i++) print $1, $i }' | sort) \
		<(awk '!/^ / { from = $2 == "->" ? $1 : "" }
		from != "" { for (i = /^ / ? 1 : 3; i <= NF; i++) print from, $i }' \
			docs/DESIGN.md | sort) |
		sed -nE 's|^< (.*)|docs/DESIGN.md:1: arrow \1 is missing|p
			s|^> (.*)|docs/DESIGN.md:1: arrow \1 is not in scripts/tidy.sh|p'
}

# Headers must bring what they need.
check_headers_alone() {
	local cc vg header valgrinds='^src/sym/vg/(code|core|vg)\.h$'
	cc=$(command -v gcc || command -v clang || true)
	if [ -z "$cc" ]; then
		echo "tidy: neither gcc nor clang is here: headers were not compiled" >&2
		return
	fi
	printf '%s\0' "${headers[@]}" | grep -zvE "$valgrinds" |
		xargs -0 -r -n 1 -P "$(nproc)" sh -c '
		"$0" -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Isrc -Iinclude -I. -fsyntax-only \
			-include "$1" -x c /dev/null >/dev/null 2>&1 ||
			echo "$1:1: does not compile alone"' "$cc" | sort
	# The Valgrind tool's headers are written against that package's, not the house's.
	vg=$(pkg-config --variable=includedir valgrind 2>/dev/null || true)
	if [ ! -f "$vg/pub_tool_basics.h" ]; then
		echo "tidy: valgrind is not here: headers of src/sym/vg were not compiled" >&2
		return
	fi
	for header in $(pick "$valgrinds"); do
		"$cc" -std=gnu11 -Wall -Wextra -DVGA_amd64=1 -DVGO_linux=1 -DVGP_amd64_linux=1 \
			-DVGPV_amd64_linux_vanilla=1 -Isrc/sym/vg -isystem "$vg" -fsyntax-only \
			-include "$header" -x c /dev/null >/dev/null 2>&1 ||
			echo "$header:1: does not compile alone"
	done
}

# Comments and the insides of strings are blanked first, so that only code is judged.
check_banned() {
	awk '
	function blank(line,   out, at, s) {
		out = ""
		while (line != "") {
			if (in_comment) {
				at = index(line, "*/")
				if (!at) return out
				line = substr(line, at + 2)
				in_comment = 0
				continue
			}
			if (!match(line, /["\047]|\/[*\/]/)) return out line
			out = out substr(line, 1, RSTART - 1)
			s = substr(line, RSTART, RLENGTH)
			line = substr(line, RSTART + RLENGTH)
			if (s == "//") return out
			if (s == "/*") { in_comment = 1; continue }
			while (line != "") {
				at = substr(line, 1, 1)
				line = substr(line, at == "\\" ? 3 : 2)
				if (at == s) break
			}
			out = out s s
		}
		return out
	}
	FILENAME == "-" && $1 == "--" { excuses = 1; next }
	FILENAME == "-" && excuses { excused[$1, $2] = 1; next }
	FILENAME == "-" {
		where[$1] = "," $2 ","
		why = $0
		sub(/^[^ ]+ +[^ ]+ +/, "", why)
		instead[$1] = why
		next
	}
	FNR == 1 {
		in_comment = 0
		place = "engine"
		if (FILENAME ~ /^src\/(cli|cmd)\//) place = "cli"
		else if (FILENAME ~ /^labfs\/.*_main\.c$|^src\/[^\/]*\/emitted\//) place = "mains"
		else if (FILENAME ~ /^include\/assay\/solo|^examples\/.*\/show\//) place = "mains"
		else if (FILENAME ~ /^src\/(target|instance)\//) place = "rows"
		else if (FILENAME ~ /^tests\//) place = "tests"
		else if (FILENAME ~ /^bench\//) place = "bench"
	}
	{
		code = blank($0)
		while (match(code, /[A-Za-z_][A-Za-z0-9_]*/)) {
			name = substr(code, RSTART, RLENGTH)
			before = RSTART > 1 ? substr(code, RSTART - 1, 1) : ""
			code = substr(code, RSTART + RLENGTH)
			if (!(name in where) || before == "." || before == ">") continue
			if (name !~ /^(std|SYS_)/ && code !~ /^[ \t]*\(/) continue
			if (index(where[name], "," place ",")) continue
			if ((FILENAME, name) in excused) continue
			print FILENAME ":" FNR ": " name " is banned here: " instead[name]
		}
	}' - "${c_files[@]}" < <(banned && echo -- && excused)
}

# How something ended is put into words in one place; others read them: in a summary, and in what a
# checker's run is said to have printed.
check_ended_words() {
	grep -nE '"[^"]*\<(died of|called exit)\>' /dev/null "${c_files[@]}" |
		grep -E '^src/' | grep -Ev '^src/crew/ended\.[ch]:' |
		grep -Ev '^src/(dossier/solo/solo_call|symptom/checker_words)\.c:' |
		grep -vE '^[^:]*:[0-9]+:[[:space:]]*(/?\*|//)' |
		sed -E 's|^([^:]*:[0-9]+):.*|\1: how something ended is said by as_ended_words()|'
	return 0
}

# In this layout a function opens with a brace alone in the first column and closes with one.
check_function_length() {
	awk -v max="$FUNCTION_LINES" '
	FNR == 1 { start = 0 }
	/^\{/ { start = FNR }
	/^\}/ && start {
		n = FNR - start + 1
		if (n > max) print FILENAME ":" start ": function of " n " lines, at most " max
		start = 0
	}' $none "${c_files[@]}"
}

check_header_length() {
	awk -v max="$HEADER_LINES" '
	FNR == max + 1 { print FILENAME ":" FNR ": header of more than " max " lines" }
	' $none "${headers[@]}"
}

# Programs that we write for others are one file by nature.
check_file_length() {
	local file
	for file in $(pick '^(src|labfs|bench)/.*\.c$' | grep -v '/emitted/'); do
		awk -v max="$FILE_LINES" 'END {
			if (FNR > max) print FILENAME ":1: file of " FNR " lines, at most " max
		}' "$file"
	done
}

# A folder that holds more than one subject is cut. What is built apart (shims, the Valgrind tool)
# is in folders of its own.
check_room_size() {
	pick '^src/.*\.([ch]|def)$' | awk -v max="$ROOM_FILES" '
	{ sub(/\/[^\/]*$/, ""); n[$0]++ }
	END {
		for (room in n)
			if (n[room] > max)
				print room ":1: room of " n[room] " files, at most " max
	}'
}

# Two structs with one name mislead a reader (and a debugger).
check_tags() {
	local -a product
	mapfile -t product < <(pick '^(src|labfs|include)/.*\.[ch]$' | grep -v '/emitted/')
	awk '
	match($0, /^(struct|union|enum) [A-Za-z_0-9]+ \{/) {
		if ($2 in first)
			print FILENAME ":" FNR ": " $1 " " $2 " is in " first[$2] ", too"
		else
			first[$2] = FILENAME
	}' $none "${product[@]}"
}

# A table that is read into the middle of a function hides the function.
check_tables_outside() {
	awk '
	FNR == 1 { inside = 0 }
	/^\{/ { inside = 1 }
	/^\}/ { inside = 0 }
	inside && FILENAME !~ /^tests/ && /^[ \t]*#[ \t]*include[ \t]*".*\.def"/ {
		print FILENAME ":" FNR ": a table is included in a function"
	}' $none "${c_files[@]}"
}

# Four operations in a row are a list (code_lists() above).
check_code_lists() {
	local -a engine
	mapfile -t engine < <(pick '^src/.*\.c$')
	awk '
	FILENAME == "-" { excused[$1] = 1; next }
	/^[ \t]*case AS_OP_[A-Z0-9_]+:/ {
		if (++n == 4 && !(FILENAME in excused))
			print FILENAME ":" FNR - 3 \
				": a list of operations: src/work/op.def has columns"
		next
	}
	{ n = 0 }' - "${engine[@]}" < <(code_lists)
}

# What the library exports begins with as_ (labfs: lab_; the library of the tests: t_). ARCHIVES
# names what was built.
check_symbols() {
	local archive name prefix
	for archive in ${ARCHIVES:-}; do
		name=$(basename "$archive")
		prefix=as_
		[ "$name" != libtests.a ] || prefix=t_
		nm -A --defined-only -g "$archive" 2>/dev/null |
			awk -v archive="$name" -v prefix=$prefix '
			NF != 3 || index($3, prefix) == 1 { next }
			prefix != "as_" || $3 !~ /^lab_/ {
				object = $1
				sub(/^[^:]*:/, "", object)
				sub(/:.*/, "", object)
				print archive ":" object ": symbol " $3 \
					" does not begin with " prefix
			}'
	done
}

# What no other object uses is static, dead, or in scripts/seams.txt with its reason. PROGRAMS names
# the objects that are linked with the first archive, where all optional parts are built; a symbol
# that only a part uses which is not built here would be missed.
check_seams() {
	local archive=${ARCHIVES:-}
	archive=${archive%% *}
	[ -n "${PROGRAMS:-}" ] && [ -f scripts/seams.txt ] || return 0
	# shellcheck disable=SC2086 # words
	nm -A -g "$archive" $PROGRAMS 2>/dev/null | awk '
	FILENAME != "-" && !/^#/ && NF { why[$1] = FNR }
	FILENAME != "-" { next }
	NF > 1 && ($(NF - 1) == "U" || $(NF - 1) == "w") { used[$NF] = 1 }
	NF == 3 && $2 ~ /^[TDBRVWC]$/ && $3 != "main" {
		object = $1
		sub(/:[^:]*$/, "", object)
		sub(/.*[:\/]/, "", object)
		where[$3] = object
	}
	END {
		for (name in where) {
			row = name
			for (form in why)
				if (sub(/\*$/, "", form) && index(name, form) == 1)
					row = form "*"
			if (!(name in used) && !(row in why))
				print "scripts/seams.txt:1: " name " of " where[name] \
					" is used by no other file: static, dead, or a row here"
			else if ((name in used) && (name in why))
				print "scripts/seams.txt:" why[name] ": " name " is used"
		}
		for (name in why)
			if (name !~ /\*$/ && !(name in where))
				print "scripts/seams.txt:" why[name] ": there is no " name
	}' scripts/seams.txt - | sort
}

check_root() {
	pick '\.(orig|rej|bak|swp)$|~$' |
		sed 's/$/:1: a file that an editor or a merge left/' || true
	pick '^[^/]+$' | grep -vxE '\.clang-format|\.gitignore|LICENSE|Makefile|README\.md' |
		sed 's/$/:1: a stray file in the root folder/' || true
	pick '^tests/[^/]+/test_[^/]*\.sh$' | while read -r script; do
		[ -x "$script" ] || echo "$script:1: a test that cannot be run: chmod +x"
	done
}

# Columns as an editor shows them: tabs to the next stop of 8, a UTF-8 character is one.
check_line_length() {
	awk -v max="$COLUMNS_MAX" '
	length($0) > max || /\t/ {
		n = split($0, part, "\t")
		width = 0
		for (i = 1; i <= n; i++) {
			gsub(/[\200-\277]/, "", part[i])
			width += length(part[i])
			if (i < n) width += 8 - width % 8
		}
		if (width > max) print FILENAME ":" FNR ": " width " columns, at most " max
	}' $none "${lines[@]}"
}

# What goes into the work of others (the plugin header, examples, emitted programs) is MIT, all
# else is the GPL.
check_licence() {
	awk '
	function judge() {
		want = name ~ /^(include|examples)\/|\/emitted\// ? "MIT" : "GPL-2.0-or-later"
		if (found != want)
			print name ":1: wants \"SPDX-License-Identifier: " want "\" at its head"
	}
	FNR == 1 { if (name != "") judge(); name = FILENAME; found = "" }
	FNR <= 2 && match($0, /SPDX-License-Identifier: [^ ]+/) {
		found = substr($0, RSTART + 25, RLENGTH - 25)
	}
	END { if (name != "") judge() }' "${texts[@]:-$none}"
}

check_names() {
	pick '(^|[/_.-])(utils?|common)([_.-][^/]*)?$' |
		sed 's/$/:1: no file is called util or common/'
	pick '_(inside|internal|private)\.h$' | sed 's/$/:1: a private header is called X_priv.h/'
}

check_marks() {
	# Split, so that this line does not find itself.
	grep -HnwE 'TO''DO|FIX''ME|X''XX' $none "${texts[@]}" |
		sed -E 's/^([^:]+:[0-9]+):.*/\1: unfinished: finish it, or write an issue/' || true
}

# ---- Layout of what has changed ------------------------------------------------------------------

base_commit() {
	local upstream base
	if [ -n "${BASE:-}" ]; then
		echo "$BASE"
		return
	fi
	for upstream in '@{upstream}' origin/HEAD origin/main main; do
		base=$(git merge-base HEAD "$upstream" 2>/dev/null) || continue
		if [ "$base" != "$(git rev-parse HEAD)" ]; then
			echo "$base"
			return
		fi
	done
	git rev-parse --verify -q HEAD^ || git hash-object -t tree /dev/null
}

# "FILE --lines=a:b" for each changed range; "FILE" alone for a file git does not know yet.
changed_ranges() {
	git ls-files -o --exclude-standard -- '*.c' '*.h' ':!tests/golden'
	git diff -U0 --no-color --no-ext-diff --diff-filter=d "$1" -- '*.c' '*.h' ':!tests/golden' |
		awk '/^\+\+\+ / { file = substr($2, 3) }
		/^@@/ {
			split(substr($3, 2), r, ",")
			n = r[2] == "" ? 1 : r[2]
			if (n) print file " --lines=" r[1] ":" r[1] + n - 1
		}'
}

check_layout() {
	local file ranges
	if ! command -v clang-format >/dev/null; then
		echo "tidy: clang-format is not here: the layout was not checked" >&2
		return
	fi
	changed_ranges "$(base_commit)" |
		awk '$1 !~ /^tests\/golden\// { all[$1] = all[$1] " " $2 }
			END { for (f in all) print f all[f] }' | sort |
		while read -r file ranges; do
			# shellcheck disable=SC2086 # ranges are words
			clang-format $ranges -- "$file" | diff -- "$file" - |
				sed -nE "s|^([0-9]+).*|$file:\1: layout: run clang-format|p" ||
				true
		done
}

# ---- All of them ---------------------------------------------------------------------------------

violations=$(
	check_layout
	check_rooms
	check_design
	check_headers_alone
	check_banned
	check_ended_words
	check_function_length
	check_header_length
	check_file_length
	check_room_size
	check_tags
	check_tables_outside
	check_code_lists
	check_symbols
	check_seams
	check_root
	check_line_length
	check_licence
	check_names
	check_marks
)
if [ -n "$violations" ]; then
	printf '%s\n' "$violations"
	echo "tidy: $(printf '%s\n' "$violations" | wc -l) violations"
	exit 1
fi
echo "tidy: ${#files[@]} files, nothing to complain about"
