/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * outside: a checker that runs outside of the sandbox whose kernel wrote the disk. In a guest each
 * system call and each page fault of a program is expensive, and a checker makes hundreds of them.
 * So an engine in a guest puts the disk into the memory that it shares with its supervisor, asks by
 * an event of the wire (supervise/wire.h), which has the number of the question, and waits. The
 * supervisor passes the event on to one more process of this program (supervise/outside.h), which
 * is confined like the guest itself.
 *
 * What lies in the memory belongs to the version of the wire. It is marked (AS_OUTSIDE_MARK) by the
 * supervisor; without that mark the engine does not ask, and the process outside does not answer.
 *
 * What the memory holds comes from a kernel under test: the process outside believes nothing of it.
 * Of an unmounted disk, only the answer that it is clean is believed. Of a crashed disk, a checker
 * that has recovered it is believed, too: what it read and wrote comes with the answer. Whatever
 * else the checker says outside, it runs once more in the guest, and that is what counts.
 */
#ifndef AS_INSTANCE_OUTSIDE_H
#define AS_INSTANCE_OUTSIDE_H

#include "base/buf.h"
#include "base/err.h"
#include "box/sandbox.h"
#include "mount/mount.h"
#include "target/fstype.h"
#include "tool/checker.h"

struct as_witness_area; /* of host/medium.h */

/* What an engine prints to ask, with the number of the question, which is not 0: an event of
 * supervise/wire.h. */
#define AS_OUTSIDE_ASK "{\"event\":\"check\",\"number\":%llu}\n"
/* Of this layout: another one gets another number. */
#define AS_OUTSIDE_MARK 0x6f757402u

#define AS_OUTSIDE_AREA_BYTES ((size_t)8 << 20)

/* In the shared memory, after the witness of the disk. */
struct as_outside {
	volatile uint32_t offered; /* AS_OUTSIDE_MARK: somebody answers */
	uint32_t mode;
	uint64_t dump_bytes; /* 0: the disk is told by its difference to another one */
	/* A question of that kind (outside_log.c). */
	uint64_t base; /* the question of which the other disk was; 0: one of zeros */
	uint64_t delta_bytes, size_bytes, fail_read;
	/* The answer, and the number of its question. */
	volatile uint64_t answered;
	int32_t rc; /* AS_ELACK: it cannot be run there */
	uint32_t answer;
	uint64_t log_bytes; /* to a question by difference: of the answer in `area` */
	uint32_t doubted; /* by the engine: the last answer was not "clean" */
	/* The difference, then the answer to it. */
	unsigned char area[AS_OUTSIDE_AREA_BYTES] __attribute__((aligned(64)));
};

size_t as_outside_bytes(void);

/* as_box_state.engine holds the struct as_child_shared, then what the disk's witness writes, then
 * the struct as_outside. child/child_shared.c knows where they are. For NULL, the functions answer
 * NULL. */
#define AS_RUN_WITNESS_BYTES ((size_t)24 << 20)
size_t as_run_state_bytes(void); /* how many bytes as_box_state.engine must have */
struct as_witness_area *as_shared_witness(struct as_box_state *state);
struct as_outside *as_outside_of(struct as_box_state *state);
/* Where the dump of the disk (disk/dump.h) is. */
void *as_outside_dump(struct as_box_state *state, size_t *room_bytes);

/* By the supervisor: whether somebody answers. */
void as_outside_offer(struct as_outside *outside, bool offered);

bool as_outside_is_offered(const struct as_outside *outside);

/* By the engine: whether the checker finds nothing on the disk of the mount, which is not mounted.
 * False also if nobody answers, the disk is too large, or the checker cannot be run there. */
bool as_outside_is_clean(struct as_outside *outside, struct as_mount *mount,
			 enum as_check_mode mode);
/* After it was not: what the checker in the guest said of the same disk. If that one is clean, the
 * checker does not work outside, and is not asked again. */
void as_outside_compare(struct as_outside *outside, enum as_check_answer answer);

/* ---- Crashed disks: outside_log.c ---- */

/* What an engine keeps from one question to the next. Begins zeroed but for `outside` (NULL: nobody
 * is asked) and the descriptors. */
struct as_outside_link {
	struct as_outside *outside;
	int in_fd, out_fd; /* where answers wake it up, where it asks */
	struct as_disk *there; /* the disk that the process outside has; NULL: none yet */
	uint64_t there_as; /* the number of the question that told it */
};

/* Runs the checker on the disk, which is not changed, as as_checker_run() does with AS_TOOL_READS.
 * AS_ELACK: nobody can. *result is freed by as_tool_result_free() in any case. */
AS_MUST_CHECK int as_outside_check(struct as_outside_link *link, enum as_check_mode mode,
				   uint64_t fail_read, struct as_disk *disk,
				   struct as_tool_result *result);
/* Before the store of the disks is freed. */
void as_outside_link_end(struct as_outside_link *link);

/* Asks, and waits. False: there is no answer, and none will come. */
bool as_outside_ask(struct as_outside *outside, uint64_t number, int in_fd, int out_fd);

/* By the process outside: *disk becomes the one that is asked about, of at most size_max bytes;
 * *loaded is the question of which it was before, and is now. */
AS_MUST_CHECK int as_outside_load(const struct as_outside *outside, uint64_t size_max,
				  struct as_disk **disk, uint64_t number, uint64_t *loaded,
				  struct as_err *err);
/* Puts the answer into the area. AS_ELACK: there is no room. */
AS_MUST_CHECK int as_outside_tell(struct as_outside *outside, const struct as_tool_result *result);
/* By the engine: what was told of a run on that disk, which is not changed. AS_ELACK: it makes no
 * sense. *result is freed in any case. */
AS_MUST_CHECK int as_outside_hear(const struct as_outside *outside, struct as_disk *disk,
				  struct as_tool_result *result);

/* ---- The checker outside ---- */

/* Runs the checker and judges its end. `output` gets what it printed, or how it ended. */
AS_MUST_CHECK int as_outside_run(struct as_checkers *checkers, const struct as_fstype *type,
				 enum as_check_mode mode, struct as_disk *disk,
				 enum as_check_answer *answer, struct as_buf *output,
				 struct as_err *err);

/* What answers questions about disks of this type and size, and about smaller crashed ones. */
struct as_outside_server;

AS_MUST_CHECK int as_outside_server_new(struct as_box_state *state, size_t state_bytes,
					const struct as_fstype *type, uint64_t size_bytes,
					unsigned deadline_ms, struct as_outside_server **server,
					struct as_err *err);
/* Answers the question that lies in the memory, whatever it is, as this one. */
void as_outside_answer(struct as_outside_server *server, uint64_t number);
void as_outside_server_free(struct as_outside_server *server); /* takes NULL */

#endif
