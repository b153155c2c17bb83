/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options: the tables of option.def. */
#include "kernel/kernel_priv.h"

#include <string.h>

static const struct {
	const char *name, *help;
} options[AS_KERNEL_OPTIONS] = {
#define KERNEL_OPTION(name, help) { #name, help },
#include "kernel/option.def"
};

static const struct as_kernel_flavour flavours[] = {
#define KERNEL_FLAVOUR(name, with, help) { name, with, help },
#include "kernel/option.def"
};

const char *as_kernel_option_name(enum as_kernel_option option)
{
	return options[option].name;
}

int as_kernel_options_parse(const char *text, uint32_t *with, struct as_err *err)
{
	*with = 0;
	while (*text) {
		size_t len = strcspn(text, ","), i = 0;

		while (i < AS_KERNEL_OPTIONS &&
		       (strlen(options[i].name) != len || strncmp(options[i].name, text, len) != 0))
			i++;
		if (i == AS_KERNEL_OPTIONS) {
			struct as_buf all = { 0 };

			as_kernel_options_print((1u << AS_KERNEL_OPTIONS) - 1, ", ", &all);
			as_fail(err, AS_EUSE, "'%.*s' is not something to build a kernel with: %s",
				(int)len, text, as_buf_str(&all));
			as_buf_free(&all);
			return AS_EUSE;
		}
		*with |= 1u << i;
		text += len;
		if (*text == ',' && !*++text)
			return as_fail(err, AS_EUSE, "a word is missing after the last comma");
	}
	return 0;
}

void as_kernel_options_print(uint32_t with, const char *between, struct as_buf *out)
{
	const char *before = "";

	for (size_t i = 0; i < AS_KERNEL_OPTIONS; i++)
		if (with >> i & 1) {
			as_buf_addf(out, "%s%s", before, options[i].name);
			before = between;
		}
}

const struct as_kernel_flavour *as_kernel_flavour(unsigned i)
{
	return i < sizeof(flavours) / sizeof(flavours[0]) ? &flavours[i] : NULL;
}

const char *as_kernel_flavour_with(enum as_kernel_option option)
{
	const struct as_kernel_flavour *flavour;
	uint32_t with;

	for (unsigned i = 0; (flavour = as_kernel_flavour(i)); i++)
		if (!as_kernel_options_parse(flavour->with, &with, NULL) && with >> option & 1)
			return flavour->name;
	return NULL;
}
