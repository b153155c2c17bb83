/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tell: what a success has to hand over, as the rules say it to who asks (model/rules/rule.h). It
 * is said where an answer's payload is judged, so that both are of one mind. */
#include "model/rules/rule.h"

#include <string.h>

void as_rule_tell_content(struct as_rule_step *s, const struct as_inode *inode, uint64_t off,
			  uint64_t len)
{
	const struct as_runs *runs = inode->reg.runs;

	if (!s->told)
		return;
	s->told->payload = AS_PAYLOAD_BYTES;
	s->told->off = off;
	s->told->len = len;
	for (uint32_t i = 0; runs && i < runs->n; i++) {
		const struct as_data_run *run = &runs->run[i];
		uint64_t from = run->start > off ? run->start : off, to = run->start + run->len;

		to = to < off + len ? to : off + len;
		if (from < to && run->pattern)
			as_handed_run(s->told, from - off, to - from, run->pattern,
				      run->from + (from - run->start));
	}
}

void as_rule_tell_pattern(struct as_rule_step *s, uint64_t len, uint64_t pattern)
{
	if (!s->told)
		return;
	s->told->payload = AS_PAYLOAD_BYTES;
	s->told->len = len;
	if (len && pattern)
		as_handed_run(s->told, 0, len, pattern, 0);
}

void as_rule_tell_text(struct as_rule_step *s, const void *text, size_t len)
{
	if (!s->told)
		return;
	s->told->payload = AS_PAYLOAD_BYTES;
	s->told->is_text = true;
	s->told->len = len;
	as_buf_add(&s->told->text, text, len);
}

void as_rule_tell_name(struct as_rule_step *s, char letter, const char *name)
{
	if (!s->told)
		return;
	if (letter)
		as_buf_addc(&s->told->text, letter);
	s->told->typed = letter != 0;
	as_buf_add(&s->told->text, name, strlen(name) + 1);
}

void as_rule_tell_names(struct as_rule_step *s, bool others)
{
	if (!s->told)
		return;
	s->told->payload = AS_PAYLOAD_NAMES;
	s->told->others = others;
}
