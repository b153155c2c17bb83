/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_demo: what assay does, shown on real things. The demonstration is a script (demo/demo.sh)
 * that this program contains: it needs no other file. */
#include "base/advise.h"
#include "base/embed.h"
#include "cli/cli.h"
#include "os/dir.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "assay-demo"

AS_EMBED(as_demo_script, "cmd/demo/demo.sh");

static int is_entry(void *ctx, const char *name)
{
	(void)ctx;
	(void)name;
	return 1;
}

static int write_script(const char *path, struct as_dir *dir, struct as_err *err)
{
	struct as_buf text = { 0 };
	bool made = false;
	int rc = as_dir_open(path, &made, dir, err);

	if (rc)
		as_fail_advise(err, "choose another folder with -o");
	if (!rc && !made && as_dir_each(dir, is_entry, NULL) && !as_dir_has(dir, "demo.sh"))
		rc = as_fail(err, AS_EUSE,
			     "%s: there are files in this folder: choose another one with -o",
			     path);
	/* What an earlier demonstration left. */
	if (!rc && !made)
		as_dir_empty(dir->fd);
	as_buf_adds(&text, as_demo_script_first);
	if (!rc)
		rc = as_dir_write(dir, "demo.sh", &text, err);
	as_buf_free(&text);
	return rc;
}

static int run(const struct as_args *args, struct as_err *err)
{
	const char *path = as_args_text(args, "out", FOLDER);
	struct as_dir dir = AS_DIR_NONE;
	char self[PATH_MAX], *out = NULL;
	struct as_buf script = { 0 };
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int rc = len < 0 ? as_fail_errno(err, errno, "/proc/self/exe")
			 : write_script(path, &dir, err);

	if (!rc && !(out = realpath(path, NULL)))
		rc = as_fail_errno(err, errno, "%s", path);
	as_dir_close(&dir);
	if (!rc) {
		self[len] = '\0';
		as_buf_addf(&script, "%s/demo.sh", out);
		fflush(stdout);
		execl("/bin/sh", "sh", as_buf_str(&script), self, out, (char *)NULL);
		rc = as_fail_errno(err, errno, "/bin/sh");
	}
	as_buf_free(&script);
	free(out);
	return rc;
}

static const struct as_opt opts[] = {
	{ .name = "out",
	  .letter = 'o',
	  .kind = AS_OPT_TEXT,
	  .arg = "DIR",
	  .help = "the folder for all that it makes, a new or empty one, or one of an earlier "
		  "demonstration; default " FOLDER },
	{ 0 },
};

const struct as_command as_cmd_demo = {
	.name = "demo",
	.operands = "",
	.summary = "show what assay does, on real things, in under two minutes",
	.text = "A file system with a seeded bug is hunted and crash-tested, ext4 of a kernel is "
		"checked in the sandbox, a checker is run on damaged disks, the coverage of a "
		"command is measured, and report.html is written. What this machine lacks is left "
		"out, and told.",
	.opts = opts,
	.max_operands = 0,
	.run = run,
};
