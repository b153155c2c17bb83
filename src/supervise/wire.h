/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire: what a supervisor and the engine in its sandbox say to each other. docs/FORMAT.md, "The
 * wire", describes every message. Print and parse of a message stand side by side in wire.c.
 *
 * To the engine:
 *	a job, once, in the file that the engine's command line names
 *	work, in a file that the job names: requests (as_wire_requests), each with its files. For an
 *	engine that stays up, the file is replaced, and
 *	each time the line AS_WIRE_GO on the engine's standard input says so
 * To the supervisor:
 *	events, a line each; the first is a hello
 *
 * Each message carries the version of the wire. Each side refuses a version other than its own.
 *
 * The engine trusts its supervisor, which started it and controls it. The supervisor trusts nothing
 * that comes out of the sandbox: the kernel there is under test and may write anything over
 * anything. So a parser accepts any bytes. Every text and number that it returns has its type and
 * is bounded. A missing or oversized member is an error or is cut, never a crash. guest_findings.c
 * checks whether a finding fits the job that the engine was given.
 */
#ifndef AS_SUPERVISE_WIRE_H
#define AS_SUPERVISE_WIRE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/finding_json.h"
#include "run/run.h"

#define AS_WIRE_VERSION 2u

/* Below the folder for findings that a job names: FINDINGS/ID/ has the disk of a finding, and that
 * of before the power cut. */
#define AS_WIRE_FINDINGS "findings"
#define AS_WIRE_DISK "disk.img.zst"
#define AS_WIRE_BEFORE "before.img.zst"
#define AS_WIRE_LINE_MAX_BYTES ((size_t)32 << 20) /* longest event */
#define AS_WIRE_TEXT_MAX_BYTES ((size_t)2000) /* longest note or error; the rest is cut off */
#define AS_WIRE_TOLD_MAX_BYTES ((size_t)1 << 20) /* longest text of a scenario */
#define AS_WIRE_PATH_MAX_BYTES ((size_t)4096) /* longest text of a job */
#define AS_WIRE_FILE_MAX_BYTES ((size_t)256 << 20) /* largest job or work */
#define AS_WIRE_GO "go\n"
/* The command that is an engine; its operand is the path of the job. */
#define AS_WIRE_ENGINE "engine"

/* ---- To the engine ---- */

/* What an engine does with all its workloads. Texts that were parsed live as long as the job. */
struct as_wire_job {
	const char *target; /* as typed */
	const char *state; /* path of the shared memory */
	const char *work; /* path of the file with the work */
	const char *out; /* folder for findings; NULL: they are not kept */
	const char *known; /* file of signatures that were met before; NULL: none */
	const char *cov; /* folder for counts of calls; NULL: they are not counted */
	bool together; /* several workloads may share a process; batches are told */
	bool once; /* the engine ends after its first work */
	struct as_run_options options; /* child/run_option.def says which are sent */
	struct json_t *object;
};

/* Fails for a text that JSON cannot carry: one that is not UTF-8. */
AS_MUST_CHECK int as_wire_job_print(const struct as_wire_job *job, struct as_buf *out,
				    struct as_err *err);
AS_MUST_CHECK int as_wire_job_parse(const char *text, size_t len, struct as_wire_job *job,
				    struct as_err *err);
void as_wire_job_free(struct as_wire_job *job);

/* What an engine can be asked for: the rows of as_wire_requests. */
enum as_wire_request {
	AS_WIRE_RUN, /* run a workload as the job says, with events about it */
	AS_WIRE_MAKE, /* carry out a workload on a disk; the answer is the disk that it leaves */
	AS_WIRE_MOUNT, /* visit a disk that may be damaged; the answer is what was met there */
	AS_WIRE_REQUESTS,
};

extern const struct as_wire_row {
	const char *name;
	bool text, image, answer; /* the files that it comes with, and that it writes */
} as_wire_requests[AS_WIRE_REQUESTS];

/* Requests, in the order in which they are carried out. */
struct as_wire_work {
	struct as_wire_item {
		enum as_wire_request request;
		const char *path; /* of the workload; "": none */
		const char *name; /* that people know it by */
		const char *image; /* path of the disk (disk/image.h); NULL: none */
		const char *answer; /* path of the file that gets the answer; NULL: none */
		uint64_t number; /* that the event of its answer says */
	} * items;
	size_t n, cap;
	struct json_t *object;
};

void as_wire_work_print(const struct as_wire_work *work, struct as_buf *out);
AS_MUST_CHECK int as_wire_work_parse(const char *text, size_t len, struct as_wire_work *work,
				     struct as_err *err);
void as_wire_work_free(struct as_wire_work *work);

/* ---- From the engine ---- */

enum as_wire_kind {
	AS_WIRE_HELLO, /* version */
	AS_WIRE_FINDING, /* finding */
	AS_WIRE_AGAIN, /* text: the signature of a finding that was met before */
	AS_WIRE_NOTE, /* text: for people */
	AS_WIRE_WORKLOAD, /* result: of the next workload, which is done */
	AS_WIRE_BATCH, /* done, result: of the next workloads, which are done */
	AS_WIRE_ERROR, /* text, lacks: why the engine gives up */
	AS_WIRE_CHECK, /* a disk waits for its checker: see instance/outside.h */
	AS_WIRE_ANSWER, /* number: of the request whose answer is in its file */
	AS_WIRE_TOLD, /* text: of a scenario, for who gave it the workload: see base/event.h */
	AS_WIRE_KINDS,
};

struct as_wire_event {
	enum as_wire_kind kind;
	unsigned version; /* of a hello */
	struct as_finding finding;
	const char *text;
	bool lacks; /* the machine lacks something */
	uint64_t done, number;
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
