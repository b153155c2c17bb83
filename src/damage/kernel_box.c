/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_box: a sandbox that answers one request after the other about disks. The supervisor of all
 * sandboxes (supervise/boxed.h) starts it, watches it, and says how its kernel died; here that
 * becomes a word about the disk.
 */
#include "damage/kernel_priv.h"

#include "box/guest_programs.h"
#include "target/fstype.h"

#include <stdlib.h>

#define ANSWER_MS 60000 /* a mount of a small disk takes milliseconds */

struct as_kernel_box {
	struct as_boxed how;
	struct as_guest_programs programs;
	struct as_boxed_session *session;
};

/* A kernel of its own; without one, the running kernel, if it knows the type and we may mount. */
static int choose_sandbox(struct as_kernel_box *b, const struct as_fstype *type, struct as_err *err)
{
	bool chosen = b->how.sandbox;
	struct as_buf why = { 0 };
	struct as_err ignored;
	int rc;

	if (!chosen)
		b->how.sandbox = &as_sandbox_uml;
	rc = b->how.sandbox->ready(&b->how.box, err);
	if (rc == AS_ELACK && !chosen && !as_sandbox_host.ready(&b->how.box, &ignored) &&
	    !as_fstype_lacks_host(type, &why)) {
		b->how.sandbox = &as_sandbox_host;
		rc = 0;
	}
	as_buf_free(&why);
	return rc;
}

int as_kernel_box_open(const struct as_fsck_kernel_setup *setup, struct as_kernel_box **out,
		       struct as_err *err)
{
	struct as_kernel_box *b = as_xcalloc(1, sizeof(*b));
	const struct as_fstype *type = as_fstype_find(setup->target);
	int rc;

	b->how = (struct as_boxed){ .sandbox = setup->sandbox,
				    .box = setup->box,
				    .target = setup->target,
				    .options = { .deadline_ms = ANSWER_MS } };
	as_assert(type);
	as_guest_programs_add(&b->programs, type);
	as_guest_programs_set(&b->programs, &b->how.box);
	rc = choose_sandbox(b, type, err);
	if (!rc)
		rc = as_boxed_open(&b->how, &b->session, err);
	if (rc) {
		as_kernel_box_free(b);
		b = NULL;
	}
	*out = b;
	return rc;
}

void as_kernel_box_free(struct as_kernel_box *b)
{
	if (!b)
		return;
	as_boxed_close(b->session);
	as_guest_programs_free(&b->programs);
	free(b);
}

static void word_of(const struct as_boxed_death *death, struct as_word *w)
{
	w->end = death->hung ? AS_WORD_HUNG : AS_WORD_DIED;
	as_buf_addf(&w->why, "the kernel %s%s%s", death->hung ? "gives no answer" : "dies",
		    death->title.len ? ": " : "", as_buf_str(&death->title));
	as_buf_addf(&w->sign, "%s %s", as_word_end_name(w->end), as_buf_str(&death->signature));
	as_buf_adds(&w->log, as_buf_str(&death->log));
}

int as_kernel_box_give(struct as_kernel_box *b, const struct as_boxed_question *question,
		       struct as_buf *answer, struct as_word *word, struct as_err *err)
{
	struct as_boxed_death death;
	int rc = as_boxed_ask(b->session, question, answer, &death, err);

	if (!rc && death.died)
		word_of(&death, word);
	as_boxed_death_free(&death);
	return rc;
}
