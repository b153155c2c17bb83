/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guest_findings: which findings of an engine in a box are believed, and passed on.
 *
 * Method. A finding comes as an event, and its disk lies in the folder that is shared with the box,
 * where it is before the event is said. So our sinks are told at once, as if the finding had been
 * made here. A disk that is not there, or that cannot be read, was lost or never was: the finding
 * is told without it.
 *
 * A workload that broke the kernel can have written both. Therefore
 *   1. An id is the name of one file, and files are read as os/share.h does.
 *   2. The target, the options and the workload of a finding are those that the engine was given,
 *      or the finding is refused: it may be replayed later, with the rights of the user.
 *   3. Sizes and numbers are bounded (wire.h).
 */
#include "supervise/boxed_priv.h"

#include "host/medium.h"
#include "os/share.h"
#include "work/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FINDINGS_MAX 4096 /* believed without a workload that is done */
#define DISK_MAX_BYTES ((uint64_t)4 << 30) /* largest image, packed and unpacked */

/* ---- Whether it can be true ------------------------------------------------------------------ */

/* Whether `word` stands in the text between two separators. */
static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; len && (at = strstr(at, word)); at++)
		if ((at == text || strchr(",=", at[-1])) && (!at[len] || strchr(",;", at[len])))
			return true;
	return false;
}

/* Whether it is the target that the engine was given, or one of several that are compared. */
static bool is_target_given(const struct as_boxed_session *b, const char *target)
{
	return !strcmp(target, b->how->target) || has_word(b->how->target, target) ||
	       has_word(b->how->options.scenario, target);
}

/* Whether the lines before the operations are those that the engine was given. */
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

static bool is_workload_given(const struct as_boxed_session *b, const char *text)
{
	struct as_seq *seq = NULL;
	bool can = false;

	if (as_parse_text("workload", text, strlen(text), &seq, NULL))
		return false;
	for (size_t i = b->n_finished; i < b->n_list && !can; i++)
		can = same_meta(seq, b->work->seqs[b->list[i]]);
	as_seq_free(seq);
	return can;
}

/* Whether it is of the kind that the engine was given, and names no other program to run. */
static bool is_scenario_given(const char *given, const char *told)
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

static bool are_options_given(const struct as_boxed_session *b, const char *text)
{
	struct as_run_options options = { 0 };
	char *faults = NULL;
	bool can = !as_run_options_parse(text, &options, &faults, NULL) &&
		   is_scenario_given(b->how->options.scenario, options.scenario) &&
		   !strcmp(b->how->options.kernel, options.kernel);

	free(faults);
	return can;
}

/* ---- Passing on ------------------------------------------------------------------------------ */

/* The disk that lies there; NULL: there is none that can be read. */
static struct as_medium *load_disk(const struct as_boxed_session *b, const char *id,
				   const char *name)
{
	struct as_medium *disk = NULL;
	struct as_buf path = { 0 };
	char proc[64];
	int fd;

	as_buf_addf(&path, BOXED_OUT "/" AS_WIRE_FINDINGS "/%s/%s", id, name);
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

static void pass_on(struct as_boxed_session *b, struct as_finding *f)
{
	struct as_medium *disk = NULL, *before = NULL;
	bool power = f->kind == AS_FIND_CRASH || f->kind == AS_FIND_RECOVERY;

	if (b->how->out && f->has_disk)
		disk = load_disk(b, f->id, AS_WIRE_DISK);
	if (disk && power)
		before = load_disk(b, f->id, AS_WIRE_BEFORE);
	f->disk = disk ? as_medium_disk(disk) : NULL;
	f->healthy = before ? as_medium_disk(before) : NULL;
	as_emit_finding(b->how->findings, f);
	as_medium_free(disk);
	as_medium_free(before);
}

bool as_boxed_take_finding(struct as_boxed_session *b, struct as_finding *f)
{
	if (!is_target_given(b, f->target) || !are_options_given(b, f->options) ||
	    !is_workload_given(b, f->workload) || b->n_findings == FINDINGS_MAX)
		return false;
	b->n_findings++;
	pass_on(b, f);
	return true;
}
