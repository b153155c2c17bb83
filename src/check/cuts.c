/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cuts: see cuts.h.
 *
 * Method. The crash states of an operation that has led to a new state are recovered and judged
 * anyway (crashes.c). What each of them was recovered to is looked at: trees that were not met
 * before, after as many power cuts, are successors of the new state. Of several disks that are
 * recovered to the same tree, the first one is kept, which is the one of the easiest view.
 *
 * To bring such a state back, the operations before the power cut are recorded once more, and the
 * disk is made of the record. This takes longer than running a trace, so the last few are kept.
 *
 * Invariants
 *   1. Nothing is a successor unless all crash states of the operation are right.
 *   2. The number of power cuts before a state is part of its digest (era.h): else a state that
 *      may not be cut again would hide one that may.
 *   3. A state is named by its units, and not by its number: the number depends on what follows
 *      in the record, and a crash run has the end of the workload there.
 */
#include "check/cuts.h"

#include "base/array.h"
#include "base/digests.h"
#include "recording/orders.h"
#include "snapshot/tree.h"
#include "work/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT 32u /* bases */
#define STEP "crash #"
#define FROM "from="
#define LOG "log="

/* A recovered crash state. */
struct found {
	struct as_flight_spot at;
	struct as_tree *tree;
	struct as_digest disk; /* as recovery left it; zero: it does not matter */
	bool fuller; /* of two that are recovered to the same tree (era.h) */
	struct as_crash_spot spot; /* view 0: it is not to be kept */
};

struct kept {
	struct as_digest key; /* of the text */
	uint64_t used; /* when */
	struct as_cut_base base;
};

struct as_cuts {
	struct as_expander *w;
	unsigned max;
	enum as_way way;
	bool looks;
	struct found *found;
	size_t n_found, cap_found;
	struct as_digests met; /* trees, with the number of power cuts */
	struct as_cut_base fresh;
	struct kept kept[KEPT];
	uint64_t now;
};

struct as_cuts *as_cuts_new(struct as_expander *w, unsigned max)
{
	struct as_cuts *cuts = as_xcalloc(1, sizeof(*cuts));

	cuts->w = w;
	cuts->max = max;
	cuts->way = w->policy.guarantee == AS_GUARANTEE_REPAIR ? AS_WAY_FULL : AS_WAY_MOUNT;
	cuts->fresh.mark = w->fresh;
	cuts->fresh.era = as_era_first(w->c->options->hash);
	cuts->fresh.model = as_model_copy(w->c->fresh.model);
	cuts->fresh.after_ns = w->c->start ? w->c->start->after_ns : 0;
	return cuts;
}

static void drop_base(struct as_cut_base *base)
{
	as_instance_mark_free(base->mark);
	as_disk_free(base->crashed);
	as_tree_put(base->tree);
	as_model_free(base->model);
	*base = (struct as_cut_base){ 0 };
}

static void drop_found(struct as_cuts *cuts)
{
	for (size_t i = 0; i < cuts->n_found; i++)
		as_tree_put(cuts->found[i].tree);
	cuts->n_found = 0;
}

void as_cuts_free(struct as_cuts *cuts)
{
	if (!cuts)
		return;
	drop_found(cuts);
	free(cuts->found);
	for (unsigned i = 0; i < KEPT; i++)
		drop_base(&cuts->kept[i].base);
	as_model_free(cuts->fresh.model);
	as_digests_free(&cuts->met);
	free(cuts);
}

/* ---- Text ------------------------------------------------------------------------------------ */

/* The last line of the first `len` bytes that is a power cut; NULL: there is none. */
static const char *last_step(const char *trace, size_t len)
{
	const char *last = NULL;

	for (const char *at = trace; at < trace + len; at = strchr(at, '\n') + 1)
		if (!strncmp(at, STEP, strlen(STEP)))
			last = at;
	return last;
}

static int read_step(const char *line, struct as_crash_spot *spot, struct as_err *err)
{
	const char *from = strstr(line, FROM);
	char text[AS_CRASH_UNITS_MAX + 64];
	struct as_crash_options options;
	int rc;

	snprintf(text, sizeof(text), "%.*s", from ? (int)strcspn(from, "\n") : 0, from ? from : "");
	rc = as_crash_options_parse(text, &options, err);
	*spot = options.from[0];
	return rc ? rc : spot->view ? 0 : as_fail(err, AS_EIO, "a trace has a bad step: %s", line);
}

bool as_cuts_is_step(const char *line)
{
	struct as_crash_spot spot;

	return !strncmp(line, STEP, strlen(STEP)) && !read_step(line, &spot, NULL);
}

/* "log=2+": see print_step(). */
static struct as_era read_era(const struct as_cut_base *before, const char *line)
{
	const char *log = strstr(line, LOG), *end = strchr(line, '\n');
	struct as_era era = before->era;

	if (!era.counts || !log || (end && log > end))
		return as_era_cut(era, false);
	era.syncs = (uint8_t)(log[strlen(LOG)] - '0');
	return as_era_cut(era, log[strlen(LOG) + 1] == '+');
}

static void print_step(const struct as_cuts *cuts, const struct found *f, struct as_buf *line)
{
	struct as_era era = cuts->w->era;

	as_buf_adds(line, STEP " ");
	if (era.counts)
		as_buf_addf(line, LOG "%u%s ", era.syncs, f->fuller ? "+" : "");
	as_buf_addf(line, FROM "%u:%zu:%s", f->spot.view, f->spot.cut, f->spot.units);
}

unsigned as_cuts_options(const char *trace, struct as_buf *out)
{
	struct as_buf from = { 0 };
	unsigned n = 0;

	for (const char *at = trace; *at; at += strcspn(at, "\n") + 1) {
		const char *spot = strncmp(at, STEP, strlen(STEP)) ? NULL : strstr(at, FROM);

		if (spot)
			as_buf_addf(&from, ",%.*s", (int)strcspn(spot, "\n"), spot);
		n += !!spot;
		if (!strchr(at, '\n'))
			break;
	}
	if (n)
		as_buf_addf(out, ",rounds=%u%s", n + 1, as_buf_str(&from));
	as_buf_free(&from);
	return n;
}

/* ---- Bringing one back ----------------------------------------------------------------------- */

static void suspect(struct as_cuts *cuts, const char *why)
{
	struct as_expander *w = cuts->w;

	as_suspect_add(w->c, w->lane, true, AS_FIND_RECOVERY,
		       as_suspect_key(AS_FIND_RECOVERY, AS_OP_CRASH, why), why);
}

/* How the states of the spot's view and cut are enumerated. */
static bool all(const struct as_recording *rec, const struct as_perm *perm,
		const struct as_crash_spot *spot)
{
	return as_judge_is_stricter(rec, perm, (enum as_view)spot->view, spot->cut);
}

/* The disk that the power cut left, and that a mount is to recover. */
static int make_disk(struct as_cuts *cuts, const struct as_recording *rec,
		     const struct as_crash_spot *spot, struct as_disk **disk, struct as_err *err)
{
	struct as_perm *perm = as_perm_new(rec->log, rec->start, &cuts->w->c->crash.perm);
	struct as_recovered recovered = { 0 };
	struct as_perm_state state;
	int rc = 0;

	if (spot->cut < as_perm_cuts(perm) &&
	    as_spot_pick(spot, perm, all(rec, perm, spot), &state))
		*disk = as_perm_disk(perm);
	as_perm_free(perm);
	/* A kernel does not always make the same writes. Then the state is lost. */
	if (!*disk && as_instance_can(cuts->w->instance, AS_INSTANCE_KERNEL))
		return 0;
	if (!*disk)
		return as_fail(err, AS_EIO, "a crash state cannot be made again: view %u, cut %zu",
			       spot->view, spot->cut);
	if (cuts->way == AS_WAY_MOUNT)
		return 0;
	rc = as_recover(as_crashes_recoverer(cuts->w->crashes), AS_WAY_FULL, *disk, 0, &recovered,
			err);
	as_disk_free(*disk);
	*disk = !rc && recovered.disk ? as_disk_snapshot(recovered.disk) : NULL;
	as_recovered_free(&recovered);
	return rc;
}

/* Mounts it, and makes a model of what is there. */
static int begin_with(struct as_cuts *cuts, struct as_cut_base *base, struct as_err *err)
{
	struct as_instance *instance = cuts->w->instance;
	struct as_instance_reader reader;
	struct as_buf why = { 0 };
	int rc, mounted;

	base->mark = as_instance_mark_of(base->crashed);
	rc = as_instance_back(instance, base->mark, err);
	if (rc)
		return rc;
	as_instance_clock_after(instance, base->after_ns);
	mounted = as_instance_mount(instance);
	reader = as_instance_reads(instance);
	if (mounted)
		as_buf_addf(&why, "mount: %s", as_errno_name(-mounted));
	else
		(void)as_tree_capture(reader.ops, reader.ctx, &base->tree, &why);
	if (base->tree)
		base->model = as_tree_model(base->tree, cuts->w->c->fresh.traits);
	else
		suspect(cuts, as_buf_str(&why));
	as_buf_free(&why);
	return 0;
}

static int find_base(struct as_cuts *cuts, const char *trace, size_t len,
		     const struct as_cut_base **base, struct as_err *err);

/* The mount of a record takes the place of the worker's own, which may still be in use. */
static int make_way(struct as_cuts *cuts, struct as_err *err)
{
	struct as_instance *instance = cuts->w->instance;

	if (as_instance_can(instance, AS_INSTANCE_KERNEL) && as_instance_give_up(instance))
		return as_fail(err, AS_EIO, "cannot unmount before a record");
	return 0;
}

/* trace: up to the line of its last power cut, which is `line`. */
static int make_base(struct as_cuts *cuts, const char *trace, const char *line,
		     struct as_cut_base *base, struct as_err *err)
{
	const char *step = last_step(trace, (size_t)(line - trace));
	const char *part = step ? strchr(step, '\n') + 1 : trace;
	const struct as_cut_base *before;
	struct as_recording rec = { 0 };
	struct as_seq *seq = NULL;
	struct as_crash_spot spot;
	int rc = read_step(line, &spot, err);

	if (!rc)
		rc = find_base(cuts, trace, (size_t)(part - trace), &before, err);
	if (!rc && before->model)
		rc = as_parse_text("trace", part, (size_t)(line - part), &seq, err);
	if (!rc && seq)
		rc = make_way(cuts, err);
	if (!rc && seq)
		rc = as_crashes_record(cuts->w->crashes, before, seq, NULL, &rec, err);
	if (!rc && rec.wrong)
		suspect(cuts, as_buf_str(&rec.why));
	else if (!rc && seq && rec.history && rec.n_ops == seq->n) {
		base->n = before->n + 1;
		base->era = read_era(before, line);
		base->after_ns = rec.until_ns;
		rc = make_disk(cuts, &rec, &spot, &base->crashed, err);
		if (!rc && base->crashed)
			rc = begin_with(cuts, base, err);
	}
	as_recording_free(&rec);
	as_seq_free(seq);
	return rc;
}

/* The place for a new base; its own base and those before it were just used. */
static struct kept *oldest(struct as_cuts *cuts)
{
	struct kept *old = &cuts->kept[0];

	for (unsigned i = 1; i < KEPT; i++)
		if (cuts->kept[i].used < old->used)
			old = &cuts->kept[i];
	return old;
}

static int find_base(struct as_cuts *cuts, const char *trace, size_t len,
		     const struct as_cut_base **base, struct as_err *err)
{
	struct as_digest key = as_hash(trace, len);
	struct kept made = { .key = key }, *place;
	int rc;

	*base = &cuts->fresh;
	if (!len)
		return 0;
	for (unsigned i = 0; i < KEPT; i++)
		if (cuts->kept[i].used && as_digest_eq(cuts->kept[i].key, key)) {
			cuts->kept[i].used = ++cuts->now;
			*base = &cuts->kept[i].base;
			return 0;
		}
	rc = make_base(cuts, trace, last_step(trace, len), &made.base, err);
	if (rc) {
		drop_base(&made.base);
		return rc;
	}
	place = oldest(cuts);
	drop_base(&place->base);
	made.used = ++cuts->now;
	*place = made;
	*base = &place->base;
	return 0;
}

int as_cuts_base(struct as_cuts *cuts, const char *trace, const char **part,
		 const struct as_cut_base **base, struct as_err *err)
{
	const char *step = last_step(trace, strlen(trace));

	*part = step ? strchr(step, '\n') + 1 : trace;
	return find_base(cuts, trace, (size_t)(*part - trace), base, err);
}

/* ---- Finding them ---------------------------------------------------------------------------- */

bool as_cuts_may(const struct as_cuts *cuts)
{
	return cuts->w->base->n < cuts->max;
}

void as_cuts_begin(struct as_cuts *cuts)
{
	drop_found(cuts);
	cuts->looks = as_cuts_may(cuts);
}

static struct as_digest key_of_tree(const struct as_cuts *cuts, const struct found *f)
{
	struct as_era era = cuts->w->era;
	unsigned log = (unsigned)era.syncs << 1 | f->fuller;
	struct as_digest key =
		as_digest_bind(as_tree_digest(f->tree), cuts->w->base->n + 2 + (log << 8));

	return as_digest_add(key, f->disk);
}

static struct found *same_tree(struct as_cuts *cuts, struct found *f)
{
	struct as_digest key = key_of_tree(cuts, f);

	for (size_t i = 0; i < cuts->n_found; i++)
		if (as_digest_eq(key_of_tree(cuts, &cuts->found[i]), key))
			return &cuts->found[i];
	return NULL;
}

/* With --depth, a tree that was met may be met again by a shorter trace. */
static bool is_met(const struct as_cuts *cuts, const struct found *f)
{
	return !cuts->w->c->options->depth && as_digests_has(&cuts->met, key_of_tree(cuts, f));
}

/* Whether it is to be added: the first disk of each tree; with --hash log a second one, too, which
 * is the last of the same view. */
static bool is_wanted(struct as_cuts *cuts, struct found *f)
{
	struct found *first = same_tree(cuts, f), *fuller;

	if (!cuts->w->era.counts)
		return !first && !is_met(cuts, f);
	if (!first)
		return true;
	if (first->at.view != f->at.view)
		return false;
	f->fuller = true;
	fuller = same_tree(cuts, f);
	if (fuller)
		fuller->at = f->at;
	return !fuller;
}

void as_cuts_note(struct as_cuts *cuts, const struct as_flight *flight,
		  const struct as_recovered *recovered)
{
	struct found f = { .at = flight->state };

	if (!cuts->looks || flight->way != cuts->way || recovered->end != AS_RECOVERED ||
	    !recovered->tree)
		return;
	f.tree = recovered->tree;
	if (cuts->w->c->options->hash == AS_CHECK_HASH_DISK && recovered->disk)
		f.disk = as_digest_bind(as_disk_digest(recovered->disk), 43);
	if (!is_wanted(cuts, &f))
		return;
	AS_ARRAY_ROOM(cuts->found, cuts->n_found, cuts->cap_found);
	(void)as_tree_get(f.tree);
	cuts->found[cuts->n_found++] = f;
}

static void name(const struct as_recording *rec, struct as_perm *perm, struct found *f)
{
	struct as_perm_state state = { 0 };
	struct as_moment moment = as_judge_moment(rec, perm, (enum as_view)f->at.view, f->at.cut);
	struct as_crash_spot spot;

	/* After an unmount there is nothing to recover. */
	if (as_recording_is_unmounted(rec, moment) || !as_recording_is_ordered(rec, moment))
		return;
	(void)as_spot_of_flight(&f->at, &spot);
	if (as_spot_pick(&spot, perm, all(rec, perm, &spot), &state))
		as_spot_of_state(perm, &state, &f->spot);
}

void as_cuts_name(struct as_cuts *cuts, const struct as_recording *rec)
{
	struct as_perm *perm;

	if (!cuts->n_found)
		return;
	perm = as_perm_new(rec->log, rec->start, &cuts->w->c->crash.perm);
	for (size_t i = 0; i < cuts->n_found; i++)
		name(rec, perm, &cuts->found[i]);
	as_perm_free(perm);
}

static void add(struct as_cuts *cuts, uint32_t id, const char *before, const struct found *f)
{
	struct as_expander *w = cuts->w;
	struct as_model *model = as_tree_model(f->tree, w->c->fresh.traits);
	struct as_store_state recovered = { .parent = id };
	struct as_past *past;
	struct as_buf line = { 0 };
	uint32_t fresh;

	/* A state that is not known cannot be explored. */
	if (!model) {
		as_worker_lose(w);
		return;
	}
	past = as_past_new(model, &w->policy);
	if (before)
		as_buf_addf(&line, "%s\n", before);
	print_step(cuts, f, &line);
	AS_CHECK_ADD(w->c, recovered, 1);
	recovered.digest =
		as_digest_add(as_check_key(model, past, as_era_cut(w->era, f->fuller)), f->disk);
	switch (as_check_add(w->c, w->lane, &recovered, as_buf_str(&line), &fresh)) {
	case AS_STORE_LATER:
	case AS_STORE_KNOWN:
		if (w->c->unordered)
			as_worker_tell_recovered(w, fresh, model, past);
		break;
	case AS_STORE_FULL:
		break;
	case AS_STORE_SHORTER:
	case AS_STORE_NEW:
		as_worker_tell_recovered(w, fresh, model, past);
		as_worker_push(w, fresh, model, past);
		break;
	}
	as_past_put(past);
	as_model_free(model);
	as_buf_free(&line);
}

void as_cuts_reach(struct as_cuts *cuts, uint32_t id, const char *before)
{
	for (size_t i = 0; i < cuts->n_found; i++) {
		const struct found *f = &cuts->found[i];

		if (!f->spot.view || is_met(cuts, f))
			continue;
		(void)as_digests_add(&cuts->met, key_of_tree(cuts, f));
		add(cuts, id, before, f);
	}
}

void as_cuts_end(struct as_cuts *cuts)
{
	drop_found(cuts);
	cuts->looks = false;
}
