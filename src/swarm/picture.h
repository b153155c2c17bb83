/* SPDX-License-Identifier: GPL-2.0-or-later */
/* picture: the matrices of a campaign and what their cells have done, as JSON for the report
 * (docs/SCHEMA.md). */
#ifndef AS_SWARM_PICTURE_H
#define AS_SWARM_PICTURE_H

#include "base/json.h"
#include "swarm/ledger.h"

#define AS_SWARM_PAGE "report.html" /* of the campaign, and of each cell */

void as_swarm_picture(const struct as_ledger *ledger, struct as_buf *out);
/* Whether a cell has a page of its own. */
bool as_cell_has_page(const struct as_ledger *ledger, size_t cell);
/* "complete", "given up", "goes on", "waits" */
const char *as_tally_state(const struct as_swarm_tally *tally);
/* The members of a tally, without braces. */
void as_tally_print(struct as_json *json, const struct as_swarm_tally *tally);

#endif
