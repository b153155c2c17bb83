/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * race: a workload in several threads, beside which one more syncs and remounts (Dogfood's third
 * scenario, section 6.1). What the threads were answered is judged by whether some order of their
 * calls explains it (race/linear.h).
 *
 * The steps: a workload is brought into a form that threads can share, split among them, carried
 * out with random delays, judged. All chance comes from one seed: with it a library answers the
 * same every time (its calls are interleaved by one thread: it must not be called twice at a time),
 * a kernel meets the same delays.
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
	unsigned threads; /* 0: the workload is run by one, in order */
	unsigned repeat; /* how often each workload is run; 0: AS_RACE_REPEAT */
	unsigned delay_us; /* the longest */
	/* Of who does what and of the delays; 0: another one for each run. */
	uint64_t seed;
	bool vary; /* the seed is that of the first run only */
};

/* "threads=3,repeat=10,delay=200,seed=7": what is not said gets its default. */
AS_MUST_CHECK int as_race_parse(const char *params, struct as_race_options *options,
				struct as_err *err);
void as_race_print(const struct as_race_options *options, struct as_buf *out);

/*
 * A copy made of operations that are one call each, by absolute paths; the rest is left out and
 * counted. The form of a form is itself. `first` is the model before it. What becomes of which
 * operation is said in race_form.c.
 */
struct as_seq *as_race_form(const struct as_seq *seq, const struct as_model *first,
			    uint64_t *left_out);
/* Who does what: thread[i] of operation i. Returns how many of the first operations are done
 * before the threads run free. Stays the same for what is left when others are removed. */
size_t as_race_split(const struct as_seq *form, unsigned threads, uint64_t seed, uint8_t *thread);
/* The seed of run number i. */
uint64_t as_race_seed(const struct as_race_options *options, uint64_t seed, unsigned i);
/* And of its delays: where all runs have one seed, who does what stays, and when changes. */
uint64_t as_race_delays(const struct as_race_options *options, uint64_t race_seed, unsigned i);

/* What threads tell of themselves, from all of them; may be NULL. */
struct as_race_watch {
	void (*begins)(void *ctx, unsigned thread, size_t op);
	void (*ended)(void *ctx, unsigned thread, size_t op);
	void (*beat)(void *ctx); /* while it is judged */
	void *ctx;
};

struct as_race_run {
	const struct as_seq *form;
	const struct as_race_options *options;
	uint64_t seed, delays;
	struct as_vfs *vfs;
	bool remounts; /* the one beside them remounts, too */
	const struct as_race_watch *watch; /* NULL: nobody */
};

struct as_race_history {
	struct as_linear_call *calls; /* by operation; n of them; they own their data */
	size_t n;
	bool atomic; /* one call at a time */
	/* What the one beside them was answered that is wrong, in words; "": nothing */
	char beside[96];
};

AS_MUST_CHECK int as_race_run(const struct as_race_run *run, struct as_race_history *history,
			      struct as_err *err);
void as_race_history_free(struct as_race_history *history);

struct as_race_verdict {
	struct as_model *last; /* explained: where that ends; NULL: not */
	bool gave_up;
	size_t guilty; /* the call that cannot be explained; n: none by itself */
	const char *about; /* "rename" */
	struct as_buf why, signature;
};

/* Against the model before them and the tree that `vfs` reads now. */
void as_race_judge(const struct as_race_history *history, const struct as_model *first,
		   struct as_vfs *vfs, const struct as_race_watch *watch,
		   struct as_race_verdict *verdict);
void as_race_verdict_free(struct as_race_verdict *verdict);

/* For a finding: the calls as they overlapped, those before and behind `guilty` (n: all), at most
 * so many lines. */
void as_race_describe(const struct as_race_history *history, size_t guilty, size_t max_lines,
		      struct as_buf *out);

/* A pause of chance length, for disks: to be called by one thread. */
struct as_race_delay;
struct as_race_delay *as_race_delay_new(const struct as_race_options *options, uint64_t seed);
void as_race_delay_free(struct as_race_delay *delay); /* takes NULL */
void as_race_delay_pause(void *delay);

#endif
