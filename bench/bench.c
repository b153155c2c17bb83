/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench: the table behind `assay bench`. */
#include "bench/bench.h"

#include <stddef.h>

const struct as_bench as_benches[] = {
#define X(name) { #name, bench_##name },
	AS_BENCHES(X)
#undef X
		{ NULL, NULL },
};
