/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seen: see seen.h. */
#include "reduce/seen.h"

#include <stdlib.h>

void as_seen_set(struct as_seen *seen, const struct as_finding *f)
{
	as_seen_free(seen);
	*seen = (struct as_seen){ .summary = as_xstrdup(f->summary ? f->summary : ""),
				  .detail = f->detail ? as_xstrdup(f->detail) : NULL,
				  .log = f->log ? as_xstrdup(f->log) : NULL,
				  .op_index = f->op_index };
}

void as_seen_free(struct as_seen *seen)
{
	free(seen->summary);
	free(seen->detail);
	free(seen->log);
	*seen = (struct as_seen){ .op_index = -1 };
}
