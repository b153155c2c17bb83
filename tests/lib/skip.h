/* SPDX-License-Identifier: GPL-2.0-or-later */
/* skip: cmocka's skip() has no room for a reason, and a skipped test without one is of no use. */
#ifndef AS_TESTS_LIB_SKIP_H
#define AS_TESTS_LIB_SKIP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Leaves the test; scripts/run_tests.sh shows the reason. */
#define skip_because(...)                            \
	do {                                         \
		print_message("SKIP: " __VA_ARGS__); \
		print_message("\n");                 \
		skip();                              \
	} while (0)

#endif
