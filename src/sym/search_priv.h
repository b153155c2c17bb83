/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search_priv: what search*.c share. */
#ifndef AS_SYM_SEARCH_PRIV_H
#define AS_SYM_SEARCH_PRIV_H

#include "base/choice.h"
#include "base/table.h"
#include "sym/path.h"
#include "sym/search.h"

/* Values for the bytes of a place that have not been run yet. */
struct sym_candidate {
	unsigned char *values;
	uint64_t way; /* the branch and the way that it should take; 0: the beginning */
	uint64_t expect; /* the digest of the path up to there */
	size_t expect_at; /* how many steps that are */
	uint64_t seq;
	uint32_t generation, gain; /* gain: new blocks of the path that it came from */
	uint32_t problems; /* a mask; see `judged` */
	/* Not 0: it was run, and this round is for questions that there was no time for. */
	uint32_t round;
	/* 0: nothing has gone that way; 1: a branch; 2: another address; 3: another round; 4: more
	 * addresses */
	uint8_t class;
	bool concrete; /* found with some bytes as they were */
	bool judged; /* by native runs */
};

#define SYM_CLASS_LAST 4u

/* A place and what is known of it. */
struct sym_ground {
	const struct as_place *place;
	unsigned char *healthy; /* its bytes on the disk */
	struct sym_candidate *heap; /* the best is the first */
	size_t n, cap;
	struct as_table asked; /* digests of a path's beginning and a way at its end */
	struct as_table tried; /* values */
	struct as_table paths;
	uint64_t turns, gain; /* gain: new blocks in the last turn */
	uint64_t key; /* for what is remembered */
	int64_t spent_us;
	bool cut; /* it has used up its time */
};

/* What is combined: answers of places of one disk, and edges, that are on it together. */
struct sym_breed {
	struct as_damaged_byte *bytes;
	size_t n;
	uint32_t seals[AS_PLACE_SEALS_MAX]; /* to be computed anew */
	unsigned n_seals;
	unsigned parts;
	char *words;
	uint32_t uses;
	bool bad; /* something is wrong with it */
	bool uncovered; /* it says what no disk said before, and its code was not counted yet */
};

/* How often something was tried, and what the news of it were worth. */
struct sym_luck {
	uint32_t tries, wins;
};

#define SYM_ARM_WAYS 48u

/* Fields that are alike on all disks, and the values that they were given. */
struct sym_arm {
	struct sym_luck all, ways[SYM_ARM_WAYS];
};

/* A field of a disk that gets other values. */
struct sym_spot {
	uint32_t field, arm;
};

struct sym_edge {
	uint32_t arm, way;
};

#define SYM_EDGES_MAX 4u

/* A disk that is being made. */
struct sym_make {
	uint32_t base;
	struct as_disk *disk;
	uint32_t seals[AS_PLACE_SEALS_MAX];
	unsigned n_seals, parts;
	struct sym_edge edges[SYM_EDGES_MAX];
	unsigned n_edges;
	struct as_buf words;
};

/* What is combined on one disk (search_cross.c). */
struct sym_pool {
	struct sym_breed *items;
	size_t n, cap;
	struct sym_ground **grounds; /* of the disk */
	size_t n_grounds, cap_grounds;
	struct sym_spot *spots;
	size_t n_spots, cap_spots;
	bool spotted; /* they were looked for */
	struct as_table voices; /* what was said of it */
	struct as_table tried; /* damages */
	struct as_table said; /* all that a first run said, as a number, and how often */
	unsigned hangs;
	int64_t mean_us; /* of what is judged */
	uint64_t news; /* things that were said of no disk before, in this turn */
	double gain, spent; /* of its turns, the last ones count most */
};

struct sym_search {
	const struct as_search_setup *setup;
	struct as_fsck_subject *subject;
	struct as_solver *solver;
	struct as_sym_server *server; /* for one disk at a time */
	uint32_t server_base;
	uint32_t *visits; /* of each disk: how often it was turned to */
	struct sym_ground *grounds;
	size_t n;
	struct as_table ways; /* that some path went */
	struct sym_pool *pools; /* of each disk */
	struct as_chooser *chooser;
	struct as_table voices; /* what was said of any disk */
	struct sym_arm *arms;
	size_t n_arms, cap_arms;
	struct as_table arm_table;
	/* Time for combining; of it: for disks that hang, and to count code. */
	int64_t crossed_us, hung_us, covered_us;
	struct as_buf heard;
	uint64_t seq;
	uint64_t *tallies; /* of this turn */
	const struct as_fsck_door *door; /* of this turn; NULL: there is none */
	int64_t until; /* it lasts until then */
	struct sym_candidate *fresh; /* found, but not waiting yet */
	size_t n_fresh, cap_fresh;
	struct as_solve_counts counts; /* before this turn */
	unsigned deaths; /* of servers, in a row */
	unsigned worker;
	uint64_t cut; /* places that were out of time when the session began */
	uint64_t program; /* its name as a number (blocks.h) */
	/* What exploring one disk gives, to be remembered, and records that are ready. */
	struct as_keep_head note;
	struct as_buf notes[AS_KEEP_LISTS], ready;
};

/* A hash of where and which way. */
uint64_t as_search_way(uint64_t site, as_u128 value);
uint64_t as_search_mix(uint64_t prefix, uint64_t way);

void as_heap_push(struct sym_ground *g, const struct sym_candidate *c);
bool as_heap_pop(struct sym_search *s, struct sym_ground *g, struct sym_candidate *out);

/* search_open.c: the places of a worker, with what earlier sessions know of them. */
int as_search_open(const struct as_fsck_source *source, struct as_fsck_subject *subject,
		   unsigned worker, unsigned workers, void **own, struct as_err *err);
void as_search_close(void *own);
/* What is noted between these two is one record. */
void as_search_note_begin(struct sym_search *s, const struct sym_ground *g,
			  const struct sym_candidate *c);
void as_search_note_end(struct sym_search *s);
void as_search_note(struct sym_search *s, enum as_keep_list list, uint64_t number);

/* Asks for the other way at each branch of a path, and adds what is found. */
void as_search_expand(struct sym_search *s, struct sym_ground *g, struct as_path *path,
		      const struct sym_candidate *from, uint32_t gain, uint64_t run_us);
/* A number of the values and the round. */
uint64_t as_search_hash(const struct sym_ground *g, const unsigned char *values, uint32_t round);
/* Adds values, unless they were there before in that round. They wait after as_search_take_in. */
void as_search_add(struct sym_search *s, struct sym_ground *g, struct sym_candidate *c);
/* search_judge.c */
AS_MUST_CHECK int as_search_judge(struct sym_search *s, const struct sym_ground *g,
				  struct sym_candidate *c, const struct as_damage *damage,
				  struct as_err *err);
AS_MUST_CHECK int as_search_take_in(struct sym_search *s, struct sym_ground *g, struct as_err *err);
/* search_cross.c */
void as_search_pools_open(struct sym_search *s);
void as_search_pools_free(struct sym_search *s);
/* The candidate was judged: if the checker says something new, it is kept. */
void as_search_hear(struct sym_search *s, const struct sym_ground *g, const struct sym_candidate *c,
		    const struct as_damage *damage);
/* Whether answers are combined on the ground's disk. */
bool as_search_crosses(const struct sym_search *s, const struct sym_ground *g);
/* Judges the disk as it is. */
AS_MUST_CHECK int as_search_as_it_is(struct sym_search *s, uint32_t base, struct as_err *err);
/* Judges combinations of what was kept of the ground's disk. */
AS_MUST_CHECK int as_search_cross(struct sym_search *s, const struct sym_ground *g, int64_t until,
				  struct as_err *err);
void as_search_add_seal(struct sym_make *m, uint32_t seal);
void as_search_add_words(struct sym_make *m, const char *words);
/* search_edge.c: some number of the disk becomes another one. */
void as_search_edge(struct sym_search *s, struct sym_pool *pool, struct sym_make *m);
void as_search_find_spots(struct sym_search *s, uint32_t base);
/* What the news of a disk with these edges were worth, and how long it took. */
void as_search_learn(struct sym_search *s, struct sym_pool *pool, const struct sym_make *m,
		     unsigned wins, int64_t took_us);
void as_search_arms_free(struct sym_search *s);
/* search.c: judges a disk, runs it under the tool, and goes on from its path. */
AS_MUST_CHECK int as_search_explore(struct sym_search *s, struct sym_ground *g,
				    struct sym_candidate *c, struct as_err *err);
/* What was counted since the note began. */
void as_search_count_live(struct sym_search *s);
/* Runs a disk under the tool, for the blocks of code that it reaches. */
AS_MUST_CHECK int as_search_cover(struct sym_search *s, const struct as_place *p,
				  const struct as_damage *damage, struct as_err *err);

#endif
