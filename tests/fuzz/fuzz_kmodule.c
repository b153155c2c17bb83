/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz entry of modules.dep: a module that is found comes last, and nothing comes twice. */
#include "box/kmodule.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct as_buf dep = { 0 }, files = { 0 }, again = { 0 };
	struct as_err err = { 0 };

	as_buf_add(&dep, data, len);
	if (!as_kmodule_order_text(as_buf_str(&dep), "", "ext4", &files, &err)) {
		as_buf_add(&again, files.data, files.len);
		as_assert(strstr(as_buf_str(&files), "4.ko"));
		as_assert(!as_kmodule_order_text(as_buf_str(&dep), "", "ext4", &again, &err));
		as_assert(!strcmp(as_buf_str(&files), as_buf_str(&again)));
	} else {
		as_assert(!files.len && strstr(err.msg, "no module"));
	}
	as_buf_free(&dep);
	as_buf_free(&files);
	as_buf_free(&again);
	return 0;
}
