/* SPDX-License-Identifier: GPL-2.0-or-later */
/* solo: see solo.h. */
#include "dossier/solo/solo.h"

#include "disk/flash.h"
#include "dossier/recipe.h"
#include "target/facts.h"

#include <string.h>

#define LAB_LINK "-D_GNU_SOURCE $(find labfs -name '*.c' ! -name '*_main.c')"

/* "YOUR-SOURCES.c", or the object that was tested. */
static void put_link(const char *spec, struct as_buf *out)
{
	size_t len = 0;
	const char *path = as_target_object(spec, &len);

	if (as_recipe_is(spec, AS_RECIPE_LAB))
		as_buf_adds(out, LAB_LINK);
	else if (path && !strpbrk(path, " '\"\\$`*\n"))
		as_buf_addf(out, "%.*s", (int)len, path);
	else
		as_buf_adds(out, "YOUR-SOURCES.c");
}

/* Found on a disk with a flipped bit, or with another value in a field. */
static bool is_corrupt(const struct as_finding *f)
{
	return f->options && (strstr(f->options, "corrupt=") || strstr(f->options, "fields=")) &&
	       f->summary && strstr(f->summary, "mount of a corrupted disk");
}

/* Of the reduced workload, as its calls are those of the program. */
static const char *summary_of(const struct as_stored *stored)
{
	const struct as_finding *f = &stored->finding;
	const char *shows = as_stored_shows(stored);

	return shows ? shows : f->summary ? f->summary : f->signature;
}

bool as_solo_print(const struct as_letter *l, const struct as_played *played, struct as_buf *out)
{
	const struct as_stored *stored = &l->stored;
	struct as_buf link = { 0 };
	struct as_repro repro = { .id = stored->finding.id,
				  .finding = &stored->finding,
				  .summary = summary_of(stored),
				  .seq = played->seq,
				  .opts = as_target_opts(played->target),
				  .flash = as_target_flash(played->target),
				  .choices = played->choices,
				  .symbol = as_recipe_is(played->spec, AS_RECIPE_LAB) ? "lab_target"
										      : "as_target",
				  .again = strstr(played->scenario, "then=") ||
					   strstr(played->scenario, "from=") ||
					   is_corrupt(&stored->finding) };
	bool good =
		!as_target_disk_bytes(played->target, played->size_bytes, &repro.size_bytes, NULL);

	put_link(played->spec, &link);
	repro.link = as_buf_str(&link);
	good = good && as_repro_write(&repro, played->trail, out);
	as_buf_free(&link);
	return good;
}
