/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_fsck: what it costs to run a checker twice on each damaged disk of the model `fields`, of
 * which some fields are taken, spread over all. Rates are double runs per second of processor time,
 * of all processes together: on a core that does nothing else, that is the time on the clock.
 *
 *	fsck.NAME.double	both runs from their beginning, through the fork server
 *	fsck.NAME.forked	as a session does it: first runs are forked where the checker first
 *				reads what is damaged, and what was run on the same disk is known
 *	fsck.NAME.plain		posix_spawn and waitpid, on a file on tmpfs; to write the damaged
 *				disk into the file is not counted
 *	fsck.NAME.*.ratio	over the plain one
 *	fsck.NAME.forks		the share of the runs that was forked
 */
#include "bench/bench.h"
#include "damage/generic.h"
#include "fsck/corrupt.h"
#include "os/spawn.h"
#include "target/fstype.h"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct bench_row {
	const char *name, *type, *command, *exits;
	uint64_t bytes;
	unsigned lots;
} rows[] = {
	{ "e2fsck", "ext4", "e2fsck -f -y {disk}", NULL, 2 << 20, 60 },
	{ "minix", "minix", "fsck.minix -a -f {disk}",
	  "0=clean 3=repaired 4=left 7=repaired+left 8=failed 16=failed", 1 << 20, 60 },
	{ "reiserfsck", "reiserfs", "reiserfsck -y -q --check {disk}",
	  "0=clean 1=repaired 2=repaired 4=left 6=left 8=failed 16=failed", 4 << 20, 20 },
};

struct fsck_rig {
	const struct bench_row *row;
	struct as_subject_setup setup;
	char spec[128], path[64], program[4096];
	struct as_chunks *store;
	struct as_generic generic;
	struct as_fsck_base base;
	struct as_corrupt *corrupt;
	unsigned char *image;
	uint64_t disks, forked, runs;
};

static void make_lot(struct fsck_rig *rig, unsigned i, struct as_corrupt_lot *lot)
{
	uint64_t all = as_corrupt_lots(rig->corrupt);

	as_corrupt_lot(rig->corrupt, all * i / rig->row->lots, lot);
}

/* ---- The three ways -------------------------------------------------------------------------- */

static double whole(struct fsck_rig *rig)
{
	double start = bench_all_s();
	struct as_fsck_subject *subject = NULL;

	as_assert(!as_subject_open(&rig->setup, &subject, NULL));
	rig->disks = 0;
	for (unsigned i = 0; i < rig->row->lots; i++) {
		struct as_corrupt_lot lot = { 0 };

		make_lot(rig, i, &lot);
		for (size_t k = 0; k < lot.n; k++) {
			struct as_disk *disk =
				as_damage_apply(&lot.damages[k], rig->base.disk, NULL);
			struct as_subject_run first, second;

			as_assert(!as_subject_run(subject, AS_SUBJECT_REPAIR, disk, &first, NULL));
			as_assert(!as_subject_run(subject, AS_SUBJECT_AGAIN, first.run.disk,
						  &second, NULL));
			as_subject_run_free(&first);
			as_subject_run_free(&second);
			as_disk_free(disk);
			rig->disks++;
		}
		as_corrupt_lot_free(&lot);
	}
	as_subject_free(subject);
	return bench_all_s() - start;
}

static double judged(struct fsck_rig *rig)
{
	double start = bench_all_s();
	struct as_fsck_subject *subject = NULL;
	struct as_fsck_verdict v = { 0 };
	struct as_judge *judge;

	as_assert(!as_subject_open(&rig->setup, &subject, NULL));
	judge = as_judge_new(subject);
	for (unsigned i = 0; i < rig->row->lots; i++) {
		struct as_corrupt_lot lot = { 0 };

		make_lot(rig, i, &lot);
		as_judge_lot_begin(judge, &rig->base, lot.damages, lot.n);
		for (size_t k = 0; k < lot.n; k++) {
			struct as_disk *disk =
				as_damage_apply(&lot.damages[k], rig->base.disk, NULL);

			as_assert(
				!as_judge_disk(judge, &rig->base, &lot.damages[k], disk, &v, NULL));
			as_disk_free(disk);
		}
		as_judge_lot_end(judge);
		as_corrupt_lot_free(&lot);
	}
	rig->forked = as_judge_counts(judge).forked;
	rig->runs = as_judge_counts(judge).runs;
	as_fsck_verdict_free(&v);
	as_judge_free(judge);
	as_subject_free(subject);
	return bench_all_s() - start;
}

static void write_file(struct fsck_rig *rig, struct as_disk *disk)
{
	uint64_t size = as_disk_size(disk);
	int fd = open(rig->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	as_assert(!as_bd_read(as_disk_bd(disk), 0, rig->image, size));
	as_assert(fd >= 0 && pwrite(fd, rig->image, size, 0) == (ssize_t)size);
	close(fd);
}

static void spawn_twice(struct fsck_rig *rig, char **argv)
{
	static char *env[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL };
	posix_spawn_file_actions_t actions;

	posix_spawn_file_actions_init(&actions);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
	for (int i = 0; i < 2; i++) {
		int status;
		pid_t pid;

		as_assert(!posix_spawn(&pid, rig->program, &actions, NULL, argv, env));
		as_assert(waitpid(pid, &status, 0) == pid);
	}
	posix_spawn_file_actions_destroy(&actions);
}

static double plain(struct fsck_rig *rig)
{
	char **argv =
		as_fstype_argv(rig->row->command, &(struct as_fstype_disks){ .disk = rig->path });
	double sum = 0;

	for (unsigned i = 0; i < rig->row->lots; i++) {
		struct as_corrupt_lot lot = { 0 };

		make_lot(rig, i, &lot);
		for (size_t k = 0; k < lot.n; k++) {
			struct as_disk *disk =
				as_damage_apply(&lot.damages[k], rig->base.disk, NULL);
			double start;

			write_file(rig, disk);
			start = bench_all_s();
			spawn_twice(rig, argv);
			sum += bench_all_s() - start;
			as_disk_free(disk);
		}
		as_corrupt_lot_free(&lot);
	}
	as_fstype_free_words(argv);
	return sum;
}

/* ---- The rows -------------------------------------------------------------------------------- */

static bool prepare(struct fsck_rig *rig)
{
	const struct bench_row *row = rig->row;
	struct as_fsck_subject *subject = NULL;
	struct as_judge *judge;
	struct as_corrupt_setup setup = {
		.bases = &rig->base, .n = 1, .type = row->type, .at_once = 1, .seal = true
	};
	char word[64];
	bool fine;

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(row->command, " "), row->command);
	if (access("/dev/shm", W_OK) || !as_spawn_which(word, rig->program, sizeof(rig->program)))
		return false;
	snprintf(rig->path, sizeof(rig->path), "/dev/shm/assay-bench-%d", (int)getpid());
	snprintf(rig->spec, sizeof(rig->spec), "checker:%s", row->command);
	/* Without a type: what is lost is another question. */
	rig->setup = (struct as_subject_setup){ .spec = rig->spec,
						.exits = row->exits,
						.deadline_ms = 2000 };
	rig->store = as_chunks_new();
	if (as_generic_make(rig->store, row->type, row->bytes, &rig->generic, NULL))
		return false;
	rig->base.disk = as_disk_snapshot(rig->generic.disk);
	rig->base.name = "generic";
	rig->image = as_xmalloc(as_disk_size(rig->base.disk));
	fine = !as_subject_open(&rig->setup, &subject, NULL) &&
	       !as_corrupt_open("fields", &setup, &rig->corrupt, NULL);
	rig->setup.probed = subject;
	/* What it writes to every disk is no change, after which it would run again and again. */
	judge = subject ? as_judge_new(subject) : NULL;
	fine = fine && !as_judge_base(judge, &rig->base, AS_FSCK_MADE, NULL);
	as_judge_free(judge);
	as_subject_free(subject);
	return fine;
}

static void report_rate(struct fsck_rig *rig, const char *what, double s, double plain_s,
			as_bench_report report)
{
	char name[64];

	snprintf(name, sizeof(name), "fsck.%s.%s", rig->row->name, what);
	report(name, (double)rig->disks / s, "double/s");
	if (plain_s <= 0)
		return;
	snprintf(name, sizeof(name), "fsck.%s.%s.ratio", rig->row->name, what);
	report(name, plain_s / s, "x");
}

static void measure(struct fsck_rig *rig, as_bench_report report)
{
	double whole_s, judged_s, plain_s;
	char name[64];

	whole_s = whole(rig);
	judged_s = judged(rig);
	plain_s = plain(rig);
	report_rate(rig, "plain", plain_s, 0, report);
	report_rate(rig, "double", whole_s, plain_s, report);
	report_rate(rig, "forked", judged_s, plain_s, report);
	snprintf(name, sizeof(name), "fsck.%s.forks", rig->row->name);
	report(name, rig->runs ? (double)rig->forked / (double)rig->runs : 0, "of all runs");
}

void bench_fsck(as_bench_report report)
{
	cpu_set_t before, one;

	sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fsck_rig rig = { .row = &rows[i] };
		char name[64];

		snprintf(name, sizeof(name), "fsck.%s.", rows[i].name);
		if (as_bench_wants(name) && prepare(&rig))
			measure(&rig, report);
		if (*rig.path)
			unlink(rig.path);
		as_corrupt_free(rig.corrupt);
		as_fsck_base_free(&rig.base);
		as_generic_free(&rig.generic);
		if (rig.store)
			as_chunks_free(rig.store);
		free(rig.image);
	}
	sched_setaffinity(0, sizeof(before), &before);
}
