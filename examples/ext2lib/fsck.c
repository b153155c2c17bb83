/* SPDX-License-Identifier: MIT */
/* fsck: e2fsck is a program and not part of the library. It gets a copy of the disk, in a file that
 * has no name, and what it makes of it is copied back. What it prints is logged if it complains. */
#include "ext2lib.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK 65536u
#define LINE_BYTES 200u

extern char **environ;

static int copy_out(struct as_bd *bd, int fd)
{
	static unsigned char chunk[CHUNK];
	int rc = 0;

	for (uint64_t off = 0; off < bd->size_bytes && !rc; off += CHUNK) {
		size_t len = bd->size_bytes - off < CHUNK ? (size_t)(bd->size_bytes - off) : CHUNK;

		rc = as_bd_read(bd, off, chunk, len);
		if (!rc && pwrite(fd, chunk, len, (off_t)off) != (ssize_t)len)
			rc = -EIO;
	}
	return rc;
}

/* Only what has changed is written. */
static int copy_back(struct as_bd *bd, int fd)
{
	static unsigned char now[CHUNK], was[CHUNK];
	int rc = 0;

	for (uint64_t off = 0; off < bd->size_bytes && !rc; off += CHUNK) {
		size_t len = bd->size_bytes - off < CHUNK ? (size_t)(bd->size_bytes - off) : CHUNK;

		if (pread(fd, now, len, (off_t)off) != (ssize_t)len)
			return -EIO;
		rc = as_bd_read(bd, off, was, len);
		for (size_t at = 0; at < len && !rc; at += 512)
			if (memcmp(now + at, was + at, 512))
				rc = as_bd_write(bd, off + at, now + at, 512);
	}
	return rc ? rc : as_bd_flush(bd);
}

static int run(int disk, int output, const char *how, int *status)
{
	char path[64];
	/* An extent tree that could be shorter is no mistake. */
	char *argv[] = { "e2fsck", "-f", "-E", "no_optimize_extents", (char *)how, path, NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int rc;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), disk);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
	rc = posix_spawn(&pid, "/sbin/e2fsck", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (rc)
		return -rc;
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(*status) ? 0 : -EIO;
}

static void log_output(const struct as_host *host, int output)
{
	char text[4096], *line = text, *end;
	ssize_t n = pread(output, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	while ((end = strchr(line, '\n'))) {
		*end = '\0';
		line[strnlen(line, LINE_BYTES)] = '\0';
		host->log(host->ctx, line);
		line = end + 1;
	}
}

/* Whether all that it did was to make /lost+found, which anybody may remove, or to do without it
 * where no inode is free. */
static bool only_lost_and_found(int output)
{
	static const char *const harmless[] = { "/lost+found not found.",
						"Place lost files in root directory instead?" };
	static char text[1 << 16];
	ssize_t n = pread(output, text, sizeof(text) - 1, 0);
	char *save = NULL;
	bool any = false;

	text[n > 0 ? n : 0] = '\0';
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (!strstr(line, "? yes"))
			continue;
		if (strncmp(line, harmless[0], strlen(harmless[0])) &&
		    strncmp(line, harmless[1], strlen(harmless[1])))
			return false;
		any = true;
	}
	return any;
}

int e2_fsck(const struct as_mount_args *args, enum as_fsck_mode mode)
{
	int disk = memfd_create("ext2lib", 0), output = memfd_create("ext2lib-output", 0);
	int status = 0, rc = disk < 0 || output < 0 ? -errno : copy_out(args->bd, disk);

	if (!rc)
		rc = run(disk, output, mode == AS_FSCK_REPLAY ? "-p" : "-y", &status);
	if (!rc && WEXITSTATUS(status) == AS_FSCK_REPAIRED && only_lost_and_found(output))
		status = 0;
	if (!rc && WEXITSTATUS(status))
		log_output(args->host, output);
	if (!rc && WEXITSTATUS(status) & AS_FSCK_REPAIRED)
		rc = copy_back(args->bd, disk);
	if (disk >= 0)
		close(disk);
	if (output >= 0)
		close(output);
	if (rc)
		return rc;
	return WEXITSTATUS(status) & (AS_FSCK_REPAIRED | AS_FSCK_LEFT | AS_FSCK_OPERATIONAL);
}
