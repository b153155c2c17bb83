/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verdict: what the end of a box means: a finding about the workload that was running, an error of
 * ours, or a box that others have killed and that is started again.
 */
#include "supervise/boxed_priv.h"

#include "crew/ended.h"

#include "os/spawn.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define KILLS_MAX 8
#define CONSOLE_SHOWN_BYTES 400 /* so much of the console is shown in an error */

static int engine_ended(struct as_boxed_session *b, int status, struct as_err *err)
{
	const char *said = as_buf_str(&b->complaint);
	int code;

	/* What is asked of a disk is no finding about our engine. */
	if (!WIFEXITED(status) && b->death) {
		const struct as_ended ended = as_ended_of(status);

		return as_fail_ended(err, "the engine in the sandbox", &ended, NULL);
	}
	if (!WIFEXITED(status)) {
		as_boxed_post_mortem(b, as_boxed_in_flight(b), BOXED_ENDED);
		return 0;
	}
	if (WEXITSTATUS(status) <= 1 && b->n_finished == b->n_list)
		return 0;
	if (!strncmp(said, "assay: ", 7))
		said += 7;
	code = b->lacks || WEXITSTATUS(status) == 3 ? AS_ELACK : AS_EUSE;
	if (*said)
		return as_fail(err, code, "%s%s", said,
			       as_boxed_lacked_memory(b) ? "; --uml-mem gives the sandbox more"
							 : "");
	return as_fail(
		err, code,
		"the engine in the sandbox ended before its work was done: status %d, %zu of "
		"%zu workloads (sandbox: %#x)",
		WEXITSTATUS(status), (size_t)b->n_finished, (size_t)b->n_list,
		(unsigned)b->box->status);
}

/* Signals that only somebody else sends. */
static bool was_killed(int status)
{
	static const int signals[] = { SIGKILL, SIGTERM, SIGINT,  SIGHUP,  SIGQUIT,
				       SIGXCPU, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (WIFSIGNALED(status) && WTERMSIG(status) == signals[i])
			return true;
	return false;
}

/* Whether the box exited without its engine. A kernel that crashes reports it and aborts; a guest
 * that turns its machine off has told how the engine ended. A kernel that does neither caught a
 * signal of somebody else, or lacked something. */
static bool just_ended(const struct as_boxed_session *b)
{
	return WIFEXITED(b->box->status) && !b->box->state->ended;
}

/* Whether a box was killed after its engine had ended well and before all lines of the engine had
 * come through: what the kernel still held of them is lost. A kernel that turns its machine off
 * exits with status 0, after the last line. */
static bool lost_the_end(const struct as_boxed_session *b)
{
	int engine = b->box->state->status, box = b->box->status;

	return b->n_finished < b->n_list && WIFEXITED(engine) && WEXITSTATUS(engine) <= 1 &&
	       (was_killed(box) || (WIFEXITED(box) && WEXITSTATUS(box)));
}

/* The first report of a kernel that does not boot says why; the end of its console is most often a
 * stack. */
static int boot_failed(struct as_boxed_session *b, const char *how, struct as_err *err)
{
	const char *text = as_buf_str(&b->console);
	struct as_buf line = { 0 };
	int rc;

	as_kmsg_scan_end(b->scan);
	if (b->weight > AS_KMSG_INFO && b->title.len) {
		as_boxed_add_line(&line, as_buf_str(&b->title), b->title.len);
		rc = as_fail(err, AS_EIO, "the sandbox did not start (%s): its kernel says: %s",
			     how, as_buf_str(&line));
		as_buf_free(&line);
		return rc;
	}
	if (b->console.len > CONSOLE_SHOWN_BYTES)
		text += b->console.len - CONSOLE_SHOWN_BYTES;
	as_boxed_add_line(&line, text, strlen(text));
	rc = as_fail(err, AS_EIO, "the sandbox did not start (%s); its console %s%s", how,
		     line.len ? "ends: " : "is empty", as_buf_str(&line));
	as_buf_free(&line);
	return rc;
}

static void describe_end(const struct as_boxed_session *b, enum as_boxed_end end, char *text,
			 size_t cap)
{
	int status = b->box->status;

	if (end == BOXED_STOPPED)
		snprintf(text, cap, "it was stopped for %d s", AS_BOXED_STOPPED_SECONDS);
	else if (end == BOXED_SILENT)
		snprintf(text, cap, "no sign of life");
	else if (end != BOXED_ENDED)
		snprintf(text, cap, "it does not end");
	else if (WIFSIGNALED(status))
		snprintf(text, cap, "%s", as_signal_name(WTERMSIG(status)));
	else
		snprintf(text, cap, "status %d", WEXITSTATUS(status));
}

/* A box that others kill is no finding: it is started again, but only so many times. */
static int start_again(struct as_boxed_session *b, enum as_boxed_end end, struct as_err *err)
{
	char how[64];

	describe_end(b, end, how, sizeof(how));
	if (++b->kills < KILLS_MAX) {
		as_emit_note(b->how->notes, "the sandbox was killed (%s): starting again", how);
		return 0;
	}
	return as_fail(err, AS_EIO, "the sandbox was killed %d times in a row, at last: %s",
		       KILLS_MAX, how);
}

/* Whether it is the kernel that says too much, while a workload runs. Our engine does not. */
static bool kernel_floods(const struct as_boxed_session *b)
{
	return b->how->sandbox->caps & AS_SANDBOX_OWN_KERNEL && b->box->state->job >= 0 &&
	       b->console_bytes > AS_BOXED_FLOOD_BYTES;
}

static int floods(struct as_boxed_session *b, struct as_err *err)
{
	struct as_buf line = { 0 };
	int rc;

	as_boxed_add_repeated(b, &line);
	rc = as_fail(err, AS_EIO, "the sandbox said more than %d MiB and finished no workload%s%s",
		     AS_BOXED_FLOOD_MIB, line.len ? "; what its kernel says most often: " : "",
		     as_buf_str(&line));
	as_buf_free(&line);
	return rc;
}

int as_boxed_judge(struct as_boxed_session *b, enum as_boxed_end end, struct as_err *err)
{
	struct as_box_state *state = b->box->state;
	bool own_kernel = b->how->sandbox->caps & AS_SANDBOX_OWN_KERNEL;
	char error[sizeof(state->error)], how[64];
	struct as_buf line = { 0 };
	int rc;

	memcpy(error, state->error, sizeof(error));
	error[sizeof(error) - 1] = '\0';
	if (error[0] && end == BOXED_ENDED) {
		as_boxed_add_line(&line, error, strlen(error));
		rc = as_fail(err, AS_EIO, "%.900s", as_buf_str(&line));
		as_buf_free(&line);
		return rc;
	}
	if (end == BOXED_FLOODS && !kernel_floods(b))
		return floods(b, err);
	if (b->box->watch->greedy)
		return as_fail(err, AS_EIO,
			       "the kernel in the sandbox took more memory than it may have and "
			       "was killed; --uml-mem gives it more");
	if (end == BOXED_ENDED && own_kernel && state->ended)
		return lost_the_end(b) ? start_again(b, end, err)
				       : engine_ended(b, state->status, err);
	if (end == BOXED_ENDED && !own_kernel && !was_killed(b->box->status))
		return engine_ended(b, b->box->status, err);
	/* It has said why it does not answer; the end of its kernel is nothing about a disk. */
	if (b->death && b->gave_up)
		return as_fail(err, b->lacks ? AS_ELACK : AS_EIO, "%s", as_buf_str(&b->complaint));
	describe_end(b, end, how, sizeof(how));
	if (b->weight < AS_KMSG_CRASH &&
	    (end == BOXED_STOPPED || (end == BOXED_ENDED && (was_killed(b->box->status) ||
							     (state->job >= 0 && just_ended(b))))))
		return start_again(b, end, err);
	if (end == BOXED_COMPLAINED) {
		if (!b->engine_saw && b->n_finished)
			as_boxed_post_mortem(b, b->list[b->n_finished - 1], end);
		return 0;
	}
	if (state->job < 0)
		return boot_failed(b, how, err);
	as_boxed_post_mortem(b, as_boxed_in_flight(b), end);
	return 0;
}
