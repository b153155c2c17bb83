/* SPDX-License-Identifier: GPL-2.0-or-later */
/* traced: for a test whose own program is traced. SANITIZED says whether a sanitizer is built in. A
 * traced program cannot be looked at for leaks, since that takes ptrace, too. */
#ifndef TESTS_RECORD_TRACED_H
#define TESTS_RECORD_TRACED_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#undef SANITIZED
#define SANITIZED true
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

/* The sanitizer asks this whatever ASAN_OPTIONS says. Without a sanitizer nobody does. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

#endif
