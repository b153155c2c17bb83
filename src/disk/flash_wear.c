/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flash_wear: see flash_wear.h.
 *
 * Processes of one target raise the same counts. They change them under a lock that only spins: a
 * new worst block is rare. A process that dies meanwhile would leave it locked, and so a process
 * that waits too long goes without it: what is printed may then be the histogram of another run.
 */
#include "disk/flash_wear.h"

#include "base/err.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#define SPINS 1000u

struct as_wear {
	uint32_t lock;
	struct as_wear_counts worst;
};

static uint32_t step_least(unsigned step)
{
	return step ? 1u << (step - 1) : 0;
}

void as_wear_count(const uint32_t *erases, uint32_t n_blocks, struct as_wear_counts *out)
{
	memset(out, 0, sizeof(*out));
	for (uint32_t i = 0; i < n_blocks; i++) {
		uint32_t n = erases[i];

		if (n > erases[out->block])
			out->block = i;
		out->blocks[n ? 32 - (unsigned)__builtin_clz(n) : 0]++;
	}
	out->most = n_blocks ? erases[out->block] : 0;
}

void as_wear_print_counts(const struct as_wear_counts *c, const char *where, struct as_buf *out)
{
	as_buf_addf(out, "wear: block %u was erased most, %u %s%s; ", c->block, c->most,
		    c->most == 1 ? "time" : "times", where);
	for (unsigned i = 0, n = 0; i < AS_WEAR_STEPS; i++)
		if (c->blocks[i])
			as_buf_addf(out, "%s%u block%s %s%u time%s", n++ ? ", " : "", c->blocks[i],
				    c->blocks[i] == 1 ? "" : "s", i > 1 ? "at least " : "",
				    step_least(i), i == 1 ? "" : "s");
}

struct as_wear *as_wear_new(void)
{
	void *at = mmap(NULL, sizeof(struct as_wear), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	as_assert(at != MAP_FAILED);
	return at;
}

void as_wear_free(struct as_wear *wear)
{
	if (wear)
		munmap(wear, sizeof(*wear));
}

void as_wear_raise(struct as_wear *w, const uint32_t *erases, uint32_t n_blocks, uint32_t block)
{
	struct as_wear_counts now;
	uint32_t most = __atomic_load_n(&w->worst.most, __ATOMIC_RELAXED);

	if (erases[block] <= most)
		return;
	as_wear_count(erases, n_blocks, &now);
	for (unsigned i = 0; __atomic_exchange_n(&w->lock, 1, __ATOMIC_ACQUIRE) && i < SPINS; i++)
		sched_yield();
	if (now.most > w->worst.most)
		w->worst = now;
	__atomic_store_n(&w->lock, 0, __ATOMIC_RELEASE);
}

void as_wear_print(const struct as_wear *w, struct as_buf *out)
{
	if (w->worst.most)
		as_wear_print_counts(&w->worst, " in a run", out);
	else
		as_buf_adds(out, "wear: no block was erased");
}

void as_wear_json(const struct as_wear *w, struct as_json *json)
{
	as_json_kuint(json, "block", w->worst.block);
	as_json_kuint(json, "erases", w->worst.most);
	as_json_key(json, "blocks");
	as_json_array(json);
	for (unsigned i = 0; i < AS_WEAR_STEPS; i++) {
		if (!w->worst.blocks[i])
			continue;
		as_json_array(json);
		as_json_uint(json, step_least(i));
		as_json_uint(json, w->worst.blocks[i]);
		as_json_end(json);
	}
	as_json_end(json);
}
