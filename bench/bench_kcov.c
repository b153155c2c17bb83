/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_kcov: how much code of the kernel hunts reach. This takes long, and is done only if it is
 * asked for by its name; each hunt takes --seconds N, or 600.
 *
 *	kcov.versus	for ext4 and f2fs in the kernel `debug`, with one job, the same seed and the
 *			same time: places in fs/TYPE that are reached by a hunt that breeds
 *			workloads which reached something new (bred), by one that draws each afresh
 *			(fresh), by one whose operations are all alike, as Dogfood's are (paper),
 *			and by stress-ng's class "filesystem" (stress; bench_kcov_stress.c)
 */
#include "bench/bench_kcov.h"
#include "base/buf.h"
#include "bench/bench.h"
#include "os/spawn.h"
#include "os/temp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECONDS 600
#define TOLD_BYTES 2000 /* of what a hunt that failed has said */

static const struct {
	const char *name;
	char *words[3];
	bool stress;
} ways[] = {
	{ "bred", { NULL }, false },
	{ "fresh", { "--no-breed", NULL }, false },
	{ "paper", { "--no-breed", "--profile", "paper" }, false },
	{ "stress", { NULL }, true },
};

/* Runs this program. False: it failed, and what it said has gone to stderr. */
static bool run_self(char *const *words, int most, struct as_buf *out)
{
	char self[4096], *argv[32] = { self };
	struct as_spawn spawn = {
		.argv = argv, .deadline_ms = 7200000, .output = out, .output_max = 64 << 20
	};
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	struct as_ended ended;

	if (len <= 0)
		return false;
	self[len] = '\0';
	for (int i = 0; words[i]; i++)
		argv[i + 1] = words[i];
	if (!as_spawn_run(&spawn, &ended, NULL) && ended.how == AS_END_EXIT && ended.status <= most)
		return true;
	fprintf(stderr, "%.*s\n", TOLD_BYTES, as_buf_str(out));
	return false;
}

static bool hunt(const char *target, char *const more[3], unsigned seconds, char *run)
{
	char time[32];
	char *words[24] = { "hunt", "--json", "--kcov", "--kernel",  "debug",	    "--jobs",
			    "1",    "--seed", "1",	"--no-draw", "--no-reduce", "--for",
			    time,   "-o",     run,	"--target",  (char *)target };
	struct as_buf out = { 0 };
	int n = 17;
	bool ok;

	snprintf(time, sizeof(time), "%us", seconds);
	for (int i = 0; i < 3 && more[i]; i++)
		words[n++] = more[i];
	ok = run_self(words, 1, &out);
	as_buf_free(&out);
	return ok;
}

/* Places below fs/TYPE that the file or the folder has; 0: none, or it cannot be read. */
static double count(const char *target, char *code)
{
	char under[32];
	char *words[] = { "cov", "code", "--json", "--under", under, code, NULL };
	struct as_buf out = { 0 };
	const char *at = NULL;
	double places = 0;

	snprintf(under, sizeof(under), "fs/%s", target);
	if (run_self(words, 0, &out) && (at = strstr(as_buf_str(&out), "\"event\":\"all\"")))
		at = strstr(at, "\"places\":");
	if (at)
		places = strtod(at + 9, NULL);
	as_buf_free(&out);
	return places;
}

/* 0: the kernel is not there, or it failed; the reason goes to stderr. */
static double measure(const char *target, size_t way)
{
	unsigned seconds = (unsigned)as_bench_how()->seconds;
	struct as_temp *folder = NULL;
	char run[4096];
	double places = 0;
	bool ok;

	if (as_temp_new(NULL, &folder, NULL))
		return 0;
	seconds = seconds ? seconds : SECONDS;
	/* The folder itself is locked. */
	snprintf(run, sizeof(run), "%s/run", as_temp_path(folder));
	ok = ways[way].stress ? !bench_kcov_stress(target, seconds, run)
			      : hunt(target, ways[way].words, seconds, run);
	if (ok)
		places = count(target, run);
	as_temp_free(folder);
	return places;
}

void bench_kcov(as_bench_report report)
{
	static const char *const targets[] = { "ext4", "f2fs" };

	for (size_t t = 0; t < sizeof(targets) / sizeof(targets[0]); t++) {
		char name[64];

		snprintf(name, sizeof(name), AS_BENCH_INSIDE "%s", targets[t]);
		if (as_bench_names(name))
			bench_kcov_inside(targets[t]);
		for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
			double places;

			snprintf(name, sizeof(name), "kcov.versus.%s.%s", targets[t], ways[w].name);
			if (!as_bench_names("kcov.versus") && !as_bench_names(name))
				continue;
			places = measure(targets[t], w);
			report(name, places, places > 0 ? "places" : "failed");
		}
	}
}
