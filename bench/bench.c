/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench: the table of `assay bench`, and what several benchmarks use. */
#include "bench/bench.h"

#include "base/buf.h"
#include "bench/kept.h"

#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

const struct as_bench as_benches[] = {
#define X(name) { #name, bench_##name },
	AS_BENCHES(X)
#undef X
		{ NULL, NULL },
};

static char *const *wanted;
static int n_wanted;

void as_bench_want(char *const *names, int n)
{
	wanted = names;
	n_wanted = n;
}

static struct as_bench_how set;

void as_bench_set(const struct as_bench_how *how)
{
	set = *how;
}

const struct as_bench_how *as_bench_how(void)
{
	return &set;
}

bool as_bench_wants(const char *prefix)
{
	bool wants = !n_wanted;

	for (int i = 0; i < n_wanted; i++)
		wants = wants || !strncmp(prefix, wanted[i], strlen(wanted[i])) ||
			!strncmp(prefix, wanted[i], strlen(prefix));
	return wants && !as_bench_kept_has(prefix);
}

bool as_bench_names(const char *name)
{
	bool named = false;

	for (int i = 0; i < n_wanted; i++)
		named = named || !strcmp(name, wanted[i]);
	return named;
}

int64_t bench_cpu_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

double bench_waited_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

double bench_all_s(void)
{
	return bench_waited_s() + (double)bench_cpu_us() / 1e6;
}

void bench_add_io(struct as_buf *text, int i, int d, int f)
{
	as_buf_addf(text, "pwrite $0 len=512 at=%d fill=%d\n", (i % 4) * 512, i % 250 + 1);
	as_buf_addf(text, "pread $0 len=512 at=%d\n", (i % 4) * 512);
	as_buf_addf(text, "close $0\n");
	as_buf_addf(text, "stat /d%d/f%d\n", d, f);
	as_buf_addf(text, "rename /d%d/f%d /d%d/g%d\n", d, f, (d + 1) % 16, f);
}
