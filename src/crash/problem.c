/* SPDX-License-Identifier: GPL-2.0-or-later */
/* problem: what is wrong with a crash state, and the signature by which it is recognised. */
#include "crash/judge.h"

#include "child/child.h"
#include "symptom/checker_words.h"

#include <string.h>

void as_problem_free(struct as_problem *problem)
{
	as_buf_free(&problem->why);
	as_buf_free(&problem->signature);
	*problem = (struct as_problem){ 0 };
}

bool as_problem_set_tree(struct as_problem *problem, enum as_finding_kind kind, enum as_way way,
			 const char *what, const char *why)
{
	if (problem->is)
		return false;
	problem->is = true;
	problem->kind = kind;
	problem->way = way;
	problem->promise = AS_LEGAL_NO_OP;
	as_buf_clear(&problem->why);
	as_buf_clear(&problem->signature);
	as_buf_addf(&problem->why, "%s: %s", what, why);
	as_buf_addf(&problem->signature, "%s: %s", as_finding_kind_name(kind), what);
	return false;
}

/* What a library's checker named is known by the name of the problem: ": [303 UNCONNECTED] ...". */
static void add_said(struct as_buf *out, const char *why)
{
	const char *tag = strstr(why, ": [");
	struct as_buf head = { 0 };

	as_buf_add(&head, why, tag ? (size_t)(tag - why) + 2 : strlen(why));
	as_signature_add(out, as_buf_str(&head));
	if (tag)
		as_checker_problem_sign("", tag + 2, out);
	as_buf_free(&head);
}

bool as_problem_set(struct as_problem *problem, enum as_finding_kind kind, enum as_way way,
		    const char *what, const char *why)
{
	/* "reading the tree: /a/f: ...": the path is the workload's, so it is left out. */
	const char *path = strstr(why, ": /"), *after = path ? strstr(path + 2, ": ") : NULL;

	if (problem->is)
		return false;
	(void)as_problem_set_tree(problem, kind, way, what, why);
	as_buf_adds(&problem->signature, ": ");
	if (after) {
		struct as_buf head = { 0 };

		as_buf_add(&head, why, (size_t)(path - why));
		as_signature_add(&problem->signature, as_buf_str(&head));
		as_buf_free(&head);
		why = after;
	}
	add_said(&problem->signature, why);
	return false;
}

uint32_t as_problem_sig(const struct as_problem *problem)
{
	return (uint32_t)as_hash64(as_buf_str(&problem->signature), problem->signature.len);
}
