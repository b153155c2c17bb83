/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage: see usage.h. */
#include "host/usage.h"

#include "base/err.h"

#include <sys/mman.h>

static const char *const names[AS_USES] = {
#define USE(name) [AS_USE_##name] = #name,
#include "host/usage.def"
#undef USE
};

static const char *const resources[AS_RESOURCES] = { "heap", "stack" };

const char *as_use_name(enum as_use use)
{
	return names[use];
}

struct as_usage *as_usage_new(void)
{
	void *at = mmap(NULL, sizeof(struct as_usage), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	as_assert(at != MAP_FAILED);
	return at;
}

void as_usage_free(struct as_usage *usage)
{
	if (usage)
		munmap(usage, sizeof(*usage));
}

bool as_usage_raise(struct as_usage *u, enum as_resource what, enum as_use use, uint64_t bytes)
{
	uint64_t *peak = &u->peak[what][use], was = __atomic_load_n(peak, __ATOMIC_RELAXED);

	while (was < bytes && !__atomic_compare_exchange_n(peak, &was, bytes, true,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return u->max[what] && bytes > u->max[what];
}

/* The function that used most. */
static enum as_use most(const struct as_usage *u, unsigned what)
{
	enum as_use most = 0;

	for (unsigned i = 0; i < AS_USES; i++)
		if (u->peak[what][i] > u->peak[what][most])
			most = (enum as_use)i;
	return most;
}

void as_usage_print(const struct as_usage *u, struct as_buf *out)
{
	const char *between = "";

	for (unsigned what = 0; what < AS_RESOURCES; what++) {
		enum as_use use = most(u, what);

		if (!u->measured[what])
			continue;
		as_buf_addf(out, "%s%s %llu bytes", between, resources[what],
			    (unsigned long long)u->peak[what][use]);
		if (u->peak[what][use])
			as_buf_addf(out, " (in %s)", names[use]);
		between = ", ";
	}
}

void as_usage_json(const struct as_usage *u, struct as_json *json)
{
	for (unsigned what = 0; what < AS_RESOURCES; what++) {
		enum as_use use = most(u, what);

		if (!u->measured[what])
			continue;
		as_json_key(json, resources[what]);
		as_json_object(json);
		if (u->max[what])
			as_json_kuint(json, "max", u->max[what]);
		as_json_kuint(json, "peak", u->peak[what][use]);
		as_json_kstr(json, "in", names[use]);
		as_json_key(json, "calls");
		as_json_object(json);
		for (unsigned i = 0; i < AS_USES; i++)
			if (u->peak[what][i])
				as_json_kuint(json, names[i], u->peak[what][i]);
		as_json_end(json);
		as_json_end(json);
	}
}
