/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_check: the steps of checkers that are programs (tool/checker.h). The row of the type says
 * what their exit status means (target/checker.def). A checker that dies, hangs (then it is
 * killed with its process group) or tries to change something beside its disk (which is refused)
 * has an end of its own.
 *
 * In a guest, a checker runs outside of it if somebody is there who does that
 * (instance/outside.h).
 */
#include "recover/step_worker_priv.h"

#include "crew/ended.h"
#include "symptom/checker_words.h"
#include "tool/checker.h"

#include <string.h>

void as_step_worker_check_end(struct as_step_worker *w)
{
	as_checkers_free(w->checkers);
	w->checkers = NULL;
	as_outside_link_end(&w->link);
}

#define AGAIN 2 /* times that a checker is run again which did not come to an end */

/* "e2fsck -f -y": the command without its disk. */
static void add_command(const char *command, struct as_buf *out)
{
	const char *disk = strstr(command, " {disk}");
	size_t len = disk ? (size_t)(disk - command) : strlen(command);

	as_buf_addf(out, "`%.*s`", (int)len, command);
}

/* The problem that it named. */
static void add_words(const char *command, const char *output, struct as_buf *out)
{
	struct as_buf problem = { 0 };

	if (as_checker_problem(command, output, &problem))
		as_buf_addf(out, ": %s", as_buf_str(&problem));
	as_buf_free(&problem);
}

static void judge(const struct as_fstype *type, enum as_check_mode mode,
		  const struct as_tool_result *run, struct as_stepped *stepped)
{
	const struct as_ended_say say = { .died = run->died,
					  .late = "did not come to an end and was killed" };
	const char *command = as_fstype_check(type, mode)->command;
	enum as_check_answer answer = AS_CHECK_FAILED;
	struct as_buf *why = &stepped->why;

	as_buf_adds(why, "fsck: ");
	add_command(command, why);
	if (run->ended.how == AS_END_SIGNAL || run->ended.how == AS_END_DEADLINE) {
		stepped->end = run->ended.how == AS_END_SIGNAL ? AS_DIED : AS_HUNG;
		as_buf_addc(why, ' ');
		as_ended_words(&run->ended, &say, why);
		return;
	}
	answer = as_fstype_judge(type, mode, run->ended.status, as_buf_str(&run->output));
	stepped->repaired = answer == AS_CHECK_REPAIRED;
	if (answer != AS_CHECK_CLEAN && answer != AS_CHECK_REPAIRED) {
		stepped->end = AS_REFUSED;
		as_buf_addf(why, " ended with %s", as_check_answer_name(answer));
		add_words(command, as_buf_str(&run->output), why);
	} else if (run->refused) {
		stepped->end = AS_COMPLAINED;
		as_buf_addf(why, " tried to change something beside its disk: %s",
			    run->first_refused);
	} else if (stepped->repaired) {
		as_buf_adds(why, " repaired");
		add_words(command, as_buf_str(&run->output), why);
	} else {
		as_buf_clear(why);
	}
}

/* What the run comes to. */
static void take(struct as_step_worker *w, enum as_check_mode mode, struct as_tool_result *run,
		 struct as_stepped *stepped)
{
	judge(w->rules.programs, mode, run, stepped);
	stepped->disk = run->disk;
	run->disk = NULL;
	/* A log that is not complete proves nothing. */
	if (!run->incomplete) {
		stepped->log = run->log;
		run->log = NULL;
	}
	stepped->tree_at = stepped->log ? as_reclog_len(stepped->log) : 0;
}

/* Outside of a guest; false: it has to run here. There, only a disk that it has recovered counts.
 */
static bool check_outside(struct as_step_worker *w, enum as_check_mode mode, struct as_disk *disk,
			  struct as_stepped *stepped, bool *doubted)
{
	struct as_tool_result run;
	bool done = !as_outside_check(&w->link, mode, as_step_fails(&w->base, AS_RECOVER_FAIL_READ),
				      disk, &run);

	if (!done)
		return false;
	take(w, mode, &run, stepped);
	*doubted = stepped->end != AS_RECOVERED;
	if (*doubted)
		as_stepped_free(stepped);
	else
		as_step_count(&w->base, AS_RECOVER_FAIL_READ, run.reads);
	as_tool_result_free(&run);
	return !*doubted;
}

/*
 * A checker that was killed at its deadline may only have been slow, since the machine has other
 * things to do. On the same disk it does the same again: it gets more time, and then once more. One
 * that never comes to an end costs this once.
 */
static int run_again(struct as_step_worker *w, enum as_check_mode mode, struct as_disk *disk,
		     struct as_checked *checked, struct as_err *err)
{
	struct as_tool_setup setup = { .deadline_ms = w->base.options.deadline_ms / 5 * 9 };
	struct as_checkers *patient = as_checkers_new(&setup);
	int rc = 0;

	for (unsigned i = 0; !rc && i < AGAIN && checked->run.ended.how == AS_END_DEADLINE; i++) {
		as_checked_free(checked);
		*checked = (struct as_checked){ 0 };
		if (w->base.options.alive)
			(*w->base.options.alive)++;
		as_checkers_fail_read(patient, as_step_fails(&w->base, AS_RECOVER_FAIL_READ));
		rc = as_checker_run(patient, w->rules.programs, mode, disk, AS_TOOL_READS, checked,
				    err);
	}
	as_checkers_free(patient);
	w->hung = !rc && checked->run.ended.how == AS_END_DEADLINE;
	return rc;
}

int as_step_worker_check(struct as_step_worker *w, enum as_check_mode mode, struct as_disk *disk,
			 struct as_stepped *stepped, struct as_err *err)
{
	struct as_tool_setup setup = { .deadline_ms = w->base.options.deadline_ms };
	struct as_checked checked = { 0 };
	bool doubted = false;
	int rc;

	if (w->link.outside && check_outside(w, mode, disk, stepped, &doubted))
		return 0;
	if (!w->checkers)
		w->checkers = as_checkers_new(&setup);
	as_checkers_fail_read(w->checkers, as_step_fails(&w->base, AS_RECOVER_FAIL_READ));
	rc = as_checker_run(w->checkers, w->rules.programs, mode, disk, AS_TOOL_READS, &checked,
			    err);
	if (!rc && checked.run.ended.how == AS_END_DEADLINE && !w->hung)
		rc = run_again(w, mode, disk, &checked, err);
	if (!rc) {
		as_step_count(&w->base, AS_RECOVER_FAIL_READ, checked.run.reads);
		take(w, mode, &checked.run, stepped);
		/* It does not work there. */
		if (doubted && stepped->end == AS_RECOVERED)
			w->link.outside = NULL;
	}
	as_checked_free(&checked);
	return rc;
}
