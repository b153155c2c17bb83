/* SPDX-License-Identifier: GPL-2.0-or-later */
/* groups: see groups.h. */
#include "report/groups.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

struct group {
	char *name, *id; /* id NULL: only signatures that were met before */
	size_t ops; /* of the smallest example */
	uint64_t count;
};

struct as_report_groups {
	struct group *groups;
	size_t n, cap;
	uint64_t count;
};

struct as_report_groups *as_report_groups_new(void)
{
	return as_xcalloc(1, sizeof(struct as_report_groups));
}

void as_report_groups_free(struct as_report_groups *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->n; i++) {
		free(g->groups[i].name);
		free(g->groups[i].id);
	}
	free(g->groups);
	free(g);
}

static struct group *count(struct as_report_groups *g, const char *signature)
{
	struct as_buf name = { 0 };
	size_t i = 0;

	as_signature_group(&name, signature);
	while (i < g->n && strcmp(g->groups[i].name, as_buf_str(&name)))
		i++;
	if (i == g->n) {
		AS_ARRAY_ROOM(g->groups, g->n, g->cap);
		g->groups[g->n++] = (struct group){ .name = as_xstrdup(as_buf_str(&name)) };
	}
	as_buf_free(&name);
	g->groups[i].count++;
	g->count++;
	return &g->groups[i];
}

/* Lines of a workload that are operations. */
static size_t count_ops(const char *workload)
{
	size_t n = 0;

	while (workload && *workload) {
		n += *workload != '@' && *workload != '#' && *workload != '\n';
		workload += strcspn(workload, "\n");
		workload += *workload == '\n';
	}
	return n;
}

void as_report_groups_add(struct as_report_groups *g, const struct as_finding *f)
{
	struct group *group = count(g, f->signature);
	size_t ops = count_ops(f->workload);

	if (group->id && group->ops <= ops)
		return;
	free(group->id);
	group->id = as_xstrdup(f->id);
	group->ops = ops;
}

void as_report_groups_again(struct as_report_groups *g, const char *signature)
{
	(void)count(g, signature);
}

static int by_count(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->name, y->name);
}

void as_report_groups_tell(const struct as_report_groups *g, struct as_sink *talk)
{
	if (g->count < 2)
		return;
	qsort(g->groups, g->n, sizeof(*g->groups), by_count);
	as_emit_note(talk, "%7s  %7s  %-32s  %s", "count", "ops", "example", "likely cause");
	for (size_t i = 0; i < g->n; i++)
		as_emit_note(talk, "%7llu  %7zu  %-32s  %.160s",
			     (unsigned long long)g->groups[i].count, g->groups[i].ops,
			     g->groups[i].id ? g->groups[i].id : "met before", g->groups[i].name);
}
