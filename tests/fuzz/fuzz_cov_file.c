/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz entry of .cov files: refused with one line, or read; with a right checksum put after what
 * is there, too, so that more than the checksum is tried. */
#include "cov_fuzz.h"

#include "base/hash.h"

#include <inttypes.h>

static void try(const char *text, size_t len)
{
	struct as_counts *counts = NULL;
	struct as_err err = { 0 };

	if (as_counts_parse(the_spec(), "x", text, len, &counts, &err)) {
		as_assert(err.code == AS_EUSE && *err.msg);
		return;
	}
	fuzz_round_trip(counts);
	as_counts_free(counts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct as_buf text = { 0 };

	as_buf_add(&text, data, len);
	try(as_buf_str(&text), text.len);
	as_buf_clear(&text);
	as_buf_adds(&text, "assay-cov 1\n");
	as_buf_add(&text, data, len);
	as_buf_addc(&text, '\n');
	as_buf_addf(&text, "end %016" PRIx64 "\n", as_hash64(text.data, text.len));
	try(as_buf_str(&text), text.len);
	as_buf_free(&text);
	return 0;
}
