#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Plugins whose functions answer what no file system should, or do to their process what no library
# should: a finding (1) or one line that refuses them (2), in words; never the death of assay, and
# no hang.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
"${CC:-gcc}" -std=gnu11 -D_GNU_SOURCE -w -g -fPIC -shared -fvisibility=hidden -Iinclude -pthread \
	tests/torture/liar_plugin.c -o "$WORK/liar.so" || tap_not_ok "building the plugin"
cat >"$WORK/w.txt" <<'END'
mkdir /a 0755
create /a/f 0644
$0 = open /a/f O_RDWR
write $0 len=700 fill=1
write $0 len=50 fill=2
pread $0 len=600 at=10
stat /a/f
statfs /
close $0
readdir /a
mkdir /b 0755
rename /a/f /b/g
END
printf 'mkdir /a 0755\nsync\n' >"$WORK/short.txt"

# attempt COMMAND...: the status is in $got.
attempt() {
	got=0
	(cd "$WORK" && timeout -s KILL 300 "$ASSAY" "$@" -t plugin:./liar.so) \
		>"$WORK/out" 2>"$WORK/err" || got=$?
}

# judge NAME STATUS WORDS
judge() {
	if [ "$got" = "$2" ] && cat "$WORK/out" "$WORK/err" | grep -Eq -- "$3" &&
		! LC_ALL=C grep -q $'\033\|\007' "$WORK/out" "$WORK/err"; then
		tap_ok "$1"
	else
		tap_not_ok "$1" "exit status $got, wanted $2 and /$3/" \
			"$(head -n 6 "$WORK/out" "$WORK/err" | cut -c 1-300 | cat -v)"
	fi
}

# What each comes to; sanitizers have words of their own for some deaths.
rows() {
	cat <<-'END'
	none 0 0 findings
	thread_ends 0 0 findings
	ignores 0 0 findings
	statfs_wild 0 0 findings
	ask_zero 0 0 findings
	fork 1 op 1: mkdir /a 0755: left a process behind
	fork_goes_on 1 op 1: mkdir /a 0755: left a process behind
	thread 1 unmount: left a thread behind
	close_fds 1 unmount: closed standard input
	close_all 1 unmount: closed standard input
	stack 1 op 1: mkdir /a 0755: the target (died|called)
	heap 1 op 1: mkdir /a 0755: the target (died|called)
	overrun 1 wrote past the end of an allocation of 40 bytes|the target (died|called)
	wild_free 1 freed memory that is not allocated
	outside 1 write of 512 bytes at 4198400 of [0-9]+: outside the disk
	outside_wrap 1 write of 512 bytes at 18446744073709551104 of [0-9]+: outside the disk
	length_huge 1 read of 1152921504606846976 bytes at 0 of [0-9]+: outside the disk
	log_null 1 op 1: mkdir /a 0755: the target (died|called)
	unlock 1 unlocks .*, which it does not hold
	malloc_huge 1 op 1: mkdir /a 0755: returned -1 ENOMEM
	mkdir_min 1 op 1: mkdir /a 0755: mkdir answered -2147483648, which is no errno
	mkdir_positive 1 op 1: mkdir /a 0755: returned 7, model says 0
	open_null 1 op 4: write .*: the target (died|called)
	open_wild 1 op 2: create /a/f 0644: the target (died|called)
	open_positive 1 op 2: create /a/f 0644: returned 7, model says 0
	read_past 1 op 6: pread .*: wrote past the end of the buffer that it was given
	read_more 1 op 6: pread .*: returned more bytes than it was asked for
	read_most 1 op 6: pread .*: returned more bytes than it was asked for
	read_least 1 op 6: pread .*: read answered -9223372036854775808, which is no errno
	read_nothing 1 op 6: pread .*: returned 0, model says 600
	read_strange 1 op 6: pread .*: read answered -70000, which is no errno
	write_more 1 op 4: write .*: returned 1700, model says 700
	write_most 1 op 4: write .*: returned 9223372036854775807, model says 700
	write_nothing 1 op 4: write .*: returned 0, model says 700
	write_place 1 op 5: write .*
	ino_zero 1 its inode number 0 is that of another file
	size_negative 1 op 7: stat /a/f: size 18446744073709551615
	size_huge 1 op 7: stat /a/f: size 4611686018427387904
	nlink_zero 1 op 7: stat /a/f: link count 0
	mode_strange 1 op 3: .*open
	mode_zero 1 the root of a fresh disk is no directory
	getattr_positive 1 cannot stat / on a fresh disk: it returned 7, which is neither 0
	getattr_strange 1 cannot stat / on a fresh disk: getattr answered -70000, which is no errno
	readdir_positive 1 cannot list / on a fresh disk: it returned 7, which is neither 0
	mount_positive 1 a fresh disk cannot be mounted: mount returned 7, which is neither 0
	mount_strange 1 a fresh disk cannot be mounted: mount answered -70000, which is no errno
	mount_null 1 mount of a fresh disk: the target (died|called)
	mount_hang 1 mount of a fresh disk: the target did not come back
	mount_loop 1 mount of a fresh disk: the target did not come back
	name_300 1 cannot stat /x*
	name_huge 1 cannot stat /x*
	name_empty 2 a fresh disk holds more than empty files and directories
	name_slash 1 cannot stat /a/../.. on a fresh disk
	name_dots 1 cannot stat /.. on a fresh disk
	name_binary 1 cannot stat /.x1b
	name_null 1 cannot list / on a fresh disk: readdir told of an entry without a name
	name_twice 1 op 10: readdir /a: .*f.* should not be there
	type_strange 1 cannot stat /b on a fresh disk
	names_endless 1 cannot list / on a fresh disk|the target did not come back
	unmount_twice 1 unmount: the target (died|called)|freed memory
	unmount_not 1 unmount: 1 allocation, .* left after unmount
	END
}
while read -r lie status words; do
	export LIE=$lie
	attempt run --deadline $((2 * TAP_SLOWER)) --no-store w.txt
	judge "$lie" "$status" "$words"
done < <(rows)
tap_is "there is a row for each lie" "$(rows | cut -d ' ' -f 1 | grep -v none | sort)" \
	"$(grep -o 'is("[a-z_0-9]*")' tests/torture/liar_plugin.c | cut -d '"' -f 2 | sort -u |
		grep -v malloc_much)"

# With power cuts, too.
for lie in outside length_huge; do
	export LIE=$lie
	attempt crash --no-store short.txt
	judge "$lie with power cuts" 1 "without a power cut: .*: outside the disk"
done
export LIE=stack
attempt hunt --max-workloads 2 --no-reduce -o hunted
judge "a hunt goes on after a stack that overflows" 1 "2 workloads, .* findings?"
tap_done
