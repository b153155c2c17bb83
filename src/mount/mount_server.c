/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mount_server: the process of a FUSE server that a mount belongs to. */
#include "mount/mount_priv.h"

#include "os/spawn.h"
#include "target/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOST_ATTEMPTS 1000
#define LOST_WAIT_US 1000

void as_mount_find_program(struct as_mount *m)
{
	static const struct as_server_places any = { "", "", "" };
	char path[4096], **argv;

	if (as_server_argv(m->type->server, &any, &argv, NULL))
		return;
	if (as_spawn_which(argv[0], path, sizeof(path)))
		m->program = as_xstrdup(path);
	as_fstype_free_words(argv);
}

void as_mount_bury(struct as_mount *m)
{
	const char *trouble;

	if (!m->server)
		return;
	trouble = as_server_trouble(m->server);
	m->hung |= as_server_hung(m->server);
	snprintf(m->refusal, sizeof(m->refusal), "%s",
		 as_server_refusal(m->server) ? as_server_refusal(m->server) : "");
	as_buf_clear(&m->output);
	as_server_output(m->server, &m->output);
	if (trouble && !m->trouble[0])
		snprintf(m->trouble, sizeof(m->trouble), "%s", trouble);
	as_server_free(m->server);
	m->server = NULL;
}

static void add_option(char ***argv, const char *opts)
{
	size_t n = 0;

	if (!*opts)
		return;
	while ((*argv)[n])
		n++;
	*argv = as_xrealloc(*argv, (n + 3) * sizeof(**argv));
	(*argv)[n] = as_xstrdup("-o");
	(*argv)[n + 1] = as_xstrdup(opts);
	(*argv)[n + 2] = NULL;
}

int as_mount_start_server(struct as_mount *m, const char *base, const char *opts)
{
	struct as_server_places places = { m->disk, m->fs, m->src };
	char **argv;
	int rc;

	if (as_server_argv(m->type->server, &places, &argv, NULL))
		return -EINVAL;
	add_option(&argv, base);
	add_option(&argv, opts);
	rc = as_server_start(m->program, argv, m->fs, m->server_ms, &m->server);
	/* Without these options it did mount: it does not know them. */
	if (rc == -ECONNABORTED && *opts && as_server_declined(m->server))
		rc = -EINVAL;
	/* Whatever options it used: device nodes must not open a device. */
	if (!rc && mount(NULL, m->fs, NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, NULL))
		rc = -errno;
	if (rc) {
		as_server_kill(m->server);
		umount2(m->fs, MNT_DETACH | MNT_FORCE);
		as_mount_bury(m);
		m->trouble[0] = '\0'; /* the errno is enough */
	}
	as_fstype_free_words(argv);
	return rc;
}

const char *as_mount_trouble(struct as_mount *m)
{
	if (m->trouble[0])
		return m->trouble;
	return m->server ? as_server_trouble(m->server) : NULL;
}

bool as_mount_lost(const struct as_mount *m)
{
	struct statx root;

	return statx(AT_FDCWD, m->inside ? "/" : m->fs, AT_STATX_FORCE_SYNC, STATX_BASIC_STATS,
		     &root) &&
	       (errno == ENOTCONN || errno == ECONNABORTED);
}

void as_mount_await_trouble(struct as_mount *m)
{
	for (int i = 0; i < LOST_ATTEMPTS && m->server && !as_server_trouble(m->server); i++)
		usleep(LOST_WAIT_US);
}

bool as_mount_hung(const struct as_mount *m)
{
	return m->hung || (m->server && as_server_hung(m->server));
}

const char *as_mount_refusal(const struct as_mount *m)
{
	return m->refusal;
}

void as_mount_set_deadline(struct as_mount *m, unsigned ms)
{
	m->server_ms = ms;
}

void as_mount_abandon(struct as_mount *m)
{
	if (m->server)
		as_server_kill(m->server);
}

const char *as_mount_output(struct as_mount *m)
{
	if (m->server) {
		as_buf_clear(&m->output);
		as_server_output(m->server, &m->output);
	}
	return as_buf_str(&m->output);
}

const char *as_mount_source(const struct as_mount *m)
{
	return m->type->server && strstr(m->type->server, "{src}") ? m->src : NULL;
}
