/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json: see json.h. Invariant: a comma is written before every element but the first of its level,
 * and never between a key and its value. Strings are written as valid UTF-8 whatever comes in,
 * because names in a file system are any bytes.
 */
#include "base/json.h"

#include "base/show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct as_json as_json_on(struct as_buf *out)
{
	return (struct as_json){ .out = out };
}

static void separate(struct as_json *json)
{
	if (json->after_key) {
		json->after_key = false;
		return;
	}
	if (!json->depth)
		return;
	as_assert(json->depth <= AS_JSON_DEPTH_MAX);
	if (!json->first[json->depth - 1])
		as_buf_addc(json->out, ',');
	json->first[json->depth - 1] = false;
}

static void open_level(struct as_json *json, bool array)
{
	separate(json);
	as_assert(json->depth < AS_JSON_DEPTH_MAX);
	json->first[json->depth] = true;
	json->array[json->depth++] = array;
	as_buf_addc(json->out, array ? '[' : '{');
}

void as_json_object(struct as_json *json)
{
	open_level(json, false);
}

void as_json_array(struct as_json *json)
{
	open_level(json, true);
}

void as_json_end(struct as_json *json)
{
	as_assert(json->depth && !json->after_key);
	as_buf_addc(json->out, json->array[--json->depth] ? ']' : '}');
}

/* Characters that a terminal would obey are escaped, too, though JSON allows them. */
static void escape(struct as_buf *out, uint32_t code)
{
	if (code > 0xffff)
		as_buf_addf(out, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10),
			    0xdc00 + ((code - 0x10000) & 0x3ff));
	else
		as_buf_addf(out, "\\u%04x", code);
}

static void quote(struct as_buf *out, const char *s, size_t len)
{
	static const char escaped[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";

	as_buf_addc(out, '"');
	while (len) {
		size_t step = as_utf8_len(s, len);
		const char *found = *s ? strchr(escaped, *s) : NULL;

		if (found) {
			as_buf_addc(out, '\\');
			as_buf_addc(out, letters[found - escaped]);
		} else if (as_shown_len(s, len)) {
			as_buf_add(out, s, step);
		} else {
			escape(out, step ? as_utf8_code(s, step) : (unsigned char)*s);
		}
		step = step ? step : 1;
		s += step;
		len -= step;
	}
	as_buf_addc(out, '"');
}

void as_json_key(struct as_json *json, const char *key)
{
	as_assert(json->depth && !json->array[json->depth - 1] && !json->after_key);
	separate(json);
	quote(json->out, key, strlen(key));
	as_buf_addc(json->out, ':');
	json->after_key = true;
}

void as_json_strn(struct as_json *json, const char *value, size_t len)
{
	separate(json);
	quote(json->out, value, len);
}

void as_json_str(struct as_json *json, const char *value)
{
	if (value) {
		as_json_strn(json, value, strlen(value));
	} else {
		separate(json);
		as_buf_adds(json->out, "null");
	}
}

void as_json_int(struct as_json *json, int64_t value)
{
	separate(json);
	if (value < 0)
		as_buf_addc(json->out, '-');
	as_buf_addu(json->out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void as_json_uint(struct as_json *json, uint64_t value)
{
	separate(json);
	as_buf_addu(json->out, value);
}

/* The shorter of two forms that reads back as the same number; JSON has no infinities. */
void as_json_num(struct as_json *json, double value)
{
	char text[40];

	separate(json);
	if (!isfinite(value)) {
		as_buf_adds(json->out, "null");
		return;
	}
	snprintf(text, sizeof(text), "%.15g", value);
	if (strtod(text, NULL) != value)
		snprintf(text, sizeof(text), "%.17g", value);
	as_buf_adds(json->out, text);
}

void as_json_bool(struct as_json *json, bool value)
{
	separate(json);
	as_buf_adds(json->out, value ? "true" : "false");
}

void as_json_kstr(struct as_json *json, const char *key, const char *value)
{
	as_json_key(json, key);
	as_json_str(json, value);
}

void as_json_kint(struct as_json *json, const char *key, int64_t value)
{
	as_json_key(json, key);
	as_json_int(json, value);
}

void as_json_kuint(struct as_json *json, const char *key, uint64_t value)
{
	as_json_key(json, key);
	as_json_uint(json, value);
}

void as_json_kbool(struct as_json *json, const char *key, bool value)
{
	as_json_key(json, key);
	as_json_bool(json, value);
}
