/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boxed: see boxed.h.
 *
 * Method. The workloads that are left are written to a folder in the share, and a box is started
 * with an engine that runs them in order. Three things are watched: the lines of the engine, the
 * console of its kernel, the counters in the shared memory. When the box ends, or has to be ended,
 * what is left is started again.
 *
 * Invariants
 *   1. A workload is done when its line has arrived, or when a finding about it was made here. What
 *      is not done is run (again): a box that is killed at any moment loses nothing, because the
 *      line is written after all findings of the workload are in the folder.
 *   2. Every start either finishes a workload, makes a finding about one, or was killed from
 *      outside; the last happens KILLS_MAX times in a row at most. So there is an end.
 */
#include "run/boxed.h"

#include "base/dir.h"
#include "base/spawn.h"
#include "run/boxed_inside.h"
#include "work/print.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOLDER_PREFIX ".box-"
#define KILLS_MAX 8
#define LOOK_MS 100 /* how often counters are looked at */
#define BOOT_MS 60000 /* until the first sign of life */
#define SILENCE_MS 20000
#define STUCK_EXTRA_MS 3000 /* beyond the engine's own deadline */
#define LINGER_MS 2000 /* for a kernel that has crashed to end */
#define CONSOLE_SHOWN_BYTES 400 /* of a boot that failed */

/* ---- What the engine is given ---------------------------------------------------------------- */

/* Folders of supervisors that were killed: nobody holds their lock. */
static void collect_folders(const char *findings)
{
	DIR *dir = opendir(findings);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int fd;

		if (strncmp(entry->d_name, FOLDER_PREFIX, strlen(FOLDER_PREFIX)))
			continue;
		fd = openat(dirfd(dir), entry->d_name,
			    O_DIRECTORY | O_NOFOLLOW | O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!flock(fd, LOCK_EX | LOCK_NB)) {
			as_box_empty_folder(fd);
			unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
		}
		close(fd);
	}
	if (dir)
		closedir(dir);
}

static int make_folder(struct as_boxed_session *b, struct as_err *err)
{
	/* In the folder of the findings: an engine that found nothing does not remove it then. */
	as_buf_addf(&b->folder, "%s/findings", as_buf_str(&b->share));
	if (mkdir(as_buf_str(&b->folder), 0777) && errno != EEXIST)
		return as_fail_errno(err, errno, "%s", as_buf_str(&b->folder));
	collect_folders(as_buf_str(&b->folder));
	as_buf_adds(&b->folder, "/" FOLDER_PREFIX "XXXXXX");
	if (!mkdtemp(b->folder.data)) {
		as_fail_errno(err, errno, "%s", as_buf_str(&b->folder));
		as_buf_free(&b->folder);
		return AS_EIO;
	}
	b->folder_fd = open(as_buf_str(&b->folder), O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (b->folder_fd < 0 || flock(b->folder_fd, LOCK_EX | LOCK_NB))
		return as_fail_errno(err, errno, "%s", as_buf_str(&b->folder));
	return 0;
}

static int open_share(struct as_boxed_session *b, struct as_err *err)
{
	char *real;

	if (!b->how->out) {
		as_buf_adds(&b->share, "/tmp/assay-share-XXXXXX");
		if (!mkdtemp(b->share.data))
			return as_fail_errno(err, errno, "cannot make a folder in /tmp");
		b->share_is_ours = true;
	} else {
		real = realpath(b->how->out, NULL);
		if (!real)
			return as_fail_errno(err, errno, "%s", b->how->out);
		as_buf_adds(&b->share, real);
		free(real);
	}
	return make_folder(b, err);
}

static void close_share(struct as_boxed_session *b)
{
	if (b->folder_fd >= 0) {
		as_box_empty_folder(b->folder_fd);
		close(b->folder_fd);
	}
	if (b->folder.len)
		rmdir(as_buf_str(&b->folder));
	if (b->share_is_ours) {
		as_buf_clear(&b->folder);
		as_buf_addf(&b->folder, "%s/findings", as_buf_str(&b->share));
		rmdir(as_buf_str(&b->folder));
		rmdir(as_buf_str(&b->share));
	}
	as_buf_free(&b->folder);
	as_buf_free(&b->share);
}

static int write_job(const struct as_boxed_session *b, size_t job, struct as_err *err)
{
	struct as_dir folder = { b->folder_fd, b->folder.data };
	struct as_buf text = { 0 };
	char name[32];
	int rc;

	snprintf(name, sizeof(name), "%06zu.txt", job);
	as_print_seq(b->jobs[job].seq, &text);
	rc = as_dir_write(&folder, name, &text, err);
	as_buf_free(&text);
	return rc;
}

/* Paths as they are called inside, each with the name that people know it by. */
static int write_list(struct as_boxed_session *b, const char *inside, struct as_err *err)
{
	struct as_dir folder = { b->folder_fd, b->folder.data };
	struct as_buf text = { 0 };
	int rc;

	b->n_list = b->n_finished = 0;
	for (size_t i = 0; i < b->n_jobs; i++) {
		size_t start;

		if (b->done[i])
			continue;
		b->list[b->n_list++] = i;
		as_buf_addf(&text, "%s/%06zu.txt\t", inside, i);
		start = text.len;
		as_buf_adds(&text, b->jobs[i].name);
		for (size_t at = start; at < text.len; at++)
			if ((unsigned char)text.data[at] < ' ')
				text.data[at] = '?';
		as_buf_addc(&text, '\n');
	}
	rc = as_dir_write(&folder, "list", &text, err);
	as_buf_free(&text);
	return rc;
}

/* ---- Starting -------------------------------------------------------------------------------- */

#define ARGS_MAX 128

struct args {
	struct as_buf text; /* each with its NUL */
	const char *words[ARGS_MAX];
};

static void arg(struct args *a, const char *option, const char *value)
{
	as_buf_addf(&a->text, "--%s=%s", option, value);
	as_buf_addc(&a->text, '\0');
}

static void arg_number(struct args *a, const char *option, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	arg(a, option, text);
}

static int make_args(const struct as_boxed_session *b, const char *share, const char *list,
		     struct args *a, struct as_err *err)
{
	const struct as_run_options *o = &b->how->options;
	size_t n = 0;

	as_buf_add(&a->text, "run\0--json\0--sandbox=host", 25);
	as_buf_addc(&a->text, '\0');
	arg(a, AS_BOX_STATE_OPTION, b->how->sandbox->state_path);
	arg(a, "target", b->how->target);
	if (b->how->out)
		arg(a, "out", share);
	else
		as_buf_add(&a->text, "--no-store", 11);
	arg(a, "check", o->check_every_op ? "op" : "end");
	if (o->size_bytes)
		arg_number(a, "size", o->size_bytes);
	if (o->seed)
		arg_number(a, "seed", o->seed);
	if (o->max_bytes)
		arg_number(a, "max-bytes", o->max_bytes);
	if (o->max_entries)
		arg_number(a, "max-entries", o->max_entries);
	if (o->deadline_ms)
		arg_number(a, "deadline", (o->deadline_ms + 999) / 1000);
	if (o->sweep)
		arg(a, "sweep", as_sweep_name(o->sweep));
	if (o->faults && *o->faults)
		arg(a, "fault", o->faults);
	if (o->scenario[0])
		arg(a, "scenario", o->scenario);
	if (b->how->together)
		as_buf_add(&a->text, "--together", 11);
	if (b->how->known) {
		struct as_buf known = { 0 };

		as_buf_addf(&known, "%s/%s", share, b->how->known);
		arg(a, "known", as_buf_str(&known));
		as_buf_free(&known);
	}
	if (b->how->out && b->how->cov) {
		struct as_buf cov = { 0 };

		as_buf_addf(&cov, "%s/%s/", share, b->how->cov);
		arg(a, "cov", as_buf_str(&cov));
		as_buf_free(&cov);
	}
	/* For one that stays up, what to run comes on its standard input. */
	arg(a, "list", b->once ? list : "-");
	for (size_t at = 0; at < a->text.len; at += strlen(a->text.data + at) + 1) {
		if (n == ARGS_MAX - 1)
			return as_fail(err, AS_EUSE, "too many options for a sandbox");
		a->words[n++] = a->text.data + at;
	}
	a->words[n] = NULL;
	return 0;
}

static void box_options(const struct as_boxed_session *b, struct as_box_options *options)
{
	unsigned deadline_ms = b->how->options.deadline_ms;

	*options = b->how->box;
	options->share = as_buf_str(&b->share);
	options->engine_bytes = as_run_state_bytes();
	options->stuck_ms = (deadline_ms ? deadline_ms : AS_RUN_DEADLINE_MS) + STUCK_EXTRA_MS;
}

static int boot(struct as_boxed_session *b, const struct as_box_options *options, const char *list,
		struct as_err *err)
{
	struct args args = { 0 };
	int rc = make_args(b, b->how->sandbox->share(options), list, &args, err);

	boxed_clear(b);
	if (!rc)
		rc = as_box_start(b->how->sandbox, options, args.words, &b->box, err);
	as_buf_free(&args.text);
	return rc;
}

/* Gives the engine what is left, and starts one if there is none. */
static int start(struct as_boxed_session *b, struct as_err *err)
{
	struct as_box_options options;
	struct as_buf inside = { 0 };
	int rc;

	box_options(b, &options);
	as_buf_addf(&inside, "%s%s", b->how->sandbox->share(&options),
		    as_buf_str(&b->folder) + b->share.len);
	rc = write_list(b, as_buf_str(&inside), err);
	as_buf_adds(&inside, "/list");
	if (!rc && !b->box)
		rc = boot(b, &options, as_buf_str(&inside), err);
	else if (!rc)
		b->box->state->job = 0;
	as_buf_addc(&inside, '\n');
	/* One that is gone is found to be. */
	if (!rc && !b->once)
		(void)as_box_say(b->box, as_buf_str(&inside));
	b->engine_saw = false;
	as_buf_free(&inside);
	return rc;
}

/* ---- Watching -------------------------------------------------------------------------------- */

/* What is there now. */
static void drain(struct as_boxed_session *b)
{
	char block[16384];
	bool quiet = true;
	ssize_t n;

	while ((n = read(b->box->events_fd, block, sizeof(block))) > 0)
		as_buf_add(&b->events, block, (size_t)n);
	/* Read after the events: what was printed before a line was written is here by now. */
	while (b->box->console_fd >= 0 &&
	       (n = read(b->box->console_fd, block, sizeof(block))) > 0) {
		boxed_take_console(b, block, (size_t)n);
		quiet = false;
	}
	if (quiet)
		as_kmsg_scan_end(b->scan);
}

static bool has_ended(const struct as_box *box)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)box->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

struct clocks {
	int64_t beat_us, stuck_us, crash_us;
	uint64_t beat;
};

static enum boxed_end look(struct as_boxed_session *b, struct clocks *c)
{
	const struct as_box_state *state = b->box->state;
	unsigned silence_ms = b->how->silence_ms ? b->how->silence_ms : SILENCE_MS;
	int64_t now_us = as_now_us();

	if (has_ended(b->box))
		return BOXED_ENDED;
	if (b->weight == AS_KMSG_CRASH && !c->crash_us)
		c->crash_us = now_us;
	if (c->crash_us && now_us - c->crash_us > LINGER_MS * 1000)
		return BOXED_LINGERS;
	if (!(b->how->sandbox->caps & AS_SANDBOX_OWN_KERNEL))
		return BOXED_RUNS;
	if (state->beat != c->beat) {
		c->beat = state->beat;
		c->beat_us = now_us;
	} else if (now_us - c->beat_us > (int64_t)(c->beat ? silence_ms : BOOT_MS) * 1000) {
		return BOXED_SILENT;
	}
	if (state->stuck && !c->stuck_us)
		c->stuck_us = now_us;
	/* The kernel is saying where everybody waits. */
	if (c->stuck_us && now_us - c->stuck_us > LINGER_MS * 1000)
		return BOXED_STUCK;
	return BOXED_RUNS;
}

static int watch(struct as_boxed_session *b, enum boxed_end *end, struct as_err *err)
{
	struct clocks clocks = { .beat_us = as_now_us() };
	int rc = 0;

	*end = BOXED_RUNS;
	while (!rc && *end == BOXED_RUNS) {
		struct pollfd fds[] = { { .fd = b->box->events_fd, .events = POLLIN },
					{ .fd = b->box->console_fd, .events = POLLIN },
					{ .fd = b->box->pidfd, .events = POLLIN } };
		bool stop = false;

		/* Pipes that have come to their end would be ready for ever. */
		if (poll(fds, 3, LOOK_MS) > 0 && !((fds[0].revents | fds[1].revents) & POLLIN) &&
		    !fds[2].revents)
			poll(NULL, 0, 1);
		*end = look(b, &clocks);
		drain(b);
		rc = boxed_take_events(b, &stop, err);
		if (stop && *end == BOXED_RUNS && !b->how->options.faults && !b->how->options.sweep)
			*end = BOXED_COMPLAINED;
		if (!b->once && *end == BOXED_RUNS && b->n_finished == b->n_list)
			*end = BOXED_IDLE;
	}
	return rc;
}

/* ---- Judging --------------------------------------------------------------------------------- */

static int engine_ended(struct as_boxed_session *b, int status, struct as_err *err)
{
	const char *said = as_buf_str(&b->complaint);

	if (!WIFEXITED(status)) {
		boxed_found(b, boxed_job(b), BOXED_ENDED);
		return 0;
	}
	if (WEXITSTATUS(status) <= 1 && b->n_finished == b->n_list)
		return 0;
	if (!strncmp(said, "assay: ", 7))
		said += 7;
	return as_fail(err, WEXITSTATUS(status) == 3 ? AS_ELACK : AS_EUSE, "%s%s",
		       *said ? said : "the engine in the sandbox ended before its work was done",
		       "");
}

/* Only others send these. */
static bool was_killed(int status)
{
	static const int signals[] = { SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (WIFSIGNALED(status) && WTERMSIG(status) == signals[i])
			return true;
	return false;
}

static int boot_failed(const struct as_boxed_session *b, struct as_err *err)
{
	const char *text = as_buf_str(&b->console);

	if (b->console.len > CONSOLE_SHOWN_BYTES)
		text += b->console.len - CONSOLE_SHOWN_BYTES;
	return as_fail(err, AS_EIO, "the sandbox did not start (status %d); its console ends: %s",
		       b->box->status, text);
}

static int judge(struct as_boxed_session *b, enum boxed_end end, struct as_err *err)
{
	struct as_box_state *state = b->box->state;
	bool own_kernel = b->how->sandbox->caps & AS_SANDBOX_OWN_KERNEL;

	if (state->error[0] && end == BOXED_ENDED)
		return as_fail(err, AS_EIO, "%.900s", state->error);
	if (end == BOXED_ENDED && own_kernel && state->ended)
		return engine_ended(b, state->status, err);
	if (end == BOXED_ENDED && !own_kernel && !was_killed(b->box->status))
		return engine_ended(b, b->box->status, err);
	if (end == BOXED_ENDED && b->weight < AS_KMSG_CRASH && was_killed(b->box->status) &&
	    ++b->kills < KILLS_MAX) {
		as_emit_note(b->how->told, "the sandbox was killed (%s): starting again",
			     as_signal_name(WTERMSIG(b->box->status)));
		return 0;
	}
	if (end == BOXED_COMPLAINED) {
		if (!b->engine_saw)
			boxed_found(b, b->list[b->n_finished - 1], end);
		return 0;
	}
	if (state->job < 0)
		return boot_failed(b, err);
	boxed_found(b, boxed_job(b), end);
	return 0;
}

static bool all_done(const struct as_boxed_session *b)
{
	for (size_t i = 0; i < b->n_jobs; i++)
		if (!b->done[i])
			return false;
	return true;
}

static int run_rest(struct as_boxed_session *b, struct as_err *err)
{
	enum boxed_end end;
	bool stop;
	int rc = start(b, err);

	if (rc)
		return rc;
	rc = watch(b, &end, err);
	if (!rc && end == BOXED_IDLE)
		return 0;
	as_box_end(b->box);
	drain(b);
	as_kmsg_scan_end(b->scan);
	/* Events that arrived behind the one that stopped us are of workloads that run again. */
	if (!rc && end != BOXED_COMPLAINED)
		do
			rc = boxed_take_events(b, &stop, err);
		while (!rc && stop);
	if (!rc)
		rc = judge(b, end, err);
	if (strstr(as_buf_str(&b->console), "Out of memory: Killed process"))
		as_emit_note(b->how->told, "the sandbox ran out of memory: what was found may come "
					   "of that; --uml-mem gives it more");
	as_box_free(b->box);
	b->box = NULL;
	return rc;
}

int as_boxed_open(const struct as_boxed *how, struct as_boxed_session **session, struct as_err *err)
{
	struct as_boxed_session *b = as_xcalloc(1, sizeof(*b));
	int rc = how->sandbox->ready(&how->box, err);

	b->how = how;
	b->folder_fd = -1;
	if (!rc)
		rc = open_share(b, err);
	if (rc) {
		as_boxed_close(b);
		b = NULL;
	}
	*session = b;
	return rc;
}

int as_boxed_give(struct as_boxed_session *b, const struct as_boxed_job *jobs, size_t n_jobs,
		  struct as_run_stats *stats, struct as_err *err)
{
	int rc = 0;

	b->jobs = jobs;
	b->n_jobs = n_jobs;
	b->stats = stats;
	b->done = as_xcalloc(n_jobs + 1, sizeof(*b->done));
	b->list = as_xcalloc(n_jobs + 1, sizeof(*b->list));
	for (size_t i = 0; i < n_jobs && !rc; i++)
		rc = write_job(b, i, err);
	while (!rc && !all_done(b))
		rc = run_rest(b, err);
	free(b->done);
	free(b->list);
	b->done = NULL;
	b->list = NULL;
	return rc;
}

void as_boxed_close(struct as_boxed_session *b)
{
	if (!b)
		return;
	as_box_free(b->box);
	close_share(b);
	boxed_free_texts(b);
	free(b);
}

int as_boxed_run(const struct as_boxed *how, const struct as_boxed_job *jobs, size_t n_jobs,
		 struct as_run_stats *stats, struct as_err *err)
{
	struct as_boxed_session *b;
	int rc = as_boxed_open(how, &b, err);

	if (rc)
		return rc;
	b->once = true;
	rc = as_boxed_give(b, jobs, n_jobs, stats, err);
	as_boxed_close(b);
	return rc;
}
