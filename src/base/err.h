/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * err: tool errors. A function of ours that can fail returns 0 or a negative AS_E*, and leaves one
 * line in *err that a person can act on. What the file system under test answers is never reported
 * this way (see work/outcome.h), nor is a finding (see base/event.h).
 */
#ifndef AS_BASE_ERR_H
#define AS_BASE_ERR_H

#include <stdbool.h>
#include <stdint.h>

enum {
	AS_OK = 0,
	AS_EUSE = -2, /* wrong use, such as a bad input or option; exit status 2 */
	AS_ELACK = -3, /* the machine lacks something; exit status 3 */
	AS_EIO = -4, /* the system refused us something; exit status 2 */
	AS_ENOMEM = -5,
	AS_ESTOP = -6, /* a signal asked us to end */
};

struct as_err {
	int code;
	char msg[1024];
};

#define AS_MUST_CHECK __attribute__((warn_unused_result))
#define AS_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Fills *err (which may be NULL) and returns code, so that `return as_fail(...)` reads well. */
int as_fail(struct as_err *err, int code, const char *fmt, ...) AS_PRINTF(3, 4);
/* Does the same as as_fail(), with ": strerror(errnum)" after the message. */
int as_fail_errno(struct as_err *err, int errnum, const char *fmt, ...) AS_PRINTF(3, 4);
/* Puts context in front of what *err already says, and returns its code. */
int as_fail_in(struct as_err *err, const char *fmt, ...) AS_PRINTF(2, 3);

/* For programming errors. It is always on; it prints file:line and aborts. */
#define as_assert(cond) ((cond) ? (void)0 : as_assert_failed(#cond, __FILE__, __LINE__, __func__))
_Noreturn void as_assert_failed(const char *cond, const char *file, int line, const char *func);

/* Symbolic name of an errno value ("ENOENT"), or "errno 4711". The result is static or
 * per-thread storage. */
const char *as_errno_name(int errnum);
/* Whether there is such an errno. */
bool as_errno_exists(int errnum);
/* The value of a name, 0 when unknown. */
int as_errno_value(const char *name);

/*
 * There is no memory: the process ends with a line on standard error and exit status 2. A process
 * that was started by one of ours (as_oom_tell()) prints nothing: it writes the number of bytes
 * into memory that it shares with its parent, and the parent reports it.
 */
_Noreturn void as_out_of_memory(uint64_t wanted_bytes);
void as_oom_tell(volatile uint64_t *wanted_bytes);
/* What the parent reports. */
int as_fail_oom(struct as_err *err, uint64_t wanted_bytes);

/* malloc and friends that end with as_out_of_memory(): for small, bounded things. */
void *as_xmalloc(uint64_t len) __attribute__((malloc, returns_nonnull));
void *as_xcalloc(uint64_t n, uint64_t len) __attribute__((malloc, returns_nonnull));
void *as_xrealloc(void *ptr, uint64_t len) __attribute__((returns_nonnull));
/* Copies the first len bytes; s has at least so many. */
char *as_xstrndup(const char *s, uint64_t len) __attribute__((malloc, returns_nonnull));
char *as_xstrdup(const char *s) __attribute__((malloc, returns_nonnull));

#endif
