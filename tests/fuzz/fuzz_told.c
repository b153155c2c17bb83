/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz entry of what the engine of a check tells from a sandbox (check/told.h). What is taken is
 * within its bounds, and a state is printed and parsed once more: it is the same.
 */
#include "base/err.h"
#include "check/cuts.h"
#include "check/told.h"

#include <stdlib.h>
#include <string.h>

static void check_state(const struct as_told *told)
{
	struct as_buf text = { 0 };
	struct as_told again;

	as_assert(told->state.line && *told->state.line && !strchr(told->state.line, '\n'));
	as_assert(as_cuts_is_step(told->state.line) == told->state.recovered);
	as_told_print_state(&told->state, &text);
	as_told_parse(as_buf_str(&text), &again);
	as_assert(again.kind == AS_TOLD_STATE);
	as_assert(as_digest_eq(again.state.digest, told->state.digest));
	as_assert(!strcmp(again.state.line, told->state.line));
	as_assert(again.state.fine == told->state.fine && again.state.wrote == told->state.wrote);
	as_assert(!memcmp(&again.state.novel, &told->state.novel, sizeof(told->state.novel)));
	as_told_free(&again);
	as_buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = as_xstrndup((const char *)data, len);
	struct as_told told;

	as_told_parse(text, &told);
	switch (told.kind) {
	case AS_TOLD_STATE:
		check_state(&told);
		break;
	case AS_TOLD_SUSPECT:
		as_assert(strlen(told.state.line) < AS_TRY_LINE &&
			  strlen(told.since) < AS_TRY_SINCE &&
			  strlen(told.faults) < AS_SUSPECT_FAULTS &&
			  strlen(told.choices) < AS_RUN_CHOICES_MAX);
		as_assert(told.notice.is && (unsigned)told.notice.kind < AS_FIND_KINDS);
		as_assert(!strpbrk(told.notice.summary, "\n\r\033"));
		break;
	case AS_TOLD_START:
		as_assert(told.start.text);
		break;
	default:
		break;
	}
	as_told_free(&told);
	free(text);
	return 0;
}
