/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_fsck_journal: what the checker replays and what not; its three modes; power cuts, failed
 * calls and failed allocations while it runs.
 */
#include "tests/lib/lab_sample.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define FIRST_SEQ 5u
#define MARK 0x77 /* uid that a transaction gives to /a/f */

/* ---- Transactions made by hand ---- */

struct ring {
	struct img *img;
	uint32_t pos, seq, blocks, crc;
};

static uint8_t *ring_block(struct ring *ring, const void *data)
{
	struct lab_super *sb = t_img_super(ring->img);
	uint8_t *at = t_img_block(ring->img, sb->journal_start + ring->pos);

	memcpy(at, data, LAB_BLOCK);
	ring->pos = ring->pos + 1 < sb->journal_blocks ? ring->pos + 1 : 1;
	ring->blocks++;
	ring->crc = lab_crc32c(ring->crc, at, LAB_BLOCK);
	return at;
}

static void ring_head(struct ring *ring, void *block, uint32_t type)
{
	struct lab_j_head *head = block;

	*head = (struct lab_j_head){ LAB_J_MAGIC, type, ring->seq, 0 };
	head->csum = lab_crc_without(block, LAB_BLOCK, offsetof(struct lab_j_head, csum));
}

static void ring_log(struct ring *ring, uint32_t home, const void *data, uint32_t flags)
{
	uint32_t buf[LAB_PTRS] = { 0 };
	struct lab_j_desc *desc = (struct lab_j_desc *)buf;

	desc->count = 1;
	desc->tag[0] = (struct lab_j_tag){ home, flags };
	ring_head(ring, buf, LAB_J_DESC);
	ring_block(ring, buf);
	ring_block(ring, data);
}

static void ring_revoke(struct ring *ring, uint32_t block)
{
	uint32_t buf[LAB_PTRS] = { 0 };
	struct lab_j_revoke *revoke = (struct lab_j_revoke *)buf;

	revoke->count = 1;
	revoke->block[0] = block;
	ring_head(ring, buf, LAB_J_REVOKE);
	ring_block(ring, buf);
}

static void ring_commit(struct ring *ring)
{
	uint32_t buf[LAB_PTRS] = { 0 };
	struct lab_j_commit *commit = (struct lab_j_commit *)buf;

	commit->blocks = ring->blocks;
	commit->data_csum = ring->crc;
	ring_head(ring, buf, LAB_J_COMMIT);
	ring_block(ring, buf);
	ring->seq++;
	ring->blocks = ring->crc = 0;
}

static struct ring ring_open(struct img *img, uint32_t tail)
{
	struct lab_j_super *j = t_img_block(img, t_img_super(img)->journal_start);

	j->head.seq = FIRST_SEQ;
	j->tail = tail;
	j->empty = 0;
	t_img_seal_j(img, t_img_super(img)->journal_start);
	t_img_super(img)->state = 0;
	t_img_seal_super(img, 0);
	return (struct ring){ .img = img, .pos = tail, .seq = FIRST_SEQ };
}

/* The inode table's first block with another owner of /a/f. */
static void log_owner(struct ring *ring, uint32_t uid)
{
	struct lab_inode table[LAB_INODES_PER_BLOCK], *f = &table[I_F - 1];
	uint32_t block = t_img_super(ring->img)->inode_table_start;

	memcpy(table, t_img_block(ring->img, block), LAB_BLOCK);
	f->uid = uid;
	f->csum = lab_crc_without(f, sizeof(*f), offsetof(struct lab_inode, csum));
	ring_log(ring, block, table, 0);
}

static uint32_t big_block(struct img *img)
{
	return t_img_inode(img, I_BIG)->ptr[2];
}

static void log_garbage(struct ring *ring)
{
	uint8_t garbage[LAB_BLOCK];

	memset(garbage, 0xee, sizeof(garbage));
	ring_log(ring, big_block(ring->img), garbage, 0);
}

static void one(struct img *img)
{
	struct ring ring = ring_open(img, 1);

	log_owner(&ring, MARK);
	ring_commit(&ring);
}

static void newest_wins(struct img *img)
{
	struct ring ring = ring_open(img, 1);

	log_owner(&ring, 1);
	ring_commit(&ring);
	log_owner(&ring, MARK);
	ring_commit(&ring);
}

static void torn(struct img *img)
{
	struct ring ring = ring_open(img, 1);

	log_owner(&ring, MARK);
	ring_commit(&ring);
	log_garbage(&ring);
	ring.crc ^= 1;
	ring_commit(&ring);
}

static void not_committed(struct img *img)
{
	struct ring ring = ring_open(img, 1);

	log_garbage(&ring);
}

static void wraps(struct img *img)
{
	struct ring ring = ring_open(img, SAMPLE_JOURNAL - 2);

	log_owner(&ring, MARK);
	ring_commit(&ring);
}

static void old_sequence(struct img *img)
{
	struct ring ring = ring_open(img, 1);

	ring.seq--;
	log_garbage(&ring);
	ring_commit(&ring);
}

static void revoked(struct img *img)
{
	struct ring ring = ring_open(img, 1);

	log_garbage(&ring);
	ring_commit(&ring);
	ring_revoke(&ring, big_block(img));
	log_owner(&ring, MARK);
	ring_commit(&ring);
}

static void revoked_in_the_same(struct img *img)
{
	struct ring ring = ring_open(img, 1);

	ring_revoke(&ring, big_block(img));
	log_garbage(&ring);
	log_owner(&ring, MARK);
	ring_commit(&ring);
}

static void revoked_before(struct img *img)
{
	struct ring ring = ring_open(img, 1);

	ring_revoke(&ring, big_block(img));
	log_owner(&ring, MARK);
	ring_commit(&ring);
	log_garbage(&ring);
	ring_commit(&ring);
}

static void escaped(struct img *img)
{
	struct ring ring = ring_open(img, 1);
	uint8_t copy[LAB_BLOCK];
	uint32_t magic = LAB_J_MAGIC;

	/* What is logged is what is there, so that only the escape makes a difference. */
	memcpy(t_img_block(img, big_block(img)), &magic, 4);
	memcpy(copy, t_img_block(img, big_block(img)), LAB_BLOCK);
	memset(copy, 0, 4);
	ring_log(&ring, big_block(img), copy, LAB_J_ESCAPED);
	ring_commit(&ring);
}

static void tag_in_journal(struct img *img)
{
	struct ring ring = ring_open(img, 1);
	uint8_t zero[LAB_BLOCK] = { 0 };

	ring_log(&ring, t_img_super(img)->journal_start, zero, 0);
	log_owner(&ring, 1);
	ring_commit(&ring);
}

static void tag_past_end(struct img *img)
{
	struct ring ring = ring_open(img, 1);
	uint8_t zero[LAB_BLOCK] = { 0 };

	ring_log(&ring, SAMPLE_BLOCKS, zero, 0);
	ring_commit(&ring);
}

static void super_garbage(struct img *img)
{
	one(img);
	memset(t_img_block(img, t_img_super(img)->journal_start), 0x5a, LAB_BLOCK);
}

static void tail_outside(struct img *img)
{
	one(img);
	((struct lab_j_super *)t_img_block(img, t_img_super(img)->journal_start))->tail = 999;
	t_img_seal_j(img, t_img_super(img)->journal_start);
}

static void marked_clean(struct img *img)
{
	one(img);
	t_img_super(img)->state = LAB_CLEAN;
	t_img_seal_super(img, 0);
}

static void logs_super(struct img *img)
{
	struct ring ring = ring_open(img, 1);
	uint8_t copy[LAB_BLOCK];

	memcpy(copy, img->data, LAB_BLOCK);
	ring_log(&ring, 0, copy, 0);
	ring_commit(&ring);
	memset(img->data, 0, 4);
}

static const struct {
	const char *name;
	void (*fn)(struct img *img);
	const char *codes, *diff;
} replays[] = {
	{ "one transaction", one, " 52 4", " ~/a/f" },
	{ "the newest wins", newest_wins, " 52 4", " ~/a/f" },
	{ "torn", torn, " 52 4", " ~/a/f" },
	{ "not committed", not_committed, " 4", "" },
	{ "round the end of the ring", wraps, " 52 4", " ~/a/f" },
	{ "old sequence number", old_sequence, " 4", "" },
	{ "revoked", revoked, " 52 4", " ~/a/f" },
	{ "revoked in the same", revoked_in_the_same, " 52 4", " ~/a/f" },
	{ "revoked before", revoked_before, " 52 4", " ~/a/f ~/big" },
	{ "escaped", escaped, " 52 4", "" },
	{ "home in the journal", tag_in_journal, " 53 4", "" },
	{ "home past the end", tag_past_end, " 53 4", "" },
	{ "journal superblock garbage", super_garbage, " 51 4", "" },
	{ "tail outside the ring", tail_outside, " 51 4", "" },
	{ "marked clean", marked_clean, " 54 52", " ~/a/f" },
	{ "superblock replayed", logs_super, " 1 52 4", "" },
};

static void test_replay(void **state)
{
	struct tree *sound = malloc(sizeof(*sound)), *tree = malloc(sizeof(*tree));
	uint8_t *data = malloc(SAMPLE_BYTES);
	char diff[512];

	(void)state;
	for (size_t i = 0; i < sizeof(replays) / sizeof(replays[0]); i++) {
		struct img img = t_sample_build(data);
		struct sample_run run;

		replays[i].fn(&img);
		/* "escaped" changes a file before it makes a transaction of it */
		t_img_super(&img)->state |= LAB_CLEAN;
		t_tree_walk(sound, &img);
		if (replays[i].fn != marked_clean)
			t_img_super(&img)->state &= ~LAB_CLEAN;
		if (sound->wrong && replays[i].fn != logs_super)
			fail_msg("%s: %s", replays[i].name, sound->wrong);
		t_sample_check(&img, AS_FSCK_FULL, "", false, &run);
		t_tree_walk(tree, &img);
		t_tree_diff(sound, tree, diff, sizeof(diff));
		if (run.code != AS_FSCK_REPAIRED || strcmp(run.codes, replays[i].codes) ||
		    strcmp(diff, replays[i].diff) || tree->wrong)
			fail_msg("%s: exit %d, problems%s, tree%s, %s\n%s", replays[i].name,
				 run.code, run.codes, diff, tree->wrong ? tree->wrong : "sound",
				 run.log);
		if (strstr(replays[i].diff, "/a/f"))
			assert_int_equal(t_img_inode(&img, I_F)->uid, MARK);
		free(run.log);
		t_sample_check(&img, AS_FSCK_FULL, "", false, &run);
		assert_int_equal(run.code, 0);
		assert_int_equal(run.calls, 0);
		free(run.log);
	}
	free(data);
	free(tree);
	free(sound);
}

/* ---- Modes ---- */

static void run_mode(struct img *img, enum as_fsck_mode mode, int code, const char *codes)
{
	struct sample_run run;

	t_sample_check(img, mode, "", false, &run);
	assert_string_equal(run.codes, codes);
	assert_int_equal(run.code, code);
	assert_int_equal(run.leaked, 0);
	free(run.log);
}

static void test_modes(void **state)
{
	uint8_t *data = malloc(SAMPLE_BYTES);
	struct img img = t_sample_build(data);

	(void)state;
	/* Damage on a disk marked clean is found by a full check only. */
	t_sample_rec(&img, I_A, "f")->ino = 0;
	run_mode(&img, AS_FSCK_REPLAY, 0, "");
	run_mode(&img, AS_FSCK_DEFAULT, 0, "");
	run_mode(&img, AS_FSCK_FULL, AS_FSCK_REPAIRED, " 303");
	run_mode(&img, AS_FSCK_FULL, 0, "");
	/* On a disk with something to replay, by the default, too. */
	img = t_sample_build(data);
	one(&img);
	t_sample_rec(&img, I_A, "f")->ino = 0;
	run_mode(&img, AS_FSCK_REPLAY, AS_FSCK_REPAIRED, " 52");
	assert_int_equal(t_img_inode(&img, I_F)->uid, MARK);
	run_mode(&img, AS_FSCK_REPLAY, 0, "");
	run_mode(&img, AS_FSCK_DEFAULT, AS_FSCK_REPAIRED, " 4 303");
	run_mode(&img, AS_FSCK_DEFAULT, 0, "");
	/* A superblock from the backup cannot be trusted: replay leaves it marked. */
	img = t_sample_build(data);
	memset(img.data, 0, LAB_BLOCK);
	run_mode(&img, AS_FSCK_REPLAY, AS_FSCK_REPAIRED, " 1");
	assert_int_equal(t_img_super(&img)->state, LAB_ERRORS);
	run_mode(&img, AS_FSCK_DEFAULT, AS_FSCK_REPAIRED, " 3");
	run_mode(&img, AS_FSCK_DEFAULT, 0, "");
	free(data);
}

/* ---- Power cuts ---- */

/* A repair that fits the journal, after a replay. */
static void replay_and_lost(struct img *img)
{
	struct ring ring;

	t_sample_rec(img, I_A, "f")->ino = 0;
	t_sample_rec(img, I_ROOT, "big")->ino = 0;
	t_sample_rec(img, I_A, "b")->ino = 0;
	ring = ring_open(img, 1);
	/* Two blocks that only together make sense, the second time with other owners. */
	for (uint32_t uid = 1; uid <= 3; uid++) {
		log_owner(&ring, uid == 3 ? MARK : uid);
		ring_commit(&ring);
	}
}

/* One that needs more blocks than the ring has, on a disk marked clean. */
static void too_big(struct img *img)
{
	t_img_inode(img, I_SPARSE)->ptr[LAB_DIRECT] = t_img_inode(img, I_BIG)->ptr[LAB_DIRECT];
	for (unsigned i = 0; i < LAB_DIRECT; i++)
		t_img_inode(img, I_SPARSE)->ptr[i] = t_img_inode(img, I_BIG)->ptr[i];
	t_img_seal_inode(img, I_SPARSE);
	t_sample_rec(img, I_A, "f")->ino = 0;
}

static void clean_and_lost(struct img *img)
{
	t_sample_rec(img, I_A, "f")->ino = 0;
	t_sample_rec(img, I_A, "b")->ino = 0;
}

/* What a check finds, without what only says that the last run was not finished. */
static const char *without_state(const char *codes)
{
	bool state = !strncmp(codes, " 3", 2) || !strncmp(codes, " 4", 2);

	return state && (!codes[2] || codes[2] == ' ') ? codes + 2 : codes;
}

/* What a mount finds after the power cut. */
static bool as_before_or_repaired(uint8_t *disk, const char *before, uint32_t uid, bool in_place)
{
	struct img img = { .data = disk, .blocks = SAMPLE_BLOCKS };
	bool clean = t_img_super(&img)->state == LAB_CLEAN;
	struct sample_run run;
	bool ok;

	if (clean) {
		const struct lab_j_super *j = t_img_block(&img, t_img_super(&img)->journal_start);

		/* A mount trusts this one: there is no journal, and nothing may be half done. */
		if (!j->empty)
			return false;
	} else {
		t_sample_check(&img, AS_FSCK_REPLAY, "", false, &run);
		free(run.log);
	}
	t_sample_check(&img, AS_FSCK_FULL, "", true, &run);
	ok = !*without_state(run.codes) || !strcmp(without_state(run.codes), before) ||
	     (in_place && !clean);
	/* What was committed stays so. */
	ok &= t_img_inode(&img, I_F)->uid == uid;
	free(run.log);
	return ok;
}

/* Cuts the power at every write of every epoch, with all, none, only the last and every second of
 * the epoch's writes. Returns how many disks were neither as before nor repaired. */
static unsigned cut_everywhere(struct membd *disk, const char *before, uint32_t uid, bool in_place)
{
	uint8_t *stable = malloc(SAMPLE_BYTES), *now = malloc(SAMPLE_BYTES);
	unsigned bad = 0;
	size_t start = 0;

	memcpy(stable, disk->base, SAMPLE_BYTES);
	for (size_t i = 0; i <= disk->nlog; i++) {
		bool end = i == disk->nlog || disk->log[i].off == UINT64_MAX;

		for (unsigned how = 0; how < 5; how++) {
			memcpy(now, stable, SAMPLE_BYTES);
			for (size_t w = start; w < i; w++)
				if (how == 0 || (how == 1 && w == i - 1) || (how == 2 && w % 2) ||
				    (how == 3 && !(w % 2)) || (how == 4 && w != start))
					t_mem_apply(now, &disk->log[w]);
			bad += !as_before_or_repaired(now, before, uid, in_place);
		}
		if (!end || i == disk->nlog)
			continue;
		for (size_t w = start; w < i; w++)
			t_mem_apply(stable, &disk->log[w]);
		start = i + 1;
	}
	free(stable);
	free(now);
	return bad;
}

static unsigned cut_check(void (*fn)(struct img *), const char *opts, bool in_place)
{
	uint8_t *data = malloc(SAMPLE_BYTES);
	struct img img = t_sample_build(data);
	struct membd disk = t_sample_disk(&img);
	struct sample_host host;
	struct as_mount_args args = { .host = &host.mem.host, .bd = &disk.bd, .opts = opts };
	struct sample_run before;
	uint32_t uid;
	unsigned bad;

	fn(&img);
	t_sample_check(&img, AS_FSCK_REPLAY, "", false, &before);
	free(before.log);
	uid = t_img_inode(&img, I_F)->uid;
	t_sample_check(&img, AS_FSCK_FULL, "", true, &before);
	free(before.log);
	t_sample_build(data);
	fn(&img);
	t_sample_host_init(&host);
	t_mem_record(&disk);
	assert_int_equal(lab_fsck(&args, AS_FSCK_FULL), AS_FSCK_REPAIRED);
	bad = cut_everywhere(&disk, without_state(before.codes), uid, in_place);
	/* The last call is a flush: what was answered is stable. */
	if (!disk.nlog || disk.log[disk.nlog - 1].off != UINT64_MAX)
		bad++;
	t_mem_forget_log(&disk);
	free(host.log);
	free(data);
	return bad;
}

static const struct {
	const char *opts;
	void (*fn)(struct img *);
	bool in_place, must_fail;
} cuts[] = {
	{ "", replay_and_lost, false, false },
	{ "", clean_and_lost, false, false },
	{ "", too_big, true, false },
	{ "noflush=CK_REPLAY_HOME", replay_and_lost, false, true },
	{ "bug=59", replay_and_lost, false, true },
	{ "noflush=CK_COMMIT", clean_and_lost, false, true },
	{ "noflush=CK_HOME", clean_and_lost, false, true },
	{ "noflush=CK_CLEAR", clean_and_lost, false, true },
	{ "noflush=CK_MARK", clean_and_lost, false, true },
	{ "noflush=CK_MARK", too_big, true, true },
	{ "noflush=CK_IN_PLACE", too_big, true, true },
	{ "noflush=CK_FINAL", clean_and_lost, false, true },
};

static void test_power_cuts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		unsigned bad = cut_check(cuts[i].fn, cuts[i].opts, cuts[i].in_place);

		if (!bad != !cuts[i].must_fail)
			fail_msg("row %zu (%s): %u bad disks", i, cuts[i].opts, bad);
	}
}

/* ---- Failures ---- */

enum fault { FAIL_ALLOC, FAIL_READ, FAIL_WRITE, FAIL_FLUSH, FAULTS };

/* Fails the nth call of a kind; returns whether there were so many. */
static bool fail_nth(enum fault fault, unsigned n, uint8_t *data, struct tree *tree)
{
	struct img img = t_sample_build(data);
	struct membd disk = t_sample_disk(&img);
	struct sample_host host;
	struct as_mount_args args = { .host = &host.mem.host, .bd = &disk.bd, .opts = "" };
	struct sample_run run;
	bool fired;
	int rc;

	replay_and_lost(&img);
	t_sample_host_init(&host);
	host.mem.fail_alloc = fault == FAIL_ALLOC ? n : 0;
	disk.fail_read = fault == FAIL_READ ? n : 0;
	disk.fail_write = fault == FAIL_WRITE ? n : 0;
	disk.fail_flush = fault == FAIL_FLUSH ? n : 0;
	rc = lab_fsck(&args, AS_FSCK_FULL);
	fired = host.mem.fired || disk.fired;
	assert_int_equal(rc, fired ? AS_FSCK_OPERATIONAL : AS_FSCK_REPAIRED);
	assert_int_equal(host.mem.live, 0);
	free(host.log);
	t_sample_check(&img, AS_FSCK_FULL, "", false, &run);
	free(run.log);
	t_tree_walk(tree, &img);
	if (tree->wrong)
		fail_msg("fault %d, call %u: %s", fault, n, tree->wrong);
	assert_int_equal(t_img_inode(&img, I_F)->uid, MARK);
	return fired;
}

static void test_failures(void **state)
{
	uint8_t *data = malloc(SAMPLE_BYTES);
	struct tree *tree = malloc(sizeof(*tree));

	(void)state;
	for (enum fault fault = 0; fault < FAULTS; fault++) {
		unsigned n = 1;

		while (fail_nth(fault, n, data, tree))
			n++;
		assert_in_range(n, 3, 100000);
	}
	free(tree);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replay),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_power_cuts),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
