/* SPDX-License-Identifier: GPL-2.0-or-later */
/* warn: see warn.h. Each row has a condition on the notes, and the warning. */
#include "cover/warn.h"

#include <inttypes.h>
#include <stdio.h>

#define ENOUGH 100 /* calls; with fewer, a share means nothing */
#define SOME 20

struct seen {
	const struct as_counts *counts;
	uint64_t counted, outside, unattributed, no_file, calls, lines;
	uint64_t about; /* calls that could have been counted */
};

static double percent(uint64_t part, uint64_t of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

static uint64_t note(const struct seen *s, enum as_cov_note which)
{
	return as_counts_noted(s->counts, which);
}

static bool nothing_matched(const struct seen *s, char *out, size_t size)
{
	if (!as_counts_get_under(s->counts) || s->counted || !s->about)
		return false;
	snprintf(out, size,
		 "NOTHING was counted: none of %" PRIu64 " calls was about files below %s",
		 s->about, as_counts_get_under(s->counts));
	return true;
}

static bool no_calls(const struct seen *s, char *out, size_t size)
{
	if (s->about || s->counted)
		return false;
	snprintf(out, size, "NOTHING was counted: there were no calls about files");
	return true;
}

static bool not_attributed(const struct seen *s, char *out, size_t size)
{
	if (s->about < ENOUGH ? s->unattributed <= s->counted : s->unattributed * 10 <= s->about)
		return false;
	snprintf(out, size,
		 "%.0f %% of the calls about files could not be attributed: their descriptors or "
		 "directories are from before the trace (strace -f -y shows them, --cwd says the "
		 "first directory)",
		 percent(s->unattributed, s->about));
	return true;
}

static bool not_understood(const struct seen *s, char *out, size_t size)
{
	uint64_t bad = note(s, AS_NOTE_NOT_UNDERSTOOD);

	if (bad * 100 <= s->lines)
		return false;
	snprintf(out, size, "%.1f %% of the lines were not understood", percent(bad, s->lines));
	return true;
}

static bool other_architecture(const struct seen *s, char *out, size_t size)
{
	uint64_t n = note(s, AS_NOTE_OTHER_ARCH);

	if (!n)
		return false;
	snprintf(out, size, "%" PRIu64 " calls of 32 bit programs were not counted", n);
	return true;
}

static bool forgotten(const struct seen *s, char *out, size_t size)
{
	uint64_t n = note(s, AS_NOTE_FORGOTTEN);

	if (!n)
		return false;
	snprintf(out, size,
		 "%" PRIu64
		 " processes, descriptors and calls under way were forgotten: there were "
		 "more than the tables hold",
		 n);
	return true;
}

static bool all_failed(const struct seen *s, char *out, size_t size)
{
	if (s->calls < SOME || note(s, AS_NOTE_FAILED) < s->calls)
		return false;
	snprintf(out, size,
		 "all %" PRIu64 " calls failed: strace -Z leaves out those that succeeded",
		 s->calls);
	return true;
}

static bool none_failed(const struct seen *s, char *out, size_t size)
{
	if (s->calls < ENOUGH || note(s, AS_NOTE_FAILED) || !s->lines)
		return false;
	snprintf(out, size,
		 "none of %" PRIu64 " calls failed: strace -z leaves out those that failed",
		 s->calls);
	return true;
}

static bool many_unfinished(const struct seen *s, char *out, size_t size)
{
	uint64_t n = note(s, AS_NOTE_UNFINISHED);

	if (n < ENOUGH || n * 20 <= s->calls)
		return false;
	snprintf(out, size, "%" PRIu64 " calls did not return, and %" PRIu64 " did", n, s->calls);
	return true;
}

static bool (*const rows[])(const struct seen *, char *, size_t) = {
	nothing_matched, no_calls,   not_attributed, not_understood,  other_architecture,
	forgotten,	 all_failed, none_failed,    many_unfinished,
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

bool as_counts_warning(const struct as_counts *counts, unsigned i, char out[AS_WARNING_BYTES])
{
	struct seen s = { .counts = counts };

	s.counted = note(&s, AS_NOTE_COUNTED);
	s.outside = note(&s, AS_NOTE_OUTSIDE);
	s.unattributed = note(&s, AS_NOTE_UNATTRIBUTED);
	s.no_file = note(&s, AS_NOTE_NO_FILE);
	s.calls = note(&s, AS_NOTE_CALLS);
	s.lines = note(&s, AS_NOTE_LINES);
	s.about = s.counted + s.outside + s.unattributed + s.no_file;
	for (size_t row = 0; row < N_ROWS; row++)
		if (rows[row](&s, out, AS_WARNING_BYTES) && !i--)
			return true;
	return false;
}
