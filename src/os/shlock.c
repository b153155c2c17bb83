/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shlock: see shlock.h. */
#include "os/shlock.h"

#include <errno.h>

void as_shlock_init(struct as_shlock *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&lock->mutex, &attr);
	pthread_mutexattr_destroy(&attr);
}

void as_shlock_take(struct as_shlock *lock)
{
	/* What the dead process was about to change is at worst a stale line on a screen. */
	if (pthread_mutex_lock(&lock->mutex) == EOWNERDEAD)
		pthread_mutex_consistent(&lock->mutex);
}

void as_shlock_give(struct as_shlock *lock)
{
	pthread_mutex_unlock(&lock->mutex);
}
