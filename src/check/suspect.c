/* SPDX-License-Identifier: GPL-2.0-or-later */
/* suspect: see suspect.h. */
#include "check/check_priv.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void as_try_begin(struct as_try *tried, const char *line)
{
	size_t len = strlen(line);

	as_assert(len < sizeof(tried->line));
	memcpy(tried->line, line, len + 1);
}

void as_try_keep(struct as_try *tried)
{
	size_t len = strlen(tried->line);

	if (tried->since_len + len + 2 > sizeof(tried->since))
		return;
	memcpy(tried->since + tried->since_len, tried->line, len);
	memcpy(tried->since + tried->since_len + len, "\n", 2);
	tried->since_len += len + 1;
}

void as_try_forget(struct as_try *tried)
{
	tried->since_len = 0;
	tried->since[0] = '\0';
}

static void copy(struct as_try *to, const struct as_try *from)
{
	to->state = from->state;
	as_try_begin(to, from->line);
	memcpy(to->since, from->since, from->since_len + 1);
	to->since_len = from->since_len;
	memcpy(to->faults, from->faults, sizeof(to->faults));
	memcpy(to->choices, from->choices, sizeof(to->choices));
}

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

bool as_suspect_is_crash(const struct as_notice *notice)
{
	return !strcmp(notice->options, AS_SUSPECT_CRASH);
}

/* Where it is kept; NULL: nowhere. */
static struct as_suspect *new_suspect(const struct as_checking *checking,
				      struct as_check_lane *lane, uint64_t key)
{
	struct as_check_shared *shared = checking->shared;
	uint32_t at;

	AS_CHECK_ADD(checking, suspects, 1);
	lane->suspects++;
	if (is_common(shared, key))
		return NULL;
	/* Until it is confirmed. */
	as_store_gap(checking->store, 1);
	at = __atomic_fetch_add(&shared->n_suspects, 1, __ATOMIC_RELAXED);
	if (at >= AS_SUSPECTS_MAX) {
		AS_CHECK_ADD(checking, dropped, 1);
		return NULL;
	}
	copy(&shared->suspect[at].tried, &lane->tried);
	return &shared->suspect[at];
}

void as_suspect_add(const struct as_checking *checking, struct as_check_lane *lane, bool crash,
		    enum as_finding_kind kind, uint64_t key, const char *why)
{
	struct as_suspect *suspect = new_suspect(checking, lane, key + crash);

	if (!suspect)
		return;
	as_notice_begin(&suspect->notice, kind, -1);
	AS_NOTICE_SET(&suspect->notice, summary, why);
	AS_NOTICE_SET(&suspect->notice, options, crash ? AS_SUSPECT_CRASH : "");
	as_notice_close(&suspect->notice);
}

void as_suspect_pass_on(const struct as_checking *checking, struct as_check_lane *lane,
			const struct as_notice *notice)
{
	bool crash = as_suspect_is_crash(notice);
	uint64_t key = as_suspect_key(crash, 0, notice->summary);
	struct as_suspect *suspect = new_suspect(checking, lane, key + crash);

	if (suspect)
		as_notice_copy(&suspect->notice, notice);
}
