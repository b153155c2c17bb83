/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memory: see memory.h. What is reserved is kept in a list, which children inherit with the
 * mappings. mlockall() passes over what cannot be accessed, so that is what reserved memory is
 * while the rest is brought in.
 */
#include "os/memory.h"

#include "base/array.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct reserved {
	void *at;
	size_t bytes;
} * reserved;
static size_t n_reserved, cap_reserved;

int as_memory_file(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0 && (errno == EPERM || errno == ENOSYS))
		fd = open(AS_MEMORY_FOLDER, O_TMPFILE | O_RDWR | O_CLOEXEC, 0700);
	return fd;
}

void *as_memory_reserve(size_t bytes, int fd)
{
	int how = MAP_SHARED | MAP_NORESERVE | (fd < 0 ? MAP_ANONYMOUS : 0);
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, how, fd, 0);

	if (at == MAP_FAILED)
		return NULL;
	pthread_mutex_lock(&lock);
	AS_ARRAY_ROOM(reserved, n_reserved, cap_reserved);
	reserved[n_reserved++] = (struct reserved){ at, bytes };
	pthread_mutex_unlock(&lock);
	return at;
}

void as_memory_give_back(void *at, size_t bytes)
{
	size_t i = 0;

	if (!at)
		return;
	pthread_mutex_lock(&lock);
	while (i < n_reserved && reserved[i].at != at)
		i++;
	as_assert(i < n_reserved && reserved[i].bytes == bytes);
	reserved[i] = reserved[--n_reserved];
	pthread_mutex_unlock(&lock);
	munmap(at, bytes);
}

static void let_access(int access)
{
	for (size_t i = 0; i < n_reserved; i++)
		as_assert(!mprotect(reserved[i].at, reserved[i].bytes, access));
}

void as_memory_bring_in(void)
{
	pthread_mutex_lock(&lock);
	let_access(PROT_NONE);
	if (!mlockall(MCL_CURRENT))
		munlockall();
	let_access(PROT_READ | PROT_WRITE);
	pthread_mutex_unlock(&lock);
}

uint64_t as_memory_machine(void)
{
	struct sysinfo info;

	return sysinfo(&info) ? 0 : (uint64_t)info.totalram * info.mem_unit;
}

/* So many processes so far. */
static uint64_t count_kills(void)
{
	FILE *file = fopen("/proc/vmstat", "re");
	unsigned long long kills = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "oom_kill %llu", &kills) == 1)
			break;
	if (file)
		fclose(file);
	return kills;
}

bool as_memory_killed(void)
{
	static bool looked;
	static uint64_t before;
	uint64_t kills = count_kills();
	bool more = looked && kills > before;

	looked = true;
	before = kills;
	return more;
}
