/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guest_counts: moves the files in which an engine has counted calls from its folder to ours. A
 * guest has written names and files: they are checked as in os/share.h, and their number is
 * bounded. */
#include "supervise/boxed_priv.h"

#include "os/out.h"
#include "os/share.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNTS_MAX_BYTES ((uint64_t)256 << 20)
#define COUNTS_FILES_MAX 4096

static void take_file(const struct as_boxed_session *b, int folder, const char *name)
{
	struct as_buf text = { 0 }, path = { 0 };

	/* Each box numbers its files from the beginning. */
	as_buf_addf(&path, "%s/%s/%u-%u-%s", b->how->out, b->how->cov, b->how->session, b->boots,
		    name);
	if (!as_share_read(folder, name, COUNTS_MAX_BYTES, &text, NULL) &&
	    as_out_save(as_buf_str(&path), &text, NULL))
		as_emit_note(b->how->findings, "%s: cannot be written: these counts are lost",
			     as_buf_str(&path));
	as_buf_free(&text);
	as_buf_free(&path);
}

void as_boxed_take_counts(struct as_boxed_session *b)
{
	struct as_buf to = { 0 };
	const struct dirent *entry;
	unsigned n = 0;
	DIR *dir;
	int fd;

	if (!b->how->out || !b->how->cov)
		return;
	as_buf_addf(&to, "%s/%s", b->how->out, b->how->cov);
	mkdir(as_buf_str(&to), 0777);
	as_buf_free(&to);
	fd = as_share_folder(b->box->share_fd, BOXED_COUNTS, geteuid());
	if (fd < 0)
		return;
	dir = fdopendir(fd);
	while (dir && (entry = readdir(dir)) && n < COUNTS_FILES_MAX) {
		size_t len = strlen(entry->d_name);

		if (len < 5 || strcmp(entry->d_name + len - 4, ".cov") ||
		    !as_share_is_name(entry->d_name))
			continue;
		take_file(b, fd, entry->d_name);
		n++;
	}
	if (dir)
		closedir(dir);
	else
		close(fd);
}
