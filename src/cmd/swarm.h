/* SPDX-License-Identifier: GPL-2.0-or-later */
/* swarm: what the files of the command `swarm` share. */
#ifndef AS_CMD_SWARM_H
#define AS_CMD_SWARM_H

#include "swarm/ledger.h"

/* Joins the cells into DIR/merged and writes DIR/report.html. */
AS_MUST_CHECK int as_cmd_swarm_merge(const char *folder, struct as_ledger *ledger,
				     struct as_err *err);

#endif
