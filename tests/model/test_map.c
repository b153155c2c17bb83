/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mappings that live across operations: pages that can be touched, and what holds the file. */
#include "tests/lib/model.h"

#include "model/persist.h"
#include "model/state.h"

#include <errno.h>
#include <stdio.h>

#define MADE "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=9000 at=0 fill=1\n"
#define MAPPED MADE "mmap $0 len=20000 at=0\n"
#define MAX "9223372036854771712"

/* The last operation must answer `ret`, or -1 with `err`; `wrong` is another answer. */
static const struct {
	const char *name, *text;
	int64_t ret;
	int err;
	int64_t wrong; /* >= 0: a success, else an errno */
} rows[] = {
	{ "mapped", MADE "mmap $0 len=1 at=0", 0, 0, -EINVAL },
	{ "beyond the end", MADE "mmap $0 len=1 at=40960", 0, 0, -ENXIO },
	{ "inside a page", MADE "mmap $0 len=1 at=1", -1, EINVAL, 0 },
	{ "inside a page of nothing", MADE "mmap $9 len=1 at=1", -1, EINVAL, -EBADF },
	{ "nothing mapped", MADE "mmap $0 len=0 at=0", -1, EINVAL, 0 },
	{ "nothing of no descriptor", MADE "mmap $9 len=0 at=0", -1, EBADF, -EINVAL },
	{ "largest offset", MADE "mmap $0 len=8192 at=" MAX, -1, EOVERFLOW, 0 },
	{ "for reading only", MADE "$1 = open /f O_RDONLY\nmmap $1 len=1 at=0", -1, EACCES, 0 },
	{ "reading what is for reading",
	  MADE "$1 = open /f O_RDONLY\nmmap $1 len=1 at=0 prot=PROT_READ", 0, 0, -EACCES },
	{ "for writing only", MADE "$1 = open /f O_WRONLY\nmmap $1 len=1 at=0 prot=PROT_READ", -1,
	  EACCES, 0 },
	{ "a directory", MADE "$1 = open / O_RDONLY\nmmap $1 len=1 at=0 prot=PROT_READ", -1, ENODEV,
	  -EISDIR },
	{ "a directory to write", MADE "$1 = open / O_RDONLY\nmmap $1 len=1 at=0", -1, EACCES, 0 },
	{ "what cannot be read", MADE "mmap $0 len=1 at=0 prot=PROT_WRITE", -1, EINVAL, 0 },
	{ "no mapping", MADE "mload $0 len=1 at=0", -1, EINVAL, 1 },
	{ "stored", MAPPED "mstore $0 len=100 at=50 fill=2", 100, 0, 99 },
	{ "stored up to the last page", MAPPED "mstore $0 len=20000 at=0 fill=2", 12288, 0, 9000 },
	{ "stored after the end", MAPPED "mstore $0 len=10 at=9100 fill=2", 10, 0, -ENXIO },
	{ "stored after the last page", MAPPED "mstore $0 len=10 at=12288 fill=2", -1, ENXIO, 10 },
	{ "stored outside", MAPPED "mstore $0 len=1 at=20000", -1, EFAULT, -ENXIO },
	{ "nothing stored at its end", MAPPED "mstore $0 len=0 at=20000", 0, 0, -EFAULT },
	{ "stored before it", MAPPED "mstore $0 len=1 at=-1", -1, EFAULT, 1 },
	{ "stored where only reading is allowed",
	  MADE "mmap $0 len=1 at=0 prot=PROT_READ\nmstore $0 len=1 at=0", -1, EFAULT, 1 },
	{ "loaded across the end", MAPPED "mload $0 len=20000 at=0", 12288, 0, 9000 },
	{ "loaded after a cut", MAPPED "ftruncate $0 4096\nmload $0 len=1 at=4096", -1, ENXIO, 1 },
	{ "loaded up to a cut", MAPPED "ftruncate $0 4096\nmload $0 len=5000 at=0", 4096, 0, 5000 },
	{ "loaded after growth", MAPPED "ftruncate $0 20000\nmload $0 len=20000 at=0", 20000, 0,
	  12288 },
	{ "loaded when closed and removed", MAPPED "close $0\nunlink /f\nmload $0 len=1 at=0", 1, 0,
	  -EINVAL },
	{ "of the file that it was", MAPPED "$0 = open /g O_RDWR|O_CREAT 0644\nmload $0 len=1 at=0",
	  1, 0, -ENXIO },
	{ "given up", MAPPED "munmap $0\nmload $0 len=1 at=0", -1, EINVAL, 1 },
	{ "given up by another that failed", MAPPED "mmap $0 len=1 at=1\nmload $0 len=1 at=0", -1,
	  EINVAL, 1 },
	{ "kept, as no call was made",
	  MAPPED "mmap $0 len=1 at=0 prot=PROT_WRITE\nmload $0 len=1 at=0", 1, 0, -EINVAL },
	{ "msync of nothing", MADE "msync $0", -1, EINVAL, 0 },
	{ "msync", MAPPED "msync $0", 0, 0, -EINVAL },
	{ "msync both ways", MAPPED "msync $0 flags=MS_ASYNC|MS_SYNC", -1, EINVAL, 0 },
	{ "msync with a bit too many", MAPPED "msync $0 flags=0x10", -1, EINVAL, 0 },
	{ "unmounting what is mapped", MAPPED "close $0\numount", -1, EBUSY, 0 },
	{ "unmounting what was mapped", MAPPED "close $0\nmunmap $0\numount", 0, 0, -EBUSY },
};

static bool judges(const struct as_traits *traits, const char *text, const struct as_outcome *got)
{
	struct as_model *m = as_model_new(traits);
	struct as_seq *seq = t_parse(text);
	struct as_verdict verdict = { 0 };
	bool ok;

	for (size_t i = 0; i + 1 < seq->n; i++)
		as_model_apply(m, &seq->ops[i]);
	assert_null(as_model_check(m));
	ok = as_model_judge(m, &seq->ops[seq->n - 1], got, &verdict);
	assert_null(as_model_check(m));
	as_verdict_free(&verdict);
	as_seq_free(seq);
	as_model_free(m);
	return ok;
}

static void test_answers(void **state)
{
	struct as_traits exact = t_full_traits;

	(void)state;
	exact.may_fill = false;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t wrong = rows[i].wrong;
		struct as_outcome good = { .ret = rows[i].ret, .err = rows[i].err };
		struct as_outcome bad = { .ret = wrong < 0 ? -1 : wrong,
					  .err = wrong < 0 ? (int)-wrong : 0 };

		if (!judges(&exact, rows[i].text, &good))
			fail_msg("%s: the right answer is refused", rows[i].name);
		if (judges(&exact, rows[i].text, &bad))
			fail_msg("%s: a wrong answer is accepted", rows[i].name);
	}
}

/* Whether the model wants these 100 bytes at 8950: pattern n up to the end, zeros after it. */
static bool holds(const char *text, uint64_t n, size_t end)
{
	char bytes[100] = { 0 };
	struct as_outcome got = {
		.ret = 100, .payload = AS_PAYLOAD_BYTES, .data = bytes, .len = sizeof(bytes)
	};

	as_pattern_fill(n, 8950, bytes, end);
	return judges(&t_full_traits, text, &got);
}

static void test_contents(void **state)
{
	(void)state;
	assert_true(holds(MAPPED "mload $0 len=100 at=8950", 1, 50));
	assert_false(holds(MAPPED "mload $0 len=100 at=8950", 1, 51));
	assert_false(holds(MAPPED "mload $0 len=100 at=8950", 1, 49));
	assert_true(
		holds(MAPPED "mstore $0 len=9999 at=0 fill=2\nmload $0 len=100 at=8950", 2, 50));
	/* What was stored is read, what was written is loaded, what comes after the end is zero. */
	assert_true(holds(MAPPED "mstore $0 len=9999 at=0 fill=2\nftruncate $0 10000\n"
				 "pread $0 len=100 at=8950",
			  2, 50));
	assert_true(
		holds(MAPPED "pwrite $0 len=9999 at=0 fill=3\nmload $0 len=100 at=8950", 3, 100));
}

/* A disk that can be full: a page for which there is no space cannot be touched. */
static void test_full(void **state)
{
	struct as_traits full = t_full_traits, roomy = t_full_traits;
	struct as_outcome part = { .ret = 4096 }, none = { .ret = -1, .err = ENXIO };

	(void)state;
	full.may_fill = true;
	roomy.may_fill = false;
	assert_true(judges(&full, MAPPED "mstore $0 len=9000 at=0 fill=2", &part));
	assert_true(judges(&full, MAPPED "mstore $0 len=9000 at=0 fill=2", &none));
	assert_false(judges(&roomy, MAPPED "mstore $0 len=9000 at=0 fill=2", &part));
	assert_false(judges(&roomy, MAPPED "mstore $0 len=9000 at=0 fill=2", &none));
}

/* msync promises the data of the mapping, if it is asked to wait, and of the file mapped. */
static void test_promises(void **state)
{
	static const struct {
		const char *text, *sync;
		enum as_persist_kind kind;
	} promises[] = {
		{ MAPPED "close $0\n", "msync $0", AS_PERSIST_DATA },
		{ MAPPED, "msync $0 flags=MS_ASYNC", AS_PERSIST_NOTHING },
		{ MAPPED, "mstore $0 len=1 at=0", AS_PERSIST_NOTHING },
		{ MAPPED "munmap $0\n", "msync $0", AS_PERSIST_NOTHING },
	};
	struct as_outcome ok = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(promises) / sizeof(promises[0]); i++) {
		struct as_model *m = as_model_new(&t_full_traits);
		struct as_seq *seq = t_parse(promises[i].sync);
		struct as_persist p;

		assert_int_equal(t_apply_text(m, promises[i].text), 0);
		p = as_model_persists(m, &seq->ops[0], &ok, 0);
		assert_int_equal(p.kind, promises[i].kind);
		if (p.kind == AS_PERSIST_DATA)
			assert_int_equal(p.len, 20000);
		as_seq_free(seq);
		as_model_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_promises),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
