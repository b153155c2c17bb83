/* SPDX-License-Identifier: GPL-2.0-or-later */
/* memory: see memory.h. */
#include "os/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

int as_memory_file(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0 && (errno == EPERM || errno == ENOSYS))
		fd = open(AS_MEMORY_FOLDER, O_TMPFILE | O_RDWR | O_CLOEXEC, 0700);
	return fd;
}
