/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz entry of traces in the format of strace. */
#include "cov_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	return fuzz_source(&as_source_strace, data, len);
}
