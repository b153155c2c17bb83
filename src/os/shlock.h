/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shlock: a lock in memory that processes share (as_shared_alloc()). It is given back by the system
 * if the process that holds it dies. */
#ifndef AS_OS_SHLOCK_H
#define AS_OS_SHLOCK_H

#include <pthread.h>

struct as_shlock {
	pthread_mutex_t mutex;
};

void as_shlock_init(struct as_shlock *lock);
void as_shlock_take(struct as_shlock *lock);
void as_shlock_give(struct as_shlock *lock);

#endif
