/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz entry of files of targets: refused with one line that says where, or usable. */
#include "cov_fuzz.h"

#include "cover/metric.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct as_counts *counts = as_counts_new(the_spec());
	struct as_targets *targets = NULL;
	struct as_space space;
	struct as_tcd tcd = { 0 };
	struct as_err err = { 0 };
	struct as_buf text = { 0 };

	as_buf_add(&text, data, len);
	if (as_targets_parse("t", as_buf_str(&text), text.len, &targets, &err)) {
		as_assert(err.code == AS_EUSE && !strncmp(err.msg, "t:", 2));
	} else {
		as_assert(as_counts_find(counts, "open", "flags", AS_SPACE_PLAIN, &space));
		as_tcd_add(&tcd, &space, targets);
		as_assert(as_tcd_value(&tcd) >= 0);
		as_space_free(&space);
	}
	as_targets_free(targets);
	as_counts_free(counts);
	as_buf_free(&text);
	return 0;
}
