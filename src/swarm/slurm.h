/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm: a campaign on the machines of a Slurm cluster. Slurm decides where and when; assay
 * gives it one array of jobs for each round, a task for each cell.
 *
 * With a shared folder, each task runs `assay swarm cell` in the folder of the campaign, and
 * appends to the ledger of its cell. A task that was preempted, or whose node died, is queued
 * again by Slurm (--requeue) and goes on with the cell's run folder. The process that leads
 * waits for an array, divides the time of the next round, and submits it; whoever leads can be
 * killed, too: what runs is written to swarm/slurm.json, and the next leader waits for it.
 *
 * Without a shared folder (--bring COMMAND), the script of the jobs carries the campaign. A task
 * works in a folder of its node, packs it, and COMMAND brings the archive to DIR/inbox of the
 * machine where the campaign is. Nothing can be gone on with there, so there is one round.
 */
#ifndef AS_SWARM_SLURM_H
#define AS_SWARM_SLURM_H

#include "swarm/local.h"

struct as_slurm_options {
	struct as_swarm_options swarm; /* jobs: how many tasks at a time at the most; 0: any */
	const char *bring; /* NULL: the folder is shared */
	const char *text; /* of the campaign's file */
	bool merge; /* submit a job that merges when the last round has ended */
	bool trust;
};

AS_MUST_CHECK int as_swarm_slurm(struct as_ledger *ledger, const struct as_slurm_options *options,
				 struct as_err *err);

/* Takes the archives of DIR/inbox into the campaign; each is removed when its cells are in.
 * Returns how many were taken, or a negative error. */
int as_swarm_inbox(struct as_ledger *ledger, struct as_err *err);

#endif
