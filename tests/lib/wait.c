/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wait: see wait.h. */
#include "tests/lib/wait.h"

#include "os/spawn.h"

#include <time.h>

bool t_wait_until(bool (*is_true)(void *ctx), void *ctx, unsigned most_ms)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	int64_t until_us = as_now_us() + (int64_t)most_ms * 1000;
	bool is;

	while (!(is = is_true(ctx)) && as_now_us() < until_us)
		nanosleep(&nap, NULL);
	return is;
}
