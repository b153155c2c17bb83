/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz entry of the files of run folders that `assay merge` reads.
 *
 * A sound run folder is made, and the input is the whole of one of its files: the first byte says
 * which. Then it is joined and indexed. Whatever the file holds, the joined folder is sound: each
 * finding can be read, has the name of its folder, and a count; joined once more, and joined by way
 * of the joined folder, nothing changes.
 */
#include "base/finding_json.h"
#include "join/run.h"
#include "tests/lib/tmpdir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FINDING "lab-data-6c4080d6"
#define RUN "fdaf5c84eff5e83456a0a40914649eb7"

static const struct {
	const char *folder, *name, *text;
} files[] = {
	{ "in/runs/" RUN, "run.json",
	  "{\"run\":\"" RUN "\",\"findings\":{\"" FINDING "\":{\"count\":2}},\"seed\":1}" },
	{ "in", "progress.json", "{\"command\":\"hunt\",\"ops\":7,\"state\":\"ended\"}" },
	{ "in", "history.csv", "wall_us,ops\n1000,5\n2000,7\n" },
	{ "in/hunt", "state.json",
	  "{\"seed\":1,\"signatures\":[{\"id\":\"" FINDING "\",\"count\":3}]}" },
	{ "in/findings/" FINDING, "finding.json",
	  "{\"id\":\"" FINDING "\",\"kind\":\"data\",\"target\":\"lab\",\"summary\":\"s\","
	  "\"detail\":\"\",\"signature\":\"s\",\"options\":\"\",\"op\":1,\"line\":1,\"log\":null,"
	  "\"count\":2}" },
	{ "in", ".assay-run", "run: " RUN "\n" },
	{ "in", "own.cov", "{}" },
};

#define FILES (sizeof(files) / sizeof(files[0]))

static const char *work;

static void put(const char *folder, const char *name, const void *data, size_t len)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s/%s", work, folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	as_assert(fd >= 0 && write(fd, data, len) == (ssize_t)len);
	close(fd);
}

/* The input is this file. runs/ makes it a joined folder, of which other files are not read. */
static void make(size_t which, const uint8_t *data, size_t len)
{
	static const char *const folders[] = { "in",	  "in/hunt",	  "in/findings",
					       "in/runs", "in/runs/" RUN, "in/findings/" FINDING };
	char path[4096];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", work, folders[i]);
		if (!which || !strstr(folders[i], "/runs"))
			as_assert(!mkdir(path, 0755));
	}
	for (size_t i = which ? 1 : 0; i < FILES; i++)
		if (i == which)
			put(files[i].folder, files[i].name, data, len);
		else
			put(files[i].folder, files[i].name, files[i].text, strlen(files[i].text));
}

static void hear(void *ctx, const char *line)
{
	(void)ctx;
	as_assert(line && *line);
}

/* Joins a folder to another one, both below `work`. False: it is refused. */
static bool join(const char *from, const char *to)
{
	char in[4096], out[4096];
	struct as_join_totals totals;
	struct as_join *j = NULL;
	struct as_err err;
	bool good = false;

	snprintf(in, sizeof(in), "%s/%s", work, from);
	snprintf(out, sizeof(out), "%s/%s", work, to);
	if (!as_join_open(out, hear, NULL, &j, &err) && !as_join_add(j, in, &err)) {
		good = !as_join_finish(j, &totals, &err);
#ifdef AS_HAVE_sqlite3
		good = good && !as_join_index(as_join_folder(j), &err);
#endif
	}
	as_join_close(j);
	return good;
}

static void check_finding(const struct as_dir *findings, const char *name, struct as_buf *all)
{
	struct as_finding f = { 0 };
	struct as_dir dir = AS_DIR_NONE;
	json_t *object = NULL;

	as_assert(!as_dir_below(findings, name, false, &dir, NULL));
	object = as_join_load(&dir, JOIN_FINDING);
	as_assert(object && !as_finding_parse(object, AS_FINDING_STORED, &f, NULL));
	as_assert(!strcmp(f.id, name) && f.count);
	as_buf_addf(all, "%s %llu\n", name, (unsigned long long)f.count);
	as_finding_free(&f);
	json_decref(object);
	as_dir_close(&dir);
}

/* What the joined folder holds: its findings with their counts. */
static void look(const char *folder, struct as_buf *all)
{
	struct as_dir dir = AS_DIR_NONE, findings = AS_DIR_NONE;
	struct join_names names = { 0 };
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", work, folder);
	as_assert(!as_dir_open(path, NULL, &dir, NULL));
	if (as_dir_has(&dir, AS_RUN_FINDINGS) &&
	    !as_dir_below(&dir, AS_RUN_FINDINGS, false, &findings, NULL))
		as_join_names(&findings, &names);
	for (size_t i = 0; i < names.n; i++)
		check_finding(&findings, names.v[i], all);
	as_join_names_free(&names);
	as_dir_close(&findings);
	as_dir_close(&dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct as_buf once = { 0 }, twice = { 0 }, through = { 0 };

	if (!len)
		return 0;
	work = t_tmpdir_in("/dev/shm");
	if (!work)
		work = t_tmpdir();
	make(data[0] % FILES, data + 1, len - 1);
	if (join("in", "out")) {
		look("out", &once);
		as_assert(join("in", "out"));
		look("out", &twice);
		as_assert(join("out", "other"));
		look("other", &through);
		as_assert(!strcmp(as_buf_str(&once), as_buf_str(&twice)));
		as_assert(!strcmp(as_buf_str(&once), as_buf_str(&through)));
	}
	t_tmpdir_remove(work);
	as_buf_free(&once);
	as_buf_free(&twice);
	as_buf_free(&through);
	return 0;
}
