/* SPDX-License-Identifier: GPL-2.0-or-later */
/* show: see show.h. */
#include "base/show.h"

#include <stdbool.h>
#include <string.h>

size_t as_utf8_len(const char *text, size_t len)
{
	static const struct {
		unsigned char lead_from, lead_to, second_from, second_to, len;
	} forms[] = {
		{ 0x00, 0x7f, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};
	const unsigned char *s = (const unsigned char *)text;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (*s < forms[i].lead_from || *s > forms[i].lead_to)
			continue;
		if (forms[i].len > len)
			return 0;
		if (forms[i].len > 1 && (s[1] < forms[i].second_from || s[1] > forms[i].second_to))
			return 0;
		for (size_t k = 2; k < forms[i].len; k++)
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].len;
	}
	return 0;
}

/* Characters that are not shown but change how a terminal shows the others. */
static const struct {
	uint32_t from, to;
} obeyed[] = {
	{ 0x00, 0x1f }, /* C0 */
	{ 0x7f, 0x9f }, /* DEL, C1 */
	{ 0x61c, 0x61c }, /* Arabic letter mark */
	{ 0x200b, 0x200f }, /* zero width, marks of direction */
	{ 0x2028, 0x202e }, /* line and paragraph separators, embeddings and overrides */
	{ 0x2060, 0x2069 }, /* joiners, isolates */
	{ 0xfeff, 0xfeff }, /* byte order mark */
	{ 0xe0000, 0xe007f }, /* tags */
};

uint32_t as_utf8_code(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	uint32_t code = len == 1 ? s[0] : s[0] & (0x7fu >> len);

	for (size_t i = 1; i < len; i++)
		code = code << 6 | (s[i] & 0x3f);
	return code;
}

static bool is_obeyed(uint32_t code)
{
	for (size_t i = 0; i < sizeof(obeyed) / sizeof(obeyed[0]); i++)
		if (code >= obeyed[i].from && code <= obeyed[i].to)
			return true;
	return false;
}

size_t as_shown_len(const char *s, size_t len)
{
	size_t step;

	if ((unsigned char)*s >= ' ' && (unsigned char)*s < 0x7f)
		return 1;
	step = as_utf8_len(s, len);
	return step && !is_obeyed(as_utf8_code(s, step)) ? step : 0;
}

static void show(struct as_buf *out, const char *s, size_t len, const char *kept)
{
	while (len) {
		size_t step = as_shown_len(s, len);

		if (!step && *s && strchr(kept, *s))
			step = 1;
		if (step) {
			as_buf_add(out, s, step);
		} else {
			step = as_utf8_len(s, len);
			if (step > 1)
				as_buf_addf(out, "\\u{%x}", (unsigned)as_utf8_code(s, step));
			else
				as_buf_addf(out, "\\x%02x", (unsigned char)*s);
			step = step ? step : 1;
		}
		s += step;
		len -= step;
	}
}

void as_shown(struct as_buf *out, const char *text, size_t len)
{
	show(out, text, len, "");
}

void as_show(struct as_buf *out, const char *text)
{
	show(out, text, strlen(text), "");
}

void as_show_lines(struct as_buf *out, const char *text, size_t len)
{
	show(out, text, len, "\n\t");
}

void as_show_word(struct as_buf *out, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./,+:@%-";
	struct as_buf shown = { 0 };

	as_show(&shown, text);
	if (*text && strspn(text, plain) == strlen(text))
		as_buf_adds(out, text);
	else
		as_buf_add_word(out, as_buf_str(&shown));
	as_buf_free(&shown);
}
