/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz entry of campaigns: what is accepted has cells that are found by their names; a line of a
 * ledger that is accepted reads back as the same. */
#include "base/buf.h"
#include "swarm/ledger.h"

#include <string.h>

static void read_campaign(const uint8_t *data, size_t len)
{
	struct as_campaign *c;
	struct as_buf what = { 0 };
	struct as_err err = { 0 };

	if (as_campaign_parse("fuzz", (const char *)data, len, &c, &err)) {
		as_assert(err.msg[0]);
		return;
	}
	for (size_t i = 0; i < c->n_cells && i < 100; i++) {
		as_assert(as_campaign_find(c, c->cells[i].name) == &c->cells[i]);
		as_assert(as_cell_share(c, &c->cells[i]) > 0);
		as_cell_reaches(&c->cells[i], &what);
	}
	as_buf_free(&what);
	as_campaign_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct as_slice slice, again;
	struct as_buf line = { 0 };

	read_campaign(data, len);
	if (as_slice_parse((const char *)data, len, &slice)) {
		as_slice_print(&slice, &line);
		as_assert(as_slice_parse(as_buf_str(&line), line.len - 1, &again));
		as_assert(again.round == slice.round && again.status == slice.status);
		as_buf_free(&line);
	}
	return 0;
}
