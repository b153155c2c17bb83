/* SPDX-License-Identifier: GPL-2.0-or-later */
/* linear_priv: what the search and the steps of a call share. Only race/linear*.c include it. */
#ifndef AS_RACE_LINEAR_PRIV_H
#define AS_RACE_LINEAR_PRIV_H

#include "base/arena.h"
#include "base/digests.h"
#include "race/linear.h"

/* What calls change of an inode; and how much less strictly a call is judged because others did
 * meanwhile (linear_touch.c: if they did so to what it tells of). */
enum {
	LINEAR_APART = 1, /* it may be taken apart */
	LINEAR_DATA = 2, /* bytes: a range of offsets */
	LINEAR_SIZE = 4,
	LINEAR_NAMES = 8, /* names in a directory: a range of keys */
	LINEAR_LINKS = 16, /* its own names, and their number */
	LINEAR_TORN = 32, /* another call moves bytes in several steps */
	LINEAR_ALL = LINEAR_DATA | LINEAR_SIZE | LINEAR_NAMES | LINEAR_LINKS,
};

#define LINEAR_CHANGES 12u
#define LINEAR_PROMISES 4u

/* A part of an inode. */
struct as_linear_part {
	uint64_t from, to; /* of DATA and NAMES; else 0 and LINEAR_END */
	uint32_t ino; /* 0 stands for all inodes */
	uint8_t what;
};

#define LINEAR_END UINT64_MAX

/* What a call has changed. */
struct as_linear_touch {
	uint32_t n;
	struct as_linear_part part[LINEAR_CHANGES];
};

/* The answer of this call was accepted because another one, which is still to come, changes the
 * part. */
struct as_linear_promise {
	uint32_t call;
	struct as_linear_part part;
};

/* How far a thread has come, in one state. */
struct as_linear_party {
	uint32_t next; /* the next one of its calls */
	uint8_t stage, links,
		seen; /* the next step of that call, if it is taken apart; 0: not begun */
	const char *rest[2]; /* what is left of each of its paths */
};

struct as_linear_node {
	struct as_model *m;
	uint32_t done; /* calls that are done */
	uint32_t n_promises;
	struct as_linear_promise promise[LINEAR_PROMISES];
	struct as_linear_party party[];
};

struct as_linear_search {
	const struct as_linear *how;
	struct as_linear_result *result;
	uint32_t n_threads;
	size_t *of[AS_LINEAR_THREADS_MAX]; /* numbers of a thread's calls, in order */
	uint32_t n_of[AS_LINEAR_THREADS_MAX];
	uint32_t *place; /* of each call, among those of its thread */
	uint8_t *leeway; /* of each call: at most this much */
	struct as_linear_touch *touch; /* of each call that is watched */
	bool *watched; /* the calls whose changes may be an excuse for the answer of another */
	uint32_t *watches; /* their numbers */
	uint32_t n_watches;
	uint32_t *inode; /* of each call: the number of the inode that it makes, if it makes one */
	uint32_t next_inode; /* after all of these */
	bool numbered; /* these numbers are used */
	struct as_linear_part *about; /* of each call with leeway: what its answer tells of */
	bool apart; /* calls are taken apart now */
	struct as_arena texts; /* paths that symbolic links lead to */
	struct as_digests visited;
	uint64_t max_states;
	/* Bytes may have become a mixture that no order of whole calls explains. */
	bool mixed;
	bool gave_up, reached; /* all calls were explained, but the tree at the end is wrong */
	size_t *order; /* the calls up to the state we are in */
	struct as_linear_node *best; /* the state with the most calls done; NULL: none yet */
	struct as_verdict verdict;
	struct as_buf text[2];
};

static inline bool linear_overlap(const struct as_linear_call *a, const struct as_linear_call *b)
{
	return a->thread != b->thread && a->begin < b->end && b->begin < a->end;
}

static inline const struct as_linear_call *
linear_next(const struct as_linear_search *x, const struct as_linear_node *n, uint32_t thread)
{
	return &x->how->calls[x->of[thread][n->party[thread].next]];
}

/* linear.c */
/* Before a search: whether some call may be taken apart. Neither *x nor *result need be
 * initialized. */
bool as_linear_open(struct as_linear_search *x, const struct as_linear *how,
		    struct as_linear_result *result);
void as_linear_close(struct as_linear_search *x);
struct as_linear_node *as_linear_begin(const struct as_linear_search *x); /* the first state */
struct as_linear_node *as_linear_copy(const struct as_linear_search *x,
				      const struct as_linear_node *from);
void as_linear_free(struct as_linear_node *n); /* takes NULL */
struct as_digest as_linear_digest(const struct as_linear_search *x, const struct as_linear_node *n);
/* The threads that may come next, those whose call ended earlier first; how many. */
uint32_t as_linear_who_is_next(const struct as_linear_search *x, const struct as_linear_node *n,
			       uint32_t *threads);

/* linear_call.c */
void as_linear_mark(struct as_linear_search *x);
/* Does the next call of the thread or, if calls are taken apart, its next step. False: it cannot
 * come next. */
bool as_linear_step(struct as_linear_search *x, struct as_linear_node *n, uint32_t thread,
		    bool apart);

/* linear_answer.c */
bool as_linear_is_stat(const struct as_linear_call *c);
/* The whole call at this moment. `op` is the call's, or the same with other paths. */
bool as_linear_answer(struct as_linear_search *x, struct as_linear_node *n, const struct as_op *op,
		      const struct as_linear_call *c);
/* A part of a stat: *seen gets the parts that are right at this moment. False: nothing is gained.
 * *whole: each part has been right, or may be left open. */
bool as_linear_stat(struct as_linear_search *x, struct as_linear_node *n, const struct as_op *op,
		    const struct as_linear_call *c, uint8_t *seen, bool *whole);

/* linear_touch.c */
/* Before the search: chooses the calls that are watched, and sets beside[i] to what others may have
 * changed while call i ran (enum as_changes). */
void as_linear_watch(struct as_linear_search *x, uint8_t *beside);
/* The key of a name, as the range of a part has it. */
uint64_t as_linear_key(const char *name, size_t len);
/* Whether another call changed some of this part, or can still change it, while this one ran. The
 * state may get a promise. */
bool as_linear_excuse(const struct as_linear_search *x, struct as_linear_node *n, size_t call,
		      struct as_linear_part part);
/* Whether the call moves bytes from file to file, or to and from memory that is one, in several
 * steps. */
bool as_linear_copies(const struct as_linear_call *c);
/* The slot of its first (0) or second (1) descriptor; of a mapping, the one that holds the file. */
int32_t as_linear_slot(const struct as_op *op, int k);
/* Whether a call that overlapped this one changed the inode, or can still change it. */
bool as_linear_mixes(const struct as_linear_search *x, const struct as_linear_node *n, size_t call,
		     uint32_t ino);
/* Before a step of a call: the numbers of the inodes that it makes. */
void as_linear_number(const struct as_linear_search *x, struct as_model *m, size_t call);
/* After a step of a call. False: a promise can no longer be kept. */
bool as_linear_settle(struct as_linear_search *x, const struct as_linear_node *before,
		      struct as_linear_node *after, size_t call);
/* What tells apart states whose models are equal. */
uint64_t as_linear_touch_key(const struct as_linear_search *x, const struct as_linear_node *n);
/* How the answers were judged on the path that the search is on, at its end. */
void as_linear_count(const struct as_linear_search *x, struct as_raced *raced);

#endif
