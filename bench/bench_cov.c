/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_cov: how fast traces are read, filter and descriptor tables included, and in how much
 * memory. The traces are made here: processes that open, write, read and close files of two trees,
 * in turns, with what else programs do in between. Each trace is read in a process of its own, so
 * that what it holds of memory is its own; times are that process's.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/prng.h"
#include "bench/bench.h"
#include "cover/read.h"
#include "os/temp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 50
#define LINES 1000000

struct maker {
	struct as_prng prng;
	FILE *out;
	bool lttng;
	unsigned lines, time_us;
	bool open[PROCESSES];
	unsigned file[PROCESSES];
};

static unsigned draw(struct maker *m, unsigned n)
{
	return (unsigned)as_prng_below(&m->prng, n);
}

/* LTTng has two events for each call. */
static void event(struct maker *m, unsigned p, const char *call, const char *args, long ret)
{
	unsigned us = m->time_us;

	m->time_us += 3;
	fprintf(m->out,
		"[13:53:%02u.%06u000] (+0.000002118) host syscall_entry_%s: { cpu_id = %u }, "
		"{ procname = \"fsstress\", pid = %u, tid = %u }, { %s }\n",
		us / 1000000 % 60, us % 1000000, call, p % 4, 1000 + p, 1000 + p, args);
	fprintf(m->out,
		"[13:53:%02u.%06u000] (+0.000001042) host syscall_exit_%s: { cpu_id = %u }, "
		"{ procname = \"fsstress\", pid = %u, tid = %u }, { ret = %ld }\n",
		us / 1000000 % 60, us % 1000000 + 1, call, p % 4, 1000 + p, 1000 + p, ret);
	m->lines += 2;
}

static void line(struct maker *m, unsigned p, const char *call, const char *args, const char *ret)
{
	fprintf(m->out, "%u %s(%s) = %s\n", 1000 + p, call, args, ret);
	m->lines++;
}

static void open_file(struct maker *m, unsigned p)
{
	static const char *const flags[] = { "O_RDWR|O_CREAT|O_CLOEXEC", "O_RDONLY|O_CLOEXEC",
					     "O_WRONLY|O_CREAT|O_TRUNC|O_DIRECT" };
	static const unsigned values[] = { 02000102, 02000000, 041101 };
	unsigned f = draw(m, 3);
	char args[200];

	m->file[p] = draw(m, 2000);
	if (m->lttng) {
		snprintf(args, sizeof(args),
			 "dfd = -100, filename = \"/mnt/%s/p%u/d%u/f%u\", flags = %u, mode = 420",
			 m->file[p] % 4 ? "test" : "other", p, m->file[p] % 20, m->file[p],
			 values[f]);
		event(m, p, "openat", args, 3);
	} else {
		snprintf(args, sizeof(args), "AT_FDCWD, \"/mnt/%s/p%u/d%u/f%u\", %s%s",
			 m->file[p] % 4 ? "test" : "other", p, m->file[p] % 20, m->file[p],
			 flags[f], f == 1 ? "" : ", 0644");
		line(m, p, "openat", args, "3");
	}
	m->open[p] = true;
}

static void transfer(struct maker *m, unsigned p, bool write)
{
	static const char data[] = "\\0\\1\\2abcdefghijklmnopqrstuvwxyz\\n";
	unsigned n = 1u << draw(m, 16);
	char args[200], ret[20];

	if (m->lttng) {
		snprintf(args, sizeof(args),
			 write ? "fd = 3, buf = 0x7F80C0DE2010, count = %u" : "fd = 3, count = %u",
			 n);
		event(m, p, write ? "write" : "read", args, n);
		return;
	}
	snprintf(args, sizeof(args), "3, \"%s\"..., %u", data, n);
	snprintf(ret, sizeof(ret), "%u", n);
	line(m, p, write ? "write" : "read", args, ret);
}

static void other(struct maker *m, unsigned p)
{
	char args[200];

	switch (draw(m, 4)) {
	case 0:
		if (m->lttng)
			event(m, p, "futex", "uaddr = 0x7F80, op = 129, val = 1", 0);
		else
			line(m, p, "futex", "0x7f80c0de2010, FUTEX_WAKE_PRIVATE, 1", "0");
		break;
	case 1:
		snprintf(args, sizeof(args),
			 m->lttng ? "dfd = -100, filename = \"/mnt/test/p%u/none\", flag = 0"
				  : "AT_FDCWD, \"/mnt/test/p%u/none\", 0x7ffc0c0de2010, 0",
			 p);
		if (m->lttng)
			event(m, p, "newfstatat", args, -2);
		else
			line(m, p, "newfstatat", args, "-1 ENOENT (No such file or directory)");
		break;
	case 2:
		if (m->lttng)
			event(m, p, "lseek", "fd = 3, offset = 4096, whence = 0", 4096);
		else
			line(m, p, "lseek", "3, 4096, SEEK_SET", "4096");
		break;
	default:
		if (m->lttng)
			event(m, p, "newfstat", "fd = 3", 0);
		else
			line(m, p, "fstat", "3, {st_mode=S_IFREG|0644, st_size=4096, ...}", "0");
		break;
	}
}

static void make(FILE *out, bool lttng)
{
	struct maker m = { .out = out, .lttng = lttng };

	m.prng = as_prng_seed(1);
	while (m.lines < LINES) {
		unsigned p = draw(&m, PROCESSES);

		if (!m.open[p]) {
			open_file(&m, p);
		} else if (!draw(&m, 6)) {
			if (lttng)
				event(&m, p, "close", "fd = 3", 0);
			else
				line(&m, p, "close", "3", "0");
			m.open[p] = false;
		} else if (draw(&m, 2)) {
			transfer(&m, p, draw(&m, 2));
		} else {
			other(&m, p);
		}
	}
}

/* ---- Measuring ------------------------------------------------------------------------------- */

struct measured {
	double lines_s, rss_mib;
};

static void measure(const char *path, struct measured *out)
{
	struct as_read_options options = { .world = { .under_regex = "/mnt/(test|scratch)" } };
	struct as_spec *spec = as_counts_spec();
	struct as_counts *counts = as_counts_new(spec);
	struct as_err why, err = { 0 };
	int64_t start_us = bench_cpu_us();
	struct rusage use;

	if (as_read_trace(spec, path, &options, counts, &why, &err))
		_exit(1);
	out->lines_s = 1e6 * (double)as_counts_noted(counts, AS_NOTE_LINES) /
		       (double)(bench_cpu_us() - start_us);
	getrusage(RUSAGE_SELF, &use);
	out->rss_mib = (double)use.ru_maxrss / 1024;
	as_counts_free(counts);
	as_spec_free(spec);
}

static void bench_format(as_bench_report report, bool lttng)
{
	struct measured *m =
		mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char path[4096], name[64];
	const char *format = lttng ? "babeltrace" : "strace";
	struct as_temp *temp;
	struct as_err err;
	int status = 1;
	FILE *out;
	pid_t pid;

	as_assert(m != MAP_FAILED && !as_temp_new(NULL, &temp, &err));
	snprintf(path, sizeof(path), "%s/trace", as_temp_path(temp));
	out = fopen(path, "we");
	as_assert(out);
	make(out, lttng);
	as_assert(!fclose(out));
	fflush(NULL);
	pid = fork();
	if (!pid) {
		measure(path, m);
		_exit(0);
	}
	as_assert(pid > 0 && waitpid(pid, &status, 0) == pid && !status);
	as_temp_free(temp);
	snprintf(name, sizeof(name), "cov.%s", format);
	report(name, m->lines_s, "line/s");
	snprintf(name, sizeof(name), "cov.%s_rss", format);
	report(name, m->rss_mib, "MiB");
	munmap(m, sizeof(*m));
}

void bench_cov(as_bench_report report)
{
	bench_format(report, false);
	bench_format(report, true);
	bench_cov_feedback(report);
	bench_cov_record(report);
	bench_cov_ways(report);
}
