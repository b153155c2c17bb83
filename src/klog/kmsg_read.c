/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kmsg_read: /dev/kmsg (Documentation/ABI/testing/dev-kmsg): each read(2) gives one record: the
 * next one after our position in the kernel's ring. */
#include "klog/kmsg.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORD_BYTES 8192u /* PRINTKRB_RECORD_MAX and more */
#define REST_MS 50 /* how long the rest of a report may take */
#define BURST 20000 /* messages at once: someone else may be flooding the log */

struct as_kmsg {
	int fd;
	uint64_t lost;
	char record[RECORD_BYTES];
	struct as_buf text;
};

int as_kmsg_open(struct as_kmsg **out, struct as_err *err)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	*out = NULL;
	if (fd < 0 || lseek(fd, 0, SEEK_END) < 0) {
		int saved = errno;

		if (fd >= 0)
			close(fd);
		return as_fail(err, AS_ELACK, "the kernel's log cannot be read (/dev/kmsg): %s",
			       strerror(saved));
	}
	*out = as_xcalloc(1, sizeof(**out));
	(*out)->fd = fd;
	return 0;
}

void as_kmsg_skip(struct as_kmsg *k)
{
	(void)lseek(k->fd, 0, SEEK_END);
}

void as_kmsg_close(struct as_kmsg *k)
{
	if (!k)
		return;
	close(k->fd);
	as_buf_free(&k->text);
	free(k);
}

static bool take_number(const char **s, const char *end, char after, uint64_t *number)
{
	const char *start = *s;

	*number = 0;
	while (*s < end && isdigit((unsigned char)**s) && *s - start < 19)
		*number = *number * 10 + (uint64_t)(*(*s)++ - '0');
	if (*s == start || *s == end || **s != after)
		return false;
	++*s;
	return true;
}

static int hex(char c)
{
	return isdigit((unsigned char)c)    ? c - '0'
	       : isxdigit((unsigned char)c) ? (c | 32) - 87
					    : -1;
}

/* Bytes that are not printable are written as "\x0a". */
static void add_text(struct as_buf *text, const char *s, const char *end)
{
	while (s < end && *s != '\n') {
		int c = (unsigned char)*s;

		if (c == '\\' && end - s >= 4 && s[1] == 'x' && hex(s[2]) >= 0 && hex(s[3]) >= 0) {
			c = hex(s[2]) << 4 | hex(s[3]);
			s += 3;
		}
		s++;
		if (c)
			as_buf_addc(text, (char)c);
	}
}

bool as_kmsg_parse_record(const char *data, size_t len, struct as_kmsg_record *record,
			  struct as_buf *text)
{
	const char *s = data, *end = data + len;
	uint64_t priority;

	as_buf_clear(text);
	if (!take_number(&s, end, ',', &priority) || !take_number(&s, end, ',', &record->seq) ||
	    !take_number(&s, end, ',', &record->time_us))
		return false;
	/* Flags, and whatever later kernels put there. */
	s = memchr(s, ';', (size_t)(end - s));
	if (!s)
		return false;
	record->level = (unsigned)priority & 7;
	add_text(text, s + 1, end);
	return true;
}

/* 1: a message, 0: none. */
static int read_one(struct as_kmsg *k, struct as_kmsg_record *record)
{
	ssize_t n;

	for (;;) {
		n = read(k->fd, k->record, sizeof(k->record));
		if (n > 0 && as_kmsg_parse_record(k->record, (size_t)n, record, &k->text))
			return 1;
		if (n < 0 && errno == EPIPE)
			/* Records were overwritten: our position is now the oldest one that is
			 * there. */
			k->lost++;
		else if (n <= 0 && errno != EINTR)
			return 0;
	}
}

/* A message may hold several lines. */
static void hand_on(struct as_kmsg *k, struct as_kmsg_scan *scan, struct as_buf *log)
{
	char *save = NULL, *line;

	if (log)
		as_buf_addf(log, "%s\n", as_buf_str(&k->text));
	if (!scan || !k->text.len)
		return;
	for (line = strtok_r(k->text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		as_kmsg_scan_message(scan, line);
}

unsigned as_kmsg_poll(struct as_kmsg *k, struct as_kmsg_scan *scan, struct as_buf *log)
{
	struct as_kmsg_record record;
	unsigned n = 0;

	while (n < BURST) {
		struct pollfd ready = { .fd = k->fd, .events = POLLIN };

		if (read_one(k, &record)) {
			hand_on(k, scan, log);
			n++;
		} else if (!scan || !as_kmsg_scan_is_open(scan) || poll(&ready, 1, REST_MS) <= 0) {
			break;
		}
	}
	if (n && scan)
		as_kmsg_scan_end(scan);
	return n;
}
