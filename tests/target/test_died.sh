#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What is said of a plugin that dies: the assertion with its file and line, where it died, and what
# it printed; kinds of one assertion are one group. And which call it was whose failure it ignored.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

# plugin NAME OPTIONS: the skeleton with a check in three operations
plugin() {
	local name=$1
	shift
	${CC:-cc} -g -fPIC -shared -Iinclude "$@" -xc - -o "$WORK/$name.so" <<END ||
#define as_target skeleton_target
#include "$PWD/examples/plugin_skeleton/skeleton.c"
#undef as_target
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#line 40 "checks.c"
static __attribute__((noinline)) void check(unsigned n)
{
#ifdef OWN
	if (n % 64 == 45) {
		fprintf(stderr, "nothing to see\n/far/away/own.c:77: ASSERT: n is %u\n", n);
		abort();
	}
#else
	assert(n % 64 != 45);
#endif
}
static int my_mkdir(struct as_fs *fs, const char *path, uint32_t mode)
{
	check(mode);
	return fs_mkdir(fs, path, mode);
}
static int my_rename(struct as_fs *fs, const char *from, const char *to, unsigned flags)
{
	check((unsigned)from[1] % 2 ? 45 : 0);
	return fs_rename(fs, from, to, flags);
}
static int my_unlink(struct as_fs *fs, const char *path)
{
	check((unsigned)path[1] % 2 ? 45 : 0);
	return fs_unlink(fs, path);
}
extern struct as_target_ops as_target;
struct as_target_ops as_target;
__attribute__((constructor)) static void begin(void)
{
	as_target = skeleton_target;
	as_target.mkdir = my_mkdir;
	as_target.rename = my_rename;
	as_target.unlink = my_unlink;
}
END
		tap_not_ok "building $name"
}

cat >"$WORK/w.txt" <<'END'
mkdir /x 0700
mkdir /y 0755
END
plugin asserts
tap_run "an assertion" 1 "$ASSAY" run -o "$WORK/o" --target "plugin:$WORK/asserts.so" "$WORK/w.txt"
tap_like "its text, file and line" "$WORK/out" \
	"SIGABRT: assertion .n % 64 != 45' at checks.c:48 in check < my_mkdir"
tap_like "where it died" "$WORK/out" '#[0-9] my_mkdir .asserts.so.0x'
tap_like "what it printed" "$WORK/out" 'Assertion .n % 64'
tap_like "they are kept" "$WORK"/o/findings/*/finding.json 'assertion .n % 64 != 45. at checks.c:48'
tap_run "with power cuts" 1 "$ASSAY" crash --no-store --target "plugin:$WORK/asserts.so" \
	"$WORK/w.txt"
tap_like "its text again" "$WORK/out" "assertion .n % 64 != 45' at checks.c:48"
# The same words wherever the library is.
deep=$WORK/$(printf 'd%.0s' $(seq 150))
mkdir "$deep" && cp "$WORK/asserts.so" "$deep"
tap_run "in a folder with a long name" 1 "$ASSAY" run --no-store \
	--target "plugin:$deep/asserts.so" "$WORK/w.txt"
tap_like "where it died is told as before" "$WORK/out" "at checks.c:48 in check < my_mkdir"
plugin own -DOWN
tap_run "an assertion of its own" 1 "$ASSAY" run --no-store --target "plugin:$WORK/own.so" \
	"$WORK/w.txt"
tap_like "file, line, and no value" "$WORK/out" 'ASSERT: n is # at own.c:77 in check < my_mkdir'

# One assertion that is reached in several ways is one cause.
tap_run "a hunt" 1 "$ASSAY" hunt -o "$WORK/h" --target "plugin:$WORK/asserts.so" --no-reduce \
	--max-workloads 64 --json
kinds=$(grep -o '"event":"signature".*' "$WORK/out" | grep -c checks.c)
groups=$(grep -o '"event":"signature".*checks.c.*' "$WORK/out" | grep -o '"group":"[^,]*' |
	sort -u | wc -l)
tap_is "has several kinds ($kinds)" "$((kinds > 1))" 1
tap_is "and one group" "$groups" 1

# Success that hides a failure: the call that failed is named by its place.
sed -E 's/rc = (put\(fs, from.number, &from.record\));/rc = 0; (void)\1;/' \
	examples/plugin_skeleton/skeleton.c >"$WORK/hides.c"
${CC:-cc} -fPIC -shared -Iinclude "$WORK/hides.c" -o "$WORK/hides.so" || tap_not_ok hides
printf 'create /a 0644\nrename /a /b\n' >"$WORK/r.txt"
tap_run "a failure is hidden" 1 "$ASSAY" run --no-store --target "plugin:$WORK/hides.so" \
	--sweep write "$WORK/r.txt"
tap_like "by whom" "$WORK/out" 'although the write that it asked for failed in write_record < put'
tap_done
