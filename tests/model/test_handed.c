/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a call has to hand over, as the model says it to who has no model: the judge agrees with an
 * answer that is made of it, and with none that differs in one byte, one name or one attribute.
 */
#include "tests/lib/gen.h"
#include "tests/lib/model.h"

#include "work/handed.h"

#include <stdio.h>
#include <sys/stat.h>

#define WORKLOADS 300

/* ---- Answers made of it ---- */

static void fill_bytes(const struct as_handed *told, struct as_buf *bytes)
{
	as_buf_clear(bytes);
	if (told->is_text) {
		as_buf_add(bytes, as_buf_str(&told->text), told->text.len);
		return;
	}
	as_buf_reserve(bytes, told->len + 1);
	memset(bytes->data, 0, told->len + 1);
	bytes->len = told->len;
	for (size_t i = 0; i < told->n_runs; i++) {
		const struct as_handed_run *run = &told->run[i];

		assert_true(run->len && run->at + run->len <= told->len);
		as_pattern_fill(run->pattern, run->from, bytes->data + run->at, run->len);
	}
}

static struct as_outcome answer_of(const struct as_handed *told, const struct as_allowed *allowed,
				   struct as_buf *bytes)
{
	struct as_outcome out = { .ret = allowed->ret, .payload = told->payload };
	const struct as_handed_stat *st = &told->st;

	fill_bytes(told, bytes);
	if (told->payload == AS_PAYLOAD_NAMES) {
		as_buf_clear(bytes);
		as_buf_add(bytes, as_buf_str(&told->text), told->text.len);
	}
	out.data = bytes->data;
	out.len = bytes->len;
	out.st = (struct as_stat){ .mode = st->type | (uint32_t)st->mode,
				   .uid = (uint32_t)st->uid,
				   .gid = (uint32_t)st->gid,
				   .nlink = (uint32_t)st->nlink,
				   .size = st->size < 0 ? 0 : (uint64_t)st->size,
				   .rdev = st->rdev < 0 ? 0 : (uint64_t)st->rdev };
	return out;
}

/* One thing in it is another one. False: there is nothing in it. */
static bool spoil(struct as_outcome *answer, struct as_buf *bytes, unsigned n)
{
	if (answer->payload == AS_PAYLOAD_STAT) {
		if (n % 2)
			answer->st.mode ^= 0100;
		else
			answer->st.gid++;
		return true;
	}
	if (!bytes->len)
		return false;
	if (answer->payload == AS_PAYLOAD_NAMES)
		bytes->data[bytes->len - 2] ^= 0x10;
	else
		bytes->data[n % bytes->len] ^= 4;
	return true;
}

static bool agrees(const struct as_model *model, const struct as_op *op,
		   const struct as_outcome *answer, struct as_buf *why)
{
	struct as_model *copy = as_model_copy(model);
	struct as_verdict verdict = { 0 };
	bool fine = as_model_judge(copy, op, answer, &verdict);

	if (!fine)
		assert_int_equal(verdict.kind, AS_FIND_DATA);
	as_buf_clear(why);
	as_buf_adds(why, as_buf_str(&verdict.why));
	as_verdict_free(&verdict);
	as_model_free(copy);
	return fine;
}

/* How often each operation was looked at. */
static unsigned looked[AS_OP_COUNT];

static void look(const struct as_model *model, const struct as_op *op, const struct as_handed *told)
{
	struct as_buf bytes = { 0 }, why = { 0 };
	struct as_allowed allowed;
	struct as_outcome answer;

	as_model_allowed(model, op, &allowed);
	assert_true(allowed.ok);
	answer = answer_of(told, &allowed, &bytes);
	if (!agrees(model, op, &answer, &why))
		fail_msg("%s: %s", as_op_table[op->code].name, as_buf_str(&why));
	if (spoil(&answer, &bytes, looked[op->code]++))
		assert_false(agrees(model, op, &answer, &why));
	as_buf_free(&bytes);
	as_buf_free(&why);
}

static void go_through(const struct as_seq *seq, const struct as_traits *traits)
{
	struct as_model *model = as_model_new(traits), *before;
	struct as_handed told = { 0 };

	for (size_t i = 0; i < seq->n && !as_model_lost(model); i++) {
		before = as_model_copy(model);
		as_handed_clear(&told);
		if (!as_model_hand_over(model, &seq->ops[i], &told) && told.payload &&
		    told.len < 1 << 20)
			look(before, &seq->ops[i], &told);
		as_model_free(before);
	}
	as_handed_free(&told);
	as_model_free(model);
}

/* ---- Workloads ---- */

static const char every[] = "mkdir /a 0755\n"
			    "$0 = open /a/f O_RDWR|O_CREAT 0640\n"
			    "write $0 len=5000 fill=1\n"
			    "pwrite $0 len=100 at=9000 fill=2\n"
			    "pwrite $0 len=10 at=40 fill=0\n"
			    "lseek $0 17 SEEK_SET\n"
			    "read $0 len=20000\n"
			    "read $0 len=20000\n"
			    "pread $0 len=4200 at=4990\n"
			    "preadv2 $0 len=9100 at=0\n"
			    "mmap $0 len=12288 at=4096\n"
			    "mload $0 len=8000 at=3\n"
			    "copy_file_range $0 $0 len=50 at=9000 to=20000\n"
			    "pread $0 len=90 at=19990\n"
			    "write_xattr /a/f user.x len=300 fill=7\n"
			    "write_xattr /a/f user.a len=0 fill=7\n"
			    "read_xattr /a/f user.x\n"
			    "read_xattr /a/f user.a\n"
			    "listxattr /a/f\n"
			    "setacl /a/f u::rw-,u:7:r--,g::r--,m::r--,o::r--\n"
			    "getacl /a/f\n"
			    "read_xattr /a/f system.posix_acl_access\n"
			    "listxattr /a/f\n"
			    "symlink nowhere /a/l\n"
			    "mknod /a/p fifo 0600\n"
			    "mknod /a/c chr 0600 dev=5:6\n"
			    "readlink /a/l\n"
			    "readdir /a\n"
			    "readdir /\n"
			    "stat /a/c\n"
			    "stat /a/l nofollow=1\n"
			    "fstat $0\n"
			    "statx /a/f\n"
			    "handle /a/f\n"
			    "openhandle /a/f\n";

/* Times are not handed over. */
static struct as_traits timeless(void)
{
	struct as_traits traits = t_any_traits;

	traits.features &= ~(uint64_t)AS_FEAT_TIMES;
	return traits;
}

static void test_every(void **state)
{
	static const enum as_opcode codes[] = {
		AS_OP_READ,	 AS_OP_PREAD,  AS_OP_PREADV2,	 AS_OP_MLOAD,	AS_OP_READ_XATTR,
		AS_OP_LISTXATTR, AS_OP_GETACL, AS_OP_READLINK,	 AS_OP_READDIR, AS_OP_STAT,
		AS_OP_FSTAT,	 AS_OP_STATX,  AS_OP_OPENHANDLE,
	};
	const struct as_traits traits = timeless();
	struct as_seq *seq = t_parse(every);

	(void)state;
	memset(looked, 0, sizeof(looked));
	go_through(seq, &traits);
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (!looked[codes[i]])
			fail_msg("%s hands nothing over", as_op_table[codes[i]].name);
	as_seq_free(seq);
}

static void test_generated(void **state)
{
	struct as_profile *profile = as_profile_new();
	struct as_chooser *chooser = as_chooser_seeded(7);
	const struct as_traits traits = timeless();
	struct as_err err = { 0 };
	struct as_gen *gen;

	(void)state;
	if (as_profile_find("hunt", profile, &err))
		fail_msg("%s", err.msg);
	gen = t_gen_start(profile, &traits, chooser);
	memset(looked, 0, sizeof(looked));
	for (int i = 0; i < WORKLOADS; i++) {
		struct as_seq *seq = as_gen_next(gen, AS_GEN_SYNTAX);

		go_through(seq, &traits);
		as_seq_free(seq);
	}
	assert_true(looked[AS_OP_READ] + looked[AS_OP_PREAD] > 20);
	assert_true(looked[AS_OP_READDIR] > 5);
	as_gen_free(gen);
	as_chooser_free(chooser);
	free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every),
		cmocka_unit_test(test_generated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
