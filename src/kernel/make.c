/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * make: configures and compiles, out of tree.
 *
 * Method. Make is asked first what it would do (-n), and the compilations in its answer are
 * counted; -k, because it stops otherwise at files that a build makes first. That is how "objects
 * done of all" is known, also after a build that was killed. This is left out once a tree was
 * complete, because then only a few files are compiled.
 *
 * KCOV. The kernel's makefiles ask in each folder for KCOV_INSTRUMENT. We give it a value that make
 * expands there: y below fs/, n elsewhere. So neither the scheduler nor the memory management,
 * which every system call reaches, is instrumented.
 */
#include "kernel/kernel_priv.h"
#include "os/out.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONFIG_MAX_BYTES ((size_t)4 << 20)
#define LAST_LINES 12
#define WORDS_MAX 12

struct making {
	const struct as_kernel_job *job;
	const char *phase;
	unsigned done, all; /* objects */
	unsigned would; /* compilations in an answer of make -n */
	char last[LAST_LINES][512];
	unsigned n_last;
	bool no_space;
};

static void hear(void *ctx, const char *line)
{
	struct making *m = ctx;

	if (!strncmp(line, "  CC ", 5) || !strncmp(line, "  AS ", 5)) {
		m->done++;
		as_kernel_say(m->job, m->phase, m->done, m->all > m->done ? m->all : m->done);
		return;
	}
	/* Each make below the first says again that it failed; the compiler's lines are above. */
	if (strncmp(line, "make[", 5) != 0)
		snprintf(m->last[m->n_last++ % LAST_LINES], sizeof(m->last[0]), "%s", line);
	m->no_space = m->no_space || strstr(line, "No space left on device");
}

static void count(void *ctx, const char *line)
{
	struct making *m = ctx;

	m->would += strstr(line, " -c -o ") != NULL;
}

static void give_last(const struct making *m, struct as_buf *out)
{
	unsigned first = m->n_last > LAST_LINES ? m->n_last - LAST_LINES : 0;

	for (unsigned i = first; out && i < m->n_last; i++)
		as_buf_addf(out, "%s\n", m->last[i % LAST_LINES]);
}

/* Runs make; `words` end with NULL. */
static int run_make(struct making *m, const char *const *words, bool dry, int *status,
		    struct as_err *err)
{
	const struct as_kernel_job *job = m->job;
	const char *argv[WORDS_MAX + 8] = { "make" };
	struct as_buf out = { 0 };
	size_t n = 1;
	int rc;

	as_buf_addf(&out, "O=%s", as_buf_str(&job->obj));
	argv[n++] = as_buf_str(&out);
	argv[n++] = "ARCH=um";
	if (job->want->with >> AS_KERNEL_HAS_kcov & 1)
		argv[n++] = "KCOV_INSTRUMENT=$(if $(filter fs/%,$(obj)),y,n)";
	for (size_t i = 0; words[i]; i++) {
		as_assert(i < WORDS_MAX);
		argv[n++] = words[i];
	}
	{
		const struct as_kernel_program program = { .argv = argv,
							   .cwd = as_buf_str(&job->src),
							   .log = dry ? NULL
								      : as_buf_str(&job->log),
							   .line = dry ? count : hear,
							   .ctx = m,
							   .stop = job->want->stop };

		rc = as_kernel_program(&program, status, err);
	}
	as_buf_free(&out);
	return rc;
}

/* A make that must succeed. */
static int must_make(struct making *m, const char *const *words, const char *what,
		     struct as_err *err)
{
	int status, rc = run_make(m, words, false, &status, err);

	if (rc || !status)
		return rc;
	give_last(m, m->job->want->last);
	if (m->no_space)
		return as_fail(err, AS_ELACK, "no space left in %s for a build; its log is %s",
			       as_buf_str(&m->job->root), as_buf_str(&m->job->log));
	return as_fail(err, AS_EIO, "%s: make %s failed (exit status %d); its log is %s",
		       as_buf_str(&m->job->id), what, status, as_buf_str(&m->job->log));
}

/* ---- Configuration --------------------------------------------------------------------------- */

static bool same_file(const char *path, const struct as_buf *text)
{
	struct as_buf there = { 0 };
	bool same = !as_buf_read_file(&there, path, CONFIG_MAX_BYTES, NULL) &&
		    there.len == text->len && !memcmp(as_buf_str(&there), text->data, text->len);

	as_buf_free(&there);
	return same;
}

static int configure(struct making *m, struct as_kernel_job *job, struct as_err *err)
{
	struct as_buf all = { 0 }, config = { 0 }, text = { 0 }, word = { 0 };
	int rc = 0;

	as_kernel_config_want(job->want->with, &job->config);
	as_buf_addf(&all, "%s/allconfig", as_buf_str(&job->tree));
	as_buf_addf(&config, "%s/.config", as_buf_str(&job->obj));
	as_buf_addf(&word, "KCONFIG_ALLCONFIG=%s", as_buf_str(&all));
	if (!same_file(as_buf_str(&all), &job->config) || access(as_buf_str(&config), R_OK)) {
		const char *const words[] = { as_buf_str(&word), "allnoconfig", NULL };

		as_kernel_say(job, "configures", 0, 0);
		unlink(as_buf_str(&config)); /* killed here, the next one configures again */
		rc = as_out_save(as_buf_str(&all), &job->config, err);
		if (!rc)
			rc = must_make(m, words, "allnoconfig", err);
	}
	if (!rc)
		rc = as_buf_read_file(&text, as_buf_str(&config), CONFIG_MAX_BYTES, err);
	if (!rc)
		rc = as_kernel_config_check(job->want->with, as_buf_str(&text), &job->lacks, err);
	as_buf_free(&all);
	as_buf_free(&config);
	as_buf_free(&text);
	as_buf_free(&word);
	return rc;
}

/* ---- Compilation ----------------------------------------------------------------------------- */

/* How many objects there are, and how many of them are done. */
static int look_ahead(struct making *m, struct as_err *err)
{
	static const char *const prepare[] = { "prepare", NULL };
	static const char *const dry[] = { "-nk", "linux", NULL };
	struct as_buf path = { 0 }, text = { 0 };
	unsigned all = 0;
	int status, rc;

	as_kernel_say(m->job, "looks what there is to compile", 0, 0);
	rc = must_make(m, prepare, "prepare", err);
	if (!rc)
		rc = run_make(m, dry, true, &status, err);
	as_buf_addf(&path, "%s/objects", as_buf_str(&m->job->tree));
	if (!rc && !as_buf_read_file(&text, as_buf_str(&path), 64, NULL) &&
	    sscanf(as_buf_str(&text), "%u", &all) != 1)
		all = 0;
	m->all = all > m->would ? all : m->would;
	m->done = m->all - m->would;
	as_buf_clear(&text);
	as_buf_addf(&text, "%u\n", m->all);
	if (!rc)
		rc = as_out_save(as_buf_str(&path), &text, err);
	as_buf_free(&path);
	as_buf_free(&text);
	return rc;
}

int as_kernel_make(struct as_kernel_job *job, struct as_err *err)
{
	struct making m = { .job = job, .phase = "compiles" };
	struct as_buf complete = { 0 };
	char jobs[16];
	const char *const words[] = { jobs, "linux", NULL };
	int rc = as_kernel_mkdirs(as_buf_str(&job->obj), err);

	snprintf(jobs, sizeof(jobs), "-j%u", job->want->jobs ? job->want->jobs : 1);
	as_buf_addf(&complete, "%s/complete", as_buf_str(&job->tree));
	unlink(as_buf_str(&job->log));
	if (!rc)
		rc = configure(&m, job, err);
	m.done = 0;
	if (!rc && access(as_buf_str(&complete), F_OK))
		rc = look_ahead(&m, err);
	if (!rc)
		rc = must_make(&m, words, "linux", err);
	if (!rc)
		as_kernel_say(job, "links", m.done, m.done);
	if (!rc)
		rc = as_out_save(as_buf_str(&complete), &(struct as_buf){ 0 }, err);
	as_buf_free(&complete);
	return rc;
}
