/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kept: see kept.h. */
#include "bench/kept.h"

#include "base/array.h"
#include "base/buf.h"
#include "os/out.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Static, because benchmarks report through a function without a context. The last one was
 * reported last. */
static struct {
	const char *path;
	struct number {
		char *name, *line;
	} * numbers;
	size_t n, cap;
} kept;

static void put(const char *name, const char *line)
{
	size_t i = 0;

	while (i < kept.n && strcmp(kept.numbers[i].name, name))
		i++;
	if (i < kept.n) {
		free(kept.numbers[i].name);
		free(kept.numbers[i].line);
		memmove(&kept.numbers[i], &kept.numbers[i + 1],
			(kept.n - i - 1) * sizeof(*kept.numbers));
		kept.n--;
	}
	AS_ARRAY_ROOM(kept.numbers, kept.n, kept.cap);
	kept.numbers[kept.n++] = (struct number){ as_xstrdup(name), as_xstrdup(line) };
}

static int take(char *line, unsigned number, struct as_err *err)
{
	json_t *object = json_loads(line, 0, NULL);
	const char *name = json_string_value(json_object_get(object, "name"));
	int rc = 0;

	if (name && json_is_number(json_object_get(object, "value")))
		put(name, line);
	else
		rc = as_fail(err, AS_EUSE, "%s:%u: not a number of assay bench", kept.path, number);
	json_decref(object);
	return rc;
}

int as_bench_kept_open(const char *path, struct as_err *err)
{
	FILE *file = NULL;
	struct stat st;
	char *line = NULL;
	size_t room = 0;
	unsigned number = 0;
	ssize_t len;
	int rc = 0;

	kept.path = path;
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return as_fail(err, AS_EUSE, "%s: not a regular file", path);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? as_out_check(path, err)
				       : as_fail_errno(err, errno, "%s", path);
	while (!rc && (len = getline(&line, &room, file)) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		rc = take(line, ++number, err);
	}
	if (!rc && ferror(file))
		rc = as_fail_errno(err, errno, "%s", path);
	free(line);
	fclose(file);
	return rc ? rc : as_out_check(path, err);
}

int as_bench_kept_add(const char *name, const char *line, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc;

	if (!kept.path)
		return 0;
	put(name, line);
	for (size_t i = 0; i < kept.n; i++)
		as_buf_addf(&text, "%s\n", kept.numbers[i].line);
	rc = as_out_save(kept.path, &text, err);
	as_buf_free(&text);
	return rc;
}

static bool is_of(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	return !strncmp(name, prefix, len) &&
	       (!name[len] || name[len] == '.' || (len && prefix[len - 1] == '.'));
}

bool as_bench_kept_has(const char *prefix)
{
	bool has = false;

	for (size_t i = 0; i < kept.n; i++)
		has = has || is_of(kept.numbers[i].name, prefix);
	return has && !is_of(kept.numbers[kept.n - 1].name, prefix);
}

void as_bench_kept_close(void)
{
	for (size_t i = 0; i < kept.n; i++) {
		free(kept.numbers[i].name);
		free(kept.numbers[i].line);
	}
	free(kept.numbers);
	kept.numbers = NULL;
	kept.n = kept.cap = 0;
	kept.path = NULL;
}
