#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A library that undoes nothing when the disk fails (AS_MEANS_FAILED_MAYBE_DONE, AS_CUT_REPAIR) may
# leave something half done, but only where a call says that it has failed. This is labfs with such
# a contract; tests/cli/test_ext2lib.sh has a library that does leave something half done.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

CASE=labfs/cases/22-unreadable-directory.txt
B=$(dirname "$ASSAY")
mapfile -t OBJECTS < <(find "$B/pic/labfs" -name '*.o' ! -name ops.o ! -name '*_main.o')
SAID='.after_cut = AS_CUT_REPAIR, .semantics = AS_MEANS_FAILED_MAYBE_DONE'
sed "s/^const struct as_target_ops lab_target = {/static const struct as_contract said = \
{ $SAID };\n&\n\t.contract = \&said,/" \
	labfs/ops.c >"$WORK/ops.c"
${CC:-cc} -fPIC -shared -Wl,-Bsymbolic -Iinclude -Ilabfs -Dlab_target=as_target "$WORK/ops.c" \
	"${OBJECTS[@]}" -o "$WORK/lazy.so" || tap_not_ok "labfs with a contract compiles"

tap_run "it passes with failing reads" 0 "$ASSAY" run --no-store --sweep read \
	--target "plugin:$WORK/lazy.so" $CASE
tap_like "all of them" "$WORK/out" 'all [0-9]+ failures of this workload were tried'

# A read fails, and the call answers ENOENT: the second file of that name is no half of anything.
tap_run "a failed read that is no error" 1 "$ASSAY" run --no-store --sweep read \
	--target "plugin:$WORK/lazy.so:bug=22" $CASE
tap_like "the checker tells" "$WORK/out" 'DIRENT_DUP'

# A read fails for a call that only reads: what the calls before it left is no half, either.
printf '%s\n' 'mkdir /a 0755' 'mkdir /b 0755' 'mkdir /a/x 0755' 'mkdir /b/y 0755' \
	'rename2 /a/x /b/y RENAME_EXCHANGE' umount mount 'stat /a' >"$WORK/stat.txt"
# fails BUG: whether the stat fails in a run that ends with a finding.
fails() {
	local n
	for n in $(seq 1 30); do
		"$ASSAY" run --no-store --fault "read:$n:eio" --target "plugin:$WORK/lazy.so$1" \
			"$WORK/stat.txt" >"$WORK/out" 2>&1
		grep -q 'stat /a = -1 EIO' "$WORK/out" && return 0
	done
	return 1
}
tap_run "a stat that fails, and a wrong disk" 0 fails :bug=10
tap_like "the checker tells that, too" "$WORK/out" 'DIR_DOTDOT'
tap_run "a stat that fails, and a sound disk" 1 fails ""

tap_done
