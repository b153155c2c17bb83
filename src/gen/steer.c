/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steer: see steer.h.
 *
 * Method. Algorithm 1 asks of a command whether it leads to a state that was not explored before.
 * With contents, attributes and descriptors in the state nearly every command does, so that this
 * says little of a long workload. What is counted instead are aspects of a step (enum aspect). An
 * aspect that was met n times is worth 1 / (n + 1), and the command with the highest sum is taken.
 * Counts are kept in a table without chains: two that share a place count as one, which does no
 * harm.
 *
 * Of the command with the highest sum the model says what it will answer. A refusal is taken the
 * less often the more often it was met; if it is not taken, the next best command is asked.
 *
 * Invariants
 *   1. Everything is decided by the model, the counts and the choice: the same seed, the same walk.
 *   2. The model that is given is not changed.
 *   3. `looked` is set only while the view shows the names and descriptors of the state. Commands
 *      that change neither need no new look (the order of use may be old then).
 */
#include "gen/steer.h"

#include "base/err.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COUNT_BITS 16
#define CANDIDATES_MAX 64
#define LAST_SIZE 1024u /* inodes of which the last command is known, a power of two */
#define ONE (1u << 16)
#define EDGE_PERCENT 30 /* of numbers that are put at the size of the file */
#define RENAME2_REPLACES 60 /* percent */

/* What is counted of a step. */
enum aspect {
	ASPECT_FLAGS, /* the command and its flags, or the name of the attribute */
	ASPECT_SUBJECT, /* what is typical of the inode */
	ASPECT_NUMBERS, /* how offset and length lie to the size and to blocks */
	ASPECT_SECOND, /* the other end, and how the two are related */
	ASPECT_BEFORE, /* the command that was last done to this inode */
	ASPECT_ALL, /* flags, inode and the command before together */
	ASPECTS
};

struct candidate {
	struct as_op op;
	uint32_t ino; /* 0: it has no subject */
	uint32_t score;
	uint64_t key[ASPECTS];
};

struct as_steer {
	uint32_t weight[2][AS_OP_COUNT];
	struct candidate candidate[CANDIDATES_MAX];
	unsigned n;
	bool looked; /* the view shows the names and descriptors of now */
	uint8_t last[LAST_SIZE]; /* command of each inode, and 1; by the low bits of its number */
	uint16_t count[1u << COUNT_BITS];
};

/* What the commands of a walk have around them: a mount after an umount, say. And what depends on
 * the working directory: a steered command sees the whole tree. */
static bool is_for_walk(enum as_opcode code)
{
	enum as_subject subject = as_gen_rows[code].subject;

	return subject == AS_SUBJECT_QUIET || subject == AS_SUBJECT_TMPFILE ||
	       subject == AS_SUBJECT_GOAL || subject == AS_SUBJECT_NEVER;
}

struct as_steer *as_steer_new(const uint32_t weight[2][AS_OP_COUNT])
{
	struct as_steer *steer = as_xcalloc(1, sizeof(*steer));

	for (unsigned g = 0; g < 2; g++)
		for (int op = 0; op < AS_OP_COUNT; op++)
			if (!is_for_walk((enum as_opcode)op))
				steer->weight[g][op] = weight[g][op];
	return steer;
}

void as_steer_free(struct as_steer *steer)
{
	free(steer);
}

void as_steer_begin(struct as_steer *steer)
{
	memset(steer->last, 0, sizeof(steer->last));
	steer->looked = false;
}

void as_steer_follow(struct as_steer *steer, const struct as_op *op)
{
	const struct as_op_info *info = &as_op_table[op->code];

	if (info->changes & AS_CHANGES_NAMES || info->layer == AS_LAYER_CORE ||
	    info->needs == AS_NEEDS_MOUNT)
		steer->looked = false;
}

/* ---- Aspects of a step ---- */

static uint64_t add(uint64_t key, uint64_t value)
{
	return as_mix64(key * 31 + value);
}

static unsigned at_most(unsigned n, unsigned max)
{
	return n < max ? n : max;
}

static uint64_t add_inode(uint64_t key, const struct as_attrs *a)
{
	key = add(key, a->type);
	return add(key, at_most(a->symlinked, 1) + 2 * at_most(a->hardlinks, 3) +
				8 * at_most(a->children, 2) + 32 * at_most(a->open, 2) +
				128 * at_most(a->depth, 2));
}

/* Whole blocks, and where it lies to the size of the file. */
static uint64_t place(int64_t at, int64_t size)
{
	uint64_t side = at < 0 ? 0 : at == 0 ? 1 : at < size ? 2 : at == size ? 3 : 4;

	return side * 3 + (at % 512 ? 0 : at % 4096 ? 1 : 2);
}

static uint64_t size_class(int64_t size)
{
	unsigned bits = size > 0 ? 64 - (unsigned)__builtin_clzll((uint64_t)size) : 0;

	return (bits + 1) / 2 * 3 + (size % 512 ? 0 : size % 4096 ? 1 : 2);
}

static uint64_t add_numbers(uint64_t key, const struct as_op *op, int64_t size)
{
	switch (op->code) {
	case AS_OP_DEEPEN:
	case AS_OP_ENLARGE:
	case AS_OP_WRITE_XATTR:
		return add(key, size_class((int64_t)op->len));
	case AS_OP_TRUNCATE:
	case AS_OP_FTRUNCATE:
		return add(add(key, size_class(size)), place((int64_t)op->len, size));
	default:
		key = add(key, size_class(size));
		key = add(key, place(op->off, size));
		return add(key, op->len ? place(as_op_end(op), size) : 99);
	}
}

static int64_t size_of(const struct as_gen_view *view, const struct as_model *model, uint32_t spot)
{
	struct as_stat st;

	if (spot >= view->n || !S_ISREG(view->spot[spot].attrs.type))
		return -1;
	return as_model_stat(model, view->text.data + view->spot[spot].path, true, &st)
		       ? (int64_t)st.size
		       : -1;
}

/* Whether the ends of a command are in one directory, one inode, or one below the other. */
static uint64_t relation(const struct as_gen_view *view, uint32_t from, uint32_t to)
{
	const struct as_spot *a = &view->spot[from], *b = &view->spot[to];
	bool below = a->path_len < b->path_len &&
		     !memcmp(view->text.data + a->path, view->text.data + b->path, a->path_len);

	return (a->parent == b->parent) + 2u * (a->parent == to) + 4u * below +
	       8u * (a->attrs.ino == b->attrs.ino);
}

/* The subject and the other end of candidate i of the view. */
struct step_ends {
	const struct as_spot *from, *to; /* NULL: without a name, or there is none */
	const struct as_open *fd, *fd2; /* NULL: by name */
	uint32_t from_spot, to_spot;
};

static const struct as_spot *spot_at(const struct as_gen_view *view, uint32_t i)
{
	return i < view->n ? &view->spot[i] : NULL;
}

static struct step_ends ends_of(const struct as_gen_view *view, const struct as_op *op, unsigned i)
{
	const struct as_gen_row *row = &as_gen_rows[op->code];
	struct step_ends e = { .from_spot = UINT32_MAX, .to_spot = UINT32_MAX };

	if (row->subject == AS_SUBJECT_NONE)
		return e;
	if (row->subject == AS_SUBJECT_FD) {
		e.fd = &view->open[view->from[i]];
		e.from_spot = e.fd->spot;
		if (row->second == AS_SECOND_DESCRIPTOR) {
			e.fd2 = &view->open[view->to[i]];
			e.to_spot = e.fd2->spot;
		}
	} else {
		e.from_spot = view->from[i];
		if (row->second == AS_SECOND_NEW)
			e.to_spot = view->to[i];
	}
	e.from = spot_at(view, e.from_spot);
	e.to = spot_at(view, e.to_spot);
	return e;
}

static void note_aspects(const struct as_steer *steer, const struct as_gen_view *view,
			 const struct as_model *model, struct candidate *c,
			 const struct step_ends *e)
{
	const struct as_op *op = &c->op;
	uint64_t code = add(1, op->code), key = add(code, (uint64_t)op->flags);
	uint8_t last;

	c->ino = e->fd ? e->fd->ino : e->from ? e->from->attrs.ino : 0;
	last = c->ino ? steer->last[c->ino % LAST_SIZE] : 0;
	if (op->name)
		key = add(key, as_hash(op->name, strlen(op->name)).lo);
	c->key[ASPECT_FLAGS] = add(key, ASPECT_FLAGS);
	key = add(code, ASPECT_SUBJECT);
	if (e->fd)
		key = add(key, (uint64_t)e->fd->flags);
	c->key[ASPECT_SUBJECT] = e->from ? add_inode(key, &e->from->attrs) : key;
	c->key[ASPECT_NUMBERS] =
		add_numbers(add(code, ASPECT_NUMBERS), op, size_of(view, model, e->from_spot));
	key = add(code, ASPECT_SECOND);
	if (e->to && e->from)
		key = add(add_inode(key, &e->to->attrs), relation(view, e->from_spot, e->to_spot));
	if (e->fd2)
		key = add(key, place(op->off2, size_of(view, model, e->to_spot)));
	c->key[ASPECT_SECOND] = key;
	c->key[ASPECT_BEFORE] = add(add(code, ASPECT_BEFORE), last);
	c->key[ASPECT_ALL] = add(add(c->key[ASPECT_FLAGS], c->key[ASPECT_SUBJECT]), last);
}

static uint16_t *count_of(struct as_steer *steer, uint64_t key)
{
	return &steer->count[key >> (64 - COUNT_BITS)];
}

static void count_up(uint16_t *count)
{
	if (*count < UINT16_MAX)
		++*count;
}

/* ---- Candidates ---- */

static void fill_in(struct as_gen_view *view, struct as_op *op)
{
	struct as_buf text = { 0 };

	as_draw_args(&view->index, view->profile->dist, view->choice, op, &text);
	as_draw_drop_idle(op);
	if (op->opts && *op->opts)
		op->opts = as_arena_strndup(&view->strings, op->opts, strlen(op->opts));
	as_buf_free(&text);
}

/* Numbers that mean something for this file: its size, its last block, one beside them. */
static void move_to_size(struct as_gen_view *view, struct as_op *op, int64_t size)
{
	int64_t at;

	if (size < 0 || !as_draw_chance(view->choice, EDGE_PERCENT))
		return;
	at = size;
	if (as_choose(view->choice, 2))
		at -= at % (512 << as_choose(view->choice, 4));
	at += (int64_t)as_choose(view->choice, 3) - 1;
	if (at < 0)
		at = 0;
	switch (op->code) {
	case AS_OP_TRUNCATE:
	case AS_OP_FTRUNCATE:
		op->len = (uint64_t)at;
		break;
	case AS_OP_PREAD:
	case AS_OP_PWRITE:
	case AS_OP_PREADV2:
	case AS_OP_PWRITEV2:
	case AS_OP_FALLOCATE:
	case AS_OP_COPY_FILE_RANGE:
	case AS_OP_CLONE_RANGE:
	case AS_OP_DEDUPE_RANGE:
	case AS_OP_MMAP_WRITE:
	case AS_OP_LSEEK:
		if (op->code != AS_OP_LSEEK && at > op->off && as_choose(view->choice, 2))
			op->len = (uint64_t)(at - op->off);
		else
			op->off = at;
		break;
	default:
		break;
	}
}

static void consider(struct as_steer *steer, struct as_gen_view *view, const struct as_model *model,
		     enum as_opcode code, bool fill)
{
	struct as_op built[AS_KMEANS_MAX];
	unsigned n = as_view_build(view, model, code, built);

	for (unsigned i = 0; i < n && steer->n < CANDIDATES_MAX; i++) {
		struct candidate *c = &steer->candidate[steer->n++];
		struct step_ends ends = ends_of(view, &built[i], i);

		*c = (struct candidate){ .op = built[i] };
		if (fill) {
			fill_in(view, &c->op);
			move_to_size(view, &c->op, size_of(view, model, ends.from_spot));
		}
		note_aspects(steer, view, model, c, &ends);
		for (unsigned a = 0; a < ASPECTS; a++)
			c->score += ONE / (1u + *count_of(steer, c->key[a]));
	}
}

/* Of those with the highest score, any. */
static unsigned best_of(const struct as_steer *steer, struct as_choice *choice)
{
	unsigned best = 0, alike = 0;

	for (unsigned i = 0; i < steer->n; i++) {
		uint32_t score = steer->candidate[i].score, high = steer->candidate[best].score;

		if (score < high)
			continue;
		alike = score > high ? 1 : alike + 1;
		if (as_choose(choice, alike) == 0)
			best = i;
	}
	return best;
}

/* A refusal is worth the less the more often it was met. */
static bool takes_refusal(struct as_steer *steer, struct as_choice *choice,
			  const struct candidate *c, int err)
{
	uint16_t *count = count_of(steer, add(c->key[ASPECT_FLAGS], (uint64_t)err));
	bool takes = as_choose(choice, 2u + *count / 4u) == 0;

	if (takes)
		count_up(count);
	return takes;
}

static void take(struct as_steer *steer, const struct candidate *c)
{
	for (unsigned a = 0; a < ASPECTS; a++)
		count_up(count_of(steer, c->key[a]));
	if (c->ino)
		steer->last[c->ino % LAST_SIZE] = (uint8_t)(c->op.code + 1);
}

static void gather(struct as_steer *steer, struct as_gen_view *view, const struct as_model *model,
		   bool growing, bool fill)
{
	enum as_opcode codes[AS_COMPARE_MAX];
	size_t n = view->profile->compare;

	steer->n = 0;
	if (!steer->looked)
		as_view_look(view, model, true);
	steer->looked = true;
	if (!as_view_draw_types(view, steer->weight[growing], codes, n))
		return;
	for (size_t i = 0; i < n; i++) {
		/* An exchange needs a name that exists. */
		view->replace =
			codes[i] == AS_OP_RENAME2 ? RENAME2_REPLACES : view->profile->replace;
		consider(steer, view, model, codes[i], fill);
	}
	view->replace = 0;
}

struct as_model *as_steer_pick(struct as_steer *steer, struct as_gen_view *view,
			       const struct as_model *model, bool growing, bool fill,
			       struct as_op *op)
{
	gather(steer, view, model, growing, fill);
	while (steer->n) {
		struct candidate *c = &steer->candidate[best_of(steer, view->choice)];
		struct as_model *after = as_model_copy(model);
		int err = as_model_apply(after, &c->op);

		if (!err || takes_refusal(steer, view->choice, c, err)) {
			take(steer, c);
			*op = c->op;
			return after;
		}
		as_model_free(after);
		*c = steer->candidate[--steer->n];
	}
	return NULL;
}
