/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire: what a supervisor and the engine in its sandbox say to each other. docs/FORMAT.md, "The
 * wire", describes every message. Print and parse of a message stand side by side in wire.c.
 *
 * To the engine:
 *	a call: one request (as_wire_requests) with all that it needs, in the file that the engine's
 *	command line names. The line AS_WIRE_GO on the engine's standard input says that a call is
 *	there; the next one replaces the file
 * To the supervisor:
 *	events, a line each; the first is a hello
 *
 * Each message carries the version of the wire. Each side refuses a version other than its own.
 *
 * The engine trusts its supervisor, which started it and controls it. The supervisor trusts nothing
 * that comes out of the sandbox: the kernel there is under test and may write anything over
 * anything. So a parser accepts any bytes. Every text and number that it returns has its type and
 * is bounded. A missing or oversized member is an error or is cut, never a crash. guest_findings.c
 * checks whether a finding fits the call that the engine was given.
 */
#ifndef AS_SUPERVISE_WIRE_H
#define AS_SUPERVISE_WIRE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/finding_json.h"
#include "progress/result.h"
#include "run/run.h"
#include "symptom/known.h"
#include "work/list.h"

#define AS_WIRE_VERSION 3u

/* Below the folder for findings that a call names: FINDINGS/ID/ has the disk of a finding, and that
 * of before the power cut. */
#define AS_WIRE_FINDINGS "findings"
#define AS_WIRE_DISK "disk.img.zst"
#define AS_WIRE_BEFORE "before.img.zst"
#define AS_WIRE_LINE_MAX_BYTES ((size_t)32 << 20) /* longest event */
#define AS_WIRE_TEXT_MAX_BYTES ((size_t)2000) /* longest note or error; the rest is cut off */
#define AS_WIRE_TOLD_MAX_BYTES ((size_t)1 << 20) /* longest text of a scenario */
#define AS_WIRE_PATH_MAX_BYTES ((size_t)4096) /* longest path or option */
#define AS_WIRE_FILE_MAX_BYTES ((size_t)256 << 20) /* largest call */
#define AS_WIRE_GO "go\n"
/* The command that is an engine; its operands are the paths of the shared memory and of calls. */
#define AS_WIRE_ENGINE "engine"

/* ---- To the engine ---- */

/* What an engine can be asked for: the rows of as_wire_requests. */
enum as_wire_request {
	AS_WIRE_RUN, /* run workloads as the call says, with events about them */
	AS_WIRE_MAKE, /* carry out a workload on a disk; the answer is the disk that it leaves */
	AS_WIRE_MOUNT, /* visit a disk that may be damaged; the answer is what was met there */
	AS_WIRE_REQUESTS,
};

extern const struct as_wire_row {
	const char *name;
	size_t work_min, work_max; /* how many workloads it has */
	bool image, answer; /* the files that it comes with, and that it writes */
} as_wire_requests[AS_WIRE_REQUESTS];

struct as_wire_call {
	enum as_wire_request request;
	const char *target; /* as typed */
	const char *out; /* folder for findings; NULL: they are not kept */
	const char *cov; /* folder for counts of calls; NULL: they are not counted */
	const char *image; /* path of the disk (disk/image.h); NULL: none */
	const char *answer; /* path of the file that gets the answer; NULL: none */
	uint64_t number; /* that the event of the answer says */
	bool together; /* several workloads may share a process; batches are told */
	bool last; /* the engine ends after it */
	struct as_run_options options; /* child/run_option.def says which are sent */
	/* Signatures that were met before, besides those that the engine met itself: only new ones
	 * are findings. NULL: every finding is new. */
	struct as_known *known;
	struct as_work work;
	/* Of a call that was parsed: what the above points to. */
	struct as_wire_own *own;
};

/* Fails for an option or a path that JSON cannot carry: one that is not UTF-8. */
AS_MUST_CHECK int as_wire_call_print(const struct as_wire_call *call, struct as_buf *out,
				     struct as_err *err);
AS_MUST_CHECK int as_wire_call_parse(const char *text, size_t len, struct as_wire_call *call,
				     struct as_err *err);
/* Whether what was opened for the one serves the other: the same target in the same way. */
bool as_wire_call_alike(const struct as_wire_call *a, const struct as_wire_call *b);
void as_wire_call_free(struct as_wire_call *call); /* of one that was parsed */

/* ---- From the engine ---- */

enum as_wire_kind {
	AS_WIRE_HELLO, /* version */
	AS_WIRE_FINDING, /* finding */
	AS_WIRE_AGAIN, /* text: the signature of a finding that was met before */
	AS_WIRE_NOTE, /* text: for people */
	AS_WIRE_WORKLOAD, /* result: of the next workload, which is done */
	AS_WIRE_BATCH, /* result: of the next result.workloads, which are done */
	AS_WIRE_ERROR, /* text, lacks: why the engine gives up */
	AS_WIRE_CHECK, /* number: a disk waits for its checker (instance/outside.h) */
	AS_WIRE_ANSWER, /* number: of the request, or the question, that is answered */
	AS_WIRE_TOLD, /* text: of a scenario, for who gave it the workload: see base/event.h */
	AS_WIRE_KINDS,
};

struct as_wire_event {
	enum as_wire_kind kind;
	unsigned version; /* of a hello */
	struct as_finding finding;
	const char *text;
	bool lacks; /* the machine lacks something */
	uint64_t number;
	struct as_run_result result;
	struct json_t *object;
};

/* Adds one line. */
void as_wire_event_print(const struct as_wire_event *event, struct as_buf *out);

enum as_wire_parsed {
	AS_WIRE_EVENT, /* it is to be freed */
	AS_WIRE_OTHER, /* an event of an unknown kind, or with members missing */
	AS_WIRE_BAD_FINDING, /* a finding that is not valid */
	AS_WIRE_NO_EVENT, /* text: what a program says before it ends */
};

/* `line` is without its newline. */
enum as_wire_parsed as_wire_event_parse(const char *line, size_t len, struct as_wire_event *event);
void as_wire_event_free(struct as_wire_event *event);

#endif
