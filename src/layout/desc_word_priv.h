/* SPDX-License-Identifier: GPL-2.0-or-later */
/* desc_word_priv: the words of a line of a description, for desc.c. */
#ifndef AS_LAYOUT_DESC_WORD_PRIV_H
#define AS_LAYOUT_DESC_WORD_PRIV_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct desc_word {
	const char *text;
	size_t len;
};

static inline bool is(struct desc_word word, const char *text)
{
	return word.len == strlen(text) && memcmp(word.text, text, word.len) == 0;
}

/* Whether the word is KEY=..., of which the value is kept. */
static inline bool is_key(struct desc_word word, const char *key, struct desc_word *value)
{
	size_t len = strlen(key);

	if (word.len <= len || memcmp(word.text, key, len) != 0 || word.text[len] != '=')
		return false;
	value->text = word.text + len + 1;
	value->len = word.len - len - 1;
	return true;
}

static inline bool is_name(struct desc_word word)
{
	if (!word.len || word.len > 64 ||
	    !(isalpha((unsigned char)word.text[0]) || word.text[0] == '_'))
		return false;
	for (size_t i = 0; i < word.len; i++)
		if (!isalnum((unsigned char)word.text[i]) && !strchr("_.-", word.text[i]))
			return false;
	return true;
}

/* A:B */
static inline bool split(struct desc_word word, struct desc_word *a, struct desc_word *b)
{
	const char *colon = memchr(word.text, ':', word.len);

	if (!colon)
		return false;
	*a = (struct desc_word){ word.text, (size_t)(colon - word.text) };
	*b = (struct desc_word){ colon + 1, word.len - a->len - 1 };
	return true;
}

#endif
