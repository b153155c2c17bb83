/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz entry of the paths in a patch: none of those that are taken leads out of the source, and
 * each is there once. */
#include "kernel/kernel_priv.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct as_buf paths = { 0 }, text = { 0 };

	as_buf_add(&text, data, len);
	if (as_kernel_patch_paths(as_buf_str(&text), len, &paths))
		for (size_t at = 0; at < paths.len; at += strlen(paths.data + at) + 1) {
			const char *path = paths.data + at;

			as_assert(*path && *path != '/' && strcmp(path, "..") != 0);
			as_assert(strncmp(path, "../", 3) != 0 && !strstr(path, "/../"));
			for (size_t next = at + strlen(path) + 1; next < paths.len;
			     next += strlen(paths.data + next) + 1)
				as_assert(strcmp(paths.data + next, path) != 0);
		}
	as_buf_free(&paths);
	as_buf_free(&text);
	return 0;
}
