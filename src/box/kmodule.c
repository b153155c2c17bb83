/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kmodule: see kmodule.h. A line of modules.dep is "FILE: FILE...": a module and all modules that
 * it needs, directly or not (depmod(8) writes the closure), the nearest first. Loading them from
 * the right to the left, then the module itself, is an order that works.
 */
#include "box/kmodule.h"

#include <string.h>

#define DEP_MAX_BYTES ((size_t)16 << 20)

/* '-' and '_' are the same in names of modules. */
static bool same_name(const char *a, const char *b, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (a[i] != b[i] && !(strchr("-_", a[i]) && strchr("-_", b[i]) && a[i] && b[i]))
			return false;
	return true;
}

/* Whether "kernel/fs/f2fs/f2fs.ko" is the module "f2fs". */
static bool is_module(const char *file, size_t len, const char *name)
{
	size_t base = len, name_len = strlen(name);

	while (base && file[base - 1] != '/')
		base--;
	return len - base > name_len && same_name(file + base, name, name_len) &&
	       len - base - name_len >= 3 && !strncmp(file + base + name_len, ".ko", 3);
}

static bool has_line(const struct as_buf *lines, const char *text, size_t len)
{
	for (const char *s = as_buf_str(lines); *s; s += strcspn(s, "\n"), s += *s != '\0')
		if (strcspn(s, "\n") == len && !strncmp(s, text, len))
			return true;
	return false;
}

static void add_line(struct as_buf *lines, const char *text, size_t len)
{
	if (has_line(lines, text, len))
		return;
	as_buf_add(lines, text, len);
	as_buf_addc(lines, '\n');
}

/* `line` is the text after the colon. */
static void add_needed(const char *line, size_t len, struct as_buf *files)
{
	while (len) {
		size_t end, at;

		while (len && line[len - 1] == ' ')
			len--;
		end = len;
		while (len && line[len - 1] != ' ')
			len--;
		at = len;
		if (end > at)
			add_line(files, line + at, end - at);
	}
}

int as_kmodule_order_text(const char *dep, const char *builtin, const char *name,
			  struct as_buf *files, struct as_err *err)
{
	for (const char *s = dep; *s; s += strcspn(s, "\n"), s += *s != '\0') {
		size_t len = strcspn(s, "\n"), colon = strcspn(s, ":\n");

		if (colon >= len || !is_module(s, colon, name))
			continue;
		add_needed(s + colon + 1, len - colon - 1, files);
		add_line(files, s, colon);
		return 0;
	}
	for (const char *s = builtin; *s; s += strcspn(s, "\n"), s += *s != '\0')
		if (is_module(s, strcspn(s, "\n"), name))
			return 0;
	return as_fail(err, AS_ELACK,
		       "the kernel has no module %s; `assay kernel build` builds kernels "
		       "with more, for --kernel",
		       name);
}

int as_kmodule_order(const char *folder, const char *const *names, struct as_buf *files,
		     struct as_err *err)
{
	struct as_buf path = { 0 }, dep = { 0 }, builtin = { 0 };
	int rc;

	as_buf_addf(&path, "%s/modules.dep", folder);
	rc = as_buf_read_file(&dep, as_buf_str(&path), DEP_MAX_BYTES, err);
	as_buf_clear(&path);
	as_buf_addf(&path, "%s/modules.builtin", folder);
	if (!rc)
		rc = as_buf_read_file(&builtin, as_buf_str(&path), DEP_MAX_BYTES, err);
	for (int i = 0; names[i] && !rc; i++) {
		size_t len = strcspn(names[i], "?");

		as_buf_clear(&path);
		as_buf_add(&path, names[i], len);
		rc = as_kmodule_order_text(as_buf_str(&dep), as_buf_str(&builtin),
					   as_buf_str(&path), files, err);
		if (rc == AS_ELACK && names[i][len])
			rc = 0;
		if (rc)
			rc = as_fail_in(err, "%s", folder);
	}
	as_buf_free(&path);
	as_buf_free(&dep);
	as_buf_free(&builtin);
	return rc;
}
