/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tmpdir: see tmpdir.h. Only the process that made a folder removes it: its children may end by
 * exit(), too. */
#include "tests/lib/tmpdir.h"

#include "base/err.h"
#include "os/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct folder {
	char path[PATH_MAX];
	pid_t owner;
	struct folder *next;
};

static struct folder *folders;

static void remove_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
		as_dir_empty(fd);
	if (fd >= 0)
		close(fd);
	rmdir(path);
}

static void remove_all(void)
{
	for (struct folder *next, *f = folders; f; f = next) {
		next = f->next;
		if (f->owner == getpid())
			remove_folder(f->path);
		free(f);
	}
	folders = NULL;
}

const char *t_tmpdir_in(const char *place)
{
	struct folder *f = as_xcalloc(1, sizeof(*f));
	char whole[PATH_MAX];

	f->owner = getpid();
	if (!realpath(place, whole) ||
	    snprintf(f->path, sizeof(f->path), "%s/assay-test-XXXXXX", whole) >=
		    (int)sizeof(f->path) ||
	    !mkdtemp(f->path)) {
		free(f);
		return NULL;
	}
	if (!folders)
		atexit(remove_all);
	f->next = folders;
	folders = f;
	return f->path;
}

const char *t_tmpdir(void)
{
	const char *place = getenv("TMPDIR"), *path = place ? t_tmpdir_in(place) : NULL;

	if (!path)
		path = t_tmpdir_in("/tmp");
	if (!path) {
		fprintf(stderr, "no folder in /tmp: %s\n", strerror(errno));
		abort();
	}
	return path;
}

void t_tmpdir_remove(const char *path)
{
	for (struct folder **at = &folders; *at; at = &(*at)->next) {
		struct folder *f = *at;

		if (f->path == path) {
			*at = f->next;
			remove_folder(path);
			free(f);
			return;
		}
	}
	fprintf(stderr, "%s: not a folder of t_tmpdir()\n", path);
	abort();
}
