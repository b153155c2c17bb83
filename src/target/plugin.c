/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin: a file system in a shared object. It is loaded into our own process (loading runs no code
 * of it but its constructors); every function of its table is called in a child, see run/exec.
 */
#include "target/kinds.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Where the path ends: behind the first ".so" that the text or a colon follows, so that a path may
 * hold colons and options may hold ".so". */
static size_t path_len(const char *rest)
{
	for (const char *s = strstr(rest, ".so"); s; s = strstr(s + 1, ".so"))
		if (!s[3] || s[3] == ':')
			return (size_t)(s + 3 - rest);
	return strlen(rest);
}

static int load(struct as_target *t, const char *path, struct as_err *err)
{
	struct stat st;
	const char *why;

	if (stat(path, &st))
		return as_fail(err, AS_EUSE, "plugin %s: no such file", path);
	if (!S_ISREG(st.st_mode))
		return as_fail(err, AS_EUSE, "plugin %s: not a regular file", path);
	t->dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!t->dl) {
		why = dlerror();
		/* dlerror() repeats the path. */
		if (why && !strncmp(why, path, strlen(path)) && why[strlen(path)] == ':')
			why += strlen(path) + 2;
		return as_fail(err, AS_EUSE, "plugin %s: cannot be loaded: %s", path,
			       why ? why : "?");
	}
	t->ops = dlsym(t->dl, "as_target");
	if (!t->ops)
		return as_fail(
			err, AS_EUSE,
			"plugin %s: exports no symbol 'as_target' (a const struct as_target_ops)",
			path);
	return 0;
}

int as_target_open_plugin(struct as_target *t, const char *rest, struct as_err *err)
{
	size_t len = path_len(rest);
	struct as_buf path = { 0 }, who = { 0 };
	int rc;

	if (!len)
		return as_fail(err, AS_EUSE, "target plugin: expected plugin:PATH.so[:OPTIONS]");
	/* Without a slash dlopen() would search the system's folders. */
	as_buf_addf(&path, "%s%.*s", memchr(rest, '/', len) ? "" : "./", (int)len, rest);
	as_buf_addf(&who, "plugin %s", as_buf_str(&path));
	t->opts = as_xstrdup(rest[len] ? rest + len + 1 : "");
	rc = load(t, as_buf_str(&path), err);
	if (!rc)
		rc = as_target_vet(t->ops, as_buf_str(&who), err);
	if (!rc) {
		t->name = as_xstrdup(t->ops->name);
		if (t->ops->limits)
			t->limits = *t->ops->limits;
	}
	as_buf_free(&path);
	as_buf_free(&who);
	return rc;
}
