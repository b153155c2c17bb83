/* SPDX-License-Identifier: GPL-2.0-or-later */
/* alike: which records are the same to a power cut, which are of one kind, and what is spent. */
#include "tests/lib/disk.h"

#include "check/alike.h"
#include "os/spawn.h"
#include "work/parse.h"

#include <sys/wait.h>
#include <unistd.h>

#define DISK_BYTES (1u << 20)

/* A request of the last operation of a record. */
struct request {
	char what; /* w(rite), f(lush), r(ead); 0: none */
	uint64_t sector;
	unsigned char fill;
};

struct recorded {
	struct as_chunks *store;
	struct as_disk *disk;
	struct as_reclog *log;
	struct as_recording rec;
};

static struct recorded record(const char *text, const struct request *requests)
{
	struct recorded r = { .store = as_chunks_new() };
	unsigned char buf[512];

	r.disk = t_disk_new(r.store, DISK_BYTES);
	r.log = as_reclog_new(as_disk_bd(r.disk), AS_RECLOG_READS, 0);
	assert_int_equal(as_parse_text("t", text, strlen(text), &r.rec.seq, NULL), 0);
	r.rec.n_ops = r.rec.seq->n;
	r.rec.log = r.log;
	as_reclog_set_op(r.log, (uint32_t)r.rec.n_ops - 1);
	for (; requests->what; requests++) {
		struct as_bd *bd = as_reclog_bd(r.log);
		uint64_t off = requests->sector * sizeof(buf);

		memset(buf, requests->fill, sizeof(buf));
		assert_int_equal(requests->what == 'w'	 ? as_bd_write(bd, off, buf, sizeof(buf))
				 : requests->what == 'r' ? as_bd_read(bd, off, buf, sizeof(buf))
							 : as_bd_flush(bd),
				 0);
	}
	return r;
}

static void recorded_free(struct recorded *r)
{
	as_seq_free(r->rec.seq);
	as_reclog_free(r->log);
	as_disk_free(r->disk);
	t_store_done(r->store);
}

static const struct request usual[] = { { 'w', 8, 1 }, { 'f', 0, 0 }, { 'w', 9, 2 }, { 0, 0, 0 } };
static const struct request later[] = { { 'r', 3, 0 },
					{ 'w', 8, 7 },
					{ 'f', 0, 0 },
					{ 'w', 9, 9 },
					{ 0, 0, 0 } };
static const struct request elsewhere[] = { { 'w', 8, 1 },
					    { 'f', 0, 0 },
					    { 'w', 10, 2 },
					    { 0, 0, 0 } };
static const struct request unflushed[] = { { 'w', 8, 1 },
					    { 'w', 9, 2 },
					    { 'f', 0, 0 },
					    { 0, 0, 0 } };

static void test_keys(void **state)
{
	static const struct {
		const char *name, *text;
		const struct request *requests;
		uint64_t legal;
		bool same, kind;
	} rows[] = {
		{ "itself", "mkdir /a 0755\n", usual, 1, true, true },
		{ "other times, and a read", "mkdir /a 0755\n", later, 1, true, true },
		{ "another operation", "create /a 0644\n", usual, 1, true, false },
		{ "something else may be left", "mkdir /b 0755\n", usual, 2, false, true },
		{ "another place", "mkdir /a 0755\n", elsewhere, 1, false, true },
		{ "another order", "mkdir /a 0755\n", unflushed, 1, false, true },
		{ "after another", "sync\nmkdir /a 0755\n", usual, 1, true, true },
	};
	struct recorded first = record(rows[0].text, usual);
	uint64_t same = as_alike_same(&first.rec, (struct as_digest){ 1, 1 });
	uint64_t kind = as_alike_kind(&first.rec);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct recorded r = record(rows[i].text, rows[i].requests);
		struct as_digest legal = { rows[i].legal, 1 };

		if ((as_alike_same(&r.rec, legal) == same) != rows[i].same ||
		    (as_alike_kind(&r.rec) == kind) != rows[i].kind)
			fail_msg("%s", rows[i].name);
		recorded_free(&r);
	}
	recorded_free(&first);
}

/* What is the same is judged once, and now and then again; of what is new but of a kind, the first
 * two and then one in eight may spend all. */
static void test_what_is_spent(void **state)
{
	struct as_alike *alike = as_shared_alloc(sizeof(*alike));
	struct recorded r = record("mkdir /a 0755\n", usual);
	struct as_digest legal = { 1, 1 };
	unsigned all = 0, some = 0;

	(void)state;
	for (unsigned i = 0; i < 3 * AS_ALIKE_SAMPLE; i++)
		assert_int_equal(as_alike_budget(alike, &r.rec, legal, 32) != 0,
				 i % AS_ALIKE_SAMPLE == 0);
	memset(alike, 0, sizeof(*alike));
	for (unsigned i = 0; i < 100 * AS_ALIKE_SAMPLE; i++) {
		uint64_t budget;

		legal.lo = i;
		budget = as_alike_budget(alike, &r.rec, legal, 32);
		assert_true(budget == 32 || budget == AS_ALIKE_LEAST);
		all += budget == 32;
		some += budget == AS_ALIKE_LEAST;
	}
	assert_int_equal(all, 101);
	assert_int_equal(all + some, 100 * AS_ALIKE_SAMPLE);
	/* No more than the user allows. */
	for (legal.lo = 5000; legal.lo < 5020; legal.lo++)
		assert_int_equal(as_alike_budget(alike, &r.rec, legal, 2), 2);
	recorded_free(&r);
	as_shared_free(alike, sizeof(*alike));
}

/* Processes count together, and a table that is full knows nothing new. */
static void test_counters(void **state)
{
	struct as_alike *alike = as_shared_alloc(sizeof(*alike));
	pid_t pid[4];

	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		pid[k] = fork();
		assert_true(pid[k] >= 0);
		for (unsigned i = 0; !pid[k] && i < 10000; i++)
			(void)as_alike_count(alike, i % 100);
		if (!pid[k])
			_exit(0);
	}
	for (unsigned k = 0; k < 4; k++)
		assert_int_equal(waitpid(pid[k], NULL, 0), pid[k]);
	/* 0 stands for a free place, and is counted with 1. */
	assert_int_equal(as_alike_count(alike, 1), 800);
	for (unsigned i = 2; i < 100; i++)
		assert_int_equal(as_alike_count(alike, i), 400);
	for (uint64_t i = 0; i < 4 * AS_ALIKE_SLOTS; i++)
		(void)as_alike_count(alike, 1000 + i);
	assert_int_equal(as_alike_count(alike, UINT64_MAX), 0);
	assert_int_equal(as_alike_count(alike, UINT64_MAX), 0);
	assert_int_equal(as_alike_count(alike, 50), 401);
	as_shared_free(alike, sizeof(*alike));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_what_is_spent),
		cmocka_unit_test(test_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
