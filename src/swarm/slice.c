/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slice: see slice.h. */
#include "swarm/slice.h"

#include "base/array.h"
#include "os/dir.h"
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUT_BYTES_MAX ((size_t)256 << 20)
#define GRACE_US INT64_C(120000000) /* to end by itself after its time */
#define KILL_US INT64_C(15000000) /* after it was asked to */

/* ---- What it printed ------------------------------------------------------------------------- */

static uint64_t member(const json_t *object, const char *name)
{
	json_int_t n = json_integer_value(json_object_get(object, name));

	return n > 0 ? (uint64_t)n : 0;
}

static uint64_t beyond(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* A hunt counts from its beginning, a check its states; all others count this run. */
static void read_event(const struct as_swarm_command *command, const struct as_swarm_tally *before,
		       const json_t *object, struct as_slice *slice)
{
	const char *event = json_string_value(json_object_get(object, "event"));
	bool whole = !strcmp(command->name, "hunt");

	if (!event)
		return;
	if (!strcmp(event, "done")) {
		slice->ended = true;
		slice->workloads =
			beyond(member(object, "workloads"), whole ? before->workloads : 0);
		slice->ops = beyond(member(object, "ops"), whole ? before->ops : 0);
	} else if (command->event && !strcmp(event, command->event)) {
		if (!strcmp(event, "check"))
			slice->states = beyond(member(object, "states"), before->states);
		else
			slice->states = member(object, "disks");
		slice->complete = json_is_true(json_object_get(object, "all"));
		for (enum as_slice_count i = 0; i < AS_SLICE_N_COUNTS; i++)
			slice->counts[i] = member(object, as_slice_count_name(i));
	}
}

void as_slice_read(const struct as_swarm_command *command, const struct as_swarm_tally *before,
		   const char *text, size_t len, struct as_slice *slice)
{
	const char *end = text + len, *newline;

	for (; (newline = memchr(text, '\n', (size_t)(end - text))); text = newline + 1) {
		json_t *object = json_loadb(text, (size_t)(newline - text), 0, NULL);

		if (json_is_object(object))
			read_event(command, before, object, slice);
		json_decref(object);
	}
}

static void last_line(const struct as_buf *text, char *line, size_t cap)
{
	const char *s = as_buf_str(text);
	size_t end = text->len, start;

	while (end && (s[end - 1] == '\n' || s[end - 1] == '\r'))
		end--;
	for (start = end; start && s[start - 1] != '\n'; start--)
		;
	snprintf(line, cap, "%.*s", (int)(end - start), s + start);
}

/* ---- Starting -------------------------------------------------------------------------------- */

struct slice_words {
	const char **words;
	size_t n, cap;
};

static void add(struct slice_words *list, const char *word)
{
	AS_ARRAY_ROOM(list->words, list->n, list->cap);
	list->words[list->n++] = word;
}

/* Whether an earlier slice has left something that can be gone on with. */
static bool can_resume(const struct as_ledger *ledger, const struct as_swarm_cell *cell)
{
	static const struct {
		const char *command, *folder, *file;
	} rows[] = { { "hunt", AS_RUN_HUNT, AS_RUN_STATE },
		     { "check", "check", "states" },
		     { "fsck", "fsck", NULL } };
	struct as_dir run = AS_DIR_NONE, below = AS_DIR_NONE;
	struct as_err err;
	bool can = false;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].command, cell->words[0]) &&
		    !as_dir_below(&ledger->cells, cell->name, false, &run, &err) &&
		    !as_dir_below(&run, rows[i].folder, false, &below, &err))
			can = !rows[i].file || as_dir_has(&below, rows[i].file);
	as_dir_close(&below);
	as_dir_close(&run);
	return can;
}

static int open_output(const struct as_ledger *ledger, const char *cell, const char *suffix,
		       struct as_err *err)
{
	char name[48];
	int fd;

	snprintf(name, sizeof(name), "%s.%s", cell, suffix);
	fd = openat(ledger->swarm.fd, name,
		    O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
	return fd >= 0 ? fd
		       : as_fail_errno(err, errno, "%s/%s: cannot be written", ledger->swarm.path,
				       name);
}

static void pin(unsigned cpu)
{
	cpu_set_t may, one;
	unsigned n = 0, nth = 0;

	if (sched_getaffinity(0, sizeof(may), &may) || !(n = (unsigned)CPU_COUNT(&may)))
		return;
	CPU_ZERO(&one);
	for (unsigned i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &may) && nth++ == cpu % n)
			CPU_SET(i, &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
}

static _Noreturn void become(const char *const *words, pid_t parent, int out, int errs,
			     unsigned cpu)
{
	int null = open("/dev/null", O_RDONLY);

	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent || setpgid(0, 0) || null < 0 ||
	    dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(errs, 2) < 0)
		_exit(2);
	pin(cpu);
	signal(SIGPIPE, SIG_DFL);
	execv("/proc/self/exe", (char *const *)words);
	_exit(2);
}

/* The counts of calls are files in the cell's folder, which must be there for them. */
static int make_folder(const struct as_ledger *ledger, const struct as_swarm_cell *cell,
		       struct as_err *err)
{
	struct as_dir folder = AS_DIR_NONE;
	int rc = as_dir_below(&ledger->cells, cell->name, true, &folder, err);

	as_dir_close(&folder);
	return rc;
}

int as_slice_start(struct as_ledger *ledger, size_t cell, uint64_t round, uint64_t planned_s,
		   unsigned cpu, struct as_slice_run *run, struct as_err *err)
{
	const struct as_swarm_cell *c = &ledger->campaign->cells[cell];
	struct as_buf folder = { 0 }, much = { 0 }, cov = { 0 };
	struct slice_words list = { 0 };
	int out = open_output(ledger, c->name, "out", err), errs = -1, rc = out < 0 ? out : 0;
	pid_t parent = getpid();
	bool work = ledger->campaign->work;

	if (!rc)
		errs = open_output(ledger, c->name, "err", err);
	if (!rc && errs < 0)
		rc = errs;
	as_buf_addf(&folder, "%s/%s", ledger->cells.path, c->name);
	as_buf_addf(&much, "%" PRIu64 "%s", planned_s, work ? "" : "s");
	add(&list, "assay");
	for (size_t i = 0; c->words[i]; i++)
		add(&list, c->words[i]);
	add(&list, "--json");
	add(&list, "-o");
	add(&list, as_buf_str(&folder));
	if (c->block->command->timed) {
		add(&list, work ? c->block->command->limit : "--for");
		add(&list, as_buf_str(&much));
		if (can_resume(ledger, c))
			add(&list, "--resume");
	}
	if (!rc && c->block->coverage) {
		rc = make_folder(ledger, c, err);
		as_buf_addf(&cov, "%s/round-%" PRIu64 ".cov", as_buf_str(&folder), round);
		add(&list, "--cov");
		add(&list, as_buf_str(&cov));
	}
	add(&list, NULL);
	*run = (struct as_slice_run){ .cell = cell, .round = round, .planned_s = planned_s };
	if (!rc) {
		run->began_us = as_now_us();
		run->deadline_us = run->began_us + GRACE_US +
				   (int64_t)(work ? c->block->time_s : planned_s) * 1500000;
		run->pid = fork();
		if (!run->pid)
			become(list.words, parent, out, errs, cpu);
		rc = run->pid < 0 ? as_fail_errno(err, errno, "cannot fork") : 0;
	}
	if (out >= 0)
		close(out);
	if (errs >= 0)
		close(errs);
	free(list.words);
	as_buf_free(&folder);
	as_buf_free(&much);
	as_buf_free(&cov);
	return rc;
}

/* ---- Ending ---------------------------------------------------------------------------------- */

static void read_output(struct as_ledger *ledger, const struct as_swarm_cell *cell,
			const char *suffix, struct as_buf *text)
{
	struct as_err err;
	char name[48];

	snprintf(name, sizeof(name), "%s.%s", cell->name, suffix);
	if (as_dir_read(&ledger->swarm, name, OUT_BYTES_MAX, text, &err))
		as_buf_clear(text);
}

static uint64_t cpu_of(const struct rusage *usage)
{
	return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

static uint64_t load_now(void)
{
	double load;

	return getloadavg(&load, 1) == 1 && load > 0 ? (uint64_t)(load * 100) : 0;
}

/* Its time was up before the first workload was done. That is no failure: on a busy machine a guest
 * takes some seconds to start. */
static bool is_short(const struct as_ledger *ledger, const struct as_slice *slice)
{
	return slice->ended && !slice->workloads && !ledger->campaign->work &&
	       slice->wall_us >= (int64_t)slice->planned_s * 1000000;
}

static void finish(struct as_ledger *ledger, const struct as_slice_run *run, int status,
		   const struct rusage *usage, struct as_slice *slice)
{
	const struct as_swarm_cell *cell = &ledger->campaign->cells[run->cell];
	struct as_buf out = { 0 }, errs = { 0 };

	*slice = (struct as_slice){ .round = run->round,
				    .planned_s = run->planned_s,
				    .wall_us = as_now_us() - run->began_us,
				    .cpu_us = cpu_of(usage),
				    .load = load_now() };
	slice->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	read_output(ledger, cell, "out", &out);
	as_slice_read(cell->block->command, &ledger->tallies[run->cell], as_buf_str(&out), out.len,
		      slice);
	slice->work = cell->block->command->event ? slice->counts[AS_SLICE_transitions]
						  : slice->workloads;
	if (!cell->block->command->timed && slice->status <= 1)
		slice->complete = true;
	if (slice->status > 1) {
		read_output(ledger, cell, "err", &errs);
		last_line(&errs, slice->said, sizeof(slice->said));
	}
	if (slice->status == 2 && is_short(ledger, slice))
		slice->status = 0;
	as_ledger_count(ledger, run->cell, slice);
	as_buf_free(&out);
	as_buf_free(&errs);
}

void as_slice_stop(struct as_slice_run *run)
{
	if (!run->pid || run->asked)
		return;
	run->asked = true;
	run->deadline_us = as_now_us() + KILL_US;
	kill(run->pid, SIGTERM);
}

bool as_slice_poll(struct as_ledger *ledger, struct as_slice_run *run, struct as_slice *slice)
{
	struct rusage usage;
	int status;
	pid_t pid = wait4(run->pid, &status, WNOHANG, &usage);

	if (!pid && as_now_us() > run->deadline_us) {
		if (run->asked)
			kill(-run->pid, SIGKILL);
		else
			as_slice_stop(run);
	}
	if (pid != run->pid)
		return false;
	finish(ledger, run, status, &usage, slice);
	run->pid = 0;
	return true;
}

void as_slice_cut(struct as_slice *slice)
{
	slice->status = 0;
	slice->said[0] = '\0';
	slice->round--;
}

static int lock_cell(struct as_ledger *ledger, size_t cell, int *fd, struct as_err *err)
{
	const char *name = ledger->campaign->cells[cell].name;
	char file[48];

	snprintf(file, sizeof(file), "%s.lock", name);
	*fd = openat(ledger->swarm.fd, file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (*fd < 0)
		return as_fail_errno(err, errno, "%s/%s", ledger->swarm.path, file);
	if (as_dir_lock_file(*fd, true, AS_DIR_LOCK_DYING_US))
		return as_fail(err, AS_EUSE, "cell %s: another process runs it", name);
	return 0;
}

int as_slice_whole(struct as_ledger *ledger, size_t cell, uint64_t round, uint64_t planned_s,
		   const volatile int *stop, struct as_slice *slice, struct as_err *err)
{
	struct as_slice_run run = { 0 };
	int fd = -1, rc = lock_cell(ledger, cell, &fd, err);

	if (!rc)
		rc = as_ledger_refresh(ledger, cell, err);
	if (!rc)
		rc = as_slice_start(ledger, cell, round, planned_s, 0, &run, err);
	while (!rc && !as_slice_poll(ledger, &run, slice)) {
		if (stop && *stop)
			as_slice_stop(&run);
		usleep(20000);
	}
	if (!rc && stop && *stop && slice->status > 1)
		as_slice_cut(slice);
	if (!rc)
		rc = as_ledger_add(ledger, cell, slice, err);
	if (fd >= 0)
		close(fd);
	return rc;
}
