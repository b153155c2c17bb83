/* SPDX-License-Identifier: GPL-2.0-or-later */
/* outcome: an answer in one line, as people know it from strace. */
#include "work/outcome.h"

#include "base/err.h"

const char *as_outcome_err_name(int err)
{
	switch (err) {
	case AS_ERR_UNSUPPORTED:
		return "UNSUPPORTED";
	case AS_ERR_LIMIT:
		return "LIMIT";
	case AS_ERR_TOO_MUCH:
		return "TOO_MUCH";
	default:
		return as_errno_name(err);
	}
}

void as_outcome_print(const struct as_outcome *outcome, struct as_buf *out)
{
	as_buf_addf(out, "= %lld", (long long)outcome->ret);
	if (outcome->ret >= 0)
		return;
	as_buf_addf(out, " %s", as_outcome_err_name(outcome->err));
	if (outcome->done)
		as_buf_addf(out, " done=%llu", (unsigned long long)outcome->done);
}
