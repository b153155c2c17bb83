/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * screen: see screen.h.
 *
 * Method. The two streams are replaced by streams of ours (fopencookie) that write to the same
 * descriptors. What is written comes in pieces that may end within a character or a sequence: such
 * an end is kept until the next piece. JSON passes unchanged, since its writer has already escaped
 * these characters.
 */
#include "cli/screen.h"

#include "base/show.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define HELD_BYTES 8 /* more than any sequence of ours, or character, has */

/* Sequences of ours, of the terminal sink and of the line of progress. */
static const char *const own[] = { "\033[1;31m", "\033[2m", "\033[1m", "\033[0m", "\r\033[K" };

#define NOWN (sizeof(own) / sizeof(own[0]))

struct filter {
	int fd;
	bool terminal;
	char held[HELD_BYTES];
	size_t n_held;
};

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

static ssize_t filter_write(void *cookie, const char *data, size_t len)
{
	struct filter *f = cookie;
	struct as_buf in = { 0 }, out = { 0 };
	bool fine;

	as_buf_add(&in, f->held, f->n_held);
	as_buf_add(&in, data, len);
	f->n_held = 0;
	pass(f, in.data, in.len, false, &out);
	fine = write_all(f->fd, as_buf_str(&out), out.len);
	as_buf_free(&in);
	as_buf_free(&out);
	return fine ? (ssize_t)len : 0;
}

static FILE *open_filter(struct filter *f, int buffering)
{
	FILE *stream = fopencookie(f, "w", (cookie_io_functions_t){ .write = filter_write });

	f->terminal = isatty(f->fd);
	if (stream)
		setvbuf(stream, NULL, buffering, BUFSIZ);
	return stream;
}

void as_cli_screen(void)
{
	FILE *out = open_filter(&out_filter, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
	FILE *err = open_filter(&err_filter, _IONBF);

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
	(void)write_all(f->fd, as_buf_str(&out), out.len);
	as_buf_free(&out);
}

void as_cli_screen_end(void)
{
	fflush(stdout);
	end(&out_filter);
	end(&err_filter);
}

void as_cli_put(FILE *out, const char *text)
{
	struct as_buf shown = { 0 };

	as_show(&shown, text);
	fwrite(as_buf_str(&shown), 1, shown.len, out);
	as_buf_free(&shown);
}
