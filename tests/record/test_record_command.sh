#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay cov record` as a person uses it: which way is chosen and said, exit status, interrupts, the
# death of the recorder, wrong use.
. tests/tap.sh

tree=$WORK/tree
under=$tree
cov=$WORK/x.cov
mkdir "$tree"

ways=
for how in ptrace inprocess bpf; do
	if "$ASSAY" cov record --how $how -o "$cov" -- true >/dev/null 2>"$WORK/why"; then
		ways="$ways $how"
	else
		tap_skip "recording by $how" "$(head -n 1 "$WORK/why")"
	fi
done

tap_run "the way is chosen" 3 "$ASSAY" cov record --under "$under" -o "$cov" -- \
	sh -c "mkdir $tree/d; echo text >$tree/d/f; rm -r $tree/d; exit 3"
tap_like "it says which" "$WORK/err" \
	'^assay: recording with (eBPF|code in its processes \(.*\)|ptrace \(.*\))$'
tap_like "the command's exit status is told" "$WORK/err" '^assay: sh ended with exit status 3$'
tap_like "what was called is counted" "$WORK/out" ' calls counted$'
tap_run "the file can be read" 0 "$ASSAY" cov show --syscall mkdir "$cov"
tap_like "a mkdir" "$WORK/out" '^ +mkdir +1$'

for how in $ways; do
	# The command interrupts whoever records it, and waits to be told to end.
	tap_run "$how: an interrupt" 130 "$ASSAY" cov record --how "$how" --under "$under" \
		-o "$cov" -- bash -c "mkdir $tree/i; kill -INT \$PPID; while :; do :; done"
	rmdir "$tree/i"
	tap_like "$how: it is passed on" "$WORK/err" '^assay: bash died of SIGINT$'
	tap_like "$how: the counts are partial" "$WORK/err" '^assay: interrupted: .* PARTIAL$'
	tap_run "$how: what there is can be shown" 0 "$ASSAY" cov show --syscall mkdir "$cov"
	tap_like "$how: up to the interrupt" "$WORK/out" '^ +mkdir +1$'
	tap_like "$how: and says that it is partial" "$WORK/err" 'PARTIAL: .*interrupted'

	# Deaf to interrupts: the second one ends it.
	tap_run "$how: two interrupts" 137 timeout 60 \
		"$ASSAY" cov record --how "$how" -o "$cov" -- \
		bash -c 'trap "" TERM HUP; kill -TERM $PPID; kill -HUP $PPID; while :; do :; done'
	tap_like "$how: kill it" "$WORK/err" '^assay: bash died of SIGKILL$'

	tap_run "$how: no such command" 127 \
		"$ASSAY" cov record --how "$how" -o "$cov" -- /no/such
	tap_is "$how: in one line" "$(cat "$WORK/err")" \
		"assay: cannot run /no/such: No such file or directory"
	tap_run "$how: what is no program" 126 "$ASSAY" cov record --how "$how" -o "$cov" -- "$tree"
	tap_run "$how: nowhere to write" 125 "$ASSAY" cov record --how "$how" -o /no/such/x -- true
	for status in 0 1 2 77 125 255; do
		tap_run "$how: status $status is handed on" $status \
			"$ASSAY" cov record --how "$how" -o "$cov" -- sh -c "exit $status"
	done
	for signal in KILL SEGV TERM; do
		tap_run "$how: so is death by SIG$signal" $((128 + $(kill -l $signal))) \
			"$ASSAY" cov record --how "$how" -o "$cov" -- sh -c "kill -$signal \$\$"
	done
	tap_is "$how: standard input passes through" \
		"$(echo text | "$ASSAY" cov record --how "$how" -o "$cov" -- cat 2>/dev/null |
			head -n 1)" text
done

# The recorder is killed: what it traced by ptrace could not go on without it.
for how in ${ways% bpf}; do
	"$ASSAY" cov record --how "$how" -o "$cov" -- \
		bash -c 'echo $$ >'"$WORK"'/pid; kill -KILL $PPID; while :; do :; done' \
		>/dev/null 2>&1
	gone=no
	for _ in $(seq 100); do
		kill -0 "$(cat "$WORK/pid")" 2>/dev/null || { gone=yes; break; }
		read -rt 0.1 <> <(:) || true
	done
	tap_is "$how: a killed recorder takes its tracees with it" "$gone" yes
done

# A static program among others, below another root, with nothing of its own environment: all ways
# come to the same counts.
counted() { # HOW COMMAND...: the counts, without where they are from
	local how=$1
	shift
	rm -rf "$tree/made"
	"$ASSAY" cov record --how "$how" -o "$cov" -- "$@" >/dev/null 2>&1 || return
	grep -E '^(call|part|bits|out) ' "$cov"
}
cat >"$WORK/static.c" <<'END'
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void)
{
	char c[8];
	int fd;
	mkdir("made", 0700);
	for (int i = 0; i < 100; i++) {
		fd = open("made/f", O_RDWR | O_CREAT, 0600);
		if (write(fd, "abc", 3) != 3 || pread(fd, c, 3, 0) != 3 || close(fd))
			return 1;
	}
	return 0;
}
END
if "${CC:-cc}" -O2 -static -o "$tree/static" "$WORK/static.c" 2>/dev/null; then
	for command in "cd $tree; ./static; exec env -i ./static" \
		"chroot $tree /static || { cd $tree; exec ./static; }"; do
		counted ptrace sh -c "$command" >"$WORK/want"
		tap_like "ptrace: static: ${command%% *}" "$WORK/want" '^call write [12]00$'
		for how in $ways; do
			counted "$how" sh -c "$command" >"$WORK/got"
			tap_is "$how: the same" "$(diff "$WORK/want" "$WORK/got")" ""
		done
	done
else
	tap_skip "a static program" "there is no static C library"
fi

tap_run "without -o" 2 "$ASSAY" cov record -- true
tap_is "in one line" "$(cat "$WORK/err")" "assay: cov record: expected -o FILE.cov"
tap_run "without a command" 2 "$ASSAY" cov record -o "$cov"
tap_run "a bad expression" 125 "$ASSAY" cov record --under-regex '(' -o "$cov" -- true
tap_run "a path that is not absolute" 125 "$ASSAY" cov record --under x -o "$cov" -- true
tap_run "an unknown way" 2 "$ASSAY" cov record --how dtrace -o "$cov" -- true

# ---- An emulator inside --------------------------------------------------------------------------

# It maps text to read it, and its handler of signals looks where the calls that it makes stand.
if command -v valgrind >/dev/null; then
	for how in inprocess ptrace; do
		mkdir -p "$WORK/emulated"
		if ! "$ASSAY" cov record --how "$how" -o "$cov" -- true >"$WORK/why" 2>&1; then
			tap_skip "valgrind, $how" "$(head -1 "$WORK/why")"
			continue
		fi
		tap_run "valgrind, $how" 0 "$ASSAY" cov record --how "$how" \
			--under "$WORK/emulated" -o "$WORK/v.cov" -- \
			valgrind -q --tool=none --trace-children=yes \
			sh -c 'cp /etc/passwd "$1"; rm "$1"' sh "$WORK/emulated/f"
		tap_is "valgrind, $how: what its programs called" \
			"$(grep -E '^call unlink' "$WORK/v.cov")" "call unlinkat 1"
	done
else
	tap_skip "valgrind inside" "valgrind is not here"
fi

# ---- Figures -------------------------------------------------------------------------------------

tap_run "own runs" 0 "$ASSAY" run --target lab --no-store --cov "$WORK/a.cov" - <<-'END'
	mkdir /a 0755
	$0 = open /a/f O_RDWR|O_CREAT 0644
	write $0 len=5000
	close $0
END
tap_run "two suites in figures" 0 "$ASSAY" cov show "$WORK/a.cov" "$cov" --svg "$WORK/svg" \
	--html "$WORK/page.html"
for figure in figure2-open-flags figure3-write-size figure4-open-output figure5-open-tcd; do
	tap_like "$figure names both" "$WORK/svg/$figure.svg" '>x</text>'
done
tap_like "the page has them" "$WORK/page.html" 'Test Coverage Deviation of open: flags'
tap_is "the page needs nothing else" \
	"$(grep -cE '(src|href)=|<script|url\(|@import' "$WORK/page.html")" 0
tap_run "one call alone" 0 "$ASSAY" cov show "$WORK/a.cov" --syscall mkdir --svg "$WORK/mkdir"
tap_is "one file for each of its spaces" "$(ls "$WORK/mkdir" | xargs)" \
	"mkdir-dirfd.svg mkdir-mode.svg mkdir-output.svg mkdir-path.svg mkdir-variants.svg"
if command -v xmllint >/dev/null; then
	tap_run "the figures are XML" 0 xmllint --noout "$WORK"/svg/*.svg "$WORK"/mkdir/*.svg
else
	tap_skip "the figures are XML" "xmllint (libxml2-utils) is not here"
fi
tap_run "five suites" 2 "$ASSAY" cov show --html "$WORK/p" "$cov" "$cov" "$cov" "$cov" "$cov"

tap_done
