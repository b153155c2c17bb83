/* SPDX-License-Identifier: GPL-2.0-or-later */
/* problem: what is wrong with a crash state, and the signature by which it is recognised. */
#include "crash/judge.h"

#include "child/child.h"
#include "symptom/checker_words.h"
#include "symptom/symptom.h"

#include <stdlib.h>
#include <string.h>

void as_problem_free(struct as_problem *problem)
{
	free(problem->notice);
	*problem = (struct as_problem){ 0 };
}

static void sign(struct as_problem *problem, const char *what, const char *why)
{
	struct as_buf signature = { 0 };

	as_symptom_sign_plain(problem->notice->kind, why ? what : NULL, why ? why : what,
			      &signature);
	AS_NOTICE_SET(problem->notice, signature, as_buf_str(&signature));
	as_buf_free(&signature);
}

void as_problem_sign(struct as_problem *problem, const char *what)
{
	sign(problem, what, NULL);
}

/* Begins it, with what stands in its summary. */
static void begin(struct as_problem *problem, enum as_finding_kind kind, enum as_way way,
		  const char *what, const char *why)
{
	problem->notice = as_xmalloc(sizeof(*problem->notice));
	as_notice_begin(problem->notice, kind, -1);
	AS_NOTICE_SETF(problem->notice, summary, "%s: %s", what, why);
	AS_NOTICE_SETF(problem->notice, detail, "%s: %s", what, why);
	problem->way = way;
	problem->promise = AS_LEGAL_NO_OP;
}

bool as_problem_set_tree(struct as_problem *problem, enum as_finding_kind kind, enum as_way way,
			 const char *what, const char *why)
{
	if (problem->notice)
		return false;
	begin(problem, kind, way, what, why);
	sign(problem, what, NULL);
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
	struct as_buf said = { 0 };

	if (problem->notice)
		return false;
	begin(problem, kind, way, what, why);
	if (after) {
		struct as_buf head = { 0 };

		as_buf_add(&head, why, (size_t)(path - why));
		as_signature_add(&said, as_buf_str(&head));
		as_buf_free(&head);
		why = after;
	}
	add_said(&said, why);
	sign(problem, what, as_buf_str(&said));
	as_buf_free(&said);
	return false;
}

uint32_t as_problem_sig(const struct as_problem *problem)
{
	const char *signature = problem->notice ? problem->notice->signature : "";

	return (uint32_t)as_hash64(signature, strlen(signature));
}
