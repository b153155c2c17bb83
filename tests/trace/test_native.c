/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace in LTTng's own format (CTF), written here byte by byte, is read through libbabeltrace2
 * and counted as its text is. */
#include "os/out.h"
#include "tests/lib/counted.h"
#include "tests/lib/tmpdir.h"

#include "cover/read.h"
#include "tests/lib/skip.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef AS_HAVE_babeltrace2

static const char metadata[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"trace { major = 1; minor = 8; byte_order = le; };\n"
	"clock { name = monotonic; freq = 1000000000; };\n"
	"typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } "
	":= time_t;\n"
	"stream {\n"
	"	event.header := struct { uint32_t id; time_t timestamp; };\n"
	"	event.context := struct { int32_t _pid; int32_t _tid; };\n"
	"};\n"
	"event { id = 0; name = \"syscall_entry_openat\"; fields := struct { int32_t _dfd; string "
	"_filename; int32_t _flags; uint32_t _mode; }; };\n"
	"event { id = 1; name = \"syscall_exit_openat\"; fields := struct { int64_t _ret; }; };\n"
	"event { id = 2; name = \"syscall_entry_write\"; fields := struct { uint32_t _fd; uint64_t "
	"_buf; uint64_t _count; }; };\n"
	"event { id = 3; name = \"syscall_exit_write\"; fields := struct { int64_t _ret; }; };\n";

static void put(struct as_buf *out, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		as_buf_addc(out, (char)(value >> (8 * i)));
}

static void event(struct as_buf *out, unsigned id, unsigned tid)
{
	static uint64_t now;

	put(out, id, 4);
	put(out, ++now, 8);
	put(out, tid, 4);
	put(out, tid, 4);
}

static void make_stream(struct as_buf *out)
{
	/* Two at once. */
	for (unsigned tid = 10; tid < 12; tid++) {
		event(out, 0, tid);
		put(out, (uint64_t)-100, 4);
		as_buf_add(out, tid == 10 ? "/m/a" : "/o/a", 5);
		put(out, 0102, 4);
		put(out, 0644, 4);
	}
	for (unsigned tid = 11; tid >= 10; tid--) {
		event(out, 1, tid);
		put(out, 3, 8);
	}
	for (unsigned tid = 10; tid < 12; tid++) {
		event(out, 2, tid);
		put(out, 3, 4);
		put(out, 0x7f00, 8);
		put(out, 4096, 8);
	}
	for (unsigned tid = 10; tid < 12; tid++) {
		event(out, 3, tid);
		put(out, tid == 10 ? (uint64_t)-28 : 4096, 8);
	}
}

static void save(const char *folder, const char *name, const struct as_buf *data)
{
	char path[200];
	struct as_err err;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (as_out_save(path, data, &err))
		fail_msg("%s", err.msg);
}

static void test_native(void **state)
{
	const char *folder = t_tmpdir();
	struct as_read_options options = { .world = { .under = "/m" } };
	struct as_counts *c = as_counts_new(t_spec);
	struct as_buf text = { 0 }, data = { 0 };
	struct as_err why, err = { 0 };
	int rc;

	(void)state;
	as_buf_adds(&text, metadata);
	make_stream(&data);
	save(folder, "metadata", &text);
	save(folder, "channel0_0", &data);
	rc = as_read_trace(t_spec, folder, &options, c, &why, &err);
	if (rc == AS_ELACK) {
		as_counts_free(c);
		skip_because("%s", err.msg);
	}
	if (rc)
		fail_msg("%s", err.msg);
	assert_int_equal(as_counts_noted(c, AS_NOTE_LINES), 8);
	assert_int_equal(as_counts_noted(c, AS_NOTE_COUNTED), 2);
	assert_int_equal(as_counts_noted(c, AS_NOTE_OUTSIDE), 2);
	assert_int_equal(t_count(c, "open", "flags", "O_CREAT"), 1);
	assert_int_equal(t_count(c, "open", "flags", "O_RDWR"), 1);
	assert_int_equal(t_count(c, "open", "mode", "S_IROTH"), 1);
	assert_int_equal(t_count(c, "open", "dirfd", "AT_FDCWD"), 1);
	assert_int_equal(t_count(c, "write", "count", "2^12"), 1);
	assert_int_equal(t_count(c, "write", NULL, "ENOSPC"), 1);
	as_counts_free(c);
	as_buf_free(&text);
	as_buf_free(&data);
}

#else

static void test_native(void **state)
{
	(void)state;
	skip_because("built without libbabeltrace2");
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_native) };

	return cmocka_run_group_tests(tests, t_spec_setup, t_spec_teardown);
}
