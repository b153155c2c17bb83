#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# assay cov record --split-by, --each, --each-of, --each-line and what is asked of the files: small
# suites with the trees of processes that xfstests' check, LTP's runltp and prove make.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
export LC_ALL=C
cd "$WORK" || exit 2
mkdir mnt
MNT=$WORK/mnt
UNDER=$MNT
export MNT

# The counts of a file alone: what else is noted depends on who looks.
counts() {
	grep '^under\|^note counted\|^call\|^part\|^bits\|^out' "$1"
}

# What is in a folder, in one line.
covs() {
	(cd "$1" && find . -name '*.cov' | sed 's,^\./,,; s,\.cov$,,' | sort | xargs)
}

# same NAME FILE FILE
same() {
	if diff <(counts "$2") <(counts "$3") >diff.txt 2>&1; then
		tap_ok "$1"
	else
		tap_not_ok "$1" "$(head -n 5 diff.txt)"
	fi
}

hows=
for how in ptrace inprocess bpf; do
	"$ASSAY" cov record --how $how -o probe.cov -- true >/dev/null 2>&1 && hows="$hows $how"
done

# ---- xfstests: check -> bash -c -> tests/generic/NNN -> programs; diff and cleaning by check ----
mkdir -p xfs/tests/generic xfs/tests/shared
cat >xfs/check <<'END'
#!/bin/bash
# $@: -g quick, or names of tests
[ "$1" = -g ] && set -- generic/001 generic/002 generic/013 shared/001 generic/001
for name; do
	seq=tests/$name
	echo -n "$name "
	oom=/proc/self/oom_score_adj
	bash -c "test -w $oom && echo 250 > $oom; exec ./$seq" &&
		echo " 1s ...  0s"
	diff -u "$seq.out" "$seq.out" >/dev/null 2>&1
	mkdir "$MNT/scratch" && rmdir "$MNT/scratch"
done
END
cat >xfs/tests/generic/001 <<'END'
#! /bin/bash
mkdir $MNT/a
rmdir $MNT/a
END
cat >xfs/tests/generic/002 <<'END'
#! /bin/bash
( ln -s nowhere $MNT/l; rm $MNT/l ) | cat
END
# What it leaves behind still belongs to it, when others have begun.
cat >xfs/tests/generic/013 <<'END'
#! /bin/bash
(while ! [ -e $MNT/go ]; do sleep 0.05; done; ln $MNT/go $MNT/late; rm -f $MNT/late $MNT/go) &
END
cat >xfs/tests/shared/001 <<'END'
#! /bin/bash
: > $MNT/go
while [ -e $MNT/go ]; do sleep 0.05; done
END
chmod +x xfs/check xfs/tests/*/*
cd xfs || exit 2
for how in $hows; do
	tap_run "xfstests, $how: each test a file" 0 "$ASSAY" cov record --how $how \
		--under "$UNDER" --split-by 'tests/([a-z]+/[0-9]+)$' -o "../xfs.$how" -- \
		./check -g quick
	tap_like "xfstests, $how: it says how many" "$WORK/out" '^../xfs.*: 4 tests, '
	tap_is "xfstests, $how: their names" \
		"$(covs "../xfs.$how")" \
		"_other _total generic/001 generic/002 generic/013 shared/001"
	cd "../xfs.$how" || exit 2
	tap_is "xfstests, $how: a test that ran twice is one test" \
		"$(grep '^call mkdir ' generic/001.cov)" "call mkdir 2"
	tap_is "xfstests, $how: what check does itself is no test's" \
		"$(grep '^call mkdir ' _other.cov)" "call mkdir 5"
	tap_is "xfstests, $how: pipes and subshells belong to their test" \
		"$(grep -c '^call symlinkat 1' generic/002.cov)" 1
	tap_is "xfstests, $how: what outlives a test belongs to it" \
		"$(grep -c '^call linkat 1' generic/013.cov)" 1
	tap_is "xfstests, $how: and not to the next" "$(grep -c '^call linkat' shared/001.cov)" 0
	"$ASSAY" cov merge _other.cov generic/*.cov shared/*.cov -o ../sum.cov >/dev/null
	same "xfstests, $how: the total is the sum" ../sum.cov _total.cov
	cd ../xfs || exit 2
done
for how in $hows; do
	for name in generic/001 generic/002; do
		same "xfstests: ptrace and $how agree on $name" \
			../xfs.ptrace/$name.cov "../xfs.$how/$name.cov"
	done
done
# The runner has its tests among its arguments, and an expression without an end matches it.
tap_run "the runner matches, too" 0 "$ASSAY" cov record --how ptrace --under "$UNDER" \
	--split-by '(generic/[0-9]+)' -o ../runner -- ./check generic/001 generic/002
tap_is "and is no test for that" \
	"$(grep -h '^call mkdir ' ../runner/_other.cov ../runner/generic/001.cov | xargs)" \
	"call mkdir 2 call mkdir 1"
tap_run "a command that is a test itself" 0 "$ASSAY" cov record --how ptrace --under "$UNDER" \
	--split-by 'tests/(generic/[0-9]+)$' -o ../single -- ./tests/generic/001
tap_is "is one" "$(grep '^call mkdir ' ../single/generic/001.cov)" "call mkdir 1"
tap_run "nothing matches" 0 "$ASSAY" cov record --how ptrace --under "$UNDER" \
	--split-by 'btrfs/([0-9]+)$' -o ../none -- ./tests/generic/001
tap_like "is a warning" "$WORK/err" 'no command was a test: nothing that was started matches btrfs'
tap_is "and nothing is lost" "$(grep '^call mkdir ' ../none/_total.cov)" "call mkdir 1"

# ---- The same from a trace ----
if command -v strace >/dev/null && strace -f -o ../probe.strace true 2>/dev/null; then
	strace -f -s 4096 -o ../check.strace ./check -g quick >/dev/null
	tap_run "a trace of strace" 0 "$ASSAY" cov read --under "$UNDER" --cwd "$PWD" \
		--split-by 'tests/([a-z]+/[0-9]+)$' -o ../xfs.strace ../check.strace
	same "strace and ptrace agree on a test" \
		../xfs.ptrace/generic/001.cov ../xfs.strace/generic/001.cov
	tap_is "strace: what outlives a test" \
		"$(grep -c '^call linkat 1' ../xfs.strace/generic/013.cov)" 1
	strace -f -s 4 -o ../cut.strace ./check generic/001 >/dev/null
	tap_run "a trace with short texts" 0 "$ASSAY" cov read --under "$UNDER" --cwd "$PWD" \
		--split-by '(generic/[0-9]+) *$' -o ../cut ../cut.strace
	tap_like "is a warning" "$WORK/err" 'command lines were not seen in full.*strace -s'
else
	tap_skip "a trace of strace" "strace is not here, or may not trace"
fi
cd ..
# event NAME PID FIELDS
event() {
	time=$((time + 1))
	printf '[10:00:00.%09d] (+0.0) h %s: { cpu_id = 0 }, { pid = %d, tid = %d }, { %s }\n' \
		$time "$1" "$2" "$2" "$3"
}
time=0
{
	event syscall_entry_execve 10 'filename = "/suite/run", argv = 1, envp = 2'
	event syscall_exit_execve 10 'ret = 0'
	event sched_process_fork 10 \
		'parent_tid = 10, parent_pid = 10, child_tid = 11, child_pid = 11'
	event syscall_entry_execve 11 'filename = "/suite/t/one.t", argv = 1, envp = 2'
	event syscall_exit_execve 11 'ret = 0'
	event syscall_entry_mkdir 11 'pathname = "/mnt/d", mode = 448'
	event syscall_exit_mkdir 11 'ret = 0'
	event syscall_entry_mkdir 10 'pathname = "/mnt/e", mode = 448'
	event syscall_exit_mkdir 10 'ret = -28'
} >lttng.txt
tap_run "a trace of LTTng" 0 "$ASSAY" cov read --under /mnt --split-by '([a-z]+)\.t$' \
	-o lttng lttng.txt
tap_is "by the program's path" "$(grep '^out mkdir' lttng/one.cov)" "out mkdir OK 1"
tap_is "the runner's own" "$(grep '^out mkdir' lttng/_other.cov)" "out mkdir ENOSPC 1"

# ---- LTP: runltp -> ltp-pan -> the test's program, found by PATH ----
mkdir -p ltp/testcases/bin ltp/bin ltp/runtest
cat >ltp/runltp <<'END'
#!/bin/sh
cd "$(dirname "$0")"
export PATH="$PWD/testcases/bin:$PATH"
mkdir "$MNT/ltp"
bin/ltp-pan runtest/syscalls
rmdir "$MNT/ltp"
END
cat >ltp/bin/ltp-pan <<'END'
#!/bin/bash
while read -r tag command; do
	case $command in
	*[\;\|\$]*) sh -c "$command" ;;
	*) $command ;;
	esac
	echo "tag=$tag exit=$?"
done <"$1"
END
printf '%s\n' "mkdir01 mkdir01" "mkdir02 mkdir02.sh -x" "gf01 growfiles -W gf01" \
	"gf02 growfiles -W gf02" \
	>ltp/runtest/syscalls
printf '#!/bin/sh\nexec mkdir $MNT/ltp/m\n' >ltp/testcases/bin/mkdir01
printf '#!/bin/sh\nrmdir $MNT/ltp/m; mkdir -m 700 $MNT/ltp/n; rmdir $MNT/ltp/n\n' \
	>ltp/testcases/bin/mkdir02.sh
printf '#!/bin/sh\n: >$MNT/ltp/f; rm $MNT/ltp/f\n' >ltp/testcases/bin/growfiles
chmod +x ltp/runltp ltp/bin/* ltp/testcases/bin/*
for how in $hows; do
	tap_run "LTP, $how: what ltp-pan starts" 0 "$ASSAY" cov record --how $how --under "$UNDER" \
		--each-of 'bin/ltp-pan' -o "ltp.$how" -- ltp/runltp
	tap_is "LTP, $how: the tests" \
		"$(cd "ltp.$how" && find . -name '*.cov' | grep -c 'testcases/bin/')" 3
	tap_is "LTP, $how: runltp is none" "$(grep '^call mkdir ' "ltp.$how/_other.cov")" \
		"call mkdir 1"
done
tap_run "LTP: by an expression with alternatives" 0 \
	"$ASSAY" cov record --how ptrace --under "$UNDER" \
	--split-by 'bin/growfiles -W (gf[0-9]+)|bin/(mkdir[0-9]+)' -o ltp.by -- ltp/runltp
tap_is "LTP: the group that matched is the name" "$(cd ltp.by && echo *.cov)" \
	"_other.cov _total.cov gf01.cov gf02.cov mkdir01.cov mkdir02.cov"

# By the tags of the list: what ltp-pan starts by a shell and what it starts by itself.
printf '%s\n' "# comment" "" "	mk02	mkdir02.sh   -x " "twice mkdir02.sh -x; mkdir02.sh -x" \
	>>ltp/runtest/syscalls
for how in $hows; do
	tap_run "LTP, $how: by the tags of a list" 0 "$ASSAY" cov record --how $how \
		--under "$UNDER" --runtest ltp/runtest/syscalls -o "tags.$how" -- ltp/runltp
	tap_is "LTP, $how: the tags" "$(covs "tags.$how")" \
		"_other _total gf01 gf02 mkdir01 mkdir02 twice"
	tap_is "LTP, $how: tests of one program apart" \
		"$(grep -c '^call unlinkat 1' "tags.$how/gf01.cov" "tags.$how/gf02.cov" | xargs)" \
		"tags.$how/gf01.cov:1 tags.$how/gf02.cov:1"
done
tap_run "LTP: a list that nothing of is started" 0 "$ASSAY" cov record --how ptrace \
	--runtest ltp/runtest/syscalls -o tags.none -- true
tap_like "LTP: is a warning" "$WORK/err" 'nothing that was started is in ltp/runtest/syscalls'
: >empty.list
tap_run "LTP: a list of nothing" 2 "$ASSAY" cov record --runtest empty.list -o tags.empty -- true
tap_like "LTP: is refused" "$WORK/err" "empty.list: no line is 'TAG COMMAND'"

# ---- pjdfstest: prove -r, each .t a process ----
mkdir -p pjd/tests/mkdir pjd/tests/link
printf '#!/bin/sh\necho 1..1\nmkdir $MNT/p && rmdir $MNT/p && echo ok 1\n' >pjd/tests/mkdir/00.t
printf '#!/bin/sh\necho 1..1\n: >$MNT/f; ln $MNT/f $MNT/g && rm $MNT/f $MNT/g && echo ok 1\n' \
	>pjd/tests/link/00.t
chmod +x pjd/tests/*/*.t
if command -v prove >/dev/null; then
	cd pjd || exit 2
	tap_run "prove: each .t a test" 0 "$ASSAY" cov record --how ptrace --under "$UNDER" \
		--split-by 'tests/([^ ]+)\.t$' -o ../pjd.by -- prove -r -j 2 tests
	tap_is "prove: their names" \
		"$(cd ../pjd.by && find . -name '00.cov' | sort | tr '\n' ' ')" \
		"./link/00.cov ./mkdir/00.cov "
	tap_run "prove: what it starts itself" 0 "$ASSAY" cov record --how ptrace --under "$UNDER" \
		--each -o ../pjd.each -- prove tests/mkdir/00.t tests/link/00.t
	tap_is "prove: by the paths of scripts" \
		"$(cd ../pjd.each && find . -name '00.t.cov' | sort | tr '\n' ' ')" \
		"./tests/link/00.t.cov ./tests/mkdir/00.t.cov "
	cd ..
else
	tap_skip "prove" "prove (perl) is not here"
fi

# ---- A list of commands ----
cat >list <<'END'
# a comment

mkdir $MNT/one; rmdir $MNT/one
mkdir01
true
./ltp/testcases/bin/growfiles
END
mkdir mnt/ltp
tap_run "each line a test" 0 env PATH="$WORK/ltp/testcases/bin:$PATH" \
	"$ASSAY" cov record --how ptrace \
	--under "$UNDER" --each-line list -o lines
rmdir mnt/ltp/m mnt/ltp
tap_is "named by the line" "$(covs lines)" "_other _total \
ltp/testcases/bin/growfiles mkdir+%24MNT/one%3B+rmdir+%24MNT/one mkdir01 true"
tap_is "one that calls nothing is there, and empty" "$(grep -c '^call' lines/true.cov)" 0
tap_run "from standard input" 0 "$ASSAY" cov record --how ptrace --under "$UNDER" --each-line - \
	-o stdin \
	<<<'mkdir $MNT/one; rmdir $MNT/one'
tap_is "and it ran" "$(grep -c '^call mkdir 1' stdin/_total.cov)" 1

# ---- Names that want out ----
cat >hostile <<'END'
#!/bin/bash
for n in ../../escape /etc/x ..  . '' _total _other .hidden a.cov/b a 'a b' $'new\nline' $'\e[31m' \
	"$(printf 'x%.0s' {1..3000})" "-o"; do
	bash -c "mkdir $MNT/h; rmdir $MNT/h" "T=$n"
done
END
chmod +x hostile
touch escape.cov && mkdir deep deep/er
tap_run "names that want out" 0 "$ASSAY" cov record --how ptrace --under "$UNDER" \
	--split-by 'T=(.*)$' -o deep/er/out -- ./hostile
tap_is "nothing outside of the folder" \
	"$(find deep -newer escape.cov -name '*.cov' | grep -vc '^deep/er/out/')" 0
tap_is "nothing beside it" "$(ls deep deep/er | tr '\n' ' ')" "deep: er  deep/er: out "
tap_is "no hidden files, no control characters" \
	"$(find deep/er/out -name '.*' -o -name '*[[:cntrl:]]*' | wc -l)" 0
tap_is "the total is ours" "$(grep '^call mkdir' deep/er/out/_total.cov)" "call mkdir 15"
tap_run "and they can all be read" 0 "$ASSAY" cov rank deep/er/out

# What is planted in the folder while a suite runs leads nowhere else.
mkdir victim
cat >planter <<'END'
#!/bin/bash
mkdir "$MNT/one"
ln -s ../victim planted/sub
ln -s ../victim/file.cov planted/two.cov
bash -c 'mkdir "$MNT/two"' X=sub/one
bash -c 'mkdir "$MNT/three"' X=two
END
chmod +x planter
"$ASSAY" cov record --how ptrace --under "$UNDER" --split-by 'X=([a-z/]+)$' -o planted -- \
	./planter >out 2>err
rmdir mnt/one mnt/two mnt/three
tap_like "a link among the files is refused" "$WORK/err" '^assay: .*sub'
tap_is "nothing is written through links" "$(ls victim)" ""

# ---- Refused ----
refused() {
	local name=$1 regex=$2
	shift 2
	tap_run "$name" 2 "$ASSAY" cov "$@"
	tap_like "$name: why" "$WORK/err" "$regex"
}
refused "a folder with something in it" 'is not empty' record --each -o xfs -- true
refused "an expression that is none" \
	'not a regular expression' record --split-by '(' -o new1 -- true
refused "two ways at once" 'either --split-by or --each' record --split-by x --each -o new2 -- true
refused "no folder" 'needs -o FOLDER' read --each lttng.txt
refused "nothing to run" 'expected -- COMMAND' record -o new3
tap_is "nothing was made" "$(ls -d new? 2>/dev/null)" ""
refused "a list that is not there" 'cannot read nolist' record --each-line nolist -o new4
ln -s /nowhere/at/all dangling
refused "a folder that cannot be made" 'dangling' record --each -o dangling/x -- true

# ---- Questions ----
tap_run "which test covers a flag" 0 \
	"$ASSAY" cov which xfs.ptrace --syscall mkdir --arg mode=S_IWOTH
tap_like "with how often" "$WORK/out" '^ +2  generic/001$'
tap_like "and what is no test's" "$WORK/out" '_other \(no test\)'
tap_run "which test covers a result" 0 "$ASSAY" cov which xfs.ptrace --syscall link --result OK
tap_like "one of four" "$WORK/out" '^link output OK: 1 of 4 tests$'
tap_run "which test makes a call" 0 "$ASSAY" cov which xfs.ptrace --syscall symlink --json
tap_is "in JSON" \
	"$(cat out)" \
	'{"tests":4,"partitions":[{"call":"symlink","space":"variants",'\
'"partition":"symlinkat","met_by":[{"test":"generic/002","count":1}]}]}'
tap_run "none covers it" 1 "$ASSAY" cov which xfs.ptrace --syscall mkdir --result ENOSPC
refused "no such value" "has no 'O_NOPE'" which xfs.ptrace --syscall open --arg flags=O_NOPE
refused "no call" 'expected --syscall' which xfs.ptrace
refused "a value where none is looked for" \
	'is for .cov which.' show lttng/one.cov --arg mode=S_IWOTH
tap_run "what a test adds" 0 "$ASSAY" cov adds xfs.ptrace generic/013
tap_like "only it links" "$WORK/out" '^  link output OK 1$'
tap_run "the same by its file" 0 "$ASSAY" cov adds xfs.ptrace ./xfs.ptrace/generic/013.cov
tap_like "is the same test" "$WORK/out" '^generic/013: .* of the 3 others'
tap_run "what a new test would add" 0 "$ASSAY" cov adds xfs.ptrace lttng/one.cov
tap_like "among those that are there" "$WORK/out" '^lttng/one: .* of the 4 others'
tap_run "all of them" 0 "$ASSAY" cov adds xfs.ptrace
tap_is "a table" "$(grep -c 'generic/\|shared/' out)" 4
refused "no such test" "has no test 'generic/999'" adds xfs.ptrace generic/999
tap_run "which few tests would do" 0 "$ASSAY" cov rank xfs.ptrace --json
# What they meet together is what the total has, less what no test meets.
"$ASSAY" cov merge xfs.ptrace/*/*.cov -o tests.cov >/dev/null
met=$("$ASSAY" cov show tests.cov |
	sed -nE 's/^all +[0-9]+ +([0-9]+) of.* +([0-9]+) of.*/\1 + \2/p')
met=$((met))
tap_like "and meet all that the tests do" "$WORK/out" "\"met\":$met,"
tap_like "to the last" "$WORK/out" "\"together\":$met\}\]\}$"
refused "an empty folder" 'no .cov files' rank xfs
head -c 100 xfs.ptrace/generic/001.cov >xfs.ptrace/generic/002.cov
refused "a damaged file among them" 'generic/002.cov: cut off' rank xfs.ptrace
tap_done
