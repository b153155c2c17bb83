/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ids: which findings were met before. All zero is none. */
#ifndef AS_SYMPTOM_IDS_H
#define AS_SYMPTOM_IDS_H

#include "base/finding.h"
#include "base/table.h"

#include <stdbool.h>
#include <stddef.h>

struct as_ids {
	char (*ids)[AS_FINDING_ID_MAX];
	size_t n, cap;
	struct as_table table;
};

/* Whether it is a new one; from now on it is not. */
bool as_ids_add(struct as_ids *ids, const char *id);
void as_ids_free(struct as_ids *ids);

#endif
