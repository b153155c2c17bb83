/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * past: labfs, as the plugin that was built of it, which writes past the end of a buffer that it is
 * given. Compiled with -DLABFS="..." (the plugin) and -DPAST=CALL: readlink, getxattr, listxattr or
 * none.
 */
#include <assay/target.h>
#include <dlfcn.h>

enum call { none, readlink, getxattr, listxattr };

__attribute__((visibility("default"))) extern struct as_target_ops as_target;
struct as_target_ops as_target;
static struct as_target_ops lab;

/* The end of a text, for which nobody has left room. */
static int64_t end(char *buf, size_t len, int64_t n)
{
	if (n >= 0 && (size_t)n == len && len)
		buf[n] = '\0';
	return n;
}

static int64_t past_readlink(struct as_fs *fs, const char *path, char *buf, size_t len)
{
	return end(buf, len, lab.readlink(fs, path, buf, len));
}

/* It looks at the length when the value is copied already. */
static int64_t past_getxattr(struct as_fs *fs, const char *path, const char *name, void *value,
			     size_t len)
{
	static char room[65536];
	int64_t n = lab.getxattr(fs, path, name, room, sizeof(room));

	if (n > 0 && len)
		memcpy(value, room, (size_t)n);
	return n > 0 && len && (size_t)n > len ? -34 /* ERANGE */ : n;
}

static int64_t past_listxattr(struct as_fs *fs, const char *path, char *list, size_t len)
{
	return end(list, len, lab.listxattr(fs, path, list, len));
}

__attribute__((constructor)) static void load(void)
{
	void *library = dlopen(LABFS, RTLD_NOW | RTLD_LOCAL);
	const struct as_target_ops *ops = library ? dlsym(library, "as_target") : NULL;

	if (!ops)
		return;
	lab = as_target = *ops;
	if (PAST == readlink)
		as_target.readlink = past_readlink;
	if (PAST == getxattr)
		as_target.getxattr = past_getxattr;
	if (PAST == listxattr)
		as_target.listxattr = past_listxattr;
}
