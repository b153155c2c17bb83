/* SPDX-License-Identifier: GPL-2.0-or-later */
/* partition: see partition.h. */
#include "cover/partition.h"
#include "calls/world.h"

#include <stdio.h>
#include <string.h>

static const int errnos[] = {
#define X(name, value) value,
#define ALIAS(name, value)
#include "base/errno.def"
#undef X
#undef ALIAS
};
#define N_ERRNO (sizeof(errnos) / sizeof(errnos[0]))

unsigned as_partition_errno(int err)
{
	/* The first 41 rows have no gap, and nearly all errors are among them. */
	unsigned i = err > 0 && err <= 40 ? (unsigned)err - 1 : 0;

	for (; i < N_ERRNO; i++)
		if (errnos[i] == err)
			return i;
	return N_ERRNO;
}

unsigned as_partition_out_places(void)
{
	return AS_OUT_ERRNO + N_ERRNO + 1;
}

unsigned as_partition_places(const struct as_spec_arg *arg)
{
	switch (arg->class) {
	case AS_CLASS_FD:
	case AS_CLASS_DIRFD:
		return AS_FD_PARTS;
	case AS_CLASS_PATH:
	case AS_CLASS_TARGET:
		return AS_PATH_PARTS;
	case AS_CLASS_NAME:
		return AS_NAME_PARTS;
	case AS_CLASS_NUMBER:
		return AS_NUM_PARTS;
	case AS_CLASS_WORD:
		return arg->words->n + 2;
	case AS_CLASS_TIME:
		return AS_TIME_PARTS;
	case AS_CLASS_ID:
		return AS_ID_PARTS;
	case AS_CLASS_BITS:
		break;
	}
	return 0;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* For traces that do not show the argument. */
static const char unseen[] = "(not-shown)";

/* Places in a row with fixed names; those of `extra` are not expected. */
static bool named(const char *const *names, unsigned n, unsigned extra, unsigned place, char *name,
		  bool *expected)
{
	if (place >= n || !names[place])
		return false;
	snprintf(name, 64, "%s", names[place]);
	*expected = !(extra & (1u << place));
	return true;
}

static bool fd_name(bool dir, unsigned place, char *name, bool *expected)
{
	static const char *const names[AS_FD_PARTS] = {
		[AS_FD_UNKNOWN] = "unknown",	 [AS_FD_REGULAR] = "regular",
		[AS_FD_DIRECTORY] = "directory", [AS_FD_OTHER] = "other",
		[AS_FD_CLOSED] = "closed",	 [AS_FD_NEGATIVE] = "negative",
		[AS_FD_CWD] = "AT_FDCWD",	 [AS_FD_PARTS - 1] = unseen,
	};
	unsigned extra = 1 << AS_FD_UNKNOWN | 1 << (AS_FD_PARTS - 1);

	if (!dir && place == AS_FD_CWD)
		return false;
	return named(names, AS_FD_PARTS, extra | (dir ? 1 << AS_FD_OTHER : 0), place, name,
		     expected);
}

static bool path_name(bool target, unsigned place, char *name, bool *expected)
{
	static const char *const names[AS_PATH_PARTS] = {
		"absolute",	  "relative", "empty", "long",
		"trailing-slash", "symlink",  "null",  unseen,
	};

	if (target && place == 5)
		return false;
	return named(names, AS_PATH_PARTS, 1 << 6 | 1 << 7, place, name, expected);
}

static bool number_name(const struct as_spec_arg *arg, unsigned place, char *name, bool *expected,
			bool *bound)
{
	static const char *const tail[] = { "-1", "", "+1" };
	unsigned k = place - AS_NUM_LOG2;

	*expected = true;
	if (place < AS_NUM_LOG2) {
		static const char *const names[] = { unseen, "negative", "0", "null" };

		return named(names, 4, 1 << AS_NUM_UNSEEN | 1 << AS_NUM_NULL, place, name,
			     expected);
	}
	if (place < AS_NUM_BOUND) {
		snprintf(name, 64, "2^%u", k);
	} else {
		k = (place - AS_NUM_BOUND) / 3;
		place = (place - AS_NUM_BOUND) % 3;
		*bound = true;
		if (k < 1 || (k == 1 && place != 1) || k == 63)
			return false;
		snprintf(name, 64, "=2^%u%s", k, tail[place]);
	}
	*expected = k <= arg->log2_max;
	return true;
}

static bool word_name(const struct as_spec_words *words, unsigned place, char *name, bool *expected)
{
	*expected = place < words->n;
	if (place > words->n + 1)
		return false;
	snprintf(name, 64, "%s",
		 *expected	     ? words->words[place].name
		 : place == words->n ? "other"
				     : unseen);
	return true;
}

bool as_partition_name(const struct as_spec_arg *arg, unsigned place, char name[static 64],
		       bool *expected, bool *bound)
{
	static const char *const times[AS_TIME_PARTS] = { unseen,	 "null",	"UTIME_NOW",
							  "UTIME_OMIT",	 "negative",	"0",
							  "before-2038", "before-2446", "later",
							  "bad-nsec" };
	static const char *const names[AS_NAME_PARTS] = { unseen,      "user.",	  "trusted.",
							  "security.", "system.", "other",
							  "empty",     "long" };
	static const char *const ids[AS_ID_PARTS] = { unseen, "-1", "0", "16-bit", "32-bit" };

	*bound = false;
	switch (arg->class) {
	case AS_CLASS_FD:
		return fd_name(false, place, name, expected);
	case AS_CLASS_DIRFD:
		return fd_name(true, place, name, expected);
	case AS_CLASS_PATH:
		return path_name(false, place, name, expected);
	case AS_CLASS_TARGET:
		return path_name(true, place, name, expected);
	case AS_CLASS_NAME:
		return named(names, AS_NAME_PARTS, 1, place, name, expected);
	case AS_CLASS_NUMBER:
		return number_name(arg, place, name, expected, bound);
	case AS_CLASS_WORD:
		return word_name(arg->words, place, name, expected);
	case AS_CLASS_TIME:
		return named(times, AS_TIME_PARTS, 1, place, name, expected);
	case AS_CLASS_ID:
		return named(ids, AS_ID_PARTS, 1, place, name, expected);
	case AS_CLASS_BITS:
		break;
	}
	return false;
}

static bool is_listed(const char *listed, const char *name)
{
	size_t len = strlen(name);

	for (const char *s = listed; (s = strstr(s, name)); s += len)
		if ((s == listed || s[-1] == ' ') && (!s[len] || s[len] == ' '))
			return true;
	return false;
}

bool as_partition_out_name(const struct as_spec_family *family, unsigned place,
			   char name[static 64], bool *expected)
{
	bool bytes = family->ret == AS_RET_BYTES;

	if (place < AS_OUT_ERRNO) {
		/* No call moves more than 0x7ffff000 bytes. */
		*expected = place == AS_OUT_OK || place - AS_OUT_LOG2 <= 30;
		if (!bytes) {
			snprintf(name, 64, "OK");
			return place == AS_OUT_OK;
		}
		if (place == AS_OUT_OK)
			snprintf(name, 64, "OK=0");
		else
			snprintf(name, 64, "OK=2^%u", place - AS_OUT_LOG2);
		return true;
	}
	place -= AS_OUT_ERRNO;
	if (place > N_ERRNO)
		return false;
	snprintf(name, 64, "%s", place < N_ERRNO ? as_errno_name(errnos[place]) : "other-error");
	*expected = is_listed(family->listed, name);
	return true;
}
