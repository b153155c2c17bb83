/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judge: see judge.h.
 *
 * Method. A run depends on its disk alone: its clock stands still, and it meets no chance
 * (tool/tool.h). So the result of a run is kept under the digest of its disk, and most second runs
 * are known already: many damages are repaired to the same disk.
 *
 * Invariants
 *   1. A result is known under its mode and the digest of the disk that the run began with.
 *   2. Results are forgotten only between two disks that are judged (as_judge_disk()), so that
 *      those of a verdict live until the next one.
 */
#include "fsck/judge_priv.h"

#include "base/array.h"
#include "base/table.h"
#include "crew/ended.h"
#include "fsck/excuse.h"
#include "fsck/loss.h"
#include "symptom/checker_words.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_MAX 4096u /* results; each keeps a disk, which shares most of its chunks */

static const struct {
	const char *name, *words;
} problems[] = {
#define PROBLEM(id, name, words) { name, words },
#include "fsck/problem.def"
#undef PROBLEM
};

const char *as_fsck_problem_name(enum as_fsck_problem problem)
{
	return problems[problem].name;
}

const char *as_fsck_problem_words(enum as_fsck_problem problem)
{
	return problems[problem].words;
}

const char *as_fsck_verdict_shows(const struct as_fsck_verdict *v, enum as_fsck_problem problem)
{
	return v->problems & 1u << problem ? as_buf_str(&v->found[problem].signature) : NULL;
}

void as_fsck_verdict_free(struct as_fsck_verdict *v)
{
	for (unsigned i = 0; i < AS_FSCK_PROBLEMS; i++) {
		as_buf_free(&v->found[i].summary);
		as_buf_free(&v->found[i].signature);
	}
	as_buf_free(&v->lost);
	as_buf_free(&v->kernel);
	*v = (struct as_fsck_verdict){ 0 };
}

/* ---- Runs, each once ------------------------------------------------------------------------- */

struct as_judge *as_judge_new(struct as_fsck_subject *subject)
{
	struct as_judge *j = as_xcalloc(1, sizeof(*j));

	j->subject = subject;
	return j;
}

static void forget(struct as_judge *j)
{
	for (size_t i = 0; i < j->n; i++) {
		as_disk_free(j->known[i]->run.disk);
		free(j->known[i]->run.output);
		free(j->known[i]);
	}
	j->n = 0;
	as_table_clear(&j->table);
}

void as_judge_free(struct as_judge *j)
{
	if (!j)
		return;
	forget(j);
	as_judge_end_stops(j);
	as_table_free(&j->table);
	free(j->known);
	free(j);
}

static uint64_t key_of(enum as_subject_mode mode, struct as_digest digest)
{
	return as_mix64(digest.lo ^ digest.hi) + mode;
}

struct asked_run {
	const struct as_judge *j;
	enum as_subject_mode mode;
	struct as_digest digest;
};

static bool is_wanted(const void *ctx, size_t i)
{
	const struct asked_run *w = ctx;
	const struct known_run *k = w->j->known[i];

	return k->mode == w->mode && as_digest_eq(k->digest, w->digest);
}

static void take_over(struct as_fsck_run *run, struct as_subject_run *from, struct as_disk *before)
{
	run->answer = from->answer;
	run->documented = from->documented;
	run->ended = from->run.ended;
	run->ended.wall_us = 0; /* it differs from run to run */
	memcpy(run->died, from->run.died, sizeof(run->died));
	run->has_address = from->run.has_address;
	run->address = from->run.address;
	run->output = as_xstrdup(as_buf_str(&from->run.output));
	run->disk = from->run.disk;
	from->run.disk = NULL;
	run->wrote = from->run.changed;
	run->changed = run->wrote && !as_disk_eq(before, run->disk);
}

/* The command of AS_SUBJECT_AGAIN is often that of a repair: then they share their results. */
static enum as_subject_mode plain_mode(const struct as_judge *j, enum as_subject_mode mode)
{
	for (unsigned i = 0; i < (unsigned)mode; i++)
		if (as_subject_has(j->subject, (enum as_subject_mode)i) &&
		    !strcmp(as_subject_command(j->subject, (enum as_subject_mode)i),
			    as_subject_command(j->subject, mode)))
			return (enum as_subject_mode)i;
	return mode;
}

int as_judge_run_once(struct as_judge *j, enum as_subject_mode mode, struct as_disk *disk,
		      const struct as_fsck_run **out, struct as_err *err)
{
	struct asked_run w = { j, plain_mode(j, mode), as_disk_digest(disk) };
	size_t i = as_table_find(&j->table, key_of(w.mode, w.digest), is_wanted, &w);
	struct as_subject_run got;
	struct known_run *k;
	int rc;

	if (i != AS_TABLE_NONE) {
		j->counts.known++;
		*out = &j->known[i]->run;
		return 0;
	}
	j->counts.runs++;
	rc = as_judge_run(j, w.mode, disk, &got, err);
	if (!rc && j->hurries && got.run.ended.how == AS_END_DEADLINE)
		rc = as_fail(err, AS_ESTOP, "there is no time for it now");
	if (!rc) {
		k = as_xcalloc(1, sizeof(*k));
		k->mode = w.mode;
		k->digest = w.digest;
		take_over(&k->run, &got, disk);
		AS_ARRAY_ROOM(j->known, j->n, j->cap);
		j->known[j->n] = k;
		as_table_add(&j->table, key_of(w.mode, w.digest), j->n++);
		*out = &k->run;
	}
	as_subject_run_free(&got);
	return rc;
}

/* ---- Judging --------------------------------------------------------------------------------- */

bool as_fsck_agree(enum as_check_answer first, enum as_check_answer second)
{
	switch (first) {
	case AS_CHECK_CLEAN:
	case AS_CHECK_REPAIRED:
		return second == AS_CHECK_CLEAN;
	case AS_CHECK_LEFT:
	case AS_CHECK_REPAIRED_LEFT:
		return second == AS_CHECK_LEFT;
	default:
		return second == AS_CHECK_FAILED;
	}
}

/* The problem that the output names; "": none. */
void as_judge_add_words(const struct as_judge *j, enum as_subject_mode mode,
			const struct as_fsck_run *run, struct as_buf *sign, struct as_buf *words)
{
	const char *command = as_subject_command(j->subject, mode);
	struct as_buf problem = { 0 };

	if (as_checker_problem(command, run->output, &problem)) {
		as_buf_addf(words, ": %s", as_buf_str(&problem));
		as_buf_adds(sign, ": ");
		as_checker_problem_sign(command, as_buf_str(&problem), sign);
	}
	as_buf_free(&problem);
}

void as_judge_describe(const struct as_fsck_run *run, struct as_buf *out)
{
	const struct as_ended_say say = { .died = run->died, .late = "did not end" };

	if (run->ended.how != AS_END_EXIT) {
		as_ended_words(&run->ended, &say, out);
		if (run->ended.how == AS_END_SIGNAL && run->has_address)
			as_buf_addf(out, " (address 0x%llx)", (unsigned long long)run->address);
	} else
		as_buf_addf(out, "exits %d (%s)", run->ended.status,
			    run->documented ? as_check_answer_name(run->answer) : "undocumented");
}

static const char *const ordinal[] = { "first", "second", "third", "fourth", "fifth" };

/* Begins a problem: the damage, and the field by which clusters are told apart. */
void as_judge_begin(struct as_fsck_verdict *v, enum as_fsck_problem problem,
		    const struct as_damage *damage)
{
	v->problems |= 1u << problem;
	as_buf_clear(&v->found[problem].summary);
	as_buf_clear(&v->found[problem].signature);
	as_buf_addf(&v->found[problem].summary, "%s; ", as_buf_str(&damage->words));
	as_buf_addf(&v->found[problem].signature, "fsck: %s", problems[problem].name);
}

void as_judge_end(struct as_fsck_verdict *v, enum as_fsck_problem problem,
		  const struct as_damage *damage)
{
	if (damage->field.len)
		as_buf_addf(&v->found[problem].signature, AS_SIGNATURE_FIELD "%s",
			    as_buf_str(&damage->field));
}

/* The line in which the checker tells that it caught a signal; NULL: there is none. */
static const char *caught(const struct as_judge *j, const struct as_fsck_run *run)
{
	const char *words = as_subject_checker(j->subject)->caught;

	return words ? strstr(run->output, words) : NULL;
}

/* "Signal (8) SIGFPE", and the functions that it names below. */
static void sign_caught(const char *line, struct as_buf *out)
{
	size_t len = strcspn(line, "\n");
	const char *name = memmem(line, len, "SIG", 3);

	as_buf_addf(out, ": %.*s", name ? (int)strcspn(name, " \n") : (int)len, name ? name : line);
	/* A frame: "e2fsck(+0x1234)[0x5555]" or "libext2fs.so.2(ext2fs_open2+0x2f)[...]" */
	for (line += len; (line = strchr(line, '(')); line++) {
		size_t n = strcspn(line + 1, "+)");

		if (n && strncmp(line + 1, "__", 2) && line[1] != '0')
			as_buf_addf(out, " < %.*s", (int)n, line + 1);
	}
}

/* A script whose program dies of a signal ends with 128 and more. */
static void say_shell(int status, struct as_buf *words)
{
	if (status == 128 + SIGSEGV || status == 128 + SIGBUS || status == 128 + SIGFPE ||
	    status == 128 + SIGILL || status == 128 + SIGABRT)
		as_buf_addf(words, ", as a shell does after %s", as_signal_name(status - 128));
}

/* Whether a run ended by itself and with a status that means something. False: it is a problem. */
bool as_judge_ended_well(const struct as_judge *j, struct as_fsck_verdict *v,
			 const struct as_damage *damage, enum as_subject_mode mode,
			 const struct as_fsck_run *run, const char *which)
{
	enum as_fsck_problem problem = run->ended.how == AS_END_SIGNAL	   ? AS_FSCK_DIED
				       : run->ended.how == AS_END_DEADLINE ? AS_FSCK_HANGS
									   : AS_FSCK_STATUS;

	if (run->ended.how == AS_END_EXIT && caught(j, run))
		problem = AS_FSCK_DIED;
	else if (run->ended.how == AS_END_EXIT && run->documented)
		return true;
	if (v->problems & 1u << problem)
		return false;
	as_judge_begin(v, problem, damage);
	as_buf_addf(&v->found[problem].summary, "the %s run ", which);
	as_judge_describe(run, &v->found[problem].summary);
	if (problem == AS_FSCK_DIED && run->ended.how == AS_END_EXIT) {
		as_buf_adds(&v->found[problem].summary, ", after it caught a signal");
		sign_caught(caught(j, run), &v->found[problem].summary);
		sign_caught(caught(j, run), &v->found[problem].signature);
	} else if (problem == AS_FSCK_DIED)
		as_buf_addf(&v->found[problem].signature, ": %s",
			    *run->died ? run->died : as_signal_name(run->ended.status));
	else
		as_judge_add_words(j, mode, run, &v->found[problem].signature,
				   &v->found[problem].summary);
	if (problem == AS_FSCK_STATUS) {
		as_buf_addf(&v->found[problem].signature, ": %d", run->ended.status);
		say_shell(run->ended.status, &v->found[problem].summary);
	}
	/* Where it died is the cause, whatever field led there. */
	if (problem != AS_FSCK_DIED)
		as_judge_end(v, problem, damage);
	return false;
}

static void judge_twice(const struct as_judge *j, struct as_fsck_verdict *v,
			const struct as_damage *damage)
{
	const struct as_fsck_run *first = v->seen.run[0], *second = v->seen.run[1];
	unsigned n = v->seen.n;
	bool settles = v->seen.run[n - 1]->answer != AS_CHECK_REPAIRED || n < AS_FSCK_RUNS;
	enum as_fsck_problem problem = settles ? AS_FSCK_TWICE : AS_FSCK_UNSETTLED;
	struct as_buf *words = &v->found[problem].summary, *sign = &v->found[problem].signature;

	as_judge_begin(v, problem, damage);
	as_buf_adds(words, "the first run ");
	as_judge_describe(first, words);
	as_buf_adds(words, ", the second run ");
	as_judge_describe(second, words);
	as_buf_addf(sign, ": %s then %s", as_check_answer_name(first->answer),
		    as_check_answer_name(second->answer));
	/* After a failure of both kinds, the words of the first run name the cause. */
	if (second->answer == AS_CHECK_CLEAN)
		as_judge_add_words(j, AS_SUBJECT_REPAIR, first, sign, words);
	else
		as_judge_add_words(j, AS_SUBJECT_AGAIN, second, sign, words);
	if (!settles)
		as_buf_addf(words, "; so does the %s", ordinal[n - 1]);
	else if (n > 2)
		as_buf_addf(words, "; the %s run answers: %s", ordinal[n - 1],
			    as_check_answer_name(v->seen.run[n - 1]->answer));
	as_judge_end(v, problem, damage);
}

/* Lines of bytes as one line. */
void as_judge_say_bytes(const struct as_damage *how, struct as_buf *words)
{
	as_damage_say_bytes(how, words);
	while (words->len && words->data[words->len - 1] == '\n')
		words->data[--words->len] = '\0';
	for (size_t i = 0; i < words->len; i++)
		if (words->data[i] == '\n')
			words->data[i] = ';';
}

/* Run i changes more than a run may that repairs nothing. */
static bool changes(const struct as_judge *j, const struct as_fsck_verdict *v,
		    const struct as_fsck_base *base, struct as_disk *disk, unsigned i,
		    struct as_damage *how)
{
	const struct as_fsck_run *run = v->seen.run[i];

	return run->changed &&
	       as_excuse_differs(as_subject_test(j->subject), AS_SUBJECT_REPAIR, base,
				 i ? v->seen.run[i - 1]->disk : disk, run->disk, how);
}

/* The first run that is silent is told. `i` is the first or the second one. */
static void judge_silent(const struct as_judge *j, struct as_fsck_verdict *v,
			 const struct as_fsck_base *base, const struct as_damage *damage,
			 struct as_disk *disk, unsigned i)
{
	struct as_damage how = { 0 };
	struct as_buf *words = &v->found[AS_FSCK_SILENT].summary;
	unsigned n = v->seen.n;

	if (!(v->problems & 1u << AS_FSCK_SILENT) && v->seen.run[i]->answer == AS_CHECK_CLEAN &&
	    !as_excuse_silent(as_subject_test(j->subject), v->seen.run[i]) &&
	    changes(j, v, base, disk, i, &how)) {
		as_judge_begin(v, AS_FSCK_SILENT, damage);
		as_buf_addf(words,
			    "the %s run says that the disk is clean, but changes it: ", ordinal[i]);
		as_judge_say_bytes(&how, words);
		if (i)
			as_buf_addf(&v->found[AS_FSCK_SILENT].signature, ": %s run", ordinal[i]);
		as_judge_add_words(j, AS_SUBJECT_REPAIR, v->seen.run[i],
				   &v->found[AS_FSCK_SILENT].signature, words);
		if (i)
			as_buf_addf(words, "; the %s run answers: %s", ordinal[n - 1],
				    as_check_answer_name(v->seen.run[n - 1]->answer));
		as_judge_end(v, AS_FSCK_SILENT, damage);
	}
	as_damage_free(&how);
}

/* Whatever the runs say, they change the disk again and again. */
static void judge_restless(struct as_fsck_verdict *v, const struct as_damage *damage,
			   const struct as_damage *how)
{
	struct as_buf *words = &v->found[AS_FSCK_UNSETTLED].summary;
	const struct as_fsck_run *second = v->seen.run[1];

	as_judge_begin(v, AS_FSCK_UNSETTLED, damage);
	as_buf_adds(words, "the second run ");
	if (second->answer == AS_CHECK_CLEAN)
		as_buf_adds(words, "says that the disk is clean");
	else
		as_judge_describe(second, words);
	as_buf_addf(words,
		    ", and each run until the %s changes it again: ", ordinal[v->seen.n - 1]);
	as_judge_say_bytes(how, words);
	as_buf_addf(&v->found[AS_FSCK_UNSETTLED].signature, ": says %s",
		    as_check_answer_name(second->answer));
	as_judge_end(v, AS_FSCK_UNSETTLED, damage);
}

/* Nothing was damaged. */
static void judge_healthy(const struct as_judge *j, struct as_fsck_verdict *v,
			  const struct as_damage *damage)
{
	struct as_buf *words = &v->found[AS_FSCK_HEALTHY].summary;

	as_judge_begin(v, AS_FSCK_HEALTHY, damage);
	as_buf_adds(words, "the first run ");
	as_judge_describe(v->seen.run[0], words);
	as_judge_add_words(j, AS_SUBJECT_REPAIR, v->seen.run[0],
			   &v->found[AS_FSCK_HEALTHY].signature, words);
}

/*
 * The second run says "clean", "left" or "failed", as the first one lets expect: no run after it
 * has anything to change. A checker whose status says nothing of repairs is left out: jfs_fsck
 * keeps a log of its own runs on the disk, in two places by turns.
 */
static int settle(struct as_judge *j, const struct as_fsck_base *base, struct as_fsck_verdict *v,
		  const struct as_damage *damage, struct as_disk *disk, struct as_err *err)
{
	struct as_fsck_seen *s = &v->seen;
	struct as_damage how = { 0 };
	enum as_check_answer answer = s->run[1]->answer;
	bool again = !as_subject_test(j->subject)->quiet && changes(j, v, base, disk, 1, &how);
	bool silent = again && answer == AS_CHECK_CLEAN;
	int rc = 0;

	while (!rc && again && s->n < AS_FSCK_RUNS) {
		rc = as_judge_run_once(j, AS_SUBJECT_REPAIR, s->run[s->n - 1]->disk, &s->run[s->n],
				       err);
		if (rc || !as_judge_ended_well(j, v, damage, AS_SUBJECT_REPAIR, s->run[s->n],
					       ordinal[s->n]))
			break;
		again = changes(j, v, base, disk, s->n, &how) && s->run[s->n]->answer == answer;
		s->n++;
	}
	if (!rc && again && s->n == AS_FSCK_RUNS)
		judge_restless(v, damage, &how);
	if (!rc && silent)
		judge_silent(j, v, base, damage, disk, 1);
	as_damage_free(&how);
	return rc;
}

static int go_on(struct as_judge *j, const struct as_fsck_base *base, struct as_fsck_verdict *v,
		 const struct as_damage *damage, struct as_disk *disk, struct as_err *err)
{
	struct as_fsck_seen *s = &v->seen;
	int rc = as_judge_run_once(j, AS_SUBJECT_AGAIN, s->run[0]->disk, &s->run[1], err);

	if (rc)
		return rc;
	s->n = 2;
	if (!as_judge_ended_well(j, v, damage, AS_SUBJECT_AGAIN, s->run[1], ordinal[1]))
		return 0;
	if (as_fsck_agree(s->run[0]->answer, s->run[1]->answer) ||
	    as_excuse_second(j->subject, s->run[0]->answer, s->run[1]->answer))
		return plain_mode(j, AS_SUBJECT_AGAIN) == AS_SUBJECT_REPAIR
			       ? settle(j, base, v, damage, disk, err)
			       : 0;
	while (s->n < AS_FSCK_RUNS && s->run[s->n - 1]->answer == AS_CHECK_REPAIRED) {
		rc = as_judge_run_once(j, AS_SUBJECT_REPAIR, s->run[s->n - 1]->disk, &s->run[s->n],
				       err);
		if (rc)
			return rc;
		if (!as_judge_ended_well(j, v, damage, AS_SUBJECT_REPAIR, s->run[s->n],
					 ordinal[s->n]))
			break;
		s->n++;
	}
	judge_twice(j, v, damage);
	return 0;
}

/* A repair that claims to be one must have left what was not damaged. */
static void judge_loss(struct as_fsck_verdict *v, const struct as_fsck_base *base,
		       const struct as_damage *damage)
{
	const struct as_fsck_run *first = v->seen.run[0];
	struct as_loss_found lost = { 0 };

	if (!base->loss || v->problems & (1u << AS_FSCK_DIED | 1u << AS_FSCK_HANGS) ||
	    (first->answer != AS_CHECK_CLEAN && first->answer != AS_CHECK_REPAIRED) ||
	    (v->seen.n > 1 && v->seen.run[1]->answer != AS_CHECK_CLEAN))
		return;
	as_loss_look(base->loss, damage, first->disk, &lost);
	/* After a power cut, other files may have changed as the workload says. */
	v->seen.loss_files = damage->crashed ? lost.unexcused : lost.files;
	as_buf_clear(&v->lost);
	as_buf_adds(&v->lost, as_buf_str(&lost.words));
	if (lost.unexcused) {
		as_judge_begin(v, AS_FSCK_LOSES, damage);
		as_buf_addf(&v->found[AS_FSCK_LOSES].summary,
			    "after the repair, %u files that were not damaged are lost: %s",
			    lost.unexcused, as_buf_str(&lost.first));
		as_judge_end(v, AS_FSCK_LOSES, damage);
	} else if (lost.moved) {
		as_judge_begin(v, AS_FSCK_STEALS, damage);
		as_buf_addf(&v->found[AS_FSCK_STEALS].summary,
			    "after the repair, %u files have lost names that were not damaged: %s",
			    lost.moved, as_buf_str(&lost.first));
		as_judge_end(v, AS_FSCK_STEALS, damage);
	}
	as_loss_found_free(&lost);
}

void as_judge_hurry(struct as_judge *j, unsigned ms)
{
	j->hurries = ms && ms < as_subject_deadline_ms(j->subject);
	as_subject_hurry(j->subject, j->hurries ? ms : 0);
}

static int judge_disk(struct as_judge *j, const struct as_fsck_base *base,
		      const struct as_damage *damage, struct as_disk *disk,
		      struct as_fsck_verdict *v, struct as_err *err)
{
	struct as_fsck_seen *s = &v->seen;
	int rc;

	*s = (struct as_fsck_seen){ 0 };
	v->problems = 0;
	as_buf_clear(&v->lost);
	if (j->n >= KNOWN_MAX)
		forget(j);
	j->counts.disks++;
	rc = as_judge_run_once(j, AS_SUBJECT_REPAIR, disk, &s->run[0], err);
	if (rc)
		return rc;
	s->n = 1;
	if (j->enough && s->run[0]->ended.how == AS_END_EXIT && s->run[0]->documented &&
	    j->enough(j->enough_ctx, s->run[0]))
		return 0;
	if (as_judge_ended_well(j, v, damage, AS_SUBJECT_REPAIR, s->run[0], ordinal[0])) {
		if (as_damage_is_none(damage) && !base->sick && s->run[0]->answer != AS_CHECK_CLEAN)
			judge_healthy(j, v, damage);
		rc = go_on(j, base, v, damage, disk, err);
		if (rc)
			return rc;
		/* A log that is replayed changes the disk, and nothing was wrong. */
		if (!damage->crashed && !base->dirty)
			judge_silent(j, v, base, damage, disk, 0);
		judge_loss(v, base, damage);
		rc = as_judge_ask_kernel(j, base, damage, v, err);
		if (rc)
			return rc;
	}
	return as_judge_look(j, base, damage, disk, v, err);
}

int as_judge_disk(struct as_judge *j, const struct as_fsck_base *base,
		  const struct as_damage *damage, struct as_disk *disk, struct as_fsck_verdict *v,
		  struct as_err *err)
{
	const struct as_judge_counts before = j->counts;
	int rc = judge_disk(j, base, damage, disk, v, err);

	/* It will be judged, and counted, later. */
	if (rc == AS_ESTOP && j->hurries)
		j->counts = before;
	return rc;
}

void as_judge_set_enough(struct as_judge *j, bool (*is)(void *ctx, const struct as_fsck_run *first),
			 void *ctx)
{
	j->enough = is;
	j->enough_ctx = ctx;
}

struct as_judge_counts as_judge_counts(const struct as_judge *j)
{
	return j->counts;
}
