/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * race: a workload in several threads, while one more thread syncs and remounts (Dogfood's third
 * scenario, section 6.1). The answers are right if some order of the calls explains them
 * (race/linear.h).
 *
 * A workload is brought into a form that threads can share, split among the threads, carried out
 * with random delays, and judged. All random choices come from one seed. With the same seed a
 * library gives the same answers every time: it must not be called twice at a time, so one thread
 * interleaves its calls. A kernel meets the same delays.
 */
#ifndef AS_RACE_RACE_H
#define AS_RACE_RACE_H

#include "race/linear.h"
#include "vfs/vfs.h"

#define AS_RACE_THREADS 3u
#define AS_RACE_THREADS_MAX 8u
#define AS_RACE_REPEAT 10u
#define AS_RACE_DELAY_US 200u

struct as_race_options {
	unsigned threads; /* 0: one thread runs the whole workload, in order */
	unsigned repeat; /* how often each workload is run; 0: AS_RACE_REPEAT */
	unsigned delay_us; /* the longest */
	/* Decides which thread does what, and the delays; 0: another seed for each run. */
	uint64_t seed;
	bool vary; /* only the first run has this seed */
};

/* "threads=3,repeat=10,delay=200,seed=7": what is left out has its default. */
AS_MUST_CHECK int as_race_parse(const char *params, struct as_race_options *options,
				struct as_err *err);
void as_race_print(const struct as_race_options *options, struct as_buf *out);

/*
 * A copy of the workload in which every operation is one call with absolute paths. What has no such
 * form is left out and counted. A workload that is in this form stays as it is. `first` is the
 * model before the workload. syncs: `sync` is done by the threads, too; otherwise it is left out,
 * because one more thread does nothing else. race_form.c says what becomes of each operation.
 */
struct as_seq *as_race_form(const struct as_seq *seq, const struct as_model *first, bool syncs,
			    uint64_t *left_out);
/* Sets thread[i] to the thread that does operation i, and returns how many of the first operations
 * are done before the threads start. An operation keeps its thread when others are removed. */
size_t as_race_split(const struct as_seq *form, unsigned threads, uint64_t seed, uint8_t *thread);
/* The seed of run number i. */
uint64_t as_race_seed(const struct as_race_options *options, uint64_t seed, unsigned i);
/* The seed of its delays. When all runs have one seed, each thread does the same in every run, but
 * at other times. */
uint64_t as_race_delays(const struct as_race_options *options, uint64_t race_seed, unsigned i);

/* Called by all the threads; may be NULL. */
struct as_race_watch {
	void (*begins)(void *ctx, unsigned thread, size_t op);
	void (*ended)(void *ctx, unsigned thread, size_t op);
	void (*beat)(void *ctx); /* every now and then while the answers are judged */
	void *ctx;
};

struct as_race_run {
	const struct as_seq *form;
	const struct as_race_options *options;
	uint64_t seed, delays;
	struct as_vfs *vfs;
	bool remounts; /* the thread that syncs remounts, too */
	bool alone; /* there is no such thread */
	/* If one thread makes the calls of all, each ends before the next begins: the order is the
	 * one in which they were made. */
	bool in_turn;
	const struct as_race_watch *watch; /* NULL: nobody */
	/* Called when the clock goes on, at the beginning and at the end of each call, by one
	 * thread at a time: the moments of all that has happened are before `now`. May be NULL. */
	void (*tick)(void *ctx, uint64_t now);
	/* Called before each call if one thread makes the calls of all. May be NULL. */
	void (*plays)(void *ctx, unsigned thread);
	void *ctx;
};

struct as_race_history {
	struct as_linear_call *calls; /* by operation; n of them; they own their data */
	size_t n;
	bool atomic; /* one call at a time */
	uint64_t until; /* the clock at the end */
	/* A wrong answer that the thread which syncs and remounts got, in words; "": none */
	char beside[96];
};

AS_MUST_CHECK int as_race_run(const struct as_race_run *run, struct as_race_history *history,
			      struct as_err *err);
/* Whether some call answered this error (positive). */
bool as_race_answered(const struct as_race_history *history, int err);
void as_race_history_free(struct as_race_history *history);

struct as_race_verdict {
	struct as_model *last; /* the model at the end; NULL: no order explains the answers */
	bool gave_up;
	struct as_raced raced; /* how the calls were judged */
	size_t guilty; /* the call that cannot be explained; n: none by itself */
	const char *about; /* "rename" */
	struct as_buf why, signature;
};

/* The model before the calls is `first`; the tree after them is what `vfs` reads now. */
void as_race_judge(const struct as_race_history *history, const struct as_model *first,
		   struct as_vfs *vfs, const struct as_race_watch *watch,
		   struct as_race_verdict *verdict);
void as_race_verdict_free(struct as_race_verdict *verdict);

/* For a finding: the calls as they overlapped, before and after `guilty` (n: all of them), in at
 * most max_lines lines. */
void as_race_describe(const struct as_race_history *history, size_t guilty, size_t max_lines,
		      struct as_buf *out);

/* A pause of random length, before a request of a disk. Called by one thread only. */
struct as_race_delay;
struct as_race_delay *as_race_delay_new(const struct as_race_options *options, uint64_t seed);
void as_race_delay_free(struct as_race_delay *delay); /* takes NULL */
void as_race_delay_pause(void *delay);

#endif
