/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_sym: exploring checkers symbolically (assay fsck --symbolic), as a user does it: in two
 * processes, each path judged. Starting Valgrind is a part of the time.
 *
 *	sym.minix, sym.labfs, sym.e2fsck	paths in a second
 *	sym.*.follow	how many of the solved disks took the path that was predicted
 *	sym.*.solve	share of the time of solving in that of running and solving
 *	sym.versus.*	clusters of findings of e2fsck by paths and by the model `bits`, in the same
 *			time, and blocks of code by paths; only if it is asked for by its name
 */
#include "base/buf.h"
#include "bench/bench.h"
#include "os/spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECONDS "20s"
#define VERSUS_SECONDS "120s"

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
static const char *session(char *const *words, struct as_buf *out)
{
	static char self[4096];
	char *argv[24] = { self, "fsck", "--json", "--no-store", "--jobs", "2" };
	struct as_spawn spawn = {
		.argv = argv, .deadline_ms = 600000, .output = out, .output_max = 64 << 20
	};
	struct as_ended ended;
	struct as_err err;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int n = 6;

	if (len <= 0)
		return NULL;
	self[len] = '\0';
	while (*words && n < 23)
		argv[n++] = *words++;
	as_buf_clear(out);
	if (as_spawn_run(&spawn, &ended, &err) || ended.how != AS_END_EXIT || ended.status > 1)
		return NULL;
	return strstr(as_buf_str(out), "{\"event\":\"fsck\"");
}

static void paths(const char *name, const char *checker, as_bench_report report)
{
	char *const words[] = { (char *)checker, "--symbolic", "--for", SECONDS, NULL };
	struct as_buf out = { 0 };
	const char *json;
	double followed, strayed, run, solve;
	char full[64];

	if (!as_bench_wants(name))
		return;
	json = session(words, &out);
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

/* Both on the generic disk, one after the other. */
static void versus(as_bench_report report)
{
	char *const symbolic[] = { "e2fsck", "--symbolic", "--for", VERSUS_SECONDS, NULL };
	char *const bits[] = { "e2fsck", "--model", "bits", "--for", VERSUS_SECONDS, NULL };
	struct as_buf out = { 0 };
	const char *json = session(symbolic, &out);
	double by_paths = number(json, "clusters"), blocks = number(json, "blocks"), by_bits;

	if (json) {
		json = session(bits, &out);
		by_bits = number(json, "clusters");
		report("sym.versus.paths", by_paths, "clusters");
		report("sym.versus.bits", by_bits, "clusters");
		report("sym.versus.blocks", blocks, "blocks");
		if (by_bits > 0)
			report("sym.versus.ratio", by_paths / by_bits, "x");
	}
	as_buf_free(&out);
}

void bench_sym(as_bench_report report)
{
	paths("sym.minix", "fsck.minix", report);
	paths("sym.labfs", "labfs-fsck", report);
	paths("sym.e2fsck", "e2fsck", report);
	if (as_bench_names("sym.versus"))
		versus(report);
}
