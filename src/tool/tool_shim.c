/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tool_shim: the preloaded object as a part of the program, so that no file has to be found. */
#include "base/embed.h"
#include "os/memory.h"
#include "tool/tool.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef AS_SHIM_SO
#error "AS_SHIM_SO names the shared object to be put in; the Makefile says it"
#endif

AS_EMBED(as_shim, AS_SHIM_SO);

int as_tool_shim_fd(int *out, struct as_err *err)
{
	const char *at = as_shim_first;
	int fd = as_memory_file("assay-shim");

	*out = -1;
	while (fd >= 0 && at < as_shim_end) {
		ssize_t n = write(fd, at, (size_t)(as_shim_end - at));

		if (n < 0 && errno != EINTR) {
			int saved = errno;

			close(fd);
			errno = saved;
			fd = -1;
		}
		at += n > 0 ? n : 0;
	}
	if (fd < 0)
		return as_fail_errno(err, errno, "cannot make the shim for checkers");
	*out = fd;
	return 0;
}
