/* SPDX-License-Identifier: GPL-2.0-or-later */
/* swarm: what the files of the command `swarm` share. */
#ifndef AS_CMD_SWARM_H
#define AS_CMD_SWARM_H

#include "swarm/ledger.h"

/* Joins the cells into DIR/merged and writes DIR/report.html. */
AS_MUST_CHECK int as_cmd_swarm_merge(const char *folder, struct as_ledger *ledger,
				     struct as_err *err);

/* Prints the tables of a campaign: what a paper says, and what was measured here. */
AS_MUST_CHECK int as_cmd_swarm_table(const struct as_ledger *ledger, struct as_err *err);
/* Whether the tables have columns that there are. */
AS_MUST_CHECK int as_cmd_swarm_check_tables(const struct as_campaign *campaign, struct as_err *err);
/* Adds a time in words; in a campaign with `work`, so much work. */
void as_swarm_amount(struct as_buf *out, const struct as_campaign *campaign, uint64_t n);
/* Adds the words of a cell. */
void as_swarm_words(struct as_buf *out, const struct as_swarm_cell *cell);
void as_swarm_plan_json(const struct as_campaign *campaign, struct as_buf *out);
void as_swarm_plan_text(const struct as_campaign *campaign, unsigned jobs, bool all,
			struct as_buf *out);
void as_swarm_status_json(const struct as_ledger *ledger, struct as_buf *out);
void as_swarm_status_text(const struct as_ledger *ledger, struct as_buf *out);

#endif
