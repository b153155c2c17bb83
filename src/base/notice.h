/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * notice: what was found, as it is said where it was noticed. It lies in the memory that a child
 * shares with who watches it, so that it outlives the child: of a fixed size, without a pointer.
 * Whoever takes it there mends it first, since a file system under test may have written over it.
 *
 * Its way: as_notice_open() makes it the finding, to which run/finding.h adds the workload, the
 * target and the options. Between processes that share no memory, and in files, the finding is JSON
 * (base/finding_json.h). Which texts there are says base/notice.def.
 */
#ifndef AS_BASE_NOTICE_H
#define AS_BASE_NOTICE_H

#include "base/err.h"
#include "base/finding.h"

struct as_notice {
	volatile bool is; /* something was found, and all of it stands here */
	enum as_finding_kind kind;
	int64_t op; /* number of the operation, from 0; -1: none */
	/* The disk at that moment, in the file that goes with the notice; 0, 0: there is none. */
	uint64_t disk_at, disk_len;
	/* `options`: the words (child/options.h) that bring it back, beside those of the run. */
#define SAID(name, bytes, ...) char name[bytes];
#define ADDED(name, ...)
#include "base/notice.def"
#undef SAID
#undef ADDED
};

/* Empties it; nothing is found until as_notice_close(). What is after the ends of its texts is
 * left alone, so that it costs little. */
void as_notice_begin(struct as_notice *notice, enum as_finding_kind kind, int64_t op);
void as_notice_close(struct as_notice *notice);

/* Writes a text of a notice; what is too long is cut. */
#define AS_NOTICE_SET(notice, name, text) \
	as_notice_text((notice)->name, sizeof((notice)->name), "%s", (text))
#define AS_NOTICE_SETF(notice, name, ...) \
	as_notice_text((notice)->name, sizeof((notice)->name), __VA_ARGS__)
void as_notice_text(char *text, size_t bytes, const char *fmt, ...) AS_PRINTF(3, 4);

/* Before it is read where others could write to it: its kind is one, its texts end, its numbers are
 * within their bounds. False: it was damaged. */
bool as_notice_mend(struct as_notice *notice);
/* A notice with all that this one says; the memory after its texts is not read. */
void as_notice_copy(struct as_notice *to, const struct as_notice *from);

/* The finding that says the same; its texts are those of the notice. */
struct as_finding as_notice_open(const struct as_notice *notice);
/* The notice that says what was said of a finding, without its disk. False: a text is too long,
 * and the notice is empty. */
bool as_notice_of(const struct as_finding *finding, struct as_notice *notice);

#endif
