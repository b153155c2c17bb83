/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * group: sync groups and cut points (see group.h for the rules).
 *
 * Method. There is one pass over the log. All writes go, in order, into one array. The pending
 * writes of a group, and of a cut inside it, are next to each other there, so a list of pending
 * entries is a slice of that array, and nothing is copied for a cut.
 *
 * Invariants
 *   1. The numbers in writes[] rise strictly.
 *   2. The slices of the groups lie end to end and cover writes[].
 *   3. A cut's slice begins where its group's does and is no longer.
 */
#include "disk/group.h"

#include <stdlib.h>

struct group_span {
	size_t first, end, flush; /* entries */
	size_t write; /* where its slice of writes[] begins */
};

struct cut {
	size_t at, group;
	size_t n_writes; /* writes[] before this cut */
	uint32_t op;
};

struct as_groups {
	size_t *writes;
	struct group_span *spans;
	struct cut *cuts;
	size_t n_writes, n_spans, n_cuts;
};

static void open_span(struct as_groups *groups, size_t first)
{
	groups->spans[groups->n_spans++] = (struct group_span){
		.first = first,
		.flush = AS_GROUP_OPEN,
		.write = groups->n_writes,
	};
}

static void add_cut(struct as_groups *groups, size_t at, uint32_t op)
{
	groups->cuts[groups->n_cuts++] = (struct cut){
		.at = at,
		.group = groups->n_spans - 1,
		.n_writes = groups->n_writes,
		.op = op,
	};
}

struct as_groups *as_groups_new(const struct as_reclog *log)
{
	struct as_groups *groups = as_xcalloc(1, sizeof(*groups));
	size_t len = as_reclog_len(log), n_writes = 0, n_flushes = 0;

	for (size_t i = 0; i < len; i++) {
		const struct as_log_entry *entry = as_reclog_at(log, i);

		as_assert(!entry->fua && entry->done == i + 1);
		n_writes += as_log_entry_changes(entry);
		n_flushes += entry->kind == AS_CALL_FLUSH && !entry->ret;
	}
	groups->writes = as_xcalloc(n_writes + 1, sizeof(*groups->writes));
	groups->spans = as_xcalloc(n_flushes + 1, sizeof(*groups->spans));
	groups->cuts = as_xcalloc(n_writes + n_flushes + 1, sizeof(*groups->cuts));
	open_span(groups, 0);
	add_cut(groups, 0, AS_RECLOG_NO_OP);
	for (size_t i = 0; i < len; i++) {
		const struct as_log_entry *entry = as_reclog_at(log, i);

		if (as_log_entry_changes(entry)) {
			groups->writes[groups->n_writes++] = i;
		} else if (entry->kind == AS_CALL_FLUSH && !entry->ret) {
			groups->spans[groups->n_spans - 1].flush = i;
			groups->spans[groups->n_spans - 1].end = i + 1;
			open_span(groups, i + 1);
		} else {
			continue;
		}
		add_cut(groups, i + 1, entry->op);
	}
	groups->spans[groups->n_spans - 1].end = len;
	return groups;
}

void as_groups_free(struct as_groups *groups)
{
	if (!groups)
		return;
	free(groups->writes);
	free(groups->spans);
	free(groups->cuts);
	free(groups);
}

size_t as_groups_len(const struct as_groups *groups)
{
	return groups->n_spans;
}

struct as_group as_groups_at(const struct as_groups *groups, size_t g)
{
	const struct group_span *span = &groups->spans[g];

	as_assert(g < groups->n_spans);
	return (struct as_group){
		.first = span->first,
		.end = span->end,
		.flush = span->flush,
		.pending = groups->writes + span->write,
		.n_pending =
			(g + 1 < groups->n_spans ? span[1].write : groups->n_writes) - span->write,
	};
}

size_t as_groups_cuts(const struct as_groups *groups)
{
	return groups->n_cuts;
}

struct as_cut as_groups_cut(const struct as_groups *groups, size_t k)
{
	const struct cut *cut = &groups->cuts[k];
	const struct group_span *span;

	as_assert(k < groups->n_cuts);
	span = &groups->spans[cut->group];
	return (struct as_cut){
		.at = cut->at,
		.base_end = span->first,
		.group = cut->group,
		.pending = groups->writes + span->write,
		.n_pending = cut->n_writes - span->write,
		.op = cut->op,
	};
}
