/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mount_options: mount options as people write them, and the flags that mount(2) wants. */
#include "mount/mount_priv.h"

#include <string.h>
#include <sys/mount.h>

/* Those of mount(8) that are flags of mount(2); all others are the file system's own. */
static const struct {
	const char *name;
	unsigned long set, clear;
} flag_rows[] = {
	{ "defaults", 0, 0 },
	{ "rw", 0, MS_RDONLY },
	{ "ro", MS_RDONLY, 0 },
	{ "sync", MS_SYNCHRONOUS, 0 },
	{ "async", 0, MS_SYNCHRONOUS },
	{ "dirsync", MS_DIRSYNC, 0 },
	{ "noatime", MS_NOATIME, 0 },
	{ "atime", 0, MS_NOATIME },
	{ "nodiratime", MS_NODIRATIME, 0 },
	{ "diratime", 0, MS_NODIRATIME },
	{ "relatime", MS_RELATIME, MS_STRICTATIME },
	{ "strictatime", MS_STRICTATIME, MS_RELATIME },
	{ "lazytime", MS_LAZYTIME, 0 },
	{ "nolazytime", 0, MS_LAZYTIME },
	{ "noexec", MS_NOEXEC, 0 },
	{ "nosuid", 0, 0 }, /* always */
	{ "nodev", 0, 0 }, /* always: device nodes of a workload must not open a device */
};

static bool is_flag(const char *word, size_t len, unsigned long *flags)
{
	for (size_t i = 0; i < sizeof(flag_rows) / sizeof(flag_rows[0]); i++)
		if (strlen(flag_rows[i].name) == len && !memcmp(flag_rows[i].name, word, len)) {
			*flags = (*flags | flag_rows[i].set) & ~flag_rows[i].clear;
			return true;
		}
	return false;
}

void as_mount_sort_options(const char *text, unsigned long *flags, struct as_buf *data)
{
	while (*text) {
		size_t len = strcspn(text, ",");

		if (len && !is_flag(text, len, flags))
			as_buf_addf(data, "%s%.*s", data->len ? "," : "", (int)len, text);
		text += len + (text[len] == ',');
	}
}
