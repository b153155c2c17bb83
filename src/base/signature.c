/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * signature: texts of one mistake made equal, and signatures put into groups (finding.h).
 *
 * Method. A text of a checker, a kernel or ours is cut into words. A word that belongs to one run
 * becomes a placeholder:
 *
 *   #     a number: decimal, hexadecimal with or without 0x, with a sign, a point or commas; also a
 *         list or a range of numbers ("12 13 20--24")
 *   NAME  what stands in quotes
 *   PATH  what begins with a slash, /dev/... too; with blanks in it when a number in brackets
 *         follows ("/a b (12)"), or up to the bracket that closes when one opened before it
 *   UUID  8-4-4-4-12 hexadecimal digits
 *   TIME  "Mon Nov 16 02:54:48 2026", "2026-11-16 02:54:48", "02:54:48"
 *
 * Digits inside a word become '#' ("f12", "loop3"). A place in a program ("e2fsck+0x12ab") tells
 * one mistake from another, so its number stays. Everything else stays, byte by byte: a
 * translated text has placeholders at the same places.
 *
 * Invariants
 *   1. A signature has no newline and no other control character.
 *   2. A normalised text stays as it is when it is normalised again.
 */
#include "base/finding.h"

#include <ctype.h>
#include <string.h>

#define HEX "0123456789abcdefABCDEF"
#define DIGITS "0123456789"
#define HEX_MIN 6 /* digits of a hexadecimal number without 0x that has a decimal digit, too */

/* ---- One word -------------------------------------------------------------------------------- */

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static size_t uuid_len(const char *s)
{
	static const unsigned char parts[] = { 8, 4, 4, 4, 12 };
	size_t at = 0;

	for (size_t i = 0; i < sizeof(parts); i++) {
		if (strspn(s + at, HEX) != parts[i])
			return 0;
		at += parts[i];
		if (i + 1 < sizeof(parts) && s[at++] != '-')
			return 0;
	}
	return is_word_char(s[at]) ? 0 : at;
}

/* Matches a form in which 0 stands for a digit, _ for a digit or a blank, a for a letter. */
static size_t form_len(const char *s, const char *form)
{
	size_t i = 0;

	for (; form[i]; i++) {
		unsigned char c = (unsigned char)s[i];
		bool fits = form[i] == '0'   ? isdigit(c)
			    : form[i] == '_' ? isdigit(c) || c == ' '
			    : form[i] == 'a' ? isalpha(c)
					     : c == (unsigned char)form[i];

		if (!fits)
			return 0;
	}
	return isdigit((unsigned char)s[i]) ? 0 : i;
}

static size_t time_len(const char *s)
{
	static const char *const forms[] = {
		"aaa aaa _0 00:00:00 0000", "aaa aaa _0 00:00:00", "0000-00-00T00:00:00",
		"0000-00-00 00:00:00",	    "0000-00-00",	   "00:00:00",
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		size_t len = form_len(s, forms[i]);

		/* A part of a second, and the zone. */
		if (len && s[len] == '.')
			len += 1 + strspn(s + len + 1, DIGITS);
		if (len && s[len] == 'Z' && !is_word_char(s[len + 1]))
			len++;
		if (len)
			return len;
	}
	return 0;
}

static size_t hex_len(const char *s)
{
	size_t len;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		len = strspn(s + 2, HEX);
		return len ? 2 + len : 0;
	}
	len = strspn(s, HEX);
	if (is_word_char(s[len]))
		return 0;
	/* Without a decimal digit it may be a word, unless it is as long as a hash. */
	if (len == 8 || len == 16 || len == 32 || len == 40 || len == 64)
		return len;
	return len >= HEX_MIN && strcspn(s, DIGITS) < len ? len : 0;
}

static size_t decimal_len(const char *s)
{
	size_t len = strspn(s, DIGITS);

	/* "1,234", "0.5"; a comma or a point that ends a clause is none of the number. */
	while (len && (s[len] == ',' || s[len] == '.') && isdigit((unsigned char)s[len + 1]))
		len += 1 + strspn(s + len + 1, DIGITS);
	return len;
}

/* The quotes that texts have: ', ", the curved ones and the angled ones. */
static const struct quote {
	const char *open, *close;
} quotes[] = {
	{ "\"", "\"" },
	{ "'", "'" },
	{ "`", "'" },
	{ "\xe2\x80\x98", "\xe2\x80\x99" },
	{ "\xe2\x80\x9c", "\xe2\x80\x9d" },
	{ "\xc2\xab", "\xc2\xbb" },
};

/* What stands in quotes, quotes included. An apostrophe ("doesn't", "files' names") begins none. */
static size_t quoted_len(const char *s, char before)
{
	if (is_word_char(before) && (unsigned char)before < 0x80)
		return 0;
	for (size_t i = 0; i < sizeof(quotes) / sizeof(*quotes); i++) {
		size_t n = strlen(quotes[i].open);
		const char *end;

		if (strncmp(s, quotes[i].open, n) || s[n] == ' ')
			continue;
		/* The name itself may hold the quote: the end is where a word ends, too. */
		for (end = strstr(s + n, quotes[i].close); end;
		     end = strstr(end + 1, quotes[i].close)) {
			char after = end[strlen(quotes[i].close)];

			if (!after || strchr(" ,.;:)]?!\t", after))
				return (size_t)(end - s) + strlen(quotes[i].close);
		}
	}
	return 0;
}

static size_t path_len(const char *s, char before)
{
	size_t len;
	const char *bracket;

	if (*s != '/' || is_word_char(before) || before == '#' || before == '/' || before == '>')
		return 0;
	if (before == '(') {
		len = strcspn(s, ")");
		return s[len] ? len : strcspn(s, " ");
	}
	/* "in /a b (12)": a number in brackets ends the path. */
	for (bracket = strstr(s, " ("); bracket; bracket = strstr(bracket + 1, " (")) {
		len = (size_t)(bracket - s);
		if (isdigit((unsigned char)bracket[2]) && !memmem(s, len, ": ", 2) &&
		    !memmem(s, len, ", ", 2))
			return len;
	}
	len = strcspn(s, " ,;\t");
	while (len > 1 && strchr(":.?!)", s[len - 1]))
		len--;
	return len > 1 || !is_word_char(s[len]) ? len : 0;
}

/* ---- A text ---------------------------------------------------------------------------------- */

/* Whether only signs of a list stand between the last number and the end: " ", ", ", "--", ")(". */
static size_t list_start(const struct as_buf *out, size_t from)
{
	size_t at = out->len;

	while (at > from && strchr(" ,+-()", out->data[at - 1]))
		at--;
	return at > from && out->data[at - 1] == '#' ? at : 0;
}

static void add_number(struct as_buf *out, size_t from)
{
	size_t at = list_start(out, from);

	if (at) {
		out->len = at;
		out->data[at] = '\0';
	} else {
		as_buf_addc(out, '#');
	}
}

/* "+0x12ab" after the name of a program or a library (os/stack.h). A kernel's "f+0x12/0x34" is
 * none: it has the name of the function. */
static size_t place_len(const char *s, char before)
{
	size_t len = *s == '+' && is_word_char(before) ? hex_len(s + 1) : 0;

	return len && s[2] == 'x' && s[1 + len] != '/' ? 1 + len : 0;
}

/* A number at a word's beginning; a unit or a letter may follow it ("4096B", "2nd"). */
static size_t number_len(const char *s)
{
	size_t len = hex_len(s);

	return len ? len : decimal_len(s);
}

void as_signature_add(struct as_buf *out, const char *text)
{
	const char *start = text;
	size_t from = out->len;

	while (*text) {
		char before = text > start ? text[-1] : ' ';
		bool begins = !is_word_char(before);
		size_t len;

		if ((len = quoted_len(text, before))) {
			as_buf_adds(out, "NAME");
		} else if ((len = path_len(text, before))) {
			as_buf_adds(out, "PATH");
		} else if ((len = place_len(text, before))) {
			as_buf_add(out, text, len);
		} else if (begins && (len = uuid_len(text))) {
			as_buf_adds(out, "UUID");
		} else if (begins && (len = time_len(text))) {
			as_buf_adds(out, "TIME");
		} else if (begins && (len = number_len(text))) {
			add_number(out, from);
		} else if ((len = strspn(text, DIGITS))) {
			as_buf_addc(out, '#');
		} else {
			len = 1;
			as_buf_addc(out, (unsigned char)*text < ' ' ? ' ' : *text);
		}
		text += len;
	}
}

/* ---- Groups ---------------------------------------------------------------------------------- */

bool as_signature_same_symptom(const char *a, const char *b)
{
	const char *after_a = strstr(a, AS_SIGNATURE_AFTER),
		   *after_b = strstr(b, AS_SIGNATURE_AFTER);
	size_t len_a = after_a ? (size_t)(after_a - a) : strlen(a);
	size_t len_b = after_b ? (size_t)(after_b - b) : strlen(b);

	return len_a == len_b && !memcmp(a, b, len_a);
}

/* Words of signatures, and the word of a group that stands for them. */
static const struct alias {
	const char *word, *group;
} aliases[] = {
#define ALIAS(word, group) { word, group },
#include "base/signature.def"
#undef ALIAS
};

/* Flags that decide where data goes: then all sides of the data are wrong at once. */
static bool places_data(const char *signature)
{
	const char *after = strstr(signature, AS_SIGNATURE_AFTER);

	return after && (strstr(after, "O_APPEND") || strstr(after, "O_TRUNC"));
}

/* How much of the text the word of an alias takes, 0: it is not there. With a $ at its end, a word
 * must be the signature's last. */
static size_t word_len(const char *s, const char *word)
{
	size_t len = strcspn(word, "$");

	if (strncmp(s, word, len))
		return 0;
	return (word[len] ? !s[len] : !is_word_char(s[len])) ? len : 0;
}

static size_t alias_at(const char *s, bool places, const char **group)
{
	for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++) {
		size_t len = word_len(s, aliases[i].word);

		if (!places && !strcmp(aliases[i].group, "data of a file"))
			continue;
		if (len) {
			*group = aliases[i].group;
			return len;
		}
	}
	return 0;
}

/* Words of os/stack.h and of base/finding.c. */
#define ASSERTED ": assertion "
#define SIGNALLED "signal: "
#define SILENT "silent: "

void as_signature_group(struct as_buf *out, const char *signature)
{
	const char *s = signature, *group, *end = s + strlen(s);
	bool places = places_data(signature);

	/* What a recovery leaves that is not safe against power cuts can be anything. */
	if (!strncmp(signature, AS_SIGNATURE_AGAIN, strlen(AS_SIGNATURE_AGAIN)) &&
	    strchr(signature, ')'))
		end = strchr(signature, ')') + 1;
	/* An assertion is the same whoever calls; and so is the innermost function. */
	if (strstr(signature, ASSERTED) && strstr(strstr(signature, ASSERTED), " in "))
		end = strstr(strstr(signature, ASSERTED), " in ");
	else if (!strncmp(signature, SIGNALLED, strlen(SIGNALLED)) && strstr(signature, " < "))
		end = strstr(signature, " < ");
	/* What was ignored is the same whatever function it was ignored in the end by. */
	if (!strncmp(signature, SILENT, strlen(SILENT)) && strstr(signature, ", although ") &&
	    strstr(signature, " failed in ")) {
		as_buf_adds(out, SILENT);
		s = strstr(signature, ", although ") + 2;
		end = strstr(signature, AS_SIGNATURE_AFTER);
		end = end ? end : signature + strlen(signature);
	}
	if (strstr(signature, AS_SIGNATURE_OLDER) && strstr(signature, AS_SIGNATURE_AFTER))
		end = strstr(signature, AS_SIGNATURE_AFTER);
	while (s < end) {
		size_t len =
			s == signature || !is_word_char(s[-1]) ? alias_at(s, places, &group) : 0;

		if (len)
			as_buf_adds(out, group);
		else
			as_buf_addc(out, *s);
		s += len ? len : 1;
	}
}
