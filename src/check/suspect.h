/* SPDX-License-Identifier: GPL-2.0-or-later */
/* suspect: what workers try, and what they found, on its way to the process that confirms it. Only
 * files of this room include it. */
#ifndef AS_CHECK_SUSPECT_H
#define AS_CHECK_SUSPECT_H

#include "base/notice.h"
#include "child/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct as_check_lane;
struct as_checking;

#define AS_TRY_LINE 65536u /* two paths of any length that can be walked, with escapes */
#define AS_TRY_SINCE 131072u
#define AS_SUSPECT_FAULTS 128u
#define AS_SUSPECT_KEYS 1024u
#define AS_SUSPECT_TRIES 2u /* with the same key */
#define AS_SUSPECT_CRASH "scenario=crash"

/* What is tried: after the trace of a state, an operation. */
struct as_try {
	volatile uint32_t state; /* AS_STORE_NONE: none */
	char line[AS_TRY_LINE]; /* the operation; "": none */
	/* The operations in between that were tried in the same run, and changed nothing; as many
	 * as there is room for. */
	char since[AS_TRY_SINCE];
	size_t since_len;
	char faults[AS_SUSPECT_FAULTS]; /* what fails meanwhile; "": nothing */
	char choices[AS_RUN_CHOICES_MAX]; /* how the target is answered; "": as ever */
};

/* Something that a worker found, to be confirmed: what was tried, and what was wrong then. */
struct as_suspect {
	struct as_try tried;
	struct as_notice notice; /* options: AS_SUSPECT_CRASH if it takes a power cut */
};

void as_try_begin(struct as_try *tried, const char *line);
/* The operation has changed nothing, and the next one follows it. */
void as_try_keep(struct as_try *tried);
void as_try_forget(struct as_try *tried); /* what was kept */

bool as_suspect_is_crash(const struct as_notice *notice);
/* key: equal for what is likely the same; the first few of each key are kept. */
void as_suspect_add(const struct as_checking *checking, struct as_check_lane *lane, bool crash,
		    enum as_finding_kind kind, uint64_t key, const char *why);
/* The same of one that a guest has told. */
void as_suspect_pass_on(const struct as_checking *checking, struct as_check_lane *lane,
			const struct as_notice *notice);
/* The key of a message: without numbers, and without what stands before the first colon. */
uint64_t as_suspect_key(unsigned kind, unsigned code, const char *why);

#endif
