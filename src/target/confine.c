/* SPDX-License-Identifier: GPL-2.0-or-later */
/* confine: see confine.h, and the kernel's Documentation/userspace-api/landlock.rst. */
#include "target/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the headers of some machines: the rights came with versions 2 and 3. */
#define ACCESS_REFER (UINT64_C(1) << 13)
#define ACCESS_TRUNCATE (UINT64_C(1) << 14)

#define READ_RIGHTS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE_RIGHTS                                                                   \
	(READ_RIGHTS | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |               \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |                   \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |                 \
	 LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM | ACCESS_REFER |  \
	 ACCESS_TRUNCATE)
#define ALL_RIGHTS (WRITE_RIGHTS | LANDLOCK_ACCESS_FS_EXECUTE)
/* What a file that is no folder can be given. */
#define FILE_RIGHTS                                                   \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | \
	 LANDLOCK_ACCESS_FS_READ_FILE | ACCESS_TRUNCATE)

static int allow(int ruleset, const struct as_confine_path *path, uint64_t handled)
{
	struct landlock_path_beneath_attr attr = { 0 };
	struct stat st;
	int rc = 0;

	attr.parent_fd = open(path->path, O_PATH | O_CLOEXEC);
	if (attr.parent_fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (path->rights & AS_CONFINE_READ)
		attr.allowed_access |= READ_RIGHTS;
	if (path->rights & AS_CONFINE_RUN)
		attr.allowed_access |= READ_RIGHTS | LANDLOCK_ACCESS_FS_EXECUTE;
	if (path->rights & AS_CONFINE_WRITE)
		attr.allowed_access |= WRITE_RIGHTS;
	attr.allowed_access &= handled;
	if (fstat(attr.parent_fd, &st))
		rc = -errno;
	else if (!S_ISDIR(st.st_mode))
		attr.allowed_access &= FILE_RIGHTS;
	if (!rc && syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr, 0))
		rc = -errno;
	close(attr.parent_fd);
	return rc;
}

int as_confine(const struct as_confine_path *paths)
{
	struct landlock_ruleset_attr attr = { .handled_access_fs = ALL_RIGHTS };
	long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	int ruleset, rc = 0;

	if (version < 1)
		return 1;
	if (version < 3)
		attr.handled_access_fs &= ~ACCESS_TRUNCATE;
	if (version < 2)
		attr.handled_access_fs &= ~ACCESS_REFER;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (ruleset < 0)
		return -errno;
	for (int i = 0; paths[i].path && !rc; i++)
		rc = allow(ruleset, &paths[i], attr.handled_access_fs);
	if (!rc && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    syscall(SYS_landlock_restrict_self, ruleset, 0)))
		rc = -errno;
	close(ruleset);
	return rc;
}
