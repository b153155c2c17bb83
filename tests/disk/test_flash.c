/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Raw flash on a disk: its rules, what a power cut leaves in a record, and blocks that fail. */
#include "tests/lib/disk.h"

#include "base/buf.h"
#include "disk/cow.h"
#include "disk/flash.h"
#include "disk/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BLOCK 2048u
#define UNIT 8u
#define SIZE (8 * BLOCK)

struct rig {
	struct as_chunks *store;
	struct as_disk *disk;
	struct as_reclog *log;
	struct as_emuflash *emu;
	struct as_flash *flash;
};

static void set_up(struct rig *r, const char *words)
{
	struct as_flash_setup setup = { .geometry = { .erase_bytes = BLOCK,
						      .program_bytes = UNIT,
						      .read_bytes = 1,
						      .erased = 0xff } };
	char text[200], *save = NULL;
	struct as_err err = { 0 };

	snprintf(text, sizeof(text), "%s", words);
	for (char *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save))
		if (as_flash_setup_word(&setup, word, &err))
			fail_msg("%s", err.msg);
	r->store = as_chunks_new();
	assert_int_equal(as_disk_new(r->store, SIZE, &r->disk, &err), 0);
	r->log = as_reclog_new(as_disk_bd(r->disk), 0, 0);
	r->emu = as_emuflash_new(&setup, as_reclog_bd(r->log));
	r->flash = as_emuflash_seam(r->emu);
}

static void tear_down(struct rig *r)
{
	as_emuflash_free(r->emu);
	as_reclog_free(r->log);
	as_disk_free(r->disk);
	as_chunks_free(r->store);
}

static void test_fresh_is_erased(void **state)
{
	static const char *const setups[] = { "", "erased=0" };
	unsigned char got[24], want[2] = { 0xff, 0 };

	(void)state;
	for (size_t i = 0; i < N_ROWS(setups); i++) {
		struct rig r;

		set_up(&r, setups[i]);
		assert_int_equal(as_flash_read(r.flash, 3, got, sizeof(got)), 0);
		for (size_t k = 0; k < sizeof(got); k++)
			assert_int_equal(got[k], want[i]);
		assert_int_equal(as_flash_program(r.flash, 1024 - UNIT, "0123456789abcdef", 16), 0);
		assert_int_equal(as_flash_read(r.flash, 1023 - UNIT, got, 18), 0);
		assert_memory_equal(got + 1, "0123456789abcdef", 16);
		assert_int_equal(got[0], want[i]);
		assert_int_equal(got[17], want[i]);
		assert_int_equal(as_flash_erase(r.flash, 0), 0);
		assert_int_equal(as_flash_read(r.flash, 1024, got, 1), 0);
		assert_int_equal(got[0], want[i]);
		assert_null(as_emuflash_misuse(r.emu));
		tear_down(&r);
	}
}

/* Each row breaks a rule, and the words say which; NULL: it breaks none. */
static void test_rules(void **state)
{
	static const struct {
		const char *setup;
		uint64_t off;
		unsigned char first, second;
		size_t len;
		int rc;
		const char *want;
	} rows[] = {
		{ "", 0, 0xf0, 0x30, UNIT, 0, "programs a unit twice" },
		{ "over=1", 0, 0xf0, 0x30, UNIT, 0, NULL },
		{ "over=1", 0, 0xf0, 0x0f, UNIT, 0, "back to the erased value" },
		{ "over=1,erased=0", 0, 0x30, 0xf0, UNIT, 0, NULL },
		{ "over=1,erased=0", 0, 0xf0, 0x30, UNIT, 0, "back to the erased value" },
		{ "", 4, 0xff, 0, UNIT, -EINVAL, "not whole units" },
		{ "", 0, 0xff, 0, UNIT - 1, -EINVAL, "not whole units" },
		{ "", SIZE, 0xff, 0, UNIT, -EINVAL, "outside of the flash" },
		{ "", UINT64_MAX - 7, 0xff, 0, UNIT, -EINVAL, "outside of the flash" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		unsigned char bytes[UNIT];
		const char *why;
		struct rig r;

		set_up(&r, rows[i].setup);
		if (!rows[i].rc) {
			memset(bytes, rows[i].first, UNIT);
			assert_int_equal(as_flash_program(r.flash, rows[i].off, bytes, UNIT), 0);
		}
		memset(bytes, rows[i].second, UNIT);
		assert_int_equal(as_flash_program(r.flash, rows[i].off, bytes, rows[i].len),
				 rows[i].rc);
		why = as_emuflash_misuse(r.emu);
		if (!rows[i].want && why)
			fail_msg("row %zu: %s", i, why);
		if (rows[i].want && (!why || !strstr(why, rows[i].want)))
			fail_msg("row %zu: %s", i, why ? why : "nothing");
		tear_down(&r);
	}
}

static void test_wrong_erase(void **state)
{
	struct rig r;

	(void)state;
	set_up(&r, "");
	assert_int_equal(as_flash_erase(r.flash, 512), -EINVAL);
	assert_non_null(strstr(as_emuflash_misuse(r.emu), "erase"));
	tear_down(&r);
}

static void test_bad_and_worn(void **state)
{
	unsigned char byte[UNIT] = { 0 };
	struct rig r;

	(void)state;
	set_up(&r, "bad=2+3@1,cycles=4,weak=5,rot=8192");
	assert_int_equal(as_flash_erase(r.flash, 2 * BLOCK), -EIO);
	assert_int_equal(as_flash_program(r.flash, 2 * BLOCK, byte, UNIT), -EIO);
	assert_int_equal(as_flash_erase(r.flash, 3 * BLOCK), 0);
	assert_int_equal(as_flash_erase(r.flash, 3 * BLOCK), -EIO);
	for (int i = 0; i < 4; i++)
		assert_int_equal(as_flash_erase(r.flash, 0), 0);
	assert_int_equal(as_flash_erase(r.flash, 0), -EIO);
	assert_int_equal(as_emuflash_wear(r.emu, 0), 4);
	assert_int_equal(as_flash_read(r.flash, 5 * BLOCK, byte, 1), -EUCLEAN);
	assert_int_equal(as_flash_erase(r.flash, 5 * BLOCK), 0);
	assert_int_equal(as_flash_read(r.flash, 5 * BLOCK, byte, 1), 0);
	/* Erased bytes do not rot. */
	assert_int_equal(as_flash_read(r.flash, 8192, byte, 1), 0);
	assert_int_equal(byte[0], 0xff);
	memset(byte, 0x50, sizeof(byte));
	assert_int_equal(as_flash_program(r.flash, 8192, byte, UNIT), 0);
	assert_int_equal(as_emuflash_hits(r.emu), 0);
	assert_int_equal(as_flash_read(r.flash, 8192, byte, UNIT), 0);
	assert_int_equal(byte[0], 0x51);
	assert_int_equal(byte[1], 0x50);
	assert_int_equal(as_emuflash_hits(r.emu), 1);
	assert_null(as_emuflash_misuse(r.emu));
	tear_down(&r);
}

/* Each call of a bad block fails only if the setup says so. */
static void test_bad_calls(void **state)
{
	static const struct {
		const char *setup;
		int reads, programs, erases;
	} rows[] = {
		{ "bad=2", 0, -EIO, -EIO },	{ "bad=2r", -EIO, 0, 0 },
		{ "bad=2p", 0, -EIO, 0 },	{ "bad=2e", 0, 0, -EIO },
		{ "bad=2@0re", -EIO, 0, -EIO }, { "bad=2rpe", -EIO, -EIO, -EIO },
		{ "bad=3rpe+1rpe", 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		unsigned char bytes[2 * UNIT] = { 0 };
		struct rig r;

		set_up(&r, rows[i].setup);
		assert_int_equal(as_flash_program(r.flash, 2 * BLOCK, bytes, UNIT),
				 rows[i].programs);
		assert_int_equal(as_flash_read(r.flash, 3 * BLOCK - 1, bytes, 1), rows[i].reads);
		assert_int_equal(as_emuflash_hits(r.emu), rows[i].reads ? 1 : 0);
		assert_int_equal(as_flash_erase(r.flash, 2 * BLOCK), rows[i].erases);
		tear_down(&r);
	}
	for (int after = 0; after < 2; after++) {
		unsigned char bytes[2 * BLOCK];
		struct rig r;

		set_up(&r, "bad=3@1r");
		if (after)
			assert_int_equal(as_flash_erase(r.flash, 3 * BLOCK), 0);
		/* From the block before. */
		assert_int_equal(as_flash_read(r.flash, 3 * BLOCK - 1, bytes, 2), after ? -EIO : 0);
		assert_int_equal(as_flash_read(r.flash, BLOCK, bytes, 2 * BLOCK), 0);
		tear_down(&r);
	}
}

/* A read that was refused does not hide a program or an erase, but the first of a kind is kept. */
static void test_worse_misuse(void **state)
{
	unsigned char bytes[UNIT] = { 0 };
	struct rig r;

	(void)state;
	set_up(&r, "");
	assert_int_equal(as_flash_read(r.flash, SIZE, bytes, 1), -EINVAL);
	assert_int_equal(as_flash_read(r.flash, SIZE + 7, bytes, 1), -EINVAL);
	assert_non_null(strstr(as_emuflash_misuse(r.emu), "read of 1 bytes at 16384"));
	assert_int_equal(as_flash_program(r.flash, 0, bytes, UNIT), 0);
	assert_int_equal(as_flash_program(r.flash, 0, bytes, UNIT), 0);
	assert_non_null(strstr(as_emuflash_misuse(r.emu), "programs a unit twice"));
	assert_int_equal(as_flash_read(r.flash, SIZE, bytes, 1), -EINVAL);
	assert_non_null(strstr(as_emuflash_misuse(r.emu), "programs a unit twice"));
	assert_int_equal(as_flash_erase(r.flash, SIZE), -EINVAL);
	assert_non_null(strstr(as_emuflash_misuse(r.emu), "erase"));
	tear_down(&r);
}

static void test_wear_limits(void **state)
{
	static const struct {
		const char *setup, *want;
	} rows[] = {
		{ "wear=3", NULL },
		{ "wear=2", "wears a block out" },
		{ "spread=3", NULL },
		{ "spread=2", "does not level wear" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct as_buf text = { 0 };
		struct rig r;

		set_up(&r, rows[i].setup);
		for (int k = 0; k < 3; k++)
			assert_int_equal(as_flash_erase(r.flash, 4 * BLOCK), 0);
		if (rows[i].want)
			assert_non_null(strstr(as_emuflash_misuse(r.emu), rows[i].want));
		else
			assert_null(as_emuflash_misuse(r.emu));
		as_emuflash_print_wear(r.emu, &text);
		assert_string_equal(as_buf_str(&text), "wear: block 4 was erased most, 3 times; 7 "
						       "blocks 0 times, 1 block at least 2 times");
		as_buf_free(&text);
		tear_down(&r);
	}
}

/* What the record has after each of its first n entries. */
static void states(const struct rig *r, size_t n, unsigned char *out, size_t len)
{
	unsigned char sector[512];
	struct as_err err = { 0 };
	struct as_disk *disk;

	assert_int_equal(as_disk_new(r->store, SIZE, &disk, &err), 0);
	assert_int_equal(as_reclog_replay(r->log, 0, n, as_disk_bd(disk), &err), 0);
	assert_int_equal(as_bd_read(as_disk_bd(disk), 0, sector, sizeof(sector)), 0);
	for (size_t i = 0; i < len; i++)
		out[i] = sector[i] ^ 0xff;
	as_disk_free(disk);
}

/* A program of two units can be cut before it, in the middle of each unit, between and after. */
static void test_record_tears_programs(void **state)
{
	static const char *const want[] = {
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"0123\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"01234567\xff\xff\xff\xff\xff\xff\xff\xff",
		"0123456789ab\xff\xff\xff\xff",
		"0123456789abcdef",
	};
	unsigned char got[16];
	struct rig r;

	(void)state;
	set_up(&r, "");
	as_emuflash_tears(r.emu);
	assert_int_equal(as_flash_program(r.flash, 0, "0123456789abcdef", 16), 0);
	assert_int_equal(as_reclog_len(r.log), N_ROWS(want) - 1);
	for (size_t n = 0; n < N_ROWS(want); n++) {
		states(&r, n, got, sizeof(got));
		assert_memory_equal(got, want[n], sizeof(got));
	}
	tear_down(&r);
}

/* With tear=bits, a step has some of the bits and not others; never one that nobody programs. */
static void test_record_tears_bits(void **state)
{
	unsigned char first[16], again[16], old[16], zeros[16] = { 0 };
	bool between = false;

	(void)state;
	for (int round = 0; round < 2; round++) {
		struct rig r;

		set_up(&r, "tear=bits");
		as_emuflash_tears(r.emu);
		assert_int_equal(as_flash_program(r.flash, 0, zeros, 16), 0);
		states(&r, 1, round ? again : first, 16);
		assert_int_equal(as_flash_erase(r.flash, 0), 0);
		states(&r, as_reclog_len(r.log) - 1, old, 16);
		assert_memory_not_equal(old, zeros, 16);
		tear_down(&r);
	}
	assert_memory_equal(first, again, 16);
	for (size_t i = 0; i < 8; i++)
		between |= first[i] != 0 && first[i] != 0xff;
	assert_true(between);
}

/* How many different answers 16 reads of `len` bytes give; all have bits of `most` alone. */
static unsigned answers(struct as_flash *flash, const unsigned char *most, size_t len)
{
	unsigned char got[16][16];
	unsigned n = 0;

	for (unsigned i = 0; i < 16; i++) {
		bool met = false;

		assert_int_equal(as_flash_read(flash, 0, got[n], len), 0);
		/* A programmed bit is 0. */
		for (size_t k = 0; k < len; k++)
			assert_int_equal(most[k] & ~got[n][k], 0);
		for (unsigned j = 0; j < n; j++)
			met |= !memcmp(got[j], got[n], len);
		n += !met;
	}
	return n;
}

/* A flash on what the first n entries of the record have left. */
static struct as_emuflash *after(const struct rig *r, size_t n, struct as_disk **disk)
{
	struct as_flash_setup setup = { .geometry = { .erase_bytes = BLOCK,
						      .program_bytes = UNIT,
						      .read_bytes = 1,
						      .erased = 0xff },
					.tear = AS_FLASH_TEAR_UNSTABLE };
	struct as_err err = { 0 };

	assert_int_equal(as_disk_new(r->store, SIZE, disk, &err), 0);
	assert_int_equal(as_reclog_replay(r->log, 0, n, as_disk_bd(*disk), &err), 0);
	return as_emuflash_new(&setup, as_disk_bd(*disk));
}

/* With tear=unstable, what a power cut leaves of a program or an erase reads now so and now
 * otherwise, never as erased all over; what is whole, or programmed anew, is stable. */
static void test_record_tears_unstable(void **state)
{
	static const unsigned char text[] = "0123456789abcdef";
	unsigned char got[16], erased[16];
	unsigned unstable = 0;
	size_t whole, n;
	struct rig r;

	(void)state;
	memset(erased, 0xff, sizeof(erased));
	set_up(&r, "tear=unstable");
	assert_int_equal(r.flash->geometry.size_bytes, SIZE - BLOCK);
	as_emuflash_tears(r.emu);
	assert_int_equal(as_flash_program(r.flash, 0, text, 16), 0);
	whole = as_reclog_len(r.log);
	assert_int_equal(as_flash_erase(r.flash, 0), 0);
	n = as_reclog_len(r.log);
	for (size_t i = 0; i <= n; i++) {
		struct as_disk *disk;
		struct as_emuflash *emu = after(&r, i, &disk);
		struct as_flash *flash = as_emuflash_seam(emu);
		unsigned kinds = answers(flash, text, 16);

		if (!i || i == whole || i == n)
			assert_int_equal(kinds, 1);
		unstable += kinds > 1;
		assert_int_equal(as_flash_read(flash, 0, got, 16), 0);
		if (kinds > 1)
			assert_memory_not_equal(got, erased, 16);
		/* Erased and programmed anew. */
		assert_int_equal(as_flash_erase(flash, 0), 0);
		assert_int_equal(as_flash_program(flash, 0, text, 16), 0);
		assert_int_equal(answers(flash, text, 16), 1);
		assert_int_equal(as_flash_read(flash, 0, got, 16), 0);
		assert_memory_equal(got, text, 16);
		assert_null(as_emuflash_misuse(emu));
		as_emuflash_free(emu);
		as_disk_free(disk);
	}
	assert_true(unstable >= 4);
	tear_down(&r);
}

static void test_setup_errors(void **state)
{
	static const char *const words[] = {
		"erase",  "erase=",  "erase=x",	 "bad=",       "bad=1@",     "bad=1+",
		"bad=1x", "bad=1r2", "bad=-1",	 "tear=some",  "cache=2",    "nothing=1",
		"=1",	  "",	     "weak=1,2", "erased=256", "program=-1", "wear=99999999999"
	};
	static const struct {
		uint32_t erase, program, read;
		uint8_t erased;
		uint64_t size;
		bool fits;
	} rows[] = {
		{ 4096, 16, 1, 0xff, 65536, true },    { 4096, 1, 4096, 0, 4096, true },
		{ 1536, 3, 3, 0xff, 3072, true },      { 1000, 1, 1, 0xff, 65536, false },
		{ 4096, 17, 1, 0xff, 65536, false },   { 4096, 0, 1, 0xff, 65536, false },
		{ 4096, 1, 8192, 0xff, 65536, false }, { 4096, 1, 1, 0x55, 65536, false },
		{ 4096, 1, 1, 0xff, 65024, false },    { 0, 1, 1, 0xff, 65536, false },
	};
	struct as_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < N_ROWS(words); i++) {
		struct as_flash_setup setup = { 0 };

		if (!as_flash_setup_word(&setup, words[i], &err))
			fail_msg("'%s' was taken", words[i]);
	}
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct as_flash_setup setup = { .geometry = { .erase_bytes = rows[i].erase,
							      .program_bytes = rows[i].program,
							      .read_bytes = rows[i].read,
							      .erased = rows[i].erased } };

		assert_int_equal(!as_flash_setup_vet(&setup, rows[i].size, &err), rows[i].fits);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fresh_is_erased),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_wrong_erase),
		cmocka_unit_test(test_bad_and_worn),
		cmocka_unit_test(test_bad_calls),
		cmocka_unit_test(test_worse_misuse),
		cmocka_unit_test(test_wear_limits),
		cmocka_unit_test(test_record_tears_programs),
		cmocka_unit_test(test_record_tears_bits),
		cmocka_unit_test(test_record_tears_unstable),
		cmocka_unit_test(test_setup_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
