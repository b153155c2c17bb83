/* SPDX-License-Identifier: GPL-2.0-or-later */
/* export: see export.h. What the runs print is filtered as e2fsprogs' tests/filter.sed does. */
#include "fsck/export.h"

#include "disk/image.h"
#include "os/spawn.h"
#include "os/temp.h"
#include "tool/tool.h"

#include <string.h>

#define NAME "test_filesys"
#define GZIP_MS 120000
#define HUNG_STATUS 124 /* of timeout(1) */
#define PACKED_MAX ((size_t)512 << 20)

static bool is_banner(const char *line, size_t len)
{
	return len > 7 && !strncmp(line, "e2fsck ", 7) && line[7] >= '0' && line[7] <= '9';
}

/* A line in which the disk has the name that the suite gives it. */
static void add_line(const char *line, size_t len, struct as_buf *out)
{
	const size_t n = strlen(AS_TOOL_DISK);

	for (size_t i = 0; i < len;) {
		if (len - i >= n && !memcmp(line + i, AS_TOOL_DISK, n)) {
			as_buf_adds(out, NAME);
			i += n;
		} else {
			as_buf_addc(out, line[i++]);
		}
	}
	as_buf_addc(out, '\n');
}

static void add_output(const struct as_fsck_run *run, struct as_buf *out)
{
	int status = run->ended.how == AS_END_EXIT     ? run->ended.status
		     : run->ended.how == AS_END_SIGNAL ? 128 + run->ended.status
						       : HUNG_STATUS;

	for (const char *line = run->output; *line;) {
		size_t len = strcspn(line, "\n");

		if (!is_banner(line, len))
			add_line(line, len, out);
		line += len + (line[len] == '\n');
	}
	as_buf_addf(out, "Exit status is %d\n", status);
}

static int pack(struct as_disk *disk, struct as_buf *out, struct as_err *err)
{
	struct as_buf path = { 0 };
	struct as_temp *temp = NULL;
	struct as_ended ended;
	int rc = as_temp_new(NULL, &temp, err);

	if (!rc) {
		as_buf_addf(&path, "%s/image", as_temp_path(temp));
		rc = as_image_export_raw(disk, as_buf_str(&path), err);
	}
	if (!rc) {
		char gzip[] = "gzip", flags[] = "-9n";
		char *argv[] = { gzip, flags, path.data, NULL };
		struct as_spawn spawn = { .argv = argv, .deadline_ms = GZIP_MS };

		rc = as_spawn_run(&spawn, &ended, err);
		if (!rc && (ended.how != AS_END_EXIT || ended.status))
			rc = as_fail(err, AS_EIO, "gzip failed");
	}
	if (!rc) {
		as_buf_adds(&path, ".gz");
		rc = as_buf_read_file(out, as_buf_str(&path), PACKED_MAX, err);
	}
	as_temp_free(temp);
	as_buf_free(&path);
	return rc;
}

/* e2fsprogs' tests would wait for ever: a case that has a script is run by it. */
static const char hangs_script[] =
	"# The checker does not end on this image; 124 is the status of timeout(1).\n"
	"FSCK=\"timeout -k 1 ${HANG_SECONDS:-30} $FSCK\"\n"
	". $cmd_dir/run_e2fsck\n";

static bool has_hung(const struct as_fsck_verdict *v)
{
	for (unsigned i = 0; i < 2 && i < v->seen.n; i++)
		if (v->seen.run[i]->ended.how == AS_END_DEADLINE)
			return true;
	return false;
}

int as_fsck_export(const struct as_dir *folder, const char *case_name,
		   const struct as_fsck_verdict *v, const char *summary, struct as_disk *disk,
		   struct as_err *err)
{
	struct as_buf text = { 0 };
	struct as_dir dir = AS_DIR_NONE;
	int rc = as_dir_below(folder, case_name, true, &dir, err);

	if (!rc)
		rc = pack(disk, &text, err);
	if (!rc)
		rc = as_dir_write(&dir, "image.gz", &text, err);
	as_buf_clear(&text);
	as_buf_addf(&text, "%s\n", summary);
	if (!rc)
		rc = as_dir_write(&dir, "name", &text, err);
	for (unsigned i = 0; !rc && i < 2 && i < v->seen.n; i++) {
		char name[] = "expect.1";

		as_buf_clear(&text);
		add_output(v->seen.run[i], &text);
		name[7] += (char)i;
		rc = as_dir_write(&dir, name, &text, err);
	}
	as_buf_clear(&text);
	as_buf_adds(&text, hangs_script);
	if (!rc && has_hung(v))
		rc = as_dir_write(&dir, "script", &text, err);
	as_dir_close(&dir);
	as_buf_free(&text);
	return rc;
}
