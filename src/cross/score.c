/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * score: see score.h.
 *
 * Lots are taken in steps that have no divisor in common with their number, so that a run that is
 * cut short has met all kinds. What a damage touches is said by fsck/loss.h. Of a name that is not
 * read there: it is touched if a field of its inode was damaged, or a field of a directory above
 * it, or an entry in one.
 */
#include "cross/score.h"

#include "crew/crew.h"
#include "cross/cross_member.h"
#include "fsck/corrupt.h"
#include "fsck/loss.h"
#include "os/frames.h"
#include "os/spawn.h"
#include "snapshot/tree.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LOOK_MS 100
#define GRACE_MS 1000 /* for the sums of what is done to be sent */

static const char *const kinds[] = {
#define KIND(id, name) name,
	AS_SCORE_KINDS(KIND)
#undef KIND
};

const char *as_score_kind_name(enum as_score_kind kind)
{
	return kinds[kind];
}

void as_score_free(struct as_score *s)
{
	free(s->checker);
	as_buf_free(&s->note);
	*s = (struct as_score){ 0 };
}

/* ---- What was damaged ------------------------------------------------------------------------ */

static bool is_in(const struct as_damage *d, const struct as_field *f)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->bytes[i].off >= f->off && d->bytes[i].off < f->off + f->bytes)
			return true;
	return false;
}

static bool is_hit(const struct as_damage *d, const struct as_field *f)
{
	return is_in(d, f) && !(d->sealed && f->kind == AS_FIELD_CHECKSUM);
}

static enum as_score_kind kind_of_field(const struct as_field *f)
{
	const char *role = f->role ? f->role : "";

	if (f->kind == AS_FIELD_CHECKSUM)
		return AS_SCORE_CHECKSUM;
	if (f->kind == AS_FIELD_BITMAP)
		return AS_SCORE_BITMAP;
	if (!strncmp(role, "super.", 6) || !strncmp(f->structure, "super", 5))
		return AS_SCORE_SUPER;
	if (!strncmp(role, "dir.entry.", 10))
		return AS_SCORE_ENTRY;
	if (!strcmp(role, "file.mode"))
		return AS_SCORE_MODE;
	if (!strcmp(role, "file.size") || !strcmp(role, "file.links") ||
	    !strcmp(role, "file.blocks"))
		return AS_SCORE_COUNT;
	if (!f->path)
		return AS_SCORE_REST;
	return f->kind == AS_FIELD_POINTER ? AS_SCORE_POINTER : AS_SCORE_ATTRIBUTE;
}

static enum as_score_kind kind_of(const struct as_fields *fields, const struct as_damage *d)
{
	for (size_t i = 0; i < as_fields_n(fields); i++)
		if (is_hit(d, as_fields_at(fields, i)))
			return kind_of_field(as_fields_at(fields, i));
	return AS_SCORE_REST;
}

static bool is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return !strcmp(dir, "/") || (!strncmp(path, dir, len) && path[len] == '/');
}

static bool touches(const struct as_cross_member *m, const char *path)
{
	const struct as_fields *fields = m->fields;
	const struct as_damage *d = &m->damage;
	const char *known = as_fields_path(fields, path);
	enum as_loss_mark mark =
		m->base.loss ? as_loss_marked(m->base.loss, path) : AS_LOSS_UNKNOWN;

	if (mark != AS_LOSS_UNKNOWN)
		return mark == AS_LOSS_TOUCHED;
	for (size_t i = 0; i < as_fields_n(fields); i++) {
		const struct as_field *f = as_fields_at(fields, i);

		if (f->path && is_hit(d, f) &&
		    (!strcmp(f->path, path) || (known && !strcmp(f->path, known)) ||
		     is_below(path, f->path)))
			return true;
	}
	return false;
}

/* ---- What was lost --------------------------------------------------------------------------- */

/* Returns whether anything of the row is not as it was. */
static bool add_loss(const struct as_cross_member *m, const struct as_cross_row *row,
		     struct as_score_loss *loss)
{
	const struct as_cross_row *now = as_cross_view_find(&m->now, row->path);
	bool file = row->v[AS_CROSS_TYPE] == S_IFREG || row->v[AS_CROSS_TYPE] == S_IFLNK;
	uint64_t before = loss->names + loss->files + loss->metadata;

	if (!now) {
		loss->names++;
		if (file && as_cross_value(&m->was, &m->now, row, AS_CROSS_NAME) == AS_CROSS_GONE) {
			loss->files++;
			loss->bytes += row->bytes;
		}
		return true;
	}
	if (file && (now->v[AS_CROSS_SIZE] != row->v[AS_CROSS_SIZE] ||
		     now->v[AS_CROSS_CONTENT] != row->v[AS_CROSS_CONTENT])) {
		loss->files++;
		loss->bytes += row->bytes;
	}
	for (int f = AS_CROSS_TYPE; f < AS_CROSS_SIZE; f++)
		loss->metadata += now->v[f] != row->v[f];
	return loss->names + loss->files + loss->metadata != before;
}

static void measure(struct as_cross_member *m, struct as_score_sum *sum)
{
	bool whole = true;

	if (m->base.loss)
		as_loss_mark(m->base.loss, &m->damage);
	for (size_t i = 0; i < m->was.n; i++) {
		struct as_score_loss none = { 0 };
		const struct as_cross_row *row = &m->was.rows[i];

		if (!strcmp(row->path, "/lost+found") || !add_loss(m, row, &none))
			continue;
		whole = false;
		(void)add_loss(m, row, touches(m, row->path) ? &sum->touched : &sum->untouched);
	}
	sum->whole += whole;
}

static void add_sum(struct as_score_sum *to, const struct as_score_sum *from)
{
	uint64_t *a = (uint64_t *)to;
	const uint64_t *b = (const uint64_t *)from;

	for (size_t i = 0; i < sizeof(*to) / sizeof(uint64_t); i++)
		a[i] += b[i];
}

/* ---- Running --------------------------------------------------------------------------------- */

static int do_damage(struct as_cross_member *m, const struct as_damage *d, struct as_score *score,
		     struct as_err *err)
{
	struct as_score_sum one = { .disks = 1 };
	int rc;

	as_damage_clear(&m->damage);
	m->disk = as_damage_apply(d, m->base.disk, NULL);
	as_damage_diff(&m->damage, m->base.disk, m->disk);
	m->damage.sealed = d->sealed;
	rc = as_cross_member_judge(m, err);
	if (!rc && m->came == AS_CROSS_UNJUDGED)
		one = (struct as_score_sum){ .unjudged = 1 };
	if (!rc && m->came >= AS_CROSS_UNREAD) {
		one.content = 1;
		one.unread = m->came == AS_CROSS_UNREAD;
		if (!one.unread)
			measure(m, &one);
	}
	if (!rc) {
		add_sum(&score->of[kind_of(m->fields, &m->damage)], &one);
		add_sum(&score->all, &one);
	}
	as_cross_member_clear(m);
	return rc;
}

static uint64_t divisor(uint64_t a, uint64_t b)
{
	return b ? divisor(b, a % b) : a;
}

static uint64_t step_for(uint64_t n)
{
	uint64_t step = n * 5 / 8 + 1;

	while (divisor(step, n) != 1)
		step++;
	return step;
}

/* What the processes of one score share. */
struct score_shared {
	uint64_t next; /* lot */
	volatile int left; /* the time was over before the last lot */
};

/* One process of them. */
struct score_run {
	const struct as_score_args *a;
	struct score_shared *shared;
	struct as_score *score;
	bool leads; /* it counts what earlier sessions did */
	int64_t start_us; /* as if the earlier sessions were a part of this one */
	uint64_t key; /* of the checker and its disk */
	uint32_t *done; /* of the damages of each lot */
	uint64_t n;
};

/* When it is over for one of them, it is for all. */
static bool is_over(const struct score_run *r)
{
	const struct as_score_args *a = r->a;

	if (as_halted(a->halt))
		r->shared->left = 1;
	return r->shared->left;
}

/* ---- What is kept ---------------------------------------------------------------------------- */

/* A record: this, then what was counted. */
struct score_kept {
	uint64_t key, lot;
	uint32_t first, end; /* damages of the lot */
	int64_t spent_us;
};

struct score_kept_sum {
	uint64_t kind;
	struct as_score_sum sum;
};

static void add_part(struct as_score *to, const struct as_score *from)
{
	for (int k = 0; k < AS_SCORE_N; k++)
		add_sum(&to->of[k], &from->of[k]);
	add_sum(&to->all, &from->all);
}

/* A record that does not follow those before it was written twice, and is left out. */
static int recall(void *ctx, const void *data, size_t len)
{
	struct score_run *r = ctx;
	struct score_kept kept;
	struct score_kept_sum one;
	const char *at = (const char *)data + sizeof(kept);

	if (len < sizeof(kept) || (len - sizeof(kept)) % sizeof(one))
		return AS_EUSE;
	memcpy(&kept, data, sizeof(kept));
	if (kept.key != r->key)
		return 0;
	if (kept.lot >= r->n || kept.end < kept.first)
		return AS_EUSE;
	if (as_now_us() - kept.spent_us < r->start_us)
		r->start_us = as_now_us() - kept.spent_us;
	if (kept.first != r->done[kept.lot])
		return 0;
	r->done[kept.lot] = kept.end;
	for (; r->leads && at < (const char *)data + len; at += sizeof(one)) {
		memcpy(&one, at, sizeof(one));
		if (one.kind >= AS_SCORE_N)
			return AS_EUSE;
		add_sum(&r->score->of[one.kind], &one.sum);
		add_sum(&r->score->all, &one.sum);
	}
	return 0;
}

static int keep_lot(const struct score_run *r, uint64_t lot, uint32_t end,
		    const struct as_score *part, struct as_err *err)
{
	struct score_kept kept = { .key = r->key,
				   .lot = lot,
				   .first = r->done[lot],
				   .end = end,
				   .spent_us = as_now_us() - r->start_us };
	struct as_buf out = { 0 };
	int rc;

	as_buf_add(&out, &kept, sizeof(kept));
	for (int k = 0; k < AS_SCORE_N; k++)
		if (part->of[k].disks || part->of[k].unjudged) {
			struct score_kept_sum one = { (uint64_t)k, part->of[k] };

			as_buf_add(&out, &one, sizeof(one));
		}
	rc = as_frames_add(r->a->keep, out.data, out.len, err);
	as_buf_free(&out);
	return rc;
}

/* ---- Lots ------------------------------------------------------------------------------------ */

static int do_lot(const struct score_run *r, struct as_cross_member *m, uint64_t number,
		  const struct as_corrupt_lot *lot, struct as_err *err)
{
	struct as_score part = { 0 };
	uint32_t k = r->done[number];
	int rc = 0;

	as_judge_lot_begin(m->judge, &m->base, lot->damages, lot->n);
	for (; !rc && k < lot->n && !is_over(r); k++)
		rc = do_damage(m, &lot->damages[k], &part, err);
	as_judge_lot_end(m->judge);
	/* The damage in which the time was over is done by who goes on. */
	if (rc == AS_ESTOP && is_over(r)) {
		rc = 0;
		k--;
	}
	if (!rc && k > r->done[number])
		rc = keep_lot(r, number, k, &part, err);
	add_part(r->score, &part);
	return rc;
}

static int do_all(struct score_run *r, struct as_cross_member *m, struct as_err *err)
{
	struct as_corrupt_setup setup = {
		.bases = &m->base, .n = 1, .type = m->type, .at_once = 1, .seal = true
	};
	struct as_corrupt_lot lot = { 0 };
	struct as_corrupt *corrupt = NULL;
	uint64_t n = 0, i;
	int rc = as_corrupt_open("fields", &setup, &corrupt, err);

	if (!rc) {
		r->n = n = as_corrupt_lots(corrupt);
		r->done = as_xcalloc(n + 1, sizeof(*r->done));
		if (as_frames_each(r->a->keep, recall, r))
			rc = as_fail(err, AS_EUSE, "%s: it is no score of this version",
				     as_frames_path(r->a->keep));
	}
	while (!rc && (i = __atomic_fetch_add(&r->shared->next, 1, __ATOMIC_RELAXED)) < n) {
		uint64_t number = (uint64_t)((unsigned __int128)i * step_for(n) % n);

		as_corrupt_lot(corrupt, number, &lot);
		if (r->done[number] >= lot.n)
			continue;
		if (is_over(r))
			break;
		rc = do_lot(r, m, number, &lot, err);
	}
	as_corrupt_lot_free(&lot);
	as_corrupt_free(corrupt);
	free(r->done);
	return rc;
}

static int run_one(const struct as_score_args *a, int64_t start_us, struct score_shared *shared,
		   bool leads, struct as_score *score, struct as_err *err)
{
	struct score_run r = {
		.a = a, .shared = shared, .score = score, .leads = leads, .start_us = start_us
	};
	struct as_cross_member m = { 0 };
	struct as_chunks *store = as_chunks_new();
	int rc;

	if (a->halt)
		a->halt->until_us = a->for_us ? start_us + a->for_us : 0;
	rc = as_cross_member_open(&m, a->checker, a->setup, store, err);
	if (leads && a->opened)
		a->opened();
	if (!rc) {
		score->by_kernel = m.by_kernel;
		as_buf_adds(&score->note, as_buf_str(&m.generic.note));
		r.key = as_cross_member_key(&m, a->setup);
		rc = do_all(&r, &m, err);
	}
	if (rc == AS_ESTOP && is_over(&r))
		rc = 0;
	as_cross_member_free(&m);
	as_chunks_free(store);
	return rc;
}

struct score_share {
	const struct as_score_args *a;
	int64_t start_us;
	struct score_shared *shared;
};

/* Each process counts for itself, and sends its sums; they do not depend on who did which lot. */
static int be_worker(struct as_mate *mate, void *ctx, struct as_err *err)
{
	const struct score_share *share = ctx;
	struct as_score score = { 0 };
	int rc;

	/* The leader hears the signals. */
	if (share->a->halt)
		share->a->halt->stop = &share->shared->left;
	rc = run_one(share->a, share->start_us, share->shared, false, &score, err);
	as_buf_free(&score.note);
	return rc ? rc : as_mate_say(mate, &score, sizeof(score));
}

/* The workers do not hear the signals. */
static void end_if_over(const struct score_share *share, struct as_crew *crew)
{
	if (!as_halted(share->a->halt))
		return;
	share->shared->left = 1;
	as_crew_end(crew, GRACE_MS);
}

/* Adds what a worker has counted. */
static int hear(const struct score_share *share, struct as_crew *crew, unsigned worker,
		struct as_score *sum, struct as_err *err)
{
	struct as_score part;
	const char *data;
	size_t len;
	int rc;

	while (!as_crew_is_over(crew, worker)) {
		data = as_crew_next(crew, worker, &len);
		if (data && len == sizeof(part)) {
			memcpy(&part, data, sizeof(part));
			add_part(sum, &part);
		} else if (!data) {
			as_crew_wait(crew, LOOK_MS);
			end_if_over(share, crew);
		}
	}
	rc = as_crew_ended(crew, worker, err);
	/* Over the time, what it did last is lost. */
	return rc == AS_ESTOP ? 0 : rc;
}

static int run_rest(const struct as_score_args *a, int64_t start_us, struct score_shared *shared,
		    struct as_score *score, struct as_err *err)
{
	static const struct as_crew_plan plan = { .who = "a worker of the score",
						  .how = AS_BIRTH_DEAF,
						  .grace_ms = GRACE_MS };
	unsigned jobs = a->jobs < AS_SCORE_JOBS ? a->jobs : AS_SCORE_JOBS, n = 0;
	struct score_share share = { a, start_us, shared };
	struct as_crew *crew = as_crew_new(&plan, AS_SCORE_JOBS);
	int rc = 0;

	/* Without one of them, it takes longer, and comes to the same. */
	while (n + 1 < jobs && !as_crew_start(crew, n, be_worker, &share, NULL))
		n++;
	rc = run_one(a, start_us, shared, true, score, err);
	if (rc)
		as_crew_end(crew, 0);
	else
		end_if_over(&share, crew);
	for (unsigned i = 0; i < n && !rc; i++)
		rc = hear(&share, crew, i, score, err);
	as_crew_free(crew);
	return rc;
}

int as_score_run(const struct as_score_args *a, struct as_score *score, struct as_err *err)
{
	struct score_shared *shared = as_shared_alloc(sizeof(*shared));
	int64_t start_us = as_now_us();
	int rc;

	*score = (struct as_score){ .checker = as_xstrdup(a->checker) };
	rc = run_rest(a, start_us, shared, score, err);
	score->complete = !rc && !shared->left;
	as_shared_free(shared, sizeof(*shared));
	return rc;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static double per_hundred(uint64_t n, uint64_t of)
{
	return of ? 100.0 * (double)n / (double)of : 0;
}

/* The larger share of disks that are as they were comes first, then who loses fewer files. */
static bool is_better(const struct as_score_sum *a, const struct as_score_sum *b)
{
	double x = per_hundred(a->whole, a->disks), y = per_hundred(b->whole, b->disks);

	if (x != y)
		return x > y;
	return per_hundred(a->touched.files + a->untouched.files, a->content) <
	       per_hundred(b->touched.files + b->untouched.files, b->content);
}

static const struct as_score_sum *sum_of(const struct as_score *s, int kind)
{
	return kind < AS_SCORE_N ? &s->of[kind] : &s->all;
}

static void add_line(const struct as_score *s, const struct as_score_sum *sum, unsigned rank,
		     struct as_buf *out)
{
	const struct as_score_loss *t = &sum->touched, *u = &sum->untouched;

	as_buf_addf(out, "%3u  %-26.26s %6llu %6.1f%% %6.1f%% %6.1f%%", rank, s->checker,
		    (unsigned long long)sum->disks, per_hundred(sum->content, sum->disks),
		    per_hundred(sum->unread, sum->disks), per_hundred(sum->whole, sum->disks));
	as_buf_addf(out, "  %8.1f %8.1f  %8.1f %8.1f", per_hundred(t->files, sum->content),
		    per_hundred(u->files, sum->content),
		    per_hundred(t->bytes, sum->content) / 102400,
		    per_hundred(u->bytes, sum->content) / 102400);
	as_buf_addf(out, "  %8.1f %8.1f  %8.1f %8.1f\n", per_hundred(t->names, sum->content),
		    per_hundred(u->names, sum->content), per_hundred(t->metadata, sum->content),
		    per_hundred(u->metadata, sum->content));
}

static void add_kind(const struct as_score *const *scores, size_t n, int kind, struct as_buf *out)
{
	bool *done = as_xcalloc(n + 1, sizeof(*done));
	unsigned rank = 0;

	as_buf_addf(out, "\n%s\n", kind < AS_SCORE_N ? kinds[kind] : "all damages");
	for (;;) {
		const struct as_score_sum *best = NULL;
		size_t at = 0;

		for (size_t i = 0; i < n; i++) {
			const struct as_score_sum *sum = sum_of(scores[i], kind);

			if (done[i] || !sum->disks || (best && !is_better(sum, best)))
				continue;
			best = sum;
			at = i;
		}
		if (!best)
			break;
		done[at] = true;
		add_line(scores[at], best, ++rank, out);
	}
	free(done);
}

void as_score_tell(const struct as_score *const *scores, size_t n, struct as_buf *out)
{
	as_buf_adds(out, "Lost in 100 repairs, of what the damage touched and of what it did not; "
			 "KiB in one repair.\n");
	as_buf_addf(out, "     %-26s %6s %7s %7s %7s  %17s  %17s  %17s  %17s\n", "checker", "disks",
		    "content", "unread", "whole", "files", "KiB", "names", "attributes");
	for (int k = 0; k <= AS_SCORE_N; k++) {
		uint64_t any = 0;

		for (size_t i = 0; i < n; i++)
			any += sum_of(scores[i], k)->disks;
		if (any)
			add_kind(scores, n, k, out);
	}
}
