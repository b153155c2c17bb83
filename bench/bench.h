/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench: the benchmarks. Each has the beginning of the names that it reports. To add one, write a
 * file bench/bench_NAME.c with the function bench_NAME, and add a row to AS_BENCHES.
 */
#ifndef AS_BENCH_BENCH_H
#define AS_BENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>

/* Beginnings of names; without any, all are wanted. The words must stay. */
void as_bench_want(char *const *names, int n);
/* For benchmarks that take long: how long each session is, and a folder of images; 0, NULL: as each
 * of them says. */
struct as_bench_how {
	uint64_t seconds;
	const char *suite;
};
void as_bench_set(const struct as_bench_how *how);
const struct as_bench_how *as_bench_how(void);
/* Whether one of them is about what begins so, or the other way round, and it was not measured yet
 * (kept.h). */
bool as_bench_wants(const char *prefix);
/* Whether somebody asked for it by this name: for what takes long. */
bool as_bench_names(const char *name);

typedef void (*as_bench_report)(const char *name, double value, const char *unit);

#define AS_BENCHES(X) \
	X(work)       \
	X(model)      \
	X(disk)       \
	X(run)        \
	X(labfs)      \
	X(hunt)       \
	X(uml)        \
	X(mount)      \
	X(checker)    \
	X(fsck)       \
	X(gen) X(reduce) X(crash) X(cov) X(linear) X(bugs) X(cuts) X(check) X(sym) X(swarm) X(kcov)
#define X(name) void bench_##name(as_bench_report report);
AS_BENCHES(X)
#undef X

/* bench_cuts() is in bench_bugs.c. */

/* Parts of bench_cov(). */
void bench_cov_record(as_bench_report report);
void bench_cov_ways(as_bench_report report);
/* This one is in bench_cov_feedback.c. */
void bench_cov_feedback(as_bench_report report);

/* Parts of bench_crash(). */
void bench_crash_legal(as_bench_report report);
void bench_crash_kernel(as_bench_report report);
void bench_crash_lab(as_bench_report report);
void bench_crash_flash(as_bench_report report);

/* A part of bench_sym(). */
void bench_sym_warm(as_bench_report report);

/* The part of bench_run() that is in bench_mount.c. */
void bench_run_kernel(as_bench_report report);

/* Processor time that this process has used: other work on the machine does not count. */
int64_t bench_cpu_us(void);
/* The same for processes that have ended and were waited for. */
double bench_waited_s(void);
double bench_all_s(void); /* of both */
/* Adds operations on the open file /d<d>/f<f> to a workload: write, read, close and rename. */
struct as_buf;
void bench_add_io(struct as_buf *text, int i, int d, int f);

struct as_bench {
	const char *prefix;
	void (*run)(as_bench_report report);
};

/* Ends with a NULL prefix. */
extern const struct as_bench as_benches[];

#endif
