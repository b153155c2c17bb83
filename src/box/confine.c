/* SPDX-License-Identifier: GPL-2.0-or-later */
/* confine: see confine.h, and the kernel's Documentation/userspace-api/landlock.rst. */
#include "box/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As in linux/landlock.h, which is older than the kernel on some machines. */
struct ruleset {
	uint64_t files, net, scopes;
};

struct path_rule {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

enum { RULE_PATH = 1, ASK_VERSION = 1 };

#define BIT(n) (UINT64_C(1) << (n))
#define EXECUTE BIT(0)
#define WRITE_FILE BIT(1)
#define READ_FILE BIT(2)
#define READ_DIR BIT(3)
#define REMOVE_DIR BIT(4)
#define REMOVE_FILE BIT(5)
#define MAKE_DIR BIT(7)
#define MAKE_REG BIT(8)
#define FIRST_RIGHTS (BIT(13) - 1) /* with MAKE_CHAR, _SOCK, _FIFO, _BLOCK, _SYM: never given */
#define REFER BIT(13) /* never given */
#define TRUNCATE BIT(14)
#define IOCTL_DEV BIT(15) /* never given */

/* The rights that each version added. */
static const struct {
	long version;
	struct ruleset rights;
} versions[] = {
	{ 1, { .files = FIRST_RIGHTS } },
	{ 2, { .files = REFER } },
	{ 3, { .files = TRUNCATE } },
	{ 4, { .net = BIT(0) | BIT(1) } }, /* bind and connect of TCP */
	{ 5, { .files = IOCTL_DEV } },
	{ 6, { .scopes = BIT(0) | BIT(1) } }, /* abstract sockets, signals */
};

#define READ_RIGHTS (READ_FILE | READ_DIR)
#define WRITE_RIGHTS \
	(READ_RIGHTS | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | TRUNCATE)
/* The rights that exist for files other than folders. */
#define FILE_RIGHTS (EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE)

static int allow(int ruleset, const struct as_confine_path *path, uint64_t handled)
{
	struct path_rule rule = { .fd = open(path->path, O_PATH | O_CLOEXEC) };
	struct stat st;
	int rc = 0;

	if (rule.fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (path->rights & AS_CONFINE_READ)
		rule.allowed |= READ_RIGHTS;
	if (path->rights & AS_CONFINE_RUN)
		rule.allowed |= READ_RIGHTS | EXECUTE;
	if (path->rights & AS_CONFINE_WRITE)
		rule.allowed |= WRITE_RIGHTS;
	rule.allowed &= handled;
	if (fstat(rule.fd, &st))
		rc = -errno;
	else if (!S_ISDIR(st.st_mode))
		rule.allowed &= FILE_RIGHTS;
	if (!rc && syscall(SYS_landlock_add_rule, ruleset, RULE_PATH, &rule, 0))
		rc = -errno;
	close(rule.fd);
	return rc;
}

int as_confine_version(void)
{
	return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);
}

int as_confine_files(const struct as_confine_path *paths)
{
	int version = as_confine_version();
	struct ruleset all = { 0 };
	int ruleset, rc = 0;

	if (version < 1)
		return 0;
	for (unsigned i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		if (version < versions[i].version)
			break;
		all.files |= versions[i].rights.files;
		all.net |= versions[i].rights.net;
		all.scopes |= versions[i].rights.scopes;
	}
	/* An older kernel accepts a longer structure if the rest of it is zero. */
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
	if (ruleset < 0)
		return -errno;
	for (int i = 0; paths[i].path && !rc; i++)
		rc = allow(ruleset, &paths[i], all.files);
	if (!rc && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    syscall(SYS_landlock_restrict_self, ruleset, 0)))
		rc = -errno;
	close(ruleset);
	return rc ? rc : version;
}
