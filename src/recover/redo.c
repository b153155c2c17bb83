/* SPDX-License-Identifier: GPL-2.0-or-later */
/* redo: see redo.h. */
#include "recover/redo.h"

#include "base/err.h"

void as_redo(const struct as_log_entry *e, struct as_bd *bd, struct as_buf *scratch)
{
	int rc;

	if (e->kind == AS_CALL_READ && !e->ret)
		rc = as_bd_read(bd, e->off, as_buf_reserve(scratch, e->len), e->len);
	else
		rc = as_log_entry_apply(e, bd);
	as_assert(!rc);
}
