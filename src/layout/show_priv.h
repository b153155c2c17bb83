/* SPDX-License-Identifier: GPL-2.0-or-later */
/* show_priv: what show.c and show_diff.c share. */
#ifndef AS_LAYOUT_SHOW_PRIV_H
#define AS_LAYOUT_SHOW_PRIV_H

#include "base/json.h"
#include "layout/show.h"

bool as_fields_picked(const struct as_field *field, const struct as_fields_filter *filter);
bool as_field_is_bit(const struct as_field *field);
/* Begins an object. */
void as_field_json_head(struct as_json *json, const struct as_field *field);
void as_field_json_value(struct as_json *json, const char *key, const struct as_field *field,
			 struct as_disk *disk);

#endif
