/* SPDX-License-Identifier: GPL-2.0-or-later */
/* worker_priv: what the processes of a hunt share. Only worker.c and reducer.c include it. */
#ifndef AS_HUNT_WORKER_PRIV_H
#define AS_HUNT_WORKER_PRIV_H

#include "hunt/worker.h"

/* Sends the text and frees it. */
void as_worker_say(struct as_mate *mate, struct as_buf *text);

#endif
