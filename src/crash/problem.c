/* SPDX-License-Identifier: GPL-2.0-or-later */
/* problem: what is wrong with a crash state, and by what it is known again. */
#include "crash/judge.h"

#include "run/child.h"

#include <string.h>

void as_problem_free(struct as_problem *wrong)
{
	as_buf_free(&wrong->why);
	as_buf_free(&wrong->signature);
	*wrong = (struct as_problem){ 0 };
}

bool as_problem_set_tree(struct as_problem *wrong, enum as_finding_kind kind, enum as_way way,
			 const char *what, const char *why)
{
	if (wrong->is)
		return false;
	wrong->is = true;
	wrong->kind = kind;
	wrong->way = way;
	wrong->promise = AS_LEGAL_NO_OP;
	as_buf_clear(&wrong->why);
	as_buf_clear(&wrong->signature);
	as_buf_addf(&wrong->why, "%s: %s", what, why);
	as_buf_addf(&wrong->signature, "%s: %s", as_finding_kind_name(kind), what);
	return false;
}

bool as_problem_set(struct as_problem *wrong, enum as_finding_kind kind, enum as_way way,
		    const char *what, const char *why)
{
	/* "reading the tree: /a/f: ...": a path is the workload's. */
	const char *path = strstr(why, ": /"), *behind = path ? strstr(path + 2, ": ") : NULL;

	if (wrong->is)
		return false;
	(void)as_problem_set_tree(wrong, kind, way, what, why);
	as_buf_adds(&wrong->signature, ": ");
	if (behind) {
		struct as_buf head = { 0 };

		as_buf_add(&head, why, (size_t)(path - why));
		as_signature_add(&wrong->signature, as_buf_str(&head));
		as_buf_free(&head);
		why = behind;
	}
	as_signature_add(&wrong->signature, why);
	return false;
}

uint32_t as_problem_sig(const struct as_problem *wrong)
{
	return (uint32_t)as_hash64(as_buf_str(&wrong->signature), wrong->signature.len);
}
