/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json: writes JSON into a buffer; the writer adds commas and checks the nesting. JSON is read with
 * jansson. */
#ifndef AS_BASE_JSON_H
#define AS_BASE_JSON_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define AS_JSON_DEPTH_MAX 16

struct as_json {
	struct as_buf *out;
	unsigned depth;
	bool first[AS_JSON_DEPTH_MAX], array[AS_JSON_DEPTH_MAX];
	bool after_key;
};

struct as_json as_json_on(struct as_buf *out);
void as_json_object(struct as_json *json);
void as_json_array(struct as_json *json);
void as_json_end(struct as_json *json); /* closes the innermost object or array */
void as_json_key(struct as_json *json, const char *key);
/* NULL becomes null; a byte that is not UTF-8 becomes the code point of its value (\u00ff). */
void as_json_str(struct as_json *json, const char *value);
void as_json_strn(struct as_json *json, const char *value, size_t len);
void as_json_int(struct as_json *json, int64_t value);
void as_json_uint(struct as_json *json, uint64_t value);
void as_json_num(struct as_json *json, double value);
void as_json_bool(struct as_json *json, bool value);
/* key and value in one call */
void as_json_kstr(struct as_json *json, const char *key, const char *value);
void as_json_kint(struct as_json *json, const char *key, int64_t value);
void as_json_kuint(struct as_json *json, const char *key, uint64_t value);
void as_json_kbool(struct as_json *json, const char *key, bool value);

#endif
