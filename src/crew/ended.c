/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ended: see ended.h. */
#include "crew/ended.h"

#include "os/stack.h"

#include <sys/wait.h>

enum as_finding_kind as_ended_kind(const struct as_ended *ended)
{
	return ended->how == AS_END_DEADLINE ? AS_FIND_HANG : AS_FIND_SIGNAL;
}

void as_ended_signal(const struct as_ended *ended, const struct as_ended_say *say,
		     struct as_buf *out)
{
	if (say->stack)
		as_stack_words(say->stack, ended->status, out);
	else
		as_buf_adds(out,
			    say->died && *say->died ? say->died : as_signal_name(ended->status));
}

void as_ended_words(const struct as_ended *ended, const struct as_ended_say *say,
		    struct as_buf *out)
{
	switch (ended->how) {
	case AS_END_SIGNAL:
		as_buf_adds(out, "died of ");
		as_ended_signal(ended, say, out);
		return;
	case AS_END_EXIT:
		as_buf_adds(out, "called exit");
		if (say->status)
			as_buf_addf(out, "(%d)", ended->status);
		return;
	case AS_END_DEADLINE:
		as_buf_adds(out, say->late ? say->late : "did not come back");
		if (say->within_ms)
			as_buf_addf(out, " within %u ms", say->within_ms);
		return;
	default:
		as_buf_adds(out, "was stopped");
	}
}

int as_fail_ended(struct as_err *err, const char *who, const struct as_ended *ended,
		  const struct as_stack *stack)
{
	const struct as_ended_say say = { .stack = stack, .status = true };
	struct as_buf how = { 0 };
	int rc;

	as_ended_words(ended, &say, &how);
	rc = as_fail(err, AS_EIO, "%s ended early: it %s", who, as_buf_str(&how));
	as_buf_free(&how);
	return rc;
}

struct as_ended as_ended_of(int status)
{
	return WIFSIGNALED(status)
		       ? (struct as_ended){ .how = AS_END_SIGNAL, .status = WTERMSIG(status) }
		       : (struct as_ended){ .how = AS_END_EXIT, .status = WEXITSTATUS(status) };
}
