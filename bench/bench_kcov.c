/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_kcov: how much code of the kernel hunts reach. This takes long, and is done only if it is
 * asked for by its name; each hunt takes --seconds N, or 600.
 *
 *	kcov.versus	for ext4 and f2fs in the kernel `debug`, with one job, the same seed and the
 *			same time: places in fs/ that are reached by a hunt that breeds workloads
 *			which reached something new (bred), by one that draws each afresh (fresh),
 *			and by one whose operations are all alike, as Dogfood's are (paper)
 */
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
} ways[] = {
	{ "bred", { NULL } },
	{ "fresh", { "--no-breed", NULL } },
	{ "paper", { "--no-breed", "--profile", "paper" } },
};

/* Places reached; 0: the kernel is not there, or its hunt failed; the reason goes to stderr. */
static double hunt(const char *target, char *const words[3])
{
	unsigned long long wanted = as_bench_how()->seconds;
	char self[4096], time[32], run[4096];
	char *argv[24] = { self,     "hunt", "--json",	 "--kcov",	"--kernel",  "debug",
			   "--jobs", "1",    "--seed",	 "1",		"--no-draw", "--no-reduce",
			   "--for",  time,   "--target", (char *)target };
	struct as_buf out = { 0 };
	struct as_spawn spawn = {
		.argv = argv, .deadline_ms = 7200000, .output = &out, .output_max = 64 << 20
	};
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	struct as_temp *folder = NULL;
	struct as_ended ended;
	const char *at = NULL;
	double places = 0;
	int n = 16;

	if (len <= 0 || as_temp_new("/tmp", &folder, NULL))
		return 0;
	self[len] = '\0';
	snprintf(time, sizeof(time), "%llus", wanted ? wanted : SECONDS);
	for (int i = 0; i < 3 && words[i]; i++)
		argv[n++] = words[i];
	/* The folder itself is locked. */
	snprintf(run, sizeof(run), "%s/run", as_temp_path(folder));
	argv[n++] = "-o";
	argv[n] = run;
	if (!as_spawn_run(&spawn, &ended, NULL) && ended.how == AS_END_EXIT && ended.status <= 1)
		at = strstr(as_buf_str(&out), "\"places\":");
	if (at)
		places = strtod(at + 9, NULL);
	else
		fprintf(stderr, "%.*s\n", TOLD_BYTES, as_buf_str(&out));
	as_buf_free(&out);
	as_temp_free(folder);
	return places;
}

void bench_kcov(as_bench_report report)
{
	static const char *const targets[] = { "ext4", "f2fs" };

	if (!as_bench_names("kcov.versus"))
		return;
	for (size_t t = 0; t < sizeof(targets) / sizeof(targets[0]); t++)
		for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
			double places = hunt(targets[t], ways[w].words);
			char name[64];

			snprintf(name, sizeof(name), "kcov.versus.%s.%s", targets[t], ways[w].name);
			report(name, places, places > 0 ? "places" : "failed");
		}
}
