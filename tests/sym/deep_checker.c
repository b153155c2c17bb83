/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deep_checker WHAT DISK: a checker with a bug (it aborts) behind what checkers do with fields. A
 * disk of zeros is clean; every other one is damaged, and stays so. */
#include <ctype.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLEAN 0
#define LEFT 4
#define BLOCK 512

static unsigned char disk[65536];
static int fd;
static volatile int sink;

static uint32_t number(unsigned at)
{
	uint32_t v;

	memcpy(&v, disk + at, 4);
	return v;
}

/* One case of a switch within one case of another. */
static int inner(uint32_t what)
{
	switch (what) {
	case 1000:
		sink = 1;
		return LEFT;
	case 1001:
		puts("two");
		return LEFT;
	case 1002:
		sink = 3;
		return LEFT + sink - 3;
	case 1003:
		puts("four");
		return LEFT;
	case 1004:
		sink = 5;
		return LEFT;
	case 1005:
		abort();
	case 1006:
		puts("seven");
		return LEFT;
	default:
		return LEFT;
	}
}

static int cases(void)
{
	switch (number(0)) {
	case 0:
		return CLEAN;
	case 1:
		sink = 1;
		return LEFT;
	case 2:
		puts("two");
		return LEFT;
	case 3:
		sink = 3;
		return LEFT + sink - 3;
	case 4:
		puts("four");
		return LEFT;
	case 5:
		return inner(number(4));
	case 6:
		puts("six");
		return LEFT;
	case 7:
		sink = 7;
		return LEFT;
	default:
		return LEFT;
	}
}

/* A number in text, as tar and cpio have them. */
static int text(void)
{
	char word[4] = { 0 }, *end;
	unsigned long n;

	memcpy(word, disk, 3);
	n = strtoul(word, &end, 8);
	if (!*word)
		return CLEAN;
	if (!*end && n == 0251)
		abort();
	return LEFT;
}

/* A bit of a bitmap: block 4909 is in use. */
static int bitmap(void)
{
	uint32_t n = number(0);

	if (!n || n >= 8192)
		return n ? LEFT : CLEAN;
	if (disk[2048 + n / 8] >> (n & 7) & 1)
		abort();
	return LEFT;
}

/* A block that a field names: only block 77 has this mark. */
static int block(void)
{
	uint32_t n = number(0);
	unsigned char at[BLOCK];

	if (!n || n >= sizeof(disk) / BLOCK)
		return n ? LEFT : CLEAN;
	if (pread(fd, at, BLOCK, (off_t)n * BLOCK) != BLOCK)
		return 8;
	if (at[0] == 0xbb)
		abort();
	return LEFT;
}

/* A comparison of few bytes, how many the compiler does not know. */
static int compare(size_t n)
{
	static const unsigned char zero[8];
	int (*volatile same)(const void *, const void *, size_t) = memcmp;

	if (!same(disk, zero, n))
		return CLEAN;
	if (!same(disk, "k3Y!?", n))
		abort();
	return LEFT;
}

/* A name that ends where a set of characters says. */
static int name(void)
{
	char word[9] = { 0 };

	memcpy(word, disk, 8);
	if (!*word)
		return CLEAN;
	if (strcspn(word, "/:") == 3 && isupper((unsigned char)*word) && word[3] == ':')
		abort();
	return LEFT;
}

/* A share of blocks in use, as a number that is followed no further. */
static int share(void)
{
	uint32_t used = number(0);

	if (!used)
		return CLEAN;
	return (double)used / 3 > 0.5 ? LEFT : 8;
}

/* A field behind a checksum of its block. */
static int sealed(void)
{
	uint32_t sum = ~0u;

	for (unsigned i = 0; i < BLOCK - 4; i++) {
		sum ^= disk[i];
		for (int bit = 0; bit < 8; bit++)
			sum = sum & 1 ? sum >> 1 ^ 0xedb88320u : sum >> 1;
	}
	if (~sum != number(BLOCK - 4))
		return LEFT;
	if (number(16) == 0xfeedface)
		abort();
	return CLEAN;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	fd = argc > 2 ? open(argv[2], O_RDWR) : -1;
	if (fd < 0 || pread(fd, disk, sizeof(disk), 0) != (ssize_t)sizeof(disk))
		return 8;
	if (!strcmp(what, "cases"))
		return cases();
	if (!strcmp(what, "text"))
		return text();
	if (!strcmp(what, "bitmap"))
		return bitmap();
	if (!strcmp(what, "block"))
		return block();
	if (!strcmp(what, "compare"))
		return compare((size_t)argc + 2);
	if (!strcmp(what, "sealed"))
		return sealed();
	if (!strcmp(what, "share"))
		return share();
	return name();
}
