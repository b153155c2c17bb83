/* SPDX-License-Identifier: GPL-2.0-or-later */
/* again: see again.h. */
#include "crash/again.h"

#include "base/array.h"
#include "crash/board.h"
#include "crash/recrash.h"
#include "snapshot/tree.h"

#include <stdlib.h>
#include <string.h>

#define KEPT 4096u /* crash states whose reads are known; each has one place */
#define MEMO_BYTES ((uint64_t)64 << 20)

struct known_reads {
	struct as_digest key;
	struct as_sector_span *span;
	size_t n;
};

/* The memo answers with the digest of the tree, in words. */
struct as_again {
	struct as_recoverer *recoverer;
	/* Of recoveries, and of their crash states: an answer of the first kind is worth a hundred
	 * of the second, which would take its place. */
	struct as_memo *memo, *states;
	bool verifies; /* what is known is tried all the same */
	bool known[AS_WAYS]; /* of the last recovery by this way, then */
	struct as_disk_reads now; /* of the crash state that is tried */
	unsigned char *buf;
	size_t buf_cap;
	struct as_board *board; /* NULL: there is none */
	uint64_t board_at; /* up to where it was read */
	uint64_t told; /* as_again_told() */
	struct as_buf notice;
	struct known_reads kept[KEPT];
};

struct as_again *as_again_new(struct as_recoverer *recoverer, const struct as_crash_options *o,
			      struct as_board *board)
{
	struct as_again *again;

	/* During two recoveries in a row, sectors of both are not those of the disk. */
	if (!as_recoverer_in_process(recoverer) || o->memo == AS_MEMO_OFF || o->again != 1 ||
	    (o->prune & AS_PRUNE_PROVED) != AS_PRUNE_PROVED || o->prune & AS_PRUNE_VERIFY)
		return NULL;
	again = as_xcalloc(1, sizeof(*again));
	again->recoverer = recoverer;
	again->memo = as_memo_new(MEMO_BYTES);
	again->states = as_memo_new(MEMO_BYTES);
	again->verifies = o->memo == AS_MEMO_VERIFY;
	again->board = board;
	return again;
}

void as_again_free(struct as_again *again)
{
	if (!again)
		return;
	for (unsigned i = 0; i < KEPT; i++)
		free(again->kept[i].span);
	as_disk_reads_free(&again->now);
	as_memo_free(again->memo);
	as_memo_free(again->states);
	free(again->buf);
	as_buf_free(&again->notice);
	free(again);
}

/* ---- What is known --------------------------------------------------------------------------- */

static uint32_t kind_of_recovery(enum as_way way)
{
	return (uint32_t)way;
}

static uint32_t kind_of_state(enum as_way way, unsigned how)
{
	as_assert(how < AS_AGAIN_HOWS);
	return AS_WAYS + (uint32_t)way * AS_AGAIN_HOWS + how;
}

static bool is_tree(const struct as_memo_answer *answer, const struct as_tree *tree)
{
	char hex[AS_DIGEST_HEX_LEN + 1];

	if (!answer || !tree)
		return false;
	as_digest_hex(as_tree_digest(tree), hex);
	return !strcmp(answer->why, hex);
}

/* What others have found out since the last look. */
static void read_board(struct as_again *again)
{
	while (again->board && as_board_next(again->board, &again->board_at, &again->notice))
		(void)as_memo_import(again->memo, again->notice.data, again->notice.len);
}

static void post(struct as_again *again)
{
	if (!again->board)
		return;
	as_buf_clear(&again->notice);
	as_memo_export(again->memo, &again->notice);
	as_board_post(again->board, again->notice.data, again->notice.len);
}

uint64_t as_again_told(const struct as_again *again)
{
	return again ? again->told : 0;
}

int as_again_recover(const struct as_judge_args *args, enum as_way way, struct as_disk *disk,
		     unsigned flags, struct as_recovered *recovered, struct as_err *err)
{
	struct as_again *again = flags & AS_RECOVER_LOG ? args->again : NULL;
	const struct as_memo_answer *answer = NULL;
	bool with_log, known;
	int rc;

	if (again) {
		read_board(again);
		answer = as_memo_find(again->memo, kind_of_recovery(way), disk);
	}
	with_log = !answer || again->verifies;
	rc = as_recover(args->recoverer, way, disk,
			with_log ? flags : flags & ~(unsigned)AS_RECOVER_LOG, recovered, err);
	known = !rc && is_tree(answer, recovered->tree);
	if (again)
		again->known[way] = known;
	if (known) {
		args->counts->again_known++;
		again->told += answer->told;
		recovered->wrote_sectors = answer->mark;
	} else if (!rc && !with_log) {
		as_recovered_free(recovered);
		rc = as_recover(args->recoverer, way, disk, flags, recovered, err);
	}
	return rc;
}

/* ---- What is learnt -------------------------------------------------------------------------- */

void as_again_begin(struct as_again_trial *t, struct as_again *again, enum as_way way,
		    struct as_disk *crashed, const struct as_recovered *first)
{
	*t = (struct as_again_trial){ .again = again, .way = way };
	if (!again)
		return;
	as_digest_hex(as_tree_digest(first->tree), t->tree);
	as_disk_reads_init(&t->reads, as_disk_size(crashed));
	as_disk_reads_log(&t->reads, first->log);
	if (again->now.size_bytes != t->reads.size_bytes) {
		as_disk_reads_free(&again->now);
		as_disk_reads_init(&again->now, t->reads.size_bytes);
	}
}

/* All was read there, and is right. */
static bool learn(struct as_again_trial *t, struct as_memo *memo, uint32_t kind,
		  struct as_disk *disk, const struct as_disk_reads *reads, uint64_t mark)
{
	struct as_memo_answer answer = { .why = t->tree, .mark = mark };
	struct as_reclog *log = as_reclog_new(as_disk_bd(disk), AS_RECLOG_READS, 0);
	struct as_again *again = t->again;
	bool kept;

	for (size_t i = 0; i < reads->n; i++) {
		AS_ARRAY_ROOM_FOR(again->buf, 0, reads->span[i].len, again->buf_cap);
		as_assert(!as_bd_read(as_reclog_bd(log), reads->span[i].off, again->buf,
				      reads->span[i].len));
	}
	kept = as_memo_add(memo, kind, disk, log, NULL, &answer);
	as_reclog_free(log);
	return kept;
}

/* From now on, what the state's writes put there is not the disk's. */
static void begin_reads(struct as_again_trial *t, const struct as_again_state *of)
{
	as_disk_reads_begin(&t->reads);
	as_readset_own(of->set, of->perm, of->state, &t->reads);
}

static void add_reads(struct as_again_trial *t, const struct as_again_state *of,
		      const struct as_sector_span *span, size_t n)
{
	begin_reads(t, of);
	for (size_t i = 0; i < n; i++)
		as_disk_reads_add(&t->reads, span[i].off, span[i].len);
}

bool as_again_has(struct as_again_trial *t, const struct as_again_state *of, bool before)
{
	const struct known_reads *kept;

	if (!t->again)
		return before;
	if (!as_digests_add(&t->tried, of->key))
		return true;
	kept = &t->again->kept[of->key.lo % KEPT];
	if (!before || !kept->span || !as_digest_eq(kept->key, of->key))
		return false;
	add_reads(t, of, kept->span, kept->n);
	return true;
}

bool as_again_knows(struct as_again_trial *t, const struct as_again_state *of, struct as_disk *disk,
		    unsigned how)
{
	const struct as_memo_answer *answer;

	if (!t->again)
		return false;
	answer = as_memo_find(t->again->states, kind_of_state(t->way, how), disk);
	t->known = answer && !strcmp(answer->why, t->tree);
	if (t->known && !t->again->verifies) {
		begin_reads(t, of);
		as_memo_reads(t->again->states, &t->reads);
		return true;
	}
	as_disk_reads_clear(&t->again->now);
	as_recoverer_note_reads(t->again->recoverer, &t->again->now);
	return false;
}

void as_again_run(struct as_again_trial *t)
{
	if (t->again)
		as_disk_reads_begin(&t->again->now);
}

static void keep(struct known_reads *kept, struct as_digest key, const struct as_disk_reads *reads)
{
	free(kept->span);
	kept->span = as_xmalloc((reads->n + 1) * sizeof(*kept->span));
	if (reads->n)
		memcpy(kept->span, reads->span, reads->n * sizeof(*kept->span));
	kept->n = reads->n;
	kept->key = key;
}

void as_again_keep(struct as_again_trial *t, const struct as_again_state *of, struct as_disk *disk,
		   unsigned how, bool excused)
{
	struct as_disk_reads *now;

	if (!t->again)
		return;
	now = &t->again->now;
	as_recoverer_note_reads(t->again->recoverer, NULL);
	add_reads(t, of, now->span, now->n);
	t->reads.lost |= now->lost;
	if (now->lost)
		return;
	keep(&t->again->kept[of->key.lo % KEPT], of->key, now);
	if (!excused)
		(void)learn(t, t->again->states, kind_of_state(t->way, how), disk, now, 0);
}

void as_again_mind_writes(struct as_again_trial *t, const struct as_reclog *log)
{
	if (!t->again)
		return;
	as_disk_reads_begin(&t->reads);
	for (size_t i = 0; i < as_reclog_len(log); i++)
		if (as_log_entry_changes(as_reclog_at(log, i)))
			as_disk_reads_add(&t->reads, as_reclog_at(log, i)->off,
					  as_reclog_at(log, i)->len);
}

bool as_again_erred(const struct as_again_trial *t)
{
	return t->again && (t->known || t->again->known[t->way]);
}

void as_again_end(struct as_again_trial *t, struct as_disk *crashed,
		  const struct as_recovered *first, bool right)
{
	if (!t->again)
		return;
	as_recoverer_note_reads(t->again->recoverer, NULL);
	if (right && !t->reads.lost &&
	    learn(t, t->again->memo, kind_of_recovery(t->way), crashed, &t->reads,
		  first->wrote_sectors))
		post(t->again);
	as_digests_free(&t->tried);
	as_disk_reads_free(&t->reads);
}
