/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handles: they lead to their file or to nothing, whatever became of the name. */
#include "tests/lib/model.h"

#include "model/state.h"

#include <errno.h>

#define MADE "create /f 0640\nhandle /f\n"

static const struct {
	const char *name, *text;
	int64_t ret;
	int err, wrong; /* wrong: an errno, 0: success */
} rows[] = {
	{ "nothing there", "handle /f", -1, ENOENT, 0 },
	{ "asked for", "create /f 0640\nhandle /f", 0, 0, EOPNOTSUPP },
	{ "opened", MADE "openhandle /f", 0, 0, ESTALE },
	{ "renamed", MADE "rename /f /g\nopenhandle /f", 0, 0, ESTALE },
	{ "removed", MADE "unlink /f\nopenhandle /f", -1, ESTALE, 0 },
	{ "removed, and another made", MADE "unlink /f\ncreate /f 0640\nopenhandle /f", -1, ESTALE,
	  0 },
	{ "a link is left", MADE "hardlink /f /g\nunlink /f\nopenhandle /f", 0, 0, ESTALE },
	{ "removed and open", MADE "$0 = open /f O_RDWR\nunlink /f\nopenhandle /f", 0, 0, ESTALE },
	{ "closed", MADE "$0 = open /f O_RDWR\nunlink /f\nclose $0\nopenhandle /f", -1, ESTALE, 0 },
	{ "mounted again", MADE "umount\nmount\nopenhandle /f", 0, 0, ESTALE },
	{ "after a power cut", MADE "sync\ncrash\nopenhandle /f", 0, 0, ESTALE },
	{ "not mounted", MADE "umount\nopenhandle /f", -1, ESHUTDOWN, 0 },
	{ "asked for again", MADE "unlink /f\nmkdir /f 0755\nhandle /f\nopenhandle /f", 0, 0,
	  ESTALE },
	{ "a link itself", "symlink none /l\nhandle /l nofollow=1\nopenhandle /l", 0, 0, ESTALE },
	{ "through a link", "symlink none /l\nhandle /l", -1, ENOENT, 0 },
};

static void test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!t_judges(&t_full_traits, rows[i].text, rows[i].ret, rows[i].err))
			fail_msg("%s: the right answer is refused", rows[i].name);
		if (t_judges(&t_full_traits, rows[i].text, rows[i].wrong ? -1 : 0, rows[i].wrong))
			fail_msg("%s: a wrong answer passes", rows[i].name);
	}
}

static bool judges_stat(const char *text, uint32_t mode, uint64_t nlink)
{
	struct as_model *m = as_model_new(&t_full_traits);
	struct as_seq *seq = t_parse("openhandle /f");
	struct as_outcome got = { .payload = AS_PAYLOAD_STAT,
				  .st = { .mode = S_IFREG | mode, .nlink = (uint32_t)nlink } };
	struct as_verdict verdict = { 0 };
	bool ok;

	assert_int_equal(t_apply_text(m, text), 0);
	ok = as_model_judge(m, &seq->ops[0], &got, &verdict);
	as_verdict_free(&verdict);
	as_seq_free(seq);
	as_model_free(m);
	return ok;
}

/* What it leads to is the file, and not the one that has its name now. */
static void test_told(void **state)
{
	(void)state;
	assert_true(judges_stat(MADE, 0640, 1));
	assert_false(judges_stat(MADE, 0600, 1));
	assert_true(judges_stat(MADE "rename /f /g\ncreate /f 0600\n", 0640, 1));
	assert_false(judges_stat(MADE "rename /f /g\ncreate /f 0600\n", 0600, 1));
	/* The kernel may not have let it go yet; then it has no name. */
	assert_true(judges_stat(MADE "unlink /f\n", 0640, 0));
	assert_false(judges_stat(MADE "unlink /f\n", 0640, 1));
}

static void test_types(void **state)
{
	struct as_traits none = t_full_traits, user = t_full_traits;

	(void)state;
	none.features &= ~(uint64_t)AS_FEAT_HANDLE;
	user.features |= AS_FEAT_UNPRIVILEGED;
	assert_true(t_judges(&none, "create /f 0640\nhandle /f", -1, EOPNOTSUPP));
	assert_true(t_judges(&none, "create /f 0640\nhandle /f", 0, 0));
	assert_false(t_judges(&none, "create /f 0640\nhandle /f", -1, EIO));
	assert_true(t_judges(&none, "openhandle /f", -1, EBADF));
	assert_true(t_judges(&user, MADE "openhandle /f", -1, EPERM));
	assert_false(t_judges(&t_full_traits, MADE "openhandle /f", -1, EPERM));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
