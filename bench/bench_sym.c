/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_sym: exploring checkers symbolically (assay fsck --symbolic), as a user does it: in two
 * processes, each path judged. Starting Valgrind is a part of the time.
 *
 *	sym.minix, sym.labfs, sym.e2fsck	paths in a second of the search, by the clock; the
 *			time after it, in which hangs are confirmed, makes no paths
 *	sym.*.warm	bench_sym_warm.c
 *	sym.*.follow	how many of the solved disks took the path that was predicted
 *	sym.*.share.valgrind	share of the time of both processes: runs under Valgrind
 *	sym.*.share.z3	Z3
 *	sym.*.z3.rate	questions that Z3 got in a second of its processor time
 *	sym.*.share.engine	expressions, and questions that are answered without Z3
 *	sym.*.share.rest	native runs that judge each disk, Valgrind's start, waiting
 *
 * These take long, and are done only if they are asked for by their names; each session takes
 * --seconds N, if that is given:
 *
 *	sym.follow	the share of solved disks that took the predicted path, and how many there
 *			were, for four checkers; 200 disks each, or 300 s
 *	sym.versus	e2fsck, fsck.minix and labfs-fsck with bugs: kinds of findings and blocks of
 *			code by paths, by the model `fields` and by the model `bits`, each with the
 *			same CPU time; paths have 600 s by the clock, for e2fsck with the images
 *			of --suite DIR. Where blocks are counted, natively damaged disks are also
 *			run under Valgrind, which is a part of their CPU time. Kinds differ by what
 *			is wrong, whichever field led there. At the end: how many times the kinds
 *			of `bits` paths found, all of them and those in which one run contradicts
 *			another (inconsistent), and by how many points of the
 *			checker's own code they are ahead of `fields`. sym.versus.e2fsck: that
 *			checker alone
 */
#include "base/buf.h"
#include "bench/bench.h"
#include "os/spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECONDS 20
#define JOBS 2
#define JOBS_WORD "2"
#define FOLLOW_SECONDS 300
#define VERSUS_SECONDS 600
#define FOLLOW_DISKS 200
#define TRIES 4
#define KINDS_MAX 2048u
#define SUITE "../shared/data/e2fsck-suite"

/* The number after "name": in the last line of a session. */
static double number(const char *json, const char *name)
{
	char key[64];
	const char *at;

	snprintf(key, sizeof(key), "\"%s\":", name);
	at = json ? strstr(json, key) : NULL;
	return at ? strtod(at + strlen(key), NULL) : 0;
}

/* Runs a session; NULL: there is none, for want of a checker, Valgrind or Z3. */
static const char *session_for(char *const *words, double seconds, struct as_buf *out)
{
	static char self[4096], time[64];
	char *argv[24] = {
		self, "fsck", "--json", "--no-store", "--jobs", JOBS_WORD, "--for", time
	};
	struct as_spawn spawn = {
		.argv = argv, .deadline_ms = 3600000, .output = out, .output_max = 64 << 20
	};
	struct as_ended ended;
	struct as_err err;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int n = 8;

	if (len <= 0)
		return NULL;
	self[len] = '\0';
	snprintf(time, sizeof(time), "%.0fs", seconds);
	while (*words && n < 23)
		argv[n++] = *words++;
	as_buf_clear(out);
	if (as_spawn_run(&spawn, &ended, &err) || ended.how != AS_END_EXIT || ended.status > 1)
		return NULL;
	return strstr(as_buf_str(out), "{\"event\":\"fsck\"");
}

static const char *session(char *const *words, unsigned seconds, struct as_buf *out)
{
	uint64_t wanted = as_bench_how()->seconds;

	return session_for(words, wanted ? (double)wanted : seconds, out);
}

/* Where the time of both processes went, by the clock. */
static void shares(const char *name, const char *json, as_bench_report report)
{
	double all = JOBS * number(json, "search_us"), run = number(json, "run_us");
	double z3 = number(json, "z3_us"), engine = number(json, "solve_us") - z3;
	const struct {
		const char *what;
		double us;
	} rows[] = { { "valgrind", run },
		     { "z3", z3 },
		     { "engine", engine },
		     { "rest", all - run - z3 - engine } };

	for (size_t i = 0; all > 0 && i < sizeof(rows) / sizeof(rows[0]); i++) {
		char full[96];

		snprintf(full, sizeof(full), "%s.share.%s", name, rows[i].what);
		report(full, 100 * rows[i].us / all, "%");
	}
}

static void paths(const char *name, const char *checker, as_bench_report report)
{
	char *const words[] = { (char *)checker, "--symbolic", NULL };
	struct as_buf out = { 0 };
	const char *json;
	double followed, strayed;
	char full[64];

	snprintf(full, sizeof(full), "%s.warm", name);
	if (!as_bench_wants(name) || as_bench_names("sym.versus") || as_bench_names("sym.follow") ||
	    as_bench_names(full))
		return;
	json = session(words, SECONDS, &out);
	if (json) {
		followed = number(json, "followed");
		strayed = number(json, "strayed");
		report(name, number(json, "paths") * 1e6 / number(json, "search_us"), "path/s");
		snprintf(full, sizeof(full), "%s.follow", name);
		if (followed + strayed > 0)
			report(full, 100 * followed / (followed + strayed), "%");
		shares(name, json, report);
		snprintf(full, sizeof(full), "%s.z3.rate", name);
		if (number(json, "z3_cpu_us") > 0)
			report(full, number(json, "z3_asked") * 1e6 / number(json, "z3_cpu_us"),
			       "questions/s");
	}
	as_buf_free(&out);
}

static void follow(as_bench_report report)
{
	static const char *const checkers[] = { "e2fsck", "fsck.minix", "fsck.fat", "labfs-fsck" };
	struct as_buf out = { 0 };

	for (size_t i = 0; i < sizeof(checkers) / sizeof(checkers[0]); i++) {
		char disks[32], name[64];
		char *const words[] = { (char *)checkers[i], "--symbolic", "--solved", disks,
					NULL };
		double followed, all;
		const char *json;

		snprintf(disks, sizeof(disks), "%d", FOLLOW_DISKS);
		json = session(words, FOLLOW_SECONDS, &out);
		followed = number(json, "followed");
		all = followed + number(json, "strayed");
		if (!json || all < 1)
			continue;
		snprintf(name, sizeof(name), "sym.follow.%s", checkers[i]);
		report(name, 100 * followed / all, "%");
		snprintf(name, sizeof(name), "sym.follow.%s.disks", checkers[i]);
		report(name, all, "disks");
		snprintf(name, sizeof(name), "sym.follow.%s.wrong", checkers[i]);
		report(name, number(json, "wrong"), "paths");
	}
	as_buf_free(&out);
}

/* ---- Ways to find, with the same CPU time ---------------------------------------------------- */

static const struct versus_row {
	const char *name, *checker;
	bool suite; /* paths begin with the images of a suite */
} versus_rows[] = {
	{ "e2fsck", "e2fsck", true },
	{ "minix", "fsck.minix", false },
	{ "labfs", "labfs-fsck:bug=50,bug=52,bug=100,bug=101,bug=102,bug=103", false },
};

static const struct versus_way {
	const char *name, *words[6];
	bool blocks; /* they are what counts, and not the kinds */
	const char *beside; /* what paths are beside it, by name */
} versus_ways[] = {
	{ "fields", { "--model", "fields" }, false, NULL },
	{ "bits", { "--model", "bits" }, false, "paths.to_bits" },
	{ "fields.covered",
	  { "--model", "fields", "--coverage", "blocks" },
	  true,
	  "paths.ahead_of_fields" },
	{ "bits.covered", { "--model", "bits", "--coverage", "blocks" }, true, NULL },
};

/* What one way reached. */
struct versus_got {
	double kinds, inconsistent, blocks, percent;
};

/* The length of a signature in a line, without the field by which `fields` tells clusters apart. */
static size_t plain_len(const char *sign)
{
	static const char field[] = "; field ";
	size_t n = 0;

	while (sign[n] && sign[n] != '"' && strncmp(sign + n, field, strlen(field)))
		n += sign[n] == '\\' && sign[n + 1] ? 2 : 1;
	return n;
}

/* Whether one run contradicts what another one said (SWIFT, Table 1). */
static bool is_inconsistent(const char *sign)
{
	static const char *const words[] = { "fsck: twice", "fsck: unsettled" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strncmp(sign, words[i], strlen(words[i])))
			return true;
	return false;
}

/* Kinds of findings: what is wrong, whichever field led there, so that no way has more of them for
 * knowing what a field is. */
static void count_kinds(const char *lines, struct versus_got *got)
{
	static const char finding[] = "{\"event\":\"finding\"", key[] = "\"signature\":\"";
	const char *seen[KINDS_MAX];
	unsigned n = 0;

	for (; (lines = strstr(lines, finding)); lines++) {
		const char *sign = strstr(lines, key);
		size_t len;
		unsigned i = 0;

		if (!sign)
			break;
		sign += strlen(key);
		len = plain_len(sign);
		while (i < n && (plain_len(seen[i]) != len || memcmp(seen[i], sign, len)))
			i++;
		if (i < n || n == KINDS_MAX)
			continue;
		seen[n++] = sign;
		got->inconsistent += is_inconsistent(sign);
	}
	got->kinds = n;
}

static const char *timed(char *const *words, double seconds, struct as_buf *out, double *cpu_s)
{
	double start = bench_waited_s();
	const char *json = session_for(words, seconds, out);

	*cpu_s = bench_waited_s() - start;
	return json;
}

static void report_versus(const struct versus_row *row, const char *way, const char *what,
			  double value, const char *unit, as_bench_report report)
{
	char name[96];

	snprintf(name, sizeof(name), "sym.versus.%s.%s.%s", row->name, way, what);
	report(name, value, unit);
}

static void report_kinds(const struct versus_row *row, const char *way,
			 const struct versus_got *got, as_bench_report report)
{
	report_versus(row, way, "kinds", got->kinds, "kinds", report);
	report_versus(row, way, "inconsistent", got->inconsistent, "kinds", report);
}

static void report_times(const struct versus_row *row, const char *name,
			 const struct versus_got *paths, const struct versus_got *other,
			 as_bench_report report)
{
	if (other->kinds > 0)
		report_versus(row, name, "times", paths->kinds / other->kinds, "x", report);
	if (other->inconsistent > 0)
		report_versus(row, name, "inconsistent.times",
			      paths->inconsistent / other->inconsistent, "x", report);
}

/* How much of a processor a session gets by the clock is known after it: so there may be several,
 * each for a better time. One that is done earlier has no more to try. */
static bool versus_native(const struct versus_row *row, const struct versus_way *way, double want_s,
			  double seconds, struct versus_got *got, as_bench_report report)
{
	double cpu_s = 0, most_s = 6 * seconds, clock_s = seconds / 4 > 2 ? seconds / 4 : 2;
	char *words[8] = { (char *)row->checker };
	struct as_buf out = { 0 };
	const char *json = NULL;

	for (unsigned i = 0; i < 6; i++)
		words[i + 1] = (char *)way->words[i];
	for (int i = 0; i < TRIES && (!i || json); i++) {
		json = timed(words, clock_s, &out, &cpu_s);
		if (cpu_s <= 0 || cpu_s > 0.8 * want_s || clock_s >= most_s ||
		    number(json, "wall_us") < 0.8e6 * clock_s)
			break;
		clock_s = want_s / cpu_s * clock_s < most_s ? want_s / cpu_s * clock_s : most_s;
	}
	*got = (struct versus_got){ .blocks = number(json, "covered_blocks"),
				    .percent = number(json, "covered_percent") };
	if (json) {
		count_kinds(as_buf_str(&out), got);
		report_versus(row, way->name, "cpu", cpu_s, "s", report);
		if (way->blocks) {
			report_versus(row, way->name, "blocks", got->blocks, "blocks", report);
			report_versus(row, way->name, "percent", got->percent, "%", report);
		} else {
			report_kinds(row, way->name, got, report);
		}
	}
	as_buf_free(&out);
	return json;
}

/* The other ways, with the CPU time of paths, and paths beside them. */
static void versus_others(const struct versus_row *row, const struct versus_got *paths,
			  double cpu_s, double seconds, as_bench_report report)
{
	struct versus_got got;

	for (size_t k = 0; k < sizeof(versus_ways) / sizeof(versus_ways[0]); k++) {
		const struct versus_way *way = &versus_ways[k];

		if (!versus_native(row, way, cpu_s, seconds, &got, report) || !way->beside)
			continue;
		if (way->blocks)
			report_versus(row, way->beside, "points", paths->percent - got.percent,
				      "points", report);
		else
			report_times(row, way->beside, paths, &got, report);
	}
}

static void versus(as_bench_report report)
{
	double seconds = as_bench_how()->seconds ? (double)as_bench_how()->seconds : VERSUS_SECONDS;
	const char *suite = as_bench_how()->suite;
	struct as_buf out = { 0 };

	if (!suite && !access(SUITE, R_OK))
		suite = SUITE;
	for (size_t i = 0; i < sizeof(versus_rows) / sizeof(versus_rows[0]); i++) {
		const struct versus_row *row = &versus_rows[i];
		char *words[] = { (char *)row->checker, "--symbolic", NULL, NULL, NULL };
		struct versus_got got;
		const char *json;
		double cpu_s;
		char name[64];

		snprintf(name, sizeof(name), "sym.versus.%s", row->name);
		if (!as_bench_names("sym.versus") && !as_bench_names(name))
			continue;
		if (row->suite && suite) {
			words[2] = "--suite";
			words[3] = (char *)suite;
		}
		json = timed(words, seconds, &out, &cpu_s);
		if (!json)
			continue;
		got = (struct versus_got){ .blocks = number(json, "all_blocks"),
					   .percent = number(json, "code_percent") };
		count_kinds(as_buf_str(&out), &got);
		report_versus(row, "paths", "cpu", cpu_s, "s", report);
		report_kinds(row, "paths", &got, report);
		report_versus(row, "paths", "blocks", got.blocks, "blocks", report);
		report_versus(row, "paths", "percent", got.percent, "%", report);
		versus_others(row, &got, cpu_s, seconds, report);
	}
	as_buf_free(&out);
}

void bench_sym(as_bench_report report)
{
	paths("sym.minix", "fsck.minix", report);
	paths("sym.labfs", "labfs-fsck", report);
	paths("sym.e2fsck", "e2fsck", report);
	if (!as_bench_names("sym.versus") && !as_bench_names("sym.follow"))
		bench_sym_warm(report);
	if (as_bench_names("sym.follow"))
		follow(report);
	versus(report);
}
