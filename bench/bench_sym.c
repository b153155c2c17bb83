/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_sym: exploring checkers symbolically (assay fsck --symbolic), as a user does it: in two
 * processes, each path judged. Starting Valgrind is a part of the time.
 *
 *	sym.minix, sym.labfs, sym.e2fsck	paths in a second
 *	sym.*.follow	how many of the solved disks took the path that was predicted
 *	sym.*.solve	share of the time of solving in that of running and solving
 *
 * These take long, and are done only if they are asked for by their names; each session takes
 * --seconds N, if that is given:
 *
 *	sym.follow	the share of solved disks that took the predicted path, and how many there
 *			were, for four checkers; 200 disks each, or 300 s
 *	sym.versus	e2fsck for 600 s each: clusters of findings by paths, with the images of
 *			--suite DIR, and by the model `bits`; blocks of code and share of e2fsck's
 *			own by paths, and by the model `fields`
 */
#include "base/buf.h"
#include "bench/bench.h"
#include "os/spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECONDS 20
#define FOLLOW_SECONDS 300
#define VERSUS_SECONDS 600
#define FOLLOW_DISKS 200
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
static const char *session(char *const *words, unsigned long long seconds, struct as_buf *out)
{
	static char self[4096], time[64];
	unsigned long long wanted = as_bench_how()->seconds;
	char *argv[24] = { self, "fsck", "--json", "--no-store", "--jobs", "2", "--for", time };
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
	snprintf(time, sizeof(time), "%llus", wanted ? wanted : seconds);
	while (*words && n < 23)
		argv[n++] = *words++;
	as_buf_clear(out);
	if (as_spawn_run(&spawn, &ended, &err) || ended.how != AS_END_EXIT || ended.status > 1)
		return NULL;
	return strstr(as_buf_str(out), "{\"event\":\"fsck\"");
}

static void paths(const char *name, const char *checker, as_bench_report report)
{
	char *const words[] = { (char *)checker, "--symbolic", NULL };
	struct as_buf out = { 0 };
	const char *json;
	double followed, strayed, run, solve;
	char full[64];

	if (!as_bench_wants(name) || as_bench_names("sym.versus") || as_bench_names("sym.follow"))
		return;
	json = session(words, SECONDS, &out);
	if (json) {
		followed = number(json, "followed");
		strayed = number(json, "strayed");
		run = number(json, "run_us");
		solve = number(json, "solve_us");
		report(name, number(json, "paths") * 1e6 / number(json, "wall_us"), "path/s");
		snprintf(full, sizeof(full), "%s.follow", name);
		if (followed + strayed > 0)
			report(full, 100 * followed / (followed + strayed), "%");
		snprintf(full, sizeof(full), "%s.solve", name);
		if (run + solve > 0)
			report(full, 100 * solve / (run + solve), "%");
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

/* One after the other, each for the same time. */
static void versus(as_bench_report report)
{
	const char *suite = as_bench_how()->suite;
	char *symbolic[] = { "e2fsck", "--symbolic", "--suite", NULL, NULL };
	char *const bits[] = { "e2fsck", "--model", "bits", NULL };
	char *const fields[] = { "e2fsck", "--model", "fields", "--coverage", "blocks", NULL };
	struct as_buf out = { 0 };
	double by_paths, by_bits, ours, theirs;
	const char *json;

	if (!suite && !access(SUITE, R_OK))
		suite = SUITE;
	symbolic[2] = suite ? symbolic[2] : NULL;
	symbolic[3] = (char *)suite;
	json = session(symbolic, VERSUS_SECONDS, &out);
	if (!json)
		goto out;
	by_paths = number(json, "clusters");
	ours = number(json, "code_percent");
	report("sym.versus.paths", by_paths, "clusters");
	report("sym.versus.paths.blocks", number(json, "all_blocks"), "blocks");
	report("sym.versus.paths.code", ours, "%");
	json = session(bits, VERSUS_SECONDS, &out);
	by_bits = number(json, "clusters");
	report("sym.versus.bits", by_bits, "clusters");
	if (by_bits > 0)
		report("sym.versus.ratio", by_paths / by_bits, "x");
	json = session(fields, VERSUS_SECONDS, &out);
	theirs = number(json, "covered_percent");
	report("sym.versus.fields.blocks", number(json, "covered_blocks"), "blocks");
	report("sym.versus.fields.code", theirs, "%");
	report("sym.versus.points", ours - theirs, "points");
out:
	as_buf_free(&out);
}

void bench_sym(as_bench_report report)
{
	paths("sym.minix", "fsck.minix", report);
	paths("sym.labfs", "labfs-fsck", report);
	paths("sym.e2fsck", "e2fsck", report);
	if (as_bench_names("sym.follow"))
		follow(report);
	if (as_bench_names("sym.versus"))
		versus(report);
}
