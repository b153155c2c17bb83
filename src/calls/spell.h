/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spell: reads values and words as tracers print them: "O_RDWR|O_CREAT", "0644", "0x80000 /" "*
 * O_CLOEXEC *" "/", "ENOENT". The same few texts come again and again, so their meaning is
 * remembered by their hash.
 */
#ifndef AS_CALLS_SPELL_H
#define AS_CALLS_SPELL_H

#include "calls/spec.h"

struct as_spell;

struct as_spell *as_spell_new(void);
void as_spell_free(struct as_spell *spell);

/* A bit that no table has: stands for words that are not known. */
#define AS_SPELL_UNKNOWN (1ull << 62)

/* Flags or a word of a category; words may be NULL: only numbers. */
uint64_t as_spell_value(struct as_spell *spell, const struct as_spec_words *words, const char *text,
			size_t len);
/* 0: not an error that is known. */
int as_spell_errno(struct as_spell *spell, const char *text, size_t len);

/* "-1", "4096", "0x1000"; octal only on demand. False: no number, or more after it. */
bool as_spell_number(const char *text, size_t len, bool octal, uint64_t *out);

#endif
