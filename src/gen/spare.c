/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spare: see finish.h.
 *
 * Method. A small disk is soon full, and of a file system that may drop what is not synced when it
 * is full, nothing is judged afterwards. So every other workload is made light: no operation takes
 * more than `spare` bytes, and none makes more than a few names. The others fill the disk as they
 * were drawn to.
 */
#include "gen/finish.h"

#include "base/buf.h"
#include "gen/dist.h"

#include <string.h>

#define NAMES_MAX 8u /* that one operation makes */

static void lighten(struct as_op *op, uint64_t most)
{
	const struct as_op_info *info = &as_op_table[op->code];

	if (info->cost.bytes != AS_COST_BYTES_NONE && info->cost.bytes != AS_COST_BYTES_GROWTH &&
	    op->len > most)
		op->len %= most + 1;
	if (info->cost.entries == AS_COST_ENTRIES_COUNT && op->len > NAMES_MAX)
		op->len = 1 + op->len % NAMES_MAX;
}

void as_spare_space(struct as_seq *seq, const struct as_profile *profile, struct as_choice *choice)
{
	if (!profile->spare || as_choose(choice, 2))
		return;
	for (size_t i = 0; i < seq->n; i++)
		lighten(&seq->ops[i], profile->spare);
}

/* ---- Names ----
 *
 * The names of a profile are letters, and none begins as another one does. But file systems compare
 * names by their beginnings: "." and ".." are left out of listings and of the test whether a
 * directory is empty, and a path is looked for in a cache of paths. So in every `spell`th workload
 * the names are spelled otherwise: with one dot or two before them, or with the name before them in
 * the profile. Each name is spelled in one way in the whole workload, in texts of links as well, so
 * that paths lead where they led; but not to what `deepen` makes, whose names are its own.
 *
 * Invariants
 *   1. No choice is made here: all other workloads are what they were.
 *   2. Two names never become one.
 */

enum form { FORM_PLAIN, FORM_DOT, FORM_DOTS, FORM_AFTER, FORMS };

struct speller {
	const struct as_profile *profile;
	uint64_t turn;
	size_t most; /* bytes of a name */
	bool one_dot; /* AS_QUIRK_DOTS_LOST */
	struct as_buf text;
};

static void add_spelled(struct speller *s, uint32_t i, const char *name, size_t len)
{
	const char *before = i ? s->profile->name[i - 1] : "";

	switch ((enum form)((s->turn + i) % FORMS)) {
	case FORM_DOT:
		as_buf_addc(&s->text, '.');
		break;
	case FORM_DOTS:
		as_buf_adds(&s->text, s->one_dot ? "." : "..");
		break;
	case FORM_AFTER:
		if (strlen(before) + len <= s->most)
			as_buf_adds(&s->text, before);
		break;
	case FORM_PLAIN:
	case FORMS:
		break;
	}
	as_buf_add(&s->text, name, len);
}

static void add_part(struct speller *s, const char *part, size_t len)
{
	for (uint32_t i = 0; i < s->profile->n_names && len + 2 <= s->most; i++)
		if (strlen(s->profile->name[i]) == len && !memcmp(s->profile->name[i], part, len)) {
			add_spelled(s, i, part, len);
			return;
		}
	as_buf_add(&s->text, part, len);
}

/* The path with its names spelled otherwise. */
static const char *spell(struct speller *s, struct as_seq *seq, const char *path)
{
	const char *at = path;

	if (!path)
		return NULL;
	as_buf_clear(&s->text);
	while (*at) {
		size_t len = strcspn(at, "/");

		add_part(s, at, len);
		at += len;
		for (; *at == '/'; at++)
			as_buf_addc(&s->text, '/');
	}
	return as_arena_strndup(&seq->strings, as_buf_str(&s->text), s->text.len);
}

void as_spell_names(struct as_seq *seq, const struct as_profile *profile,
		    const struct as_traits *traits, uint64_t number)
{
	struct speller s = { .profile = profile,
			     .most = traits->name_max ? traits->name_max : 255,
			     .one_dot = traits->quirks & AS_QUIRK_DOTS_LOST };

	if (!profile->spell || (number + 1) % profile->spell)
		return;
	s.turn = number / profile->spell;
	for (size_t i = 0; i < seq->n; i++) {
		seq->ops[i].path = spell(&s, seq, seq->ops[i].path);
		seq->ops[i].path2 = spell(&s, seq, seq->ops[i].path2);
	}
	as_buf_free(&s.text);
}
