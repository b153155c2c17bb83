/* SPDX-License-Identifier: GPL-2.0-or-later */
/* advise: see advise.h. A message that does not fit is cut off. */
#include "base/advise.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int as_fail_advise(struct as_err *err, const char *fmt, ...)
{
	char advice[256];
	size_t len;
	va_list ap;

	if (!err)
		return AS_EIO;
	va_start(ap, fmt);
	vsnprintf(advice, sizeof(advice), fmt, ap);
	va_end(ap);
	len = strlen(err->msg);
	snprintf(err->msg + len, sizeof(err->msg) - len, ": %s", advice);
	return err->code;
}
