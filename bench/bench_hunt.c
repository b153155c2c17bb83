/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_hunt: whole hunts with all oracles on, as the command runs them: generated, run, judged,
 * unmounted, checked, mounted and compared again. Operations a second of CPU time, of all processes
 * (and, in uml, of the guest with its boot): one core's worth, whatever else the machine does.
 *	hunt.lab	labfs, linked in
 *	hunt.ext4.uml	ext4 in User-Mode Linux
 */
#include "bench/bench.h"

#include "os/spawn.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static double cpu_seconds(void)
{
	struct rusage use;

	getrusage(RUSAGE_CHILDREN, &use);
	return (double)use.ru_utime.tv_sec + (double)use.ru_stime.tv_sec +
	       ((double)use.ru_utime.tv_usec + (double)use.ru_stime.tv_usec) / 1e6;
}

static void remove_all(const char *folder)
{
	char *argv[] = { (char *)"rm", (char *)"-rf", (char *)folder, NULL };
	struct as_spawn spawn = { .argv = argv };
	struct as_ended ended;

	if (as_spawn_run(&spawn, &ended, NULL))
		return;
}

static void hunt(const char *name, const char *target, const char *workloads,
		 as_bench_report report)
{
	char self[4096], folder[] = "/tmp/assay-bench-XXXXXX";
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *argv[] = { self,
			 (char *)"hunt",
			 (char *)"--json",
			 (char *)"--no-reduce",
			 (char *)"--no-draw",
			 (char *)"--target",
			 (char *)target,
			 (char *)"--max-workloads",
			 (char *)workloads,
			 (char *)"-o",
			 folder,
			 NULL };
	struct as_buf output = { 0 };
	struct as_spawn spawn = { .argv = argv, .output = &output };
	double before = cpu_seconds(), used;
	struct as_ended ended;
	const char *done, *ops;

	if (len <= 0 || !mkdtemp(folder))
		return;
	self[len] = '\0';
	if (!as_spawn_run(&spawn, &ended, NULL) && ended.how == AS_END_EXIT && ended.status <= 1) {
		used = cpu_seconds() - before;
		done = strstr(as_buf_str(&output), "\"event\":\"done\"");
		ops = done ? strstr(done, "\"ops\":") : NULL;
		if (ops)
			report(name, strtod(ops + 6, NULL) / used, "op/s");
	}
	as_buf_free(&output);
	remove_all(folder);
}

void bench_hunt(as_bench_report report)
{
	hunt("hunt.lab", "lab", "2048", report);
	hunt("hunt.ext4.uml", "ext4", "192", report);
}
