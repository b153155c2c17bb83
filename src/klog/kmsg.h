/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kmsg: what the kernel says while a workload runs. Messages come one by one, from /dev/kmsg or
 * from the text of a console. A table (kmsg.def) says what each one means. Messages that belong
 * together (a message, and the registers and the stack after it) become one report.
 *
 * Rules
 *   1. A report is given to the caller once, when it is complete: at the line that ends it, at the
 *      next message that begins another report, or at as_kmsg_scan_end().
 *   2. What another process did to another disk is not ours: a message that names a device we do
 *      not have, or a stack of a process that is neither ours nor a thread of the kernel, is no
 *      report.
 */
#ifndef AS_KLOG_KMSG_H
#define AS_KLOG_KMSG_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The gravest comes last. */
enum as_kmsg_class {
	AS_KMSG_INFO,
	AS_KMSG_CORRUPTION,
	AS_KMSG_WARNING,
	AS_KMSG_CRASH,
	AS_KMSG_CLASSES
};

const char *as_kmsg_class_name(enum as_kmsg_class cls);

/* One message by the table: its class, the name of the row ("" for none) and, where it names a
 * device, that name inside `text`. */
struct as_kmsg_meaning {
	enum as_kmsg_class cls;
	const char *what;
	const char *device; /* NULL: none */
	size_t device_len;
};
struct as_kmsg_meaning as_kmsg_classify(const char *text);

struct as_kmsg_report {
	enum as_kmsg_class cls;
	const char *what; /* the row's name: "kasan" */
	const char *title; /* the message that began it */
	const char *where; /* the function to blame, "" where none is named */
	const char *signature; /* "crash: kasan: ext4_find_extent": stable, no numbers */
	const char *text; /* all of it, one message a line */
};
typedef void (*as_kmsg_fn)(void *ctx, const struct as_kmsg_report *report);

struct as_kmsg_filter {
	/* Ours, with a NULL after the last; NULL: all are. A notice of corruption that names no
	 * device is ours only if all are. */
	const char *const *devices;
	const char *comm; /* our processes' name in stacks; NULL: all are ours */
};

struct as_kmsg_scan;

/* The filter's strings must outlive the scan. filter may be NULL: everything is ours. */
struct as_kmsg_scan *as_kmsg_scan_new(const struct as_kmsg_filter *filter, as_kmsg_fn fn,
				      void *ctx);
void as_kmsg_scan_free(struct as_kmsg_scan *scan); /* takes NULL; drops what is not complete */
/* One message, without the marks that a log puts in front of it. */
void as_kmsg_scan_message(struct as_kmsg_scan *scan, const char *text);
/* Any piece of a console's output; lines may be cut anywhere. */
void as_kmsg_scan_console(struct as_kmsg_scan *scan, const char *text, size_t len);
/* Nothing more is coming for now: what has begun is complete. */
void as_kmsg_scan_end(struct as_kmsg_scan *scan);
/* Whether a report has begun that is not complete. */
bool as_kmsg_scan_is_open(const struct as_kmsg_scan *scan);

/* ---- /dev/kmsg (kmsg_read.c) ---- */

struct as_kmsg;

/* Messages from now on. AS_ELACK where we may not read the log. */
AS_MUST_CHECK int as_kmsg_open(struct as_kmsg **kmsg, struct as_err *err);
void as_kmsg_close(struct as_kmsg *kmsg); /* takes NULL */
/* Leaves out what there is until now, also for processes that have it from a fork. */
void as_kmsg_skip(struct as_kmsg *kmsg);
/*
 * Gives the messages since the last call to `scan`, which may be NULL, and returns how many there
 * were. If there are none, it takes one system call. If a report has begun, it waits a moment for
 * the rest of it. `log` (may be NULL) gets every message, one a line.
 */
unsigned as_kmsg_poll(struct as_kmsg *kmsg, struct as_kmsg_scan *scan, struct as_buf *log);

struct as_kmsg_record {
	unsigned level; /* 0 (emergency) to 7 */
	uint64_t seq, time_us;
};
/* "6,339,5140900,-;text\n KEY=value\n" as read(2) gives it; the text goes to `text`, with its
 * escapes undone. False: not such a record. */
bool as_kmsg_parse_record(const char *data, size_t len, struct as_kmsg_record *record,
			  struct as_buf *text);
/* The message in a line of a console: what follows "<4>", "[   12.345678]", "[  T123]". */
const char *as_kmsg_strip(const char *line);

#endif
