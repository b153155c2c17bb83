/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * limit: see limit.h. RLIMIT_DATA counts private writable memory, which is what a heap consists of.
 * The address space is not limited, because many run-time systems reserve more than they use.
 */
#include "os/limit.h"

#include "os/memory.h"
#include "os/sanitizer.h"

#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#define MEMORY_MIN ((uint64_t)1 << 30)
#define MEMORY_MAX ((uint64_t)4 << 30)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

void as_limit_memory(void)
{
#ifndef SANITIZED
	struct rlimit memory;
	uint64_t machine = as_memory_machine(), most = MEMORY_MAX;

	if (as_sanitizer_is())
		return;
	if (machine && machine / 2 < most)
		most = machine / 2;
	if (most < MEMORY_MIN)
		most = MEMORY_MIN;
	if (getrlimit(RLIMIT_DATA, &memory) || memory.rlim_cur <= most)
		return;
	memory.rlim_cur = most;
	if (memory.rlim_max > most)
		memory.rlim_max = most;
	setrlimit(RLIMIT_DATA, &memory);
#endif
}
