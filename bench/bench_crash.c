/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench_crash: crash states and their judgement; the parts are in files of their own. */
#include "bench/bench.h"

void bench_crash(as_bench_report report)
{
	static const struct as_bench parts[] = {
		{ "crash.legal", bench_crash_legal },
		{ "crash.lab", bench_crash_lab },
		{ "crash.flash", bench_crash_flash },
	};

	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (as_bench_wants(parts[i].prefix))
			parts[i].run(report);
	bench_crash_kernel(report);
}
