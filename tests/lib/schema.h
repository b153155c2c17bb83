/* SPDX-License-Identifier: GPL-2.0-or-later */
/* schema: whether JSON is as a JSON Schema says. It knows the words that docs/schema uses: type,
 * enum, const, properties, required, additionalProperties, items, anyOf, minimum, minLength,
 * pattern; a word that it does not know is a failure. */
#ifndef AS_TESTS_SCHEMA_H
#define AS_TESTS_SCHEMA_H

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>

/* False: *why says where and what. */
bool t_schema_valid(const json_t *schema, const json_t *value, struct as_buf *why);

#endif
