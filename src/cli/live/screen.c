/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * screen: see screen.h.
 *
 * Method. The two streams are replaced by streams of ours (fopencookie) that write to the same
 * descriptors. What is written comes in pieces that may end within a character or a sequence: such
 * an end is kept until the next piece. JSON passes unchanged, since its writer has already escaped
 * these characters.
 *
 * A block of progress (as_cli_screen_block()) stands below what was printed. Its process and those
 * that print share a note of how many rows it has: whoever prints removes it first, and it is drawn
 * again below. Invariants: (1) nobody writes to a descriptor without the lock; (2) the block is
 * drawn only where a line begins; (3) the cursor stands at its first column: however a terminal
 * breaks lines when its width changes, all of the block is after the cursor, and nothing that
 * stands before it is ever erased.
 */
#include "cli/live/screen.h"

#include "base/show.h"
#include "os/shlock.h"
#include "os/spawn.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_UNKNOWN 80

bool as_cli_is_terminal(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

bool as_cli_has_colour(int fd)
{
	const char *no = getenv("NO_COLOR");

	return as_cli_is_terminal(fd) && !(no && *no);
}

unsigned as_cli_columns(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : COLUMNS_UNKNOWN;
}

/* ---- The filter ---- */

#define BLOCK_ROWS 32u /* at most */
#define HELD_BYTES 8 /* more than any sequence of ours, or character, has */

/* Sequences of ours, of the terminal sink. */
static const char *const own[] = { "\033[1;31m", "\033[2m", "\033[1m", "\033[0m" };

#define NOWN (sizeof(own) / sizeof(own[0]))

struct filter {
	int fd;
	bool terminal;
	char held[HELD_BYTES];
	size_t n_held;
};

/* What processes know of the screen. */
struct shared_screen {
	struct as_shlock lock;
	unsigned rows; /* of the block that is there now */
	unsigned widths[BLOCK_ROWS]; /* of its lines */
	bool within[STDERR_FILENO + 1]; /* by descriptor: it ended within a line */
};

static struct shared_screen *shared; /* NULL: there is no memory for it */

/* There are two such streams in a process, and everybody prints to them. */
static struct filter out_filter = { .fd = STDOUT_FILENO }, err_filter = { .fd = STDERR_FILENO };

static bool write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno != EINTR)
			return false;
		data += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* The length of our own sequence at s, 0 if there is none; *cut: it may be one that is not whole
 * yet. */
static size_t own_len(const struct filter *f, const char *s, size_t len, bool *cut)
{
	for (size_t i = 0; i < NOWN && f->terminal; i++) {
		size_t want = strlen(own[i]);

		if (!strncmp(s, own[i], want < len ? want : len)) {
			*cut = len < want;
			return *cut ? 0 : want;
		}
	}
	return 0;
}

/* Whether the bytes at s are the beginning of a character whose rest may come. */
static bool is_cut(const char *s, size_t len)
{
	unsigned char c = (unsigned char)*s;
	size_t want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;
	char whole[4] = "";

	if (want <= len || c >= 0xf5)
		return false;
	/* Some continuation completes it: one of these fits after every beginning. */
	for (int rest = 0x80; rest < 0xc0; rest += 0x10) {
		memset(whole, rest, sizeof(whole));
		memcpy(whole, s, len);
		if (as_utf8_len(whole, want))
			return true;
	}
	return false;
}

/* How many bytes from s on can be printed as they are; most can. */
static size_t plain_len(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && ((s[n] >= ' ' && s[n] < 0x7f) || s[n] == '\n' || s[n] == '\t'))
		n++;
	return n;
}

static void pass(struct filter *f, const char *s, size_t len, bool last, struct as_buf *out)
{
	while (len) {
		bool cut = false;
		size_t step = plain_len(s, len);

		if (!step)
			step = own_len(f, s, len, &cut);
		if (step) {
			as_buf_add(out, s, step);
		} else if (!last && (cut || is_cut(s, len))) {
			as_assert(len <= HELD_BYTES);
			memcpy(f->held, s, len);
			f->n_held = len;
			return;
		} else {
			step = as_utf8_len(s, len);
			step = step ? step : 1;
			as_show_lines(out, s, step);
		}
		s += step;
		len -= step;
	}
}

/* ---- The block ------------------------------------------------------------------------------- */

/* A terminal that became narrower has broken its lines, as nearly all of them do. */
static unsigned rows_now(void)
{
	unsigned columns = as_cli_columns(STDERR_FILENO), rows = 0;

	for (unsigned i = 0; i < shared->rows; i++)
		rows += shared->widths[i] > columns ? (shared->widths[i] + columns - 1) / columns
						    : 1;
	return rows;
}

/* How many rows it has, and how wide each is; a character is at least one column wide. */
static void measure(const struct as_buf *block)
{
	unsigned width = 0;
	bool sequence = false;

	for (size_t i = 0; i < block->len && shared->rows < BLOCK_ROWS; i++) {
		unsigned char c = (unsigned char)block->data[i];

		if (c == '\033') {
			sequence = true;
		} else if (c == '\n') {
			shared->widths[shared->rows++] = width;
			width = 0;
		} else if (!sequence && (c & 0xc0) != 0x80) {
			width++;
		}
		if (sequence && c == 'm')
			sequence = false;
	}
}

/* Row by row: what clears the screen from its first row on is kept by some terminals as if it had
 * scrolled away. The cursor is remembered and comes back: at the last row, it does not go down. */
static void add_removal(struct as_buf *out)
{
	unsigned rows = rows_now();

	if (rows)
		as_buf_adds(out, "\0337");
	for (unsigned i = 0; i < rows; i++)
		as_buf_adds(out, "\033[2K\033[B");
	if (rows)
		as_buf_adds(out, "\0338");
}

/* With the lock. */
static void remove_block(void)
{
	struct as_buf up = { 0 };

	if (!shared->rows)
		return;
	add_removal(&up);
	(void)write_all(STDERR_FILENO, as_buf_str(&up), up.len);
	as_buf_free(&up);
	shared->rows = 0;
}

/* Whether a line is begun after the text; colours at its end are no part of a line. */
static bool ends_within(const struct as_buf *text, bool before)
{
	size_t len = text->len, was;

	do {
		was = len;
		for (size_t i = 0; i < NOWN; i++) {
			size_t own_bytes = strlen(own[i]);

			if (len >= own_bytes &&
			    !memcmp(text->data + len - own_bytes, own[i], own_bytes))
				len -= own_bytes;
		}
	} while (len < was);
	return len ? text->data[len - 1] != '\n' : before;
}

/* Writes what passed the filter, above the block. */
static bool put(const struct filter *f, const struct as_buf *text)
{
	bool fine;

	if (!text->len)
		return true;
	if (shared) {
		as_shlock_take(&shared->lock);
		if (f->terminal)
			remove_block();
		shared->within[f->fd] = ends_within(text, shared->within[f->fd]);
	}
	fine = write_all(f->fd, text->data, text->len);
	if (shared)
		as_shlock_give(&shared->lock);
	return fine;
}

bool as_cli_screen_block(const struct as_buf *block)
{
	bool drawn = false;

	if (!shared)
		return false;
	as_shlock_take(&shared->lock);
	if ((!out_filter.terminal || !shared->within[STDOUT_FILENO]) &&
	    !shared->within[STDERR_FILENO]) {
		struct as_buf all = { 0 };

		/* In one piece, so that it does not flicker. */
		add_removal(&all);
		as_buf_add(&all, as_buf_str(block), block->len);
		shared->rows = 0;
		measure(block);
		if (shared->rows)
			as_buf_addf(&all, "\r\033[%uA", shared->rows);
		drawn = write_all(STDERR_FILENO, as_buf_str(&all), all.len);
		as_buf_free(&all);
	}
	as_shlock_give(&shared->lock);
	return drawn;
}

bool as_cli_screen_has_block(void)
{
	return shared && shared->rows;
}

void as_cli_screen_forget(void)
{
	if (shared)
		shared->rows = 0;
}

void as_cli_screen_clear(void)
{
	if (!shared)
		return;
	as_shlock_take(&shared->lock);
	remove_block();
	as_shlock_give(&shared->lock);
}

bool as_cli_screen_line(int fd, const struct as_buf *line)
{
	bool fine = false;

	if (!shared)
		return false;
	as_shlock_take(&shared->lock);
	if (!shared->within[fd])
		fine = write_all(fd, as_buf_str(line), line->len);
	as_shlock_give(&shared->lock);
	return fine;
}

static ssize_t filter_write(void *cookie, const char *data, size_t len)
{
	struct filter *f = cookie;
	struct as_buf in = { 0 }, out = { 0 };
	bool fine;

	as_buf_add(&in, f->held, f->n_held);
	as_buf_add(&in, data, len);
	f->n_held = 0;
	pass(f, in.data, in.len, false, &out);
	fine = put(f, &out);
	as_buf_free(&in);
	as_buf_free(&out);
	return fine ? (ssize_t)len : 0;
}

static FILE *open_filter(struct filter *f, int buffering)
{
	FILE *stream = fopencookie(f, "w", (cookie_io_functions_t){ .write = filter_write });

	f->terminal = as_cli_is_terminal(f->fd);
	if (stream)
		setvbuf(stream, NULL, buffering, BUFSIZ);
	return stream;
}

void as_cli_screen(void)
{
	FILE *out = open_filter(&out_filter, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
	FILE *err = open_filter(&err_filter, _IONBF);

	shared = as_shared_alloc(sizeof(*shared));
	if (shared)
		as_shlock_init(&shared->lock);
	if (out)
		stdout = out;
	if (err)
		stderr = err;
}

static void end(struct filter *f)
{
	struct as_buf out = { 0 };

	pass(f, f->held, f->n_held, true, &out);
	f->n_held = 0;
	/* There is nobody left to report it to. */
	(void)put(f, &out);
	as_buf_free(&out);
}

void as_cli_screen_end(void)
{
	fflush(stdout);
	end(&out_filter);
	end(&err_filter);
	as_cli_screen_clear();
}

void as_cli_put(FILE *out, const char *text)
{
	struct as_buf shown = { 0 };

	as_show(&shown, text);
	fwrite(as_buf_str(&shown), 1, shown.len, out);
	as_buf_free(&shown);
}
