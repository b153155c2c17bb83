/* SPDX-License-Identifier: GPL-2.0-or-later */
/* voice: see voice.h. */
#include "fsck/voice.h"

#include "base/hash.h"
#include "symptom/checker_words.h"

#include <string.h>

#define LINES_MAX 200u /* of one run that are listened to */
#define LINE_BYTES 160u

enum { SAYS = 1, ANSWERS, LOOKS, IS_WRONG };

static void add(unsigned what, uint64_t number, struct as_buf *out)
{
	uint64_t voice = as_mix64(number * 32 + what);

	as_buf_add(out, &voice, sizeof(voice));
}

static void add_lines(const char *command, const struct as_fsck_run *run, unsigned what,
		      struct as_buf *out)
{
	const char *at = run->output;
	struct as_buf line = { 0 }, problem = { 0 }, sign = { 0 };

	for (unsigned i = 0; at && *at && i < LINES_MAX; i++) {
		size_t len = strcspn(at, "\n");

		as_buf_clear(&line);
		as_buf_clear(&problem);
		as_buf_clear(&sign);
		as_buf_add(&line, at, len < LINE_BYTES ? len : LINE_BYTES);
		if (as_checker_problem(command, as_buf_str(&line), &problem)) {
			as_checker_problem_sign(command, as_buf_str(&problem), &sign);
			add(what, as_hash64(sign.data, sign.len), out);
		}
		at += len + (at[len] == '\n');
	}
	as_buf_free(&line);
	as_buf_free(&problem);
	as_buf_free(&sign);
}

uint64_t as_fsck_voice_first(const struct as_fsck_subject *subject, const struct as_fsck_run *run)
{
	uint64_t number = run->answer, last = 0, voice;
	struct as_buf said = { 0 };

	add_lines(as_subject_command(subject, AS_SUBJECT_REPAIR), run, SAYS, &said);
	for (size_t i = 0; i + sizeof(voice) <= said.len; i += sizeof(voice)) {
		memcpy(&voice, said.data + i, sizeof(voice));
		if (voice != last)
			number = as_mix64(number * 3 + voice);
		last = voice;
	}
	as_buf_free(&said);
	return number;
}

void as_fsck_voice(const struct as_fsck_subject *subject, const struct as_fsck_verdict *v,
		   struct as_buf *out)
{
	const struct as_fsck_seen *s = &v->seen;
	const char *repair = as_subject_command(subject, AS_SUBJECT_REPAIR);

	for (unsigned i = 0; i < s->n && i < 2; i++) {
		add_lines(repair, s->run[i], SAYS + 8 * i, out);
		add(ANSWERS + 8 * i, s->run[i]->answer * 8 + (i ? s->run[0]->answer : 0), out);
	}
	if (s->check)
		add(LOOKS, s->check->answer * 8 + (s->n ? s->run[0]->answer : 0), out);
	for (unsigned p = 0; p < AS_FSCK_PROBLEMS; p++)
		if (v->problems & 1u << p)
			add(IS_WRONG,
			    as_hash64(v->found[p].signature.data, v->found[p].signature.len), out);
}
