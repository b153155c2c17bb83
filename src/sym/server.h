/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server: the checker under the Valgrind tool, as its user sees it. It stands where it first reads
 * a byte that may be symbolic, and is forked there for each disk (sym/vg/log.h).
 */
#ifndef AS_SYM_SERVER_H
#define AS_SYM_SERVER_H

#include "base/err.h"
#include "damage/damage.h"
#include "disk/cow.h"
#include "fsck/subject.h"

struct as_sym_range {
	uint64_t off, len;
	bool symbolic; /* false: it may differ from disk to disk, but is no unknown: a checksum */
};

#define AS_SYM_DISK_MAX ((uint64_t)512 << 20)

struct as_sym_server;

/* Whether there is what it needs. AS_ELACK: Valgrind, or its tool, is missing. */
AS_MUST_CHECK int as_sym_server_look(struct as_err *err);

/*
 * Starts the repair command of the checker on the disk. `ranges` are all that any run will have; n
 * is 0: any, and any disk (as_sym_server_turn), since the checker stands where it first names it.
 * AS_EUSE: the checker cannot be explored (threads; it never reads them; the disk is too large).
 */
AS_MUST_CHECK int as_sym_server_start(struct as_fsck_subject *subject, struct as_disk *disk,
				      const struct as_sym_range *ranges, size_t n,
				      struct as_sym_server **out, struct as_err *err);
void as_sym_server_free(struct as_sym_server *server); /* takes NULL */

struct as_sym_run {
	bool late; /* it did not end in time */
	int status; /* as waitpid() gives it */
	const void *log; /* good until the next run */
	size_t log_bytes;
	uint64_t micros, instructions;
};

/* One run on the disk with this damage, which lies in the ranges. AS_EIO: the server is gone. */
AS_MUST_CHECK int as_sym_server_run(struct as_sym_server *server, const struct as_damage *damage,
				    const struct as_sym_range *ranges, size_t n,
				    unsigned deadline_ms, struct as_sym_run *run,
				    struct as_err *err);

/* From now on the disk is another one, of any size. The server was started without ranges. */
AS_MUST_CHECK int as_sym_server_turn(struct as_sym_server *server, struct as_disk *disk,
				     struct as_err *err);

/* Puts another disk of the same size in place, for the next run only. */
void as_sym_server_put(struct as_sym_server *server, struct as_disk *disk);

#endif
