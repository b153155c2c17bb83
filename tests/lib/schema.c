/* SPDX-License-Identifier: GPL-2.0-or-later */
/* schema: see schema.h. */
#include "tests/lib/schema.h"

#include <regex.h>
#include <string.h>

struct visit {
	const json_t *schema, *value;
	struct as_buf *why;
	const char *at;
};

static bool fail(const struct visit *v, const char *what)
{
	char *text = json_dumps(v->value, JSON_ENCODE_ANY | JSON_COMPACT);

	as_buf_addf(v->why, "%s: %s: %.200s\n", v->at, what, text ? text : "?");
	free(text);
	return false;
}

static bool is_type(const json_t *value, const char *type)
{
	return (!strcmp(type, "string") && json_is_string(value)) ||
	       (!strcmp(type, "integer") && json_is_integer(value)) ||
	       (!strcmp(type, "number") && json_is_number(value)) ||
	       (!strcmp(type, "boolean") && json_is_boolean(value)) ||
	       (!strcmp(type, "null") && json_is_null(value)) ||
	       (!strcmp(type, "array") && json_is_array(value)) ||
	       (!strcmp(type, "object") && json_is_object(value));
}

static bool on_type(const struct visit *v, const json_t *word)
{
	json_t *one;
	size_t i;

	if (json_is_string(word))
		return is_type(v->value, json_string_value(word)) || fail(v, "type");
	json_array_foreach(word, i, one) if (is_type(v->value, json_string_value(one))) return true;
	return fail(v, "type");
}

static bool on_enum(const struct visit *v, const json_t *word)
{
	json_t *one;
	size_t i;

	json_array_foreach(word, i, one) if (json_equal(one, v->value)) return true;
	return fail(v, "enum");
}

static bool on_const(const struct visit *v, const json_t *word)
{
	return json_equal(word, v->value) || fail(v, "const");
}

static bool below(const struct visit *v, const json_t *schema, const json_t *value, const char *key)
{
	struct as_buf at = { 0 };
	bool good;

	as_buf_addf(&at, "%s/%s", v->at, key);
	/* The path is kept in the message, before what comes from below. */
	good = t_schema_valid(schema, value, v->why);
	if (!good)
		as_buf_addf(v->why, "  in %s\n", as_buf_str(&at));
	as_buf_free(&at);
	return good;
}

static bool on_properties(const struct visit *v, const json_t *word)
{
	const char *key;
	json_t *one;
	bool good = true;

	json_object_foreach((json_t *)word, key, one)
	{
		const json_t *value = json_object_get(v->value, key);

		good = good && (!value || below(v, one, value, key));
	}
	return good;
}

static bool on_required(const struct visit *v, const json_t *word)
{
	json_t *one;
	size_t i;

	json_array_foreach(word, i, one)
	{
		if (!json_object_get(v->value, json_string_value(one)))
			return fail(v, json_string_value(one));
	}
	return true;
}

static bool on_additional(const struct visit *v, const json_t *word)
{
	const json_t *known = json_object_get(v->schema, "properties");
	const char *key;
	json_t *value;
	bool good = true;

	json_object_foreach((json_t *)v->value, key, value)
	{
		if (json_object_get(known, key) || !good)
			continue;
		good = json_is_object(word) ? below(v, word, value, key) : fail(v, key);
	}
	return good;
}

static bool on_items(const struct visit *v, const json_t *word)
{
	json_t *one;
	bool good = true;
	size_t i;

	json_array_foreach(v->value, i, one) good = good && below(v, word, one, "[]");
	return good;
}

static bool on_any(const struct visit *v, const json_t *word)
{
	struct as_buf ignored = { 0 };
	json_t *one;
	bool good = false;
	size_t i;

	json_array_foreach(word, i, one) good = good || t_schema_valid(one, v->value, &ignored);
	as_buf_free(&ignored);
	return good || fail(v, "anyOf");
}

static bool on_minimum(const struct visit *v, const json_t *word)
{
	return !json_is_number(v->value) ||
	       json_number_value(v->value) >= json_number_value(word) || fail(v, "minimum");
}

static bool on_length(const struct visit *v, const json_t *word)
{
	return !json_is_string(v->value) ||
	       (json_int_t)json_string_length(v->value) >= json_integer_value(word) ||
	       fail(v, "minLength");
}

static bool on_pattern(const struct visit *v, const json_t *word)
{
	regex_t regex;
	bool good;

	if (!json_is_string(v->value))
		return true;
	if (regcomp(&regex, json_string_value(word), REG_EXTENDED | REG_NOSUB))
		return fail(v, "pattern that cannot be read");
	good = !regexec(&regex, json_string_value(v->value), 0, NULL, 0);
	regfree(&regex);
	return good || fail(v, "pattern");
}

static bool on_words(const struct visit *v, const json_t *word)
{
	(void)v;
	(void)word;
	return true;
}

bool t_schema_valid(const json_t *schema, const json_t *value, struct as_buf *why)
{
	static const struct {
		const char *word;
		bool (*on)(const struct visit *v, const json_t *word);
	} rows[] = { { "type", on_type },	  { "enum", on_enum },
		     { "const", on_const },	  { "properties", on_properties },
		     { "required", on_required }, { "additionalProperties", on_additional },
		     { "items", on_items },	  { "anyOf", on_any },
		     { "minimum", on_minimum },	  { "minLength", on_length },
		     { "pattern", on_pattern },	  { "$schema", on_words },
		     { "title", on_words } };
	struct visit v = { schema, value, why, "" };
	const char *key;
	json_t *word;
	bool good = json_is_object(schema) || fail(&v, "a schema that is none");

	json_object_foreach((json_t *)schema, key, word)
	{
		size_t i = 0;

		while (i < sizeof(rows) / sizeof(rows[0]) && strcmp(rows[i].word, key))
			i++;
		if (i == sizeof(rows) / sizeof(rows[0]))
			good = fail(&v, key);
		else
			good = good && rows[i].on(&v, word);
	}
	return good;
}
