/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_hunt: whole hunts with all oracles on, as the command runs them: generated, run, judged,
 * unmounted, checked, mounted and compared again.
 *	hunt.lab	labfs, linked in
 *	hunt.ext4.host	ext4 of the running kernel; also hunt.xfs.host
 *	hunt.ext4.uml	ext4 in User-Mode Linux, its boot included; one guest runs on one processor
 *	hunt.ext4.uml.two	the same with two jobs: it uses the machine as the rows of the host,
 *			where one job has instances on all processors
 *	hunt.plugin	memfs (bench/plugin), which costs next to nothing; hunt.plugin.alone
 *			is what it does when its functions are called in a loop (bench_plugin.c)
 * Operations a second by the clock. Rows that end in .cpu: a second of CPU time of all processes,
 * which is one core's worth, whatever else the machine does; the time of the kernel's own threads
 * is not in it. A guest has no such row, since nobody is told how much CPU time it took.
 */
#include "bench/plugin.h"
#include "os/spawn.h"
#include "os/temp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double clock_seconds(void)
{
	return (double)as_now_us() / 1e6;
}

struct row {
	const char *name, *cpu_name; /* cpu_name NULL: not known */
	const char *target, *sandbox, *workloads, *jobs;
};

static const struct row rows[] = {
	{ "hunt.lab", "hunt.lab.cpu", "lab", "host", "2048", "1" },
	{ "hunt.ext4.host", "hunt.ext4.host.cpu", "ext4", "host", "256", "1" },
	{ "hunt.xfs.host", "hunt.xfs.host.cpu", "xfs", "host", "256", "1" },
	{ "hunt.ext4.uml", NULL, "ext4", "uml", "192", "1" },
	{ "hunt.ext4.uml.two", NULL, "ext4", "uml", "384", "2" },
};

static void hunt(const struct row *row, as_bench_report report)
{
	char self[4096], folder[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *argv[] = { self,
			 (char *)"hunt",
			 (char *)"--json",
			 (char *)"--no-reduce",
			 (char *)"--no-draw",
			 (char *)"--target",
			 (char *)row->target,
			 (char *)"--sandbox",
			 (char *)row->sandbox,
			 (char *)"--max-workloads",
			 (char *)row->workloads,
			 (char *)"--jobs",
			 (char *)row->jobs,
			 (char *)"-o",
			 folder,
			 NULL };
	struct as_buf output = { 0 };
	struct as_spawn spawn = { .argv = argv, .output = &output, .output_max = 16 << 20 };
	double cpu = bench_waited_s(), wall = clock_seconds();
	struct as_temp *temp = NULL;
	struct as_ended ended;
	const char *done, *ops;

	if (len <= 0 || as_temp_new(NULL, &temp, NULL))
		return;
	/* The folder itself is locked. */
	snprintf(folder, sizeof(folder), "%s/run", as_temp_path(temp));
	self[len] = '\0';
	if (!as_spawn_run(&spawn, &ended, NULL) && ended.how == AS_END_EXIT && ended.status <= 1) {
		cpu = bench_waited_s() - cpu;
		wall = clock_seconds() - wall;
		done = strstr(as_buf_str(&output), "\"event\":\"done\"");
		ops = done ? strstr(done, "\"ops\":") : NULL;
		if (ops)
			report(row->name, strtod(ops + 6, NULL) / wall, "op/s");
		if (ops && row->cpu_name)
			report(row->cpu_name, strtod(ops + 6, NULL) / cpu, "op/s");
	}
	as_buf_free(&output);
	as_temp_free(temp);
}

static void hunt_plugin(as_bench_report report)
{
	struct row row = { "hunt.plugin", "hunt.plugin.cpu", NULL, "host", "2048", "1" };
	struct as_buf spec = { 0 };

	as_buf_addf(&spec, "plugin:");
	if (bench_plugin_path("memfs", &spec)) {
		row.target = as_buf_str(&spec);
		hunt(&row, report);
	}
	bench_plugin_alone(report);
	as_buf_free(&spec);
}

void bench_hunt(as_bench_report report)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (as_bench_wants(rows[i].name))
			hunt(&rows[i], report);
	if (as_bench_wants("hunt.plugin"))
		hunt_plugin(report);
}
