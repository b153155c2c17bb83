/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check_words: what `assay check` tells of its progress, and at the end. */
#ifndef AS_CMD_CHECK_WORDS_H
#define AS_CMD_CHECK_WORDS_H

#include "check/check.h"
#include "cli/live.h"

struct as_check_words {
	const struct as_target *target;
	const struct as_check_options *options;
	struct as_sink *sinks;
	bool json;
	struct as_live *live;
};

/* For struct as_check_args; ctx: the words. */
void as_check_words_progress(void *ctx, const struct as_check_status *status);
void as_check_words_end(struct as_check_words *words, const struct as_check_status *status);

#endif
