/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandbox_confined: this program once more, in a jail (jail.h): for work on what a guest has made,
 * which is no more trusted than the guest. It runs no kernel, so that its jail is small. It is only
 * started where the machine has namespaces: without them, a program that was taken over could stop
 * processes of the same user.
 */
#include "box/sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARGS_MAX 16
#define FILES_MAX 12
#define JAIL_BYTES ((uint64_t)4 << 30) /* of all its files, and of its memory */

/* What it sees of the machine, besides programs. */
static const struct as_confine_path libraries[] = {
	{ "/lib", AS_CONFINE_RUN },	      { "/lib64", AS_CONFINE_RUN },
	{ "/usr/lib", AS_CONFINE_RUN },	      { "/usr/lib64", AS_CONFINE_RUN },
	{ "/usr/local/lib", AS_CONFINE_RUN }, { "/etc/ld.so.cache", AS_CONFINE_READ },
	{ "/dev/null", AS_CONFINE_WRITE },
};

enum { N_LIBRARIES = sizeof(libraries) / sizeof(libraries[0]) };

/* The path of this program: a mount of /proc/self/exe would be one of another namespace. False: it
 * was replaced. */
static bool find_self(char *path, size_t cap)
{
	ssize_t len = readlink("/proc/self/exe", path, cap - 1);
	struct stat self, there;

	path[len > 0 ? len : 0] = '\0';
	return len > 0 && !stat("/proc/self/exe", &self) && !stat(path, &there) &&
	       self.st_dev == there.st_dev && self.st_ino == there.st_ino;
}

/* The folders of the programs, as PATH. */
static void name_folders(const char *const *programs, char *path, size_t cap)
{
	int len = snprintf(path, cap, "PATH=");

	for (size_t i = 0; programs[i] && (size_t)len < cap; i++) {
		const char *slash = strrchr(programs[i], '/');

		len += snprintf(path + len, cap - (size_t)len, "%s%.*s", i ? ":" : "",
				slash ? (int)(slash - programs[i]) : 0, programs[i]);
	}
}

int as_box_start_confined(const char *const *args, const char *const *programs, int fd,
			  struct as_box **out, struct as_err *err)
{
	struct as_confine_path files[FILES_MAX + 1] = { { NULL, 0 } };
	char *argv[ARGS_MAX + 2] = { (char *)"assay" };
	char self[4096], env_path[4096], env_lc[] = "LC_ALL=C";
	char *const envp[] = { env_path, env_lc, NULL };
	const struct as_jail jail = { .program = self,
				      .files = files,
				      .quota_bytes = JAIL_BYTES,
				      /* xfs_repair refuses to run with a limit. */
				      .file_bytes = UINT64_MAX,
				      .memory_bytes = JAIL_BYTES,
				      .spaces = true,
				      .folder = "" };
	const struct as_box_program program = { .path = self,
						.argv = argv,
						.envp = envp,
						.core = AS_CORE_ANY,
						.fds = { fd },
						.jail = &jail };
	size_t n = N_LIBRARIES;
	struct as_box *box;
	int rc;

	*out = NULL;
	if (!find_self(self, sizeof(self)))
		return as_fail(err, AS_ELACK, "the file of this program was replaced");
	memcpy(files, libraries, sizeof(libraries));
	for (size_t i = 0; programs[i] && n < FILES_MAX; i++)
		files[n++] = (struct as_confine_path){ programs[i], AS_CONFINE_RUN };
	for (size_t i = 0; i < ARGS_MAX && args[i]; i++)
		argv[i + 1] = (char *)args[i];
	name_folders(programs, env_path, sizeof(env_path));
	box = as_box_new();
	rc = as_box_spawn(box, &program, err);
	if (rc) {
		as_box_free(box);
		box = NULL;
	}
	*out = box;
	return rc;
}
