/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view: one state as the generator looks at it: the names below the working directory with their
 * attribute vectors, the open descriptors, which names are still free where; and the commands that
 * can be built from it (work/op.def).
 */
#ifndef AS_GEN_VIEW_H
#define AS_GEN_VIEW_H

#include "base/arena.h"
#include "gen/profile.h"
#include "model/model.h"

enum as_subject {
	AS_SUBJECT_NEVER,
	AS_SUBJECT_NONE,
	AS_SUBJECT_PARENT,
	AS_SUBJECT_DIR,
	AS_SUBJECT_REG,
	AS_SUBJECT_FILE,
	AS_SUBJECT_LINK,
	AS_SUBJECT_ANY,
	AS_SUBJECT_DIR_REG,
	AS_SUBJECT_NONDIR,
	AS_SUBJECT_MOVABLE,
	AS_SUBJECT_EMPTY,
	AS_SUBJECT_GOAL,
	AS_SUBJECT_FD,
	AS_SUBJECT_QUIET,
	AS_SUBJECT_TMPFILE,
};

/* Whether an inode of that kind can be the subject, as far as the kind alone decides. */
static inline bool as_subject_takes(enum as_subject subject, bool dir, bool reg, bool link)
{
	switch (subject) {
	case AS_SUBJECT_PARENT:
	case AS_SUBJECT_DIR:
	case AS_SUBJECT_GOAL:
	case AS_SUBJECT_EMPTY:
		return dir;
	case AS_SUBJECT_REG:
	case AS_SUBJECT_FILE:
		return reg;
	case AS_SUBJECT_LINK:
		return link;
	case AS_SUBJECT_DIR_REG:
		return dir || reg;
	case AS_SUBJECT_NONDIR:
		return !dir;
	default:
		return true;
	}
}

enum as_second { AS_SECOND_NOTHING, AS_SECOND_NEW, AS_SECOND_DESCRIPTOR };

struct as_gen_row {
	bool known; /* can be drawn */
	enum as_subject subject;
	enum as_second second;
	uint64_t features;
	bool breaks;
};

extern const struct as_gen_row as_gen_rows[AS_OP_COUNT];

/* A name in the tree. */
struct as_spot {
	uint32_t path, path_len; /* in the text of the view */
	uint32_t parent; /* spot of its directory; its own index for the first spot */
	struct as_attrs attrs;
	struct as_point point;
	uint64_t taken; /* a directory: names of the alphabet it holds */
};

struct as_open {
	int32_t slot;
	uint32_t ino;
	uint32_t spot; /* one of its names; UINT32_MAX: it has none in the view */
	int64_t flags;
	struct as_point point;
};

struct as_gen_view {
	const struct as_profile *profile;
	struct as_choice *choice;
	void (*watch)(void *ctx, bool begin); /* around each clustering, for measuring; or NULL */
	void *watch_ctx;

	/* The state looked at: spot 0 is the working directory. */
	struct as_spot *spot;
	size_t n, cap;
	struct as_open open[64];
	unsigned n_open;
	uint64_t slots_taken;
	struct as_buf text;
	bool at_root; /* the working directory is the root */
	/* How many percent of the second paths of a rename are typical names that exist. A backbone
	 * has none. */
	uint64_t replace;
	/* Of what was built last: the spot of each subject, or its place in `open`; and the same of
	 * the second path (or its directory) or descriptor. */
	uint32_t from[AS_KMEANS_MAX], to[AS_KMEANS_MAX];

	/* Internal. */
	uint32_t *above; /* spot of the directory at each depth */
	size_t above_cap;
	uint32_t *candidate;
	struct as_point *point;
	size_t candidate_cap, point_cap;
	struct as_arena strings; /* of the operations built; good until the next look */
	struct as_op plain[AS_OP_COUNT];
	struct as_draw_index index;
	uint8_t by_byte[256]; /* first name of the alphabet with that first byte, from 1 */
};

/* The profile and the choice must outlive the view. */
void as_view_init(struct as_gen_view *view, const struct as_profile *profile,
		  struct as_choice *choice);
void as_view_free(struct as_gen_view *view);
/* Looks at a state; whole: at all of the tree in place of what is below the working directory. */
void as_view_look(struct as_gen_view *view, const struct as_model *model, bool whole);

/* Puts the spots that can be the subject into view->candidate, their points into view->point. */
size_t as_view_candidates(struct as_gen_view *view, enum as_subject subject);
/* Whether a command of that type can be built at all. */
bool as_view_can(const struct as_gen_view *view, enum as_opcode code);
/* One command for each typical inode (at most k), with plain arguments. */
unsigned as_view_build(struct as_gen_view *view, const struct as_model *model, enum as_opcode code,
		       struct as_op out[AS_KMEANS_MAX]);
/* Every command of that type there is, absolute paths only. Stops on a non-zero return. */
int as_view_build_all(struct as_gen_view *view, const struct as_model *model, enum as_opcode code,
		      int (*fn)(void *ctx, const struct as_op *op), void *ctx);

/* Draws n types by weight among those that can be built; false when there is none. */
bool as_view_draw_types(const struct as_gen_view *view, const uint32_t weight[AS_OP_COUNT],
			enum as_opcode *codes, size_t n);
/* The same for one; AS_OP_COUNT when there is none. */
enum as_opcode as_view_draw_type(const struct as_gen_view *view,
				 const uint32_t weight[AS_OP_COUNT]);

#endif
