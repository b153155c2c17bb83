/* SPDX-License-Identifier: GPL-2.0-or-later */
/* frames: records come back in order; what is cut off at any byte, or not ours, is left out. */
#include "tests/lib/skip.h"

#include "os/frames.h"
#include "tests/lib/tmpdir.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "kept"
#define HEAD "what it is of"

static const char *const records[] = { "one", "", "the third record" };

static int add(void *ctx, const void *data, size_t len)
{
	struct as_buf *all = ctx;

	as_buf_addc(all, '<');
	as_buf_add(all, data, len);
	as_buf_addc(all, '>');
	return 0;
}

/* Opens it again and writes what was there to `all`; 0, or an error. */
static int recall(const struct as_dir *dir, struct as_buf *all, const char *more)
{
	struct as_frames *f = NULL;
	struct as_err err;
	int rc = as_frames_open(dir, NAME, "", true, &f, &err);

	as_buf_clear(all);
	if (rc)
		return rc;
	assert_string_equal(as_frames_head(f), HEAD);
	assert_int_equal(as_frames_each(f, add, all), 0);
	if (more)
		assert_int_equal(as_frames_add(f, more, strlen(more), &err), 0);
	as_frames_close(f);
	return 0;
}

static void make(const struct as_dir *dir)
{
	struct as_frames *f = NULL;
	struct as_err err;

	assert_int_equal(as_frames_open(dir, NAME, HEAD, false, &f, &err), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(as_frames_add(f, records[i], strlen(records[i]), &err), 0);
	as_frames_close(f);
}

static void test_frames(void **state)
{
	static const char whole[] = "<one><><the third record>";
	struct as_dir dir = AS_DIR_NONE;
	struct as_buf all = { 0 };
	struct as_err err;
	struct stat st;
	bool made;

	(void)state;
	assert_int_equal(as_dir_open(t_tmpdir(), &made, &dir, &err), 0);
	assert_int_equal(recall(&dir, &all, NULL), AS_EUSE);
	make(&dir);
	assert_int_equal(recall(&dir, &all, NULL), 0);
	assert_string_equal(as_buf_str(&all), whole);
	assert_int_equal(fstatat(dir.fd, NAME, &st, 0), 0);
	/* Cut after each byte: what is whole before it comes back, and others follow it. */
	for (off_t len = 0; len < st.st_size; len++) {
		size_t before;
		int fd, rc;

		make(&dir);
		fd = openat(dir.fd, NAME, O_WRONLY | O_CLOEXEC);
		assert_int_equal(ftruncate(fd, len), 0);
		close(fd);
		rc = recall(&dir, &all, "new");
		if (rc) {
			assert_true(len < (off_t)(16 + strlen(HEAD)));
			assert_int_equal(rc, AS_EUSE);
			continue;
		}
		before = all.len;
		assert_memory_equal(as_buf_str(&all), whole, before);
		assert_true(before < strlen(whole));
		assert_int_equal(recall(&dir, &all, NULL), 0);
		assert_int_equal(all.len, before + strlen("<new>"));
		assert_string_equal(as_buf_str(&all) + before, "<new>");
	}
	/* A byte that changed ends it there. */
	for (off_t at = 0; at < st.st_size; at++) {
		int fd, rc;

		make(&dir);
		fd = openat(dir.fd, NAME, O_WRONLY | O_CLOEXEC);
		assert_int_equal(pwrite(fd, "\xf7", 1, at), 1);
		close(fd);
		rc = recall(&dir, &all, NULL);
		assert_true(rc == AS_EUSE || (!rc && all.len < strlen(whole)));
	}
	as_buf_free(&all);
	as_dir_close(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_frames) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
