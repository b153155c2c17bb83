/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench_crash: crash states and their judgement; the parts are in files of their own. */
#include "bench/bench.h"

void bench_crash(as_bench_report report)
{
	bench_crash_legal(report);
	bench_crash_lab(report);
	bench_crash_kernel(report);
}
