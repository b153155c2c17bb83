/* SPDX-License-Identifier: GPL-2.0-or-later */
/* err: see err.h. A message that does not fit is cut off. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OOM_STATUS 2 /* the same as for any other error of ours */

static const struct {
	const char *name;
	int value;
	bool alias;
} errnos[] = {
#define X(name, value) { #name, value, false },
#define ALIAS(name, value) { #name, value, true },
#include "base/errno.def"
#undef X
#undef ALIAS
};

#define NERRNOS (sizeof(errnos) / sizeof(errnos[0]))

/* Fills *err, which is not NULL, and returns the length of the message. */
static size_t fill(struct as_err *err, int code, const char *fmt, va_list ap)
{
	err->code = code;
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	return strlen(err->msg);
}

int as_fail(struct as_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (err)
		fill(err, code, fmt, ap);
	va_end(ap);
	return code;
}

int as_fail_errno(struct as_err *err, int errnum, const char *fmt, ...)
{
	int code = errnum == ENOMEM ? AS_ENOMEM : AS_EIO;
	char text[256];
	size_t len;
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	len = fill(err, code, fmt, ap);
	va_end(ap);
	/* The GNU strerror_r: safe with threads, and its text need not be in the buffer. */
	snprintf(err->msg + len, sizeof(err->msg) - len, ": %s",
		 strerror_r(errnum, text, sizeof(text)));
	return code;
}

int as_fail_in(struct as_err *err, const char *fmt, ...)
{
	char old[sizeof(err->msg)];
	size_t len;
	va_list ap;

	if (!err)
		return AS_EIO;
	memcpy(old, err->msg, sizeof(old));
	va_start(ap, fmt);
	len = fill(err, err->code, fmt, ap);
	va_end(ap);
	snprintf(err->msg + len, sizeof(err->msg) - len, ": %s", old);
	return err->code;
}

/* This and as_out_of_memory() are the only places in the library that print: the process ends here,
 * so no caller can report it. */
_Noreturn void as_assert_failed(const char *cond, const char *file, int line, const char *func)
{
	fprintf(stderr, "%s:%d: %s: assertion failed: %s\n", file, line, func, cond);
	abort();
}

static volatile uint64_t *tell_wanted;

void as_oom_tell(volatile uint64_t *wanted)
{
	tell_wanted = wanted;
}

_Noreturn void as_out_of_memory(uint64_t len)
{
	/* The process that started us reports it, once. */
	if (tell_wanted)
		*tell_wanted = len ? len : 1;
	else
		fprintf(stderr, "assay: out of memory: %llu bytes wanted\n",
			(unsigned long long)len);
	_exit(OOM_STATUS);
}

int as_fail_oom(struct as_err *err, uint64_t wanted)
{
	return as_fail(err, AS_ENOMEM, "out of memory: %llu bytes wanted",
		       (unsigned long long)wanted);
}

bool as_errno_exists(int errnum)
{
	for (size_t i = 0; i < NERRNOS; i++)
		if (errnos[i].value == errnum)
			return true;
	return false;
}

const char *as_errno_name(int errnum)
{
	static _Thread_local char unknown[32];

	for (size_t i = 0; i < NERRNOS; i++)
		if (errnos[i].value == errnum && !errnos[i].alias)
			return errnos[i].name;
	snprintf(unknown, sizeof(unknown), "errno %d", errnum);
	return unknown;
}

int as_errno_value(const char *name)
{
	for (size_t i = 0; i < NERRNOS; i++)
		if (!strcmp(errnos[i].name, name))
			return errnos[i].value;
	return 0;
}

void *as_xmalloc(uint64_t len)
{
	void *ptr = malloc(len ? len : 1);

	if (!ptr)
		as_out_of_memory(len);
	return ptr;
}

void *as_xcalloc(uint64_t n, uint64_t len)
{
	void *ptr = calloc(n ? n : 1, len ? len : 1);

	if (!ptr)
		as_out_of_memory(n * len);
	return ptr;
}

void *as_xrealloc(void *ptr, uint64_t len)
{
	ptr = realloc(ptr, len ? len : 1);
	if (!ptr)
		as_out_of_memory(len);
	return ptr;
}

char *as_xstrndup(const char *s, uint64_t len)
{
	char *copy = as_xmalloc(len + 1);

	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *as_xstrdup(const char *s)
{
	size_t len = strlen(s) + 1;

	return memcpy(as_xmalloc(len), s, len);
}
