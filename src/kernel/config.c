/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * config: the fragments of configuration, kernels/NAME.config, which the program contains. All that
 * they do not name is off. A source may not know a line, or may not allow it; what the sandbox or
 * an option needs must be there, and a file system may be missing.
 */
#include "base/embed.h"
#include "kernel/kernel_priv.h"

#include <stdlib.h>
#include <string.h>

AS_EMBED(as_kernel_config_sandbox, "kernels/sandbox.config");
AS_EMBED(as_kernel_config_filesystems, "kernels/filesystems.config");
#define KERNEL_OPTION(name, help) AS_EMBED(as_kernel_config_##name, "kernels/" #name ".config");
#include "kernel/option.def"

#define KERNEL_PATCH(name) AS_EMBED(as_kernel_patch_##name, "kernels/" #name ".patch");
#include "kernel/option.def"

static const struct {
	enum as_kernel_option option;
	const char *first, *end;
} patches[] = {
#define KERNEL_PATCH(name) \
	{ AS_KERNEL_HAS_##name, as_kernel_patch_##name##_first, as_kernel_patch_##name##_end },
#include "kernel/option.def"
};

bool as_kernel_own_patch(uint32_t with, size_t i, struct as_buf *text)
{
	for (size_t k = 0; k < sizeof(patches) / sizeof(patches[0]); k++)
		if (with >> patches[k].option & 1 && !i--) {
			as_buf_add(text, patches[k].first,
				   (size_t)(patches[k].end - patches[k].first));
			return true;
		}
	return false;
}

static const struct {
	const char *name, *first, *end;
} fragments[] = {
#define FRAGMENT(name) { #name, as_kernel_config_##name##_first, as_kernel_config_##name##_end },
#define KERNEL_OPTION(name, help) FRAGMENT(name)
	FRAGMENT(sandbox) FRAGMENT(filesystems)
#include "kernel/option.def"
};
#define N_FRAGMENTS (sizeof(fragments) / sizeof(fragments[0]))

/* The text of kernels/NAME.config; NULL: there is none. */
static const char *kernel_fragment(const char *name, size_t *len)
{
	for (size_t i = 0; i < N_FRAGMENTS; i++)
		if (!strcmp(fragments[i].name, name)) {
			*len = (size_t)(fragments[i].end - fragments[i].first);
			return fragments[i].first;
		}
	return NULL;
}

static void add_fragment(const char *name, struct as_buf *out)
{
	size_t len = 0;
	const char *text = kernel_fragment(name, &len);

	as_assert(text);
	as_buf_add(out, text, len);
}

void as_kernel_config_want(uint32_t with, struct as_buf *out)
{
	add_fragment("sandbox", out);
	add_fragment("filesystems", out);
	for (unsigned i = 0; i < AS_KERNEL_OPTIONS; i++)
		if (with >> i & 1)
			add_fragment(as_kernel_option_name((enum as_kernel_option)i), out);
}

/* Whether the configuration has the line "KEY=VALUE", or, if the value is n, has no such key. */
static bool has_line(const char *config, const char *line, size_t len)
{
	const char *equals = memchr(line, '=', len), *at = config;
	bool off = equals && len == (size_t)(equals - line) + 2 && equals[1] == 'n';
	size_t want = off ? (size_t)(equals - line) + 1 : len;
	bool found = false;

	for (; !found && (at = memmem(at, strlen(at), line, want)); at++)
		found = (at == config || at[-1] == '\n') && (off || at[want] == '\n' || !at[want]);
	return off ? !found : found;
}

/* The lines of one fragment that are missing, with blanks between them. */
static void missing_of(const char *name, const char *config, struct as_buf *out)
{
	struct as_buf text = { 0 };
	char *rest, *line;

	add_fragment(name, &text);
	rest = text.data;
	while ((line = strsep(&rest, "\n")))
		if (!strncmp(line, "CONFIG_", 7) && !has_line(config, line, strlen(line)))
			as_buf_addf(out, "%s%s", out->len ? " " : "", line);
	as_buf_free(&text);
}

static int need(const char *name, const char *config, struct as_err *err)
{
	struct as_buf missing = { 0 };
	int rc = 0;

	missing_of(name, config, &missing);
	if (missing.len)
		rc = as_fail(err, AS_EUSE,
			     "this source cannot be built with %s: its configuration does not "
			     "take %s",
			     name, as_buf_str(&missing));
	as_buf_free(&missing);
	return rc;
}

int as_kernel_config_check(uint32_t with, const char *config, struct as_buf *lacks,
			   struct as_err *err)
{
	int rc = need("sandbox", config, err);

	for (unsigned i = 0; !rc && i < AS_KERNEL_OPTIONS; i++)
		if (with >> i & 1)
			rc = need(as_kernel_option_name((enum as_kernel_option)i), config, err);
	as_buf_clear(lacks);
	if (!rc)
		missing_of("filesystems", config, lacks);
	return rc;
}
