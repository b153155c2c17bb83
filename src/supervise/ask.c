/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ask: one request that is answered, in a sandbox that stays up. Starting, watching and judging the
 * sandbox is boxed.c's, as for workloads; here is only what a request has of its own: an answer,
 * and a death that is no finding yet.
 *
 * An answer is believed if its event has the number of the request: one that was said twice, or
 * that comes late, is none to the next request.
 */
#include "supervise/boxed_priv.h"

#include "os/share.h"

#include <string.h>

#define ANSWER_MAX_BYTES ((uint64_t)1 << 30)

void as_boxed_death_free(struct as_boxed_death *death)
{
	as_buf_free(&death->title);
	as_buf_free(&death->signature);
	as_buf_free(&death->log);
	*death = (struct as_boxed_death){ 0 };
}

int as_boxed_take_answer(struct as_boxed_session *b, uint64_t number, bool *done,
			 struct as_err *err)
{
	if (!b->answer || number != b->asked || b->n_finished == b->n_list)
		return 0;
	b->events_bytes = b->console_bytes = 0;
	b->kills = 0;
	b->done[b->list[b->n_finished++]] = true;
	*done = true;
	as_buf_clear(b->answer);
	return as_share_read(b->box->share_fd, BOXED_OUT "/" AS_BOXED_ANSWER, ANSWER_MAX_BYTES,
			     b->answer, err);
}

void as_boxed_note_death(struct as_boxed_session *b, enum as_boxed_end end)
{
	const char *said = as_buf_str(&b->console), *mark = strstr(said, AS_GUEST_MARK);
	struct as_boxed_death *death = b->death;

	death->died = true;
	death->hung = end != BOXED_ENDED;
	if (b->weight > AS_KMSG_INFO) {
		as_buf_adds(&death->title, as_buf_str(&b->title));
		as_buf_adds(&death->signature, as_buf_str(&b->signature));
	}
	/* What it says while it boots belongs to no disk. */
	as_buf_adds(&death->log, mark ? mark + strlen(AS_GUEST_MARK) : said);
}

static int once(struct as_boxed_session *b, const struct as_boxed_question *question,
		struct as_buf *answer, struct as_boxed_death *death, struct as_err *err)
{
	const char *name = as_wire_requests[question->request].name;
	const struct as_work work = { .seqs = &question->seq, .names = &name, .n = 1 };
	struct as_run_result sum = { 0 };
	int rc;

	as_boxed_death_free(death);
	as_buf_clear(answer);
	b->question = question;
	b->answer = answer;
	b->death = death;
	b->asked++;
	rc = as_boxed_give(b, &work, &sum, err);
	b->question = NULL;
	b->answer = NULL;
	b->death = NULL;
	return rc;
}

int as_boxed_ask(struct as_boxed_session *b, const struct as_boxed_question *question,
		 struct as_buf *answer, struct as_boxed_death *death, struct as_err *err)
{
	bool fresh = !b->box;
	int rc;

	as_assert(as_wire_requests[question->request].answer && !b->once);
	*death = (struct as_boxed_death){ 0 };
	rc = once(b, question, answer, death, err);
	if ((!rc && !death->died) || (fresh && (b->begun || (rc && rc != AS_EIO))))
		return rc;
	as_boxed_drop(b);
	return once(b, question, answer, death, err);
}
