/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recover: ways as paths of steps, and the walk along them. */
#include "recover/recover.h"

#include "os/spawn.h"
#include "recover/redo.h"
#include "recover/step_priv.h"
#include "recover/writeback.h"
#include "snapshot/tree.h"

#include <string.h>

#define PATH_MAX_STEPS 2

/* All end in a mount, so that there is a tree. */
static const struct {
	const char *name;
	enum as_step path[PATH_MAX_STEPS + 1]; /* AS_STEPS ends it */
} way_rows[AS_WAYS] = {
	[AS_WAY_MOUNT] = { "mount", { AS_STEP_MOUNT, AS_STEPS } },
	[AS_WAY_QUICK] = { "quick", { AS_STEP_QUICK, AS_STEP_MOUNT, AS_STEPS } },
	[AS_WAY_DEFAULT] = { "fsck", { AS_STEP_DEFAULT, AS_STEP_MOUNT, AS_STEPS } },
	[AS_WAY_FULL] = { "full", { AS_STEP_FULL, AS_STEP_MOUNT, AS_STEPS } },
	[AS_WAY_COMMIT] = { "commit", { AS_STEP_REREAD, AS_STEPS } },
};

const char *as_way_name(enum as_way way)
{
	return (unsigned)way < AS_WAYS ? way_rows[way].name : "?";
}

int as_ways_parse(const char *text, uint32_t *ways, struct as_err *err)
{
	*ways = 0;
	for (const char *s = text; *s; s += strcspn(s, ","), s += *s == ',') {
		size_t len = strcspn(s, ",");
		unsigned w = 0;

		while (w < AS_WAYS &&
		       (strlen(way_rows[w].name) != len || memcmp(way_rows[w].name, s, len)))
			w++;
		if (w == AS_WAYS)
			return as_fail(
				err, AS_EUSE,
				"'%.*s' is no way to recover: mount, quick, fsck, full, commit",
				(int)len, s);
		*ways |= 1u << w;
	}
	return *ways ? 0 : as_fail(err, AS_EUSE, "no way to recover was given");
}

void as_ways_print(uint32_t ways, struct as_buf *out)
{
	const char *comma = "";

	for (unsigned w = 0; w < AS_WAYS; w++) {
		if (!(ways >> w & 1))
			continue;
		as_buf_addf(out, "%s%s", comma, way_rows[w].name);
		comma = ",";
	}
}

const char *as_recovery_end_name(enum as_recovery_end end)
{
	static const char *const names[AS_RECOVERY_ENDS] = {
		[AS_RECOVERED] = "recovered",
		[AS_REFUSED] = "refused",
		[AS_UNREADABLE] = "unreadable",
		[AS_DIED] = "died",
		[AS_HUNG] = "hung",
		[AS_COMPLAINED] = "complained",
	};

	return (unsigned)end < AS_RECOVERY_ENDS ? names[end] : "?";
}

void as_recovered_free(struct as_recovered *recovered)
{
	as_buf_free(&recovered->why);
	as_disk_free(recovered->disk);
	as_tree_put(recovered->tree);
	as_tree_put(recovered->counted);
	as_reclog_free(recovered->log);
	*recovered = (struct as_recovered){ 0 };
}

/* ---- The walk -------------------------------------------------------------------------------- */

struct walk {
	struct as_recoverer *recoverer;
	struct as_recovered *out;
	struct as_disk *log_disk; /* beneath the log; NULL: none is kept */
};

/* Does again what a step did as far as it is recovery, so that the log of the walk has it. */
static void append(struct walk *w, enum as_step step, const struct as_stepped *stepped,
		   struct as_disk *from)
{
	struct as_bd *bd = as_reclog_bd(w->out->log);
	struct as_buf scratch = { 0 };

	if (!stepped->log)
		return;
	if (w->recoverer->driver->cached && as_step_is_checker(step))
		as_writeback(stepped->log, stepped->tree_at, from, bd);
	else
		for (size_t i = 0; i < stepped->tree_at; i++)
			as_redo(as_reclog_at(stepped->log, i), bd, &scratch);
	as_buf_free(&scratch);
}

/* One step from `from`; out->disk becomes what it left. */
static int take(struct walk *w, enum as_step step, struct as_disk *from, struct as_err *err)
{
	unsigned wants = AS_STEP_WANT_DISK | (w->log_disk ? AS_STEP_WANT_LOG : 0);
	struct as_recovered *out = w->out;
	struct as_stepped stepped;
	int rc = as_step(w->recoverer, step, from, wants, &stepped, err);

	if (!rc) {
		out->end = stepped.end;
		out->repaired |= stepped.repaired;
		out->memoised &= stepped.memoised;
		if (stepped.end != AS_RECOVERED)
			as_buf_add(&out->why, stepped.why.data, stepped.why.len);
		if (w->log_disk)
			append(w, step, &stepped, from);
		as_disk_free(out->disk);
		out->disk = stepped.disk;
		out->tree = stepped.tree;
		stepped.disk = NULL;
		stepped.tree = NULL;
	}
	as_stepped_free(&stepped);
	return rc;
}

static void drop_disk(struct as_recovered *out)
{
	as_reclog_free(out->log);
	as_disk_free(out->disk);
	out->log = NULL;
	out->disk = NULL;
}

static int walk_path(struct walk *w, enum as_way way, struct as_disk *crashed, struct as_err *err)
{
	struct as_recovered *out = w->out;
	int rc = 0;

	for (const enum as_step *s = way_rows[way].path; *s != AS_STEPS; s++) {
		rc = take(w, *s, out->disk ? out->disk : crashed, err);
		if (as_step_is_checker(*s))
			out->checker_end = out->log ? as_reclog_len(out->log) : 0;
		if (as_step_is_checker(*s) && out->end != AS_RECOVERED &&
		    !w->recoverer->driver->logs_refusal)
			drop_disk(out);
		if (rc || out->end != AS_RECOVERED)
			break;
	}
	return rc;
}

/* What the strictest checker says of a disk; nothing in *why when it has nothing to say. */
static int look_for_damage(struct as_recoverer *r, struct as_disk *disk, struct as_buf *why,
			   bool *memoised, struct as_err *err)
{
	struct as_stepped stepped;
	int rc;

	if (r->strictest == AS_STEPS)
		return 0;
	rc = as_step(r, r->strictest, disk, 0, &stepped, err);
	if (!rc) {
		as_buf_add(why, stepped.why.data, stepped.why.len);
		*memoised &= stepped.memoised;
	}
	as_stepped_free(&stepped);
	return rc;
}

/* Whether a tree is that of the mount; `why` says what differs. */
static bool is_same(struct walk *w, const struct as_stepped *stepped, const char *name,
		    struct as_buf *why)
{
	w->out->memoised &= stepped->memoised;
	if (stepped->end != AS_RECOVERED)
		as_buf_addf(why, "%s", as_buf_str(&stepped->why));
	else if (as_tree_diff(w->out->tree, "mount", stepped->tree, name, NULL)) {
		as_buf_addf(why, "a %s does not agree: ", name);
		as_tree_diff(w->out->tree, "mount", stepped->tree, name, why);
	}
	return !why->len;
}

/* What was recovered is on the disk, and not only in the memory of the mount that did it: without
 * replay, the same tree is there. A mount that wrote nothing has replayed nothing. */
static int reread(struct walk *w, struct as_buf *why, struct as_err *err)
{
	struct as_stepped stepped;
	int rc = as_step(w->recoverer, AS_STEP_REREAD, w->out->disk, 0, &stepped, err);

	if (!rc)
		(void)is_same(w, &stepped, "mount without replay", why);
	as_stepped_free(&stepped);
	return rc;
}

/* A read-only mount of the crashed disk shows what the writable one has recovered. When it is made
 * writable, that is what gets on the disk. It may refuse, as it must write nothing. */
static int look(struct walk *w, struct as_disk *crashed, struct as_buf *why, struct as_err *err)
{
	struct as_stepped looked, after;
	int rc = as_step(w->recoverer, AS_STEP_LOOK, crashed, AS_STEP_WANT_DISK, &looked, err);

	if (!rc && looked.end != AS_REFUSED && is_same(w, &looked, "read-only mount", why) &&
	    looked.disk && !as_disk_eq(looked.disk, w->out->disk)) {
		rc = as_step(w->recoverer, AS_STEP_MOUNT, looked.disk, 0, &after, err);
		if (!rc)
			(void)is_same(w, &after, "mount after a read-only one", why);
		as_stepped_free(&after);
	}
	as_stepped_free(&looked);
	return rc;
}

/* The recovered disk must be in order, and it must be possible to write to it. */
static int probe(struct walk *w, enum as_way way, struct as_disk *crashed, struct as_err *err)
{
	bool first = way == AS_WAY_MOUNT && !as_disk_eq(w->out->disk, crashed);
	const struct as_step_driver *driver = w->recoverer->driver;
	struct as_recovered *out = w->out;
	struct as_disk *disk = out->disk;
	struct as_buf why = { 0 };
	struct as_stepped stepped;
	int rc = 0;

	if (first && w->recoverer->rereads)
		rc = reread(w, &why, err);
	/* Where the mount is known from another disk, this is, too. */
	if (!rc && !why.len && first && w->recoverer->looks && !out->memoised)
		rc = look(w, crashed, &why, err);
	if (!rc && !why.len && !driver->probe_checks)
		rc = look_for_damage(w->recoverer, disk, &why, &out->memoised, err);
	if (!rc && !why.len) {
		rc = as_step(w->recoverer, AS_STEP_PROBE, disk, 0, &stepped, err);
		out->memoised &= stepped.memoised;
		as_buf_add(&why, stepped.why.data, stepped.why.len);
		out->counted = stepped.tree;
		stepped.tree = NULL;
		as_stepped_free(&stepped);
	}
	if (!rc && why.len) {
		out->end = AS_COMPLAINED;
		as_buf_addf(&out->why, "%s%s", driver->probe_words, as_buf_str(&why));
	}
	as_buf_free(&why);
	return rc;
}

static uint64_t written(const struct as_reclog *log)
{
	uint64_t sectors = 0;

	for (size_t i = 0; log && i < as_reclog_len(log); i++)
		if (as_reclog_at(log, i)->kind == AS_CALL_WRITE)
			sectors += (as_reclog_at(log, i)->len + 511) / 512;
	return sectors;
}

int as_recover(struct as_recoverer *recoverer, enum as_way way, struct as_disk *crashed,
	       unsigned flags, struct as_recovered *recovered, struct as_err *err)
{
	struct walk w = { .recoverer = recoverer, .out = recovered };
	int64_t start_us = as_now_us();
	int rc;

	as_assert(recoverer->ways >> way & 1);
	*recovered = (struct as_recovered){ .memoised = true };
	if (flags & AS_RECOVER_LOG) {
		w.log_disk = as_disk_snapshot(crashed);
		recovered->log = as_reclog_new(as_disk_bd(w.log_disk), AS_RECLOG_READS, 0);
		if (recoverer->uncached)
			as_reclog_uncached(recovered->log);
	}
	rc = walk_path(&w, way, crashed, err);
	if (!rc && flags & AS_RECOVER_PROBE && recovered->end == AS_RECOVERED)
		rc = probe(&w, way, crashed, err);
	as_disk_free(w.log_disk);
	recovered->wrote_sectors = written(recovered->log);
	recovered->time_us = as_now_us() - start_us;
	return rc;
}

bool as_recover_at_peace(struct as_recoverer *r, struct as_disk *disk, struct as_buf *why)
{
	struct as_buf damage = { 0 };
	struct as_err err;
	bool memoised = true, clean;
	int rc = look_for_damage(r, disk, &damage, &memoised, &err);

	clean = !rc && !damage.len;
	if (!clean)
		as_buf_addf(why, "%s%s", rc ? "" : r->driver->peace_words,
			    rc ? err.msg : as_buf_str(&damage));
	as_buf_free(&damage);
	return clean;
}
