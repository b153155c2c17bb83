/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trim and freeze: which answers the model takes, and that a freeze makes everything stable. */
#include "tests/lib/model.h"

#include "model/persist.h"
#include "model/state.h"

#include <errno.h>

static void test_answers(void **state)
{
	struct as_traits none = t_full_traits, library;

	(void)state;
	none.features &= ~(uint64_t)(AS_FEAT_FREEZE | AS_FEAT_TRIM);
	library = none;
	library.features |= AS_FEAT_LIBRARY;
	assert_true(t_judges(&t_full_traits, "freeze", 0, 0));
	assert_false(t_judges(&t_full_traits, "freeze", -1, EOPNOTSUPP));
	assert_false(t_judges(&t_full_traits, "freeze", -1, EBUSY));
	assert_true(t_judges(&none, "freeze", -1, EOPNOTSUPP));
	assert_false(t_judges(&none, "freeze", -1, EBUSY));
	assert_true(t_judges(&library, "freeze", -1, EOPNOTSUPP));
	assert_false(t_judges(&library, "freeze", 0, 0));

	assert_true(t_judges(&t_full_traits, "trim len=-1 at=0", 0, 0));
	assert_true(t_judges(&t_full_traits, "trim len=-1 at=0", -1, EOPNOTSUPP));
	assert_false(t_judges(&t_full_traits, "trim len=-1 at=0", -1, EINVAL));
	assert_false(t_judges(&t_full_traits, "trim len=-1 at=0", -1, ENOTTY));
	assert_true(t_judges(&t_full_traits, "trim len=-1 at=0", -1, EROFS));
	assert_true(t_judges(&t_full_traits, "trim len=100 at=0", -1, EINVAL));
	assert_true(t_judges(&none, "trim len=-1 at=0", -1, ENOTTY));
	assert_false(t_judges(&library, "trim len=-1 at=0", 0, 0));
}

/* There may be no way back to the target's own options. */
static void test_remount(void **state)
{
	(void)state;
	assert_false(t_judges(&t_full_traits, "remount", -1, EINVAL));
	assert_true(t_judges(&t_full_traits, "umount\nmount opts=x\nremount", -1, EINVAL));
	assert_true(t_judges(&t_full_traits, "umount\nmount opts=x\nremount", 0, 0));
	assert_false(t_judges(&t_full_traits, "umount\nmount opts=x\nremount", -1, EIO));
	assert_true(t_judges(&t_full_traits, "remount opts=x\nremount", -1, EINVAL));
	assert_false(t_judges(&t_full_traits, "remount opts=x\nremount\nremount", -1, EINVAL));
	assert_false(t_judges(&t_full_traits, "umount\nmount opts=x\numount\nmount\nremount", -1,
			      EINVAL));
}

static enum as_persist_kind promised(const char *line, int64_t ret)
{
	struct as_model *m = as_model_new(&t_full_traits);
	struct as_seq *seq = t_parse(line);
	struct as_outcome got = { .ret = ret, .err = ret < 0 ? EOPNOTSUPP : 0 };
	enum as_persist_kind kind = as_model_persists(m, &seq->ops[0], &got, 0).kind;

	as_seq_free(seq);
	as_model_free(m);
	return kind;
}

static void test_stable(void **state)
{
	struct as_model *m = as_model_new(&t_full_traits);

	(void)state;
	assert_int_equal(promised("freeze", 0), AS_PERSIST_ALL);
	assert_int_equal(promised("freeze", -1), AS_PERSIST_NOTHING);
	assert_int_equal(promised("trim len=-1 at=0", 0), AS_PERSIST_NOTHING);
	assert_int_equal(t_apply_text(m, "create /f 0644"), 0);
	assert_false(m->synced);
	assert_int_equal(t_apply_text(m, "trim len=-1 at=0"), 0);
	assert_false(m->synced);
	assert_int_equal(t_apply_text(m, "freeze"), 0);
	assert_true(m->synced);
	as_model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_remount),
		cmocka_unit_test(test_stable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
