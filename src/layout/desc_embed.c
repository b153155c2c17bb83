/* SPDX-License-Identifier: GPL-2.0-or-later */
/* desc_embed: the descriptions that the program contains. */
#include "base/embed.h"
#include "layout/walk/walk_priv.h"

#include <string.h>

#define LAYOUT(name) AS_EMBED(as_layout_file_##name, "layouts/" #name ".layout");
#include "layout/layouts.def"
#undef LAYOUT

static const struct {
	const char *path, *first, *end;
} files[] = {
#define LAYOUT(name) \
	{ "layouts/" #name ".layout", as_layout_file_##name##_first, as_layout_file_##name##_end },
#include "layout/layouts.def"
#undef LAYOUT
};
#define N_FILES (sizeof(files) / sizeof(files[0]))

const struct as_desc *as_desc_at(size_t i)
{
	static struct as_desc *parsed[N_FILES];
	struct as_err err = { 0 };

	if (i >= N_FILES)
		return NULL;
	if (!parsed[i] && as_desc_parse(files[i].path, files[i].first,
					(size_t)(files[i].end - files[i].first), &parsed[i], &err))
		as_assert_failed(err.msg, __FILE__, __LINE__, __func__);
	return parsed[i];
}

const struct as_desc *as_desc_for(const char *type)
{
	const struct as_desc *desc;

	for (size_t i = 0; (desc = as_desc_at(i)); i++)
		for (size_t k = 0; k < desc->n_types; k++)
			if (strcmp(desc->types[k], type) == 0)
				return desc;
	return NULL;
}
