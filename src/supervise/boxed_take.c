/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boxed_take: what an engine in a box has found and counted, from its folder to ours.
 *
 * Method. A finding comes as a line, and its disk lies in the folder that is shared with the box;
 * it is there for sure when the line of the workload has come. So findings wait for that line, or
 * for the end of the box. Then they are told, and kept, out here, as if they had been made here.
 *
 * Whoever broke the kernel can write both. Hence
 *   1. Names from inside are names of one file or they are refused; files are read as share.h does.
 *   2. What a finding says of how it is to be run again (target, options, workload) is what the
 *      engine was given, or is refused: a finding is replayed one day, with the user's rights.
 *   3. Sizes and numbers are bounded.
 */
#include "os/out.h"
#include "supervise/boxed_priv.h"

#include "os/share.h"
#include "run/child.h"
#include "target/medium.h"
#include "work/parse.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PENDING_MAX 4096
#define DISK_MAX_BYTES ((uint64_t)4 << 30) /* of an image, and of what it unpacks to */
#define COUNTS_MAX_BYTES ((uint64_t)256 << 20)
#define COUNTS_FILES_MAX 4096

struct as_boxed_pending {
	struct as_boxed_pending *next;
	json_t *event;
};

static const char *text_of(const json_t *event, const char *key)
{
	return json_string_value(json_object_get(event, key));
}

static int64_t number_of(const json_t *event, const char *key, int64_t max)
{
	int64_t n = (int64_t)json_integer_value(json_object_get(event, key));

	return n < 0 ? 0 : n > max ? max : n;
}

/* ---- Whether it can be ----------------------------------------------------------------------- */

static bool is_one_line(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

/* Whether `word` stands in the text between two separators. */
static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; len && (at = strstr(at, word)); at++)
		if ((at == text || strchr(",=", at[-1])) && (!at[len] || strchr(",;", at[len])))
			return true;
	return false;
}

/* The one that the engine was given, or one of several that are compared. */
static bool is_target(const struct as_boxed_session *b, const char *target)
{
	return !strcmp(target, b->how->target) || has_word(b->how->target, target) ||
	       has_word(b->how->options.scenario, target);
}

/* What is said before the operations is as it was said to the engine. */
static bool same_meta(const struct as_seq *a, const struct as_seq *b)
{
	if (a->n_meta != b->n_meta)
		return false;
	for (size_t i = 0; i < a->n_meta; i++) {
		const char *value = as_seq_meta(b, a->meta[i].key);

		if (!value || strcmp(value, a->meta[i].value))
			return false;
	}
	return true;
}

static bool is_workload(const struct as_boxed_session *b, const char *text)
{
	struct as_seq *seq = NULL;
	bool can = false;

	if (as_parse_text("workload", text, strlen(text), &seq, NULL))
		return false;
	for (size_t i = b->n_finished; i < b->n_list && !can; i++)
		can = same_meta(seq, b->jobs[b->list[i]].seq);
	as_seq_free(seq);
	return can;
}

/* Of the same kind, and naming nothing that would be run. */
static bool is_scenario(const char *given, const char *told)
{
	static const char *const programs[] = { "plugin:", "fuse:", "dir:" };
	size_t kind = strcspn(told, ":");

	if (strlen(told) && (strcspn(given, ":") != kind || strncmp(given, told, kind)))
		return false;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (strstr(told, programs[i]) && !strstr(given, programs[i]))
			return false;
	return true;
}

static bool are_options(const struct as_boxed_session *b, const char *text)
{
	struct as_run_options options = { 0 };
	char *faults = NULL;
	bool can = !as_run_options_parse(text, &options, &faults, NULL) &&
		   is_scenario(b->how->options.scenario, options.scenario);

	free(faults);
	return can;
}

/* What is to be one line is made one. */
static void make_line(const json_t *event, const char *key)
{
	json_t *text = json_object_get(event, key);
	char *line;

	if (!json_is_string(text) || is_one_line(json_string_value(text)))
		return;
	line = as_xstrdup(json_string_value(text));
	for (char *s = line; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = '?';
	json_string_set(text, line);
	free(line);
}

bool as_boxed_take_finding(struct as_boxed_session *b, const json_t *event)
{
	static const char *const lines[] = { "summary", "signature", "workload_name" };
	const char *id = text_of(event, "id"), *kind = text_of(event, "kind");
	struct as_boxed_pending **last = &b->pending;
	size_t n = 0;

	if (!id || !kind || !as_share_is_name(id) || strlen(id) >= AS_FINDING_ID_MAX ||
	    as_finding_kind_parse(kind) < 0 || !text_of(event, "summary") ||
	    !text_of(event, "signature") || !text_of(event, "target") ||
	    !is_target(b, text_of(event, "target")) || !text_of(event, "options") ||
	    !is_one_line(text_of(event, "options")) || !are_options(b, text_of(event, "options")) ||
	    !text_of(event, "workload") || !is_workload(b, text_of(event, "workload")))
		return false;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		make_line(event, lines[i]);
	for (; *last; last = &(*last)->next)
		if (++n == PENDING_MAX)
			return false;
	*last = as_xcalloc(1, sizeof(**last));
	(*last)->event = json_incref((json_t *)event);
	return true;
}

/* ---- Findings -------------------------------------------------------------------------------- */

/* The disk that lies there; NULL: there is none that can be read. */
static struct as_medium *load_disk(const struct as_boxed_session *b, const char *id)
{
	struct as_medium *disk = NULL;
	struct as_buf path = { 0 };
	char proc[64];
	int fd;

	as_buf_addf(&path, BOXED_OUT "/findings/%s/disk.img.zst", id);
	fd = as_share_open(b->box->share_fd, as_buf_str(&path), DISK_MAX_BYTES);
	as_buf_free(&path);
	if (fd < 0)
		return NULL;
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	if (as_medium_open_image(proc, DISK_MAX_BYTES, &disk, NULL))
		disk = NULL;
	close(fd);
	return disk;
}

static void tell(struct as_boxed_session *b, const json_t *event)
{
	const char *id = text_of(event, "id");
	struct as_finding f = {
		.kind = (enum as_finding_kind)as_finding_kind_parse(text_of(event, "kind")),
		.target = text_of(event, "target"),
		.summary = text_of(event, "summary"),
		.detail = text_of(event, "detail"),
		.signature = text_of(event, "signature"),
		.workload = text_of(event, "workload"),
		.workload_name = text_of(event, "workload_name"),
		.options = text_of(event, "options"),
		.op_index = (long)number_of(event, "op", INT32_MAX) - 1,
		.op_line = (int)number_of(event, "line", INT32_MAX),
		.log = text_of(event, "log"),
	};
	struct as_medium *disk = NULL;

	if (b->how->out && json_is_true(json_object_get(event, "disk")))
		disk = load_disk(b, id);
	f.disk = disk ? as_medium_disk(disk) : NULL;
	as_emit_finding(b->how->found, &f, id);
	as_medium_free(disk);
}

void as_boxed_flush(struct as_boxed_session *b)
{
	while (b->pending) {
		struct as_boxed_pending *first = b->pending;

		tell(b, first->event);
		b->pending = first->next;
		json_decref(first->event);
		free(first);
	}
}

/* ---- Counts ---------------------------------------------------------------------------------- */

static void take_file(const struct as_boxed_session *b, int folder, const char *name)
{
	struct as_buf text = { 0 }, path = { 0 };

	/* Each box begins to number them anew. */
	as_buf_addf(&path, "%s/%s/%u-%s", b->how->out, b->how->cov, b->boots, name);
	if (!as_share_read(folder, name, COUNTS_MAX_BYTES, &text, NULL) &&
	    as_out_save(as_buf_str(&path), &text, NULL))
		as_emit_note(b->how->found, "%s: cannot be written: these counts are lost",
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
