/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recover: the names of ways and ends, and what all recoverers share. */
#include "recover/recover.h"

#include "os/spawn.h"
#include "snapshot/tree.h"

#include <string.h>

static const char *const way_names[AS_WAYS] = {
	[AS_WAY_MOUNT] = "mount",
	[AS_WAY_QUICK] = "quick",
	[AS_WAY_DEFAULT] = "fsck",
	[AS_WAY_FULL] = "full",
};

const char *as_way_name(enum as_way way)
{
	return (unsigned)way < AS_WAYS ? way_names[way] : "?";
}

int as_ways_parse(const char *text, uint32_t *ways, struct as_err *err)
{
	*ways = 0;
	for (const char *s = text; *s; s += strcspn(s, ","), s += *s == ',') {
		size_t len = strcspn(s, ",");
		unsigned w = 0;

		while (w < AS_WAYS && (strlen(way_names[w]) != len || memcmp(way_names[w], s, len)))
			w++;
		if (w == AS_WAYS)
			return as_fail(err, AS_EUSE,
				       "'%.*s' is no way to recover: mount, quick, fsck, full",
				       (int)len, s);
		*ways |= 1u << w;
	}
	return *ways ? 0 : as_fail(err, AS_EUSE, "no way to recover was given");
}

void as_ways_print(uint32_t ways, struct as_buf *out)
{
	const char *comma = "";

	for (unsigned w = 0; w < AS_WAYS; w++) {
		if (!(ways >> w & 1))
			continue;
		as_buf_addf(out, "%s%s", comma, way_names[w]);
		comma = ",";
	}
}

const char *as_recovery_end_name(enum as_recovery_end end)
{
	static const char *const names[AS_RECOVERY_ENDS] = {
		[AS_RECOVERED] = "recovered",
		[AS_REFUSED] = "refused",
		[AS_UNREADABLE] = "unreadable",
		[AS_DIED] = "died",
		[AS_HUNG] = "hung",
		[AS_COMPLAINED] = "complained",
	};

	return (unsigned)end < AS_RECOVERY_ENDS ? names[end] : "?";
}

void as_recovered_free(struct as_recovered *recovered)
{
	as_buf_free(&recovered->why);
	as_disk_free(recovered->disk);
	as_tree_put(recovered->tree);
	as_reclog_free(recovered->log);
	*recovered = (struct as_recovered){ 0 };
}

int as_recover(struct as_recoverer *recoverer, enum as_way way, struct as_disk *crashed,
	       unsigned flags, struct as_recovered *recovered, struct as_err *err)
{
	int64_t start_us = as_now_us();
	int rc;

	as_assert(recoverer->ways >> way & 1);
	*recovered = (struct as_recovered){ 0 };
	rc = recoverer->ops->recover(recoverer, way, crashed, flags, recovered, err);
	recovered->time_us = as_now_us() - start_us;
	return rc;
}

void as_recoverer_free(struct as_recoverer *recoverer)
{
	if (recoverer)
		recoverer->ops->free(recoverer);
}
