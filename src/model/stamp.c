/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stamp: see stamp.h. */
#include "model/stamp.h"

#include "base/array.h"
#include "model/locks.h"
#include "model/mark.h"
#include "model/state.h"

#include <stdlib.h>
#include <string.h>

enum stamp_how { KEPT, MAY, MUST, OPTS, TYPE };
enum which { ATIME, MTIME, CTIME, TIMES };

static const struct {
	enum stamp_how how[TIMES];
	const char *since;
} events[AS_EVENTS] = {
#define EVENT(name, atime, mtime, ctime, since) \
	[AS_EVENT_##name] = { { atime, mtime, ctime }, since },
#include "model/stamp.def"
#undef EVENT
};

static const char *const names[TIMES] = { "atime", "mtime", "ctime" };

struct span {
	int64_t lo, hi;
};

struct stamp {
	struct span span[TIMES];
	struct span born; /* btime */
	uint8_t since[TIMES]; /* the event that moved it last */
	bool known;
};

struct as_stamps {
	struct stamp *at; /* by inode number */
	size_t n;
	struct span now; /* of the operation that is judged */
	int64_t tree_read_ns; /* when the tree was read last; INT64_MAX: it is being read */
	const char *opts; /* those that every mount has */
	enum stamp_how atime; /* what the mount options say of READ */
	/* Not the times are followed, but the inodes: as_model_follow_touches(). */
	bool only_touches;
	struct as_touch *touch; /* by the operation that is judged */
	size_t n_touches, cap_touches;
};

static struct as_stamps *stamps_new(const struct as_traits *traits)
{
	struct as_stamps *s;

	if (!traits->stamps)
		return NULL;
	s = as_xcalloc(1, sizeof(*s));
	s->tree_read_ns = INT64_MIN;
	s->atime = MAY;
	return s;
}

void as_stamps_free(struct as_stamps *stamps)
{
	if (stamps) {
		free(stamps->at);
		free(stamps->touch);
	}
	free(stamps);
}

void as_model_follow_times(struct as_model *model, const char *mount_opts)
{
	as_stamps_free(model->stamps);
	model->stamps = stamps_new(model->traits);
	if (model->stamps)
		model->stamps->opts = mount_opts;
	as_stamps_mounted(model, "", false);
}

void as_model_clock(struct as_model *model, int64_t began_ns, int64_t ended_ns)
{
	if (!model->stamps)
		return;
	model->stamps->now = (struct span){ began_ns, ended_ns };
	model->stamps->n_touches = 0;
}

void as_model_follow_touches(struct as_model *model)
{
	as_stamps_free(model->stamps);
	model->stamps = as_xcalloc(1, sizeof(*model->stamps));
	model->stamps->only_touches = true;
	model->stamps->atime = MAY;
}

const struct as_touch *as_model_touches(const struct as_model *model, size_t *n)
{
	*n = model->stamps ? model->stamps->n_touches : 0;
	return *n ? model->stamps->touch : NULL;
}

static void touch(struct as_stamps *s, uint32_t ino, unsigned times)
{
	if (!times)
		return;
	AS_ARRAY_ROOM(s->touch, s->n_touches, s->cap_touches);
	s->touch[s->n_touches++] = (struct as_touch){ ino, times };
}

static unsigned times_of(enum as_event event)
{
	unsigned times = 0;

	for (unsigned i = 0; i < TIMES; i++)
		if (events[event].how[i] != KEPT)
			times |= 1u << i;
	return times;
}

void as_model_tree_read(struct as_model *model, int64_t until_ns)
{
	if (model->stamps)
		model->stamps->tree_read_ns = until_ns;
	as_locks_doubt(model);
}

static const struct span all_times = { INT64_MIN, INT64_MAX };

static struct stamp *stamp_of(struct as_stamps *s, uint32_t ino)
{
	struct stamp *at;

	if (ino >= s->n) {
		size_t n = ino + 64 + s->n / 2;

		s->at = as_xrealloc(s->at, n * sizeof(*s->at));
		memset(s->at + s->n, 0, (n - s->n) * sizeof(*s->at));
		s->n = n;
	}
	at = &s->at[ino];
	if (!at->known) {
		for (unsigned i = 0; i < TIMES; i++)
			at->span[i] = all_times;
		at->born = all_times;
		at->known = true;
	}
	return at;
}

static void move(struct as_stamps *s, struct span *span, enum stamp_how how)
{
	if (how == MUST)
		*span = s->now;
	if (how != MAY)
		return;
	if (s->now.lo < span->lo)
		span->lo = s->now.lo;
	if (s->now.hi > span->hi)
		span->hi = s->now.hi;
}

void as_stamp(struct as_model *m, uint32_t ino, enum as_event event)
{
	struct as_stamps *s = m->stamps;
	struct stamp *at;

	/* touch_atime(): mnt_get_write_access() */
	if (!s || m->readonly)
		return;
	if (s->only_touches) {
		touch(s, ino, times_of(event));
		return;
	}
	/* atime_needs_update() */
	if ((event == AS_EVENT_READ || event == AS_EVENT_READ_OTHERWISE) &&
	    as_inode_flags(inode_at(m, ino)) & AS_FS_NOATIME_FL)
		return;
	at = stamp_of(s, ino);
	if (event == AS_EVENT_MADE)
		at->born = s->now;
	for (unsigned i = 0; i < TIMES; i++) {
		enum stamp_how how = events[event].how[i];

		if (how == OPTS)
			how = s->atime;
		if (how == TYPE)
			how = m->traits->stamps & AS_STAMPS_RENAMED ? MUST : MAY;
		move(s, &at->span[i], how);
		if (how != KEPT)
			at->since[i] = (uint8_t)event;
	}
}

static void set(struct as_stamps *s, struct stamp *at, enum which which, int64_t ns)
{
	if (ns == AS_TIME_OMIT)
		return;
	at->span[which] = ns == AS_TIME_NOW ? s->now : (struct span){ ns, ns };
	at->since[which] = AS_EVENT_ATTRS;
}

void as_stamp_set(struct as_model *m, uint32_t ino, int64_t atime_ns, int64_t mtime_ns)
{
	struct span *atime;

	if (!m->stamps)
		return;
	as_stamp(m, ino, AS_EVENT_ATTRS);
	if (m->stamps->only_touches) {
		touch(m->stamps, ino, AS_STAMPS_ALL);
		return;
	}
	set(m->stamps, stamp_of(m->stamps, ino), ATIME, atime_ns);
	set(m->stamps, stamp_of(m->stamps, ino), MTIME, mtime_ns);
	/* Invariant 4: a walk may be any operation from now on, such as one that prunes. */
	atime = &stamp_of(m->stamps, ino)->span[ATIME];
	if (!is_reg(inode_at(m, ino)) && m->stamps->now.lo < atime->lo)
		atime->lo = m->stamps->now.lo;
}

void as_stamps_forget(struct as_model *m)
{
	if (m->stamps && m->stamps->n)
		memset(m->stamps->at, 0, m->stamps->n * sizeof(*m->stamps->at));
}

/* ---- Mount options --------------------------------------------------------------------------- */

enum { SAID_RELATIME = 1, SAID_NOATIME = 2, SAID_STRICTATIME = 4, SAID_NODIRATIME = 8 };

static unsigned words_said(const char *opts)
{
	static const char *const words[] = { "relatime", "noatime", "strictatime", "nodiratime" };
	unsigned said = 0;

	for (const char *at = opts ? opts : ""; *at; at += *at == ',') {
		size_t len = strcspn(at, ",");

		for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (len == strlen(words[i]) && !strncmp(at, words[i], len))
				said |= 1u << i;
		at += len;
	}
	return said;
}

/* path_mount(): relatime unless another word is said, and a remount without any leaves it as it
 * is. Which of strictatime and relatime counts is the one said last: then it may move. */
void as_stamps_mounted(struct as_model *m, const char *opts, bool remount)
{
	unsigned said;

	if (!m->stamps)
		return;
	said = words_said(m->stamps->opts) | words_said(opts);
	if (remount && !said)
		return;
	m->stamps->atime = MAY;
	if (said & SAID_STRICTATIME && !(said & SAID_RELATIME))
		m->stamps->atime = MUST;
	else if (said & SAID_NOATIME && !(said & SAID_STRICTATIME))
		m->stamps->atime = KEPT;
}

/* ---- The judge ------------------------------------------------------------------------------- */

static int64_t floor_to(int64_t ns, int64_t unit)
{
	int64_t rest = ns % unit;

	if (rest < 0)
		rest += unit;
	return ns < INT64_MIN + rest ? INT64_MIN : ns - rest;
}

/* Where the span begins that this time may be in. An atime that was set to the future goes
 * back when somebody reads the tree: relatime_need_update() compares it with mtime, not with
 * the clock. */
static int64_t start_of(const struct as_stamps *s, const struct stamp *at, enum which which)
{
	return which == ATIME && s->now.lo < at->span[which].lo ? s->now.lo : at->span[which].lo;
}

/* Where the span ends that this time may be in. */
static int64_t end_of(const struct as_stamps *s, const struct as_inode *inode,
		      const struct stamp *at, enum which which)
{
	if (which != ATIME)
		return at->span[which].hi;
	if (is_dir(inode) || S_ISLNK(inode->mode))
		return INT64_MAX;
	return s->tree_read_ns > at->span[which].hi ? s->tree_read_ns : at->span[which].hi;
}

bool as_stamps_wrong(const struct as_model *m, const struct as_inode *inode,
		     const struct as_stat *st, struct as_buf *why)
{
	const int64_t got[TIMES] = { st->atime_ns, st->mtime_ns, st->ctime_ns };
	const struct as_stamps *s = m->stamps;
	int64_t unit = m->traits->time_granularity_ns;
	bool often = m->traits->stamps & AS_STAMPS_OFTEN;

	if (!s || inode->ino >= s->n || !s->at[inode->ino].known)
		return false;
	if (m->traits->quirks & AS_QUIRK_TIMES_MAYBE_SECONDS)
		unit = 1000000000;
	for (unsigned i = 0; i < TIMES; i++) {
		const struct stamp *at = &s->at[inode->ino];
		int64_t lo = start_of(s, at, i), hi = end_of(s, inode, at, i);

		if (!(m->traits->stamps & 1u << i))
			continue;
		if (got[i] >= floor_to(lo, unit > 0 ? unit : 1) && (got[i] <= hi || often))
			continue;
		as_buf_addf(why, "%s %lld ns, model says %lld or %s since it %s", names[i],
			    (long long)got[i], (long long)(got[i] > hi ? hi : lo),
			    got[i] > hi ? "earlier" : "later", events[at->since[i]].since);
		return true;
	}
	return false;
}

bool as_stamp_born(struct as_model *m, const struct as_inode *inode, int64_t btime_ns,
		   struct as_buf *why)
{
	int64_t unit = m->traits->time_granularity_ns;
	struct span *born;

	if (!m->stamps)
		return false;
	born = &stamp_of(m->stamps, inode->ino)->born;
	if (btime_ns < floor_to(born->lo, unit > 0 ? unit : 1) || btime_ns > born->hi) {
		as_buf_addf(why, "btime %lld ns, model says %lld or %s", (long long)btime_ns,
			    (long long)(btime_ns > born->hi ? born->hi : born->lo),
			    btime_ns > born->hi ? "earlier" : "later");
		return true;
	}
	*born = (struct span){ btime_ns, btime_ns };
	return false;
}
