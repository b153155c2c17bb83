/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuse: any FUSE server, named by the command that starts it in the foreground:
 *
 *	fuse:COMMAND[;mkfs=COMMAND][;fsck=COMMAND]
 *
 * {mnt} is where it must mount. {disk} is a disk of ours that mkfs has filled (without mkfs it is
 * all zeros). {src} is an empty directory, for servers that pass on a directory. Words may be
 * quoted; there is no shell.
 */
#include "target/kinds_priv.h"
#include "target/server.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DISK_BYTES ((uint64_t)16 << 20)

const char *as_target_fuse_lacks(void)
{
	if (access("/dev/fuse", F_OK))
		return "/dev/fuse";
	return access("/dev/fuse", R_OK | W_OK) ? "the right to open /dev/fuse" : NULL;
}

/* Words as the table has them: without quotes. */
static int check_plain(const char *what, const char *command, struct as_err *err)
{
	if (command && (!*command || strpbrk(command, "'\"\\") || !strstr(command, "{disk}")))
		return as_fail(err, AS_EUSE,
			       "target fuse: %s: expected plain words with {disk} among them",
			       what);
	return 0;
}

int as_target_open_fuse(struct as_target *t, const char *rest, struct as_err *err)
{
	static const struct as_server_places any = { "", "", "" };
	struct as_fstype *own = &t->own;
	char *mkfs, *fsck, **argv;
	int rc;

	t->commands = as_xstrdup(rest);
	mkfs = strstr(t->commands, ";mkfs=");
	fsck = strstr(t->commands, ";fsck=");
	if (mkfs)
		*mkfs = '\0';
	if (fsck)
		*fsck = '\0';
	*own = (struct as_fstype){ .name = "fuse",
				   .type = "fuse",
				   .server = t->commands,
				   .mkfs = mkfs ? mkfs + 6 : NULL,
				   .default_bytes = DISK_BYTES,
				   .block_bytes = 4096,
				   .mount = "",
				   .guarantee = AS_GUARANTEE_REPAIR };
	if (fsck)
		own->own = (struct as_checker){ .name = "", .exits = "0=clean" };
	for (int i = 0; fsck && i < AS_CHECK_MODES; i++)
		own->own.ways[i].command = fsck + 6;
	rc = as_server_argv(own->server, &any, &argv, err);
	if (rc)
		return as_fail_in(err, "target fuse");
	as_fstype_free_words(argv);
	if (!strstr(own->server, "{mnt}"))
		return as_fail(err, AS_EUSE, "target fuse: expected {mnt} in '%s'", own->server);
	if (!strstr(own->server, "{disk}") == !strstr(own->server, "{src}"))
		return as_fail(err, AS_EUSE, "target fuse: expected {disk} or {src} in '%s'",
			       own->server);
	rc = check_plain("mkfs", own->mkfs, err);
	if (!rc)
		rc = check_plain("fsck", own->own.ways[0].command, err);
	t->fstype = own;
	t->name = as_xstrdup("fuse");
	t->block_bytes = own->block_bytes;
	return rc;
}
