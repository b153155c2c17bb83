/* SPDX-License-Identifier: GPL-2.0-or-later */
/* suspect: what workers found, on its way to the process that confirms it. */
#include "check/check_priv.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

uint64_t as_suspect_key(unsigned kind, unsigned code, const char *why)
{
	uint64_t key = as_mix64((uint64_t)kind << 32 | code);
	const char *colon = *why == '/' ? strchr(why, ':') : NULL;

	for (const char *at = colon ? colon : why; *at; at++)
		if (!isdigit((unsigned char)*at))
			key = as_mix64(key + (unsigned char)*at);
	return key;
}

/* Whether there were too many of this key. */
static bool is_common(struct as_check_shared *shared, uint64_t key)
{
	uint32_t at = (uint32_t)key % AS_SUSPECT_KEYS;

	key |= 1;
	for (uint32_t i = 0; i < AS_SUSPECT_KEYS; i++, at = (at + 1) % AS_SUSPECT_KEYS) {
		uint64_t none = 0;

		if (shared->key[at].key != key &&
		    !__atomic_compare_exchange_n(&shared->key[at].key, &none, key, false,
						 __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
		    none != key)
			continue;
		return __atomic_fetch_add(&shared->key[at].n, 1, __ATOMIC_RELAXED) >=
		       AS_SUSPECT_TRIES;
	}
	return true;
}

void as_suspect_add(const struct as_checking *checking, const struct as_check_lane *lane,
		    bool crash, uint64_t key, const char *why)
{
	struct as_check_shared *shared = checking->shared;
	struct as_suspect *suspect;
	uint32_t at;

	AS_CHECK_ADD(checking, suspects, 1);
	if (is_common(shared, key + crash))
		return;
	at = __atomic_fetch_add(&shared->n_suspects, 1, __ATOMIC_RELAXED);
	if (at >= AS_SUSPECTS_MAX)
		return;
	suspect = &shared->suspect[at];
	suspect->crash = crash;
	memcpy(suspect->text, lane->text, sizeof(suspect->text));
	memcpy(suspect->full, lane->full, sizeof(suspect->full));
	memcpy(suspect->faults, lane->faults, sizeof(suspect->faults));
	memcpy(suspect->choices, lane->choices, sizeof(suspect->choices));
	snprintf(suspect->why, sizeof(suspect->why), "%s", why);
	__atomic_store_n(&suspect->ready, true, __ATOMIC_RELEASE);
}
