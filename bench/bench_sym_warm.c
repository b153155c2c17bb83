/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_sym_warm: what it costs to follow bytes through a checker, compared with the same run under
 * the same tool with no byte unknown. Both are warm: forked where the checker first names its disk,
 * with its code translated. The start is not counted: the cost of a session of one run is taken
 * from that of a session of many.
 *
 *	sym.minix.warm, sym.labfs.warm, sym.e2fsck.warm	a path, with reading its log and making its
 *				expressions, divided by a run with no unknown byte
 *	sym.*.warm.run		the run alone
 *
 * CPU time of all processes. Each path has another place, spread over those of the healthy disk.
 */
#include "bench/bench.h"

#include "damage/generic.h"
#include "sym/path.h"
#include "sym/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 24u
#define RUN_MS 60000u

struct warm {
	struct as_chunks *store;
	struct as_generic generic;
	struct as_fsck_subject *subject;
	struct as_fsck_base base;
	struct as_places places;
};

static bool warm_open(struct warm *w, const char *checker)
{
	const struct as_checker_test *row;
	struct as_err err;

	*w = (struct warm){ .store = as_chunks_new() };
	if (as_sym_server_look(&err) ||
	    as_subject_open(&(struct as_subject_setup){ .spec = checker }, &w->subject, &err))
		return false;
	row = as_subject_test(w->subject);
	if (as_generic_make(w->store, as_subject_type(w->subject),
			    as_subject_checker(w->subject)->bytes, &w->generic, &err))
		return false;
	w->base = (struct as_fsck_base){ .disk = w->generic.disk, .name = "generic" };
	if (as_places_find(&(struct as_places_setup){ .bases = &w->base,
						      .n = 1,
						      .type = as_subject_type(w->subject),
						      .books = row->books,
						      .seal = true },
			   &w->places, &err))
		return false;
	for (size_t i = 0; i < w->places.n; i++)
		as_place_watch(&w->places.items[i], &w->base);
	return true;
}

static void warm_close(struct warm *w)
{
	as_places_free(&w->places);
	as_generic_free(&w->generic);
	as_subject_free(w->subject);
	as_chunks_free(w->store);
}

/* CPU time of the tool for a session of so many runs; -1: it failed. engine_s: that of us. */
static double cost_s(struct warm *w, unsigned runs, bool symbolic, double *engine_s)
{
	double before = bench_waited_s(), own;
	struct as_sym_server *server;
	bool ok;
	struct as_err err;

	if (as_sym_server_start(w->subject, w->base.disk, NULL, 0, &server, &err))
		return -1;
	ok = true;
	*engine_s = 0;
	for (unsigned i = 0; ok && i < runs; i++) {
		const struct as_place *p =
			&w->places.items[(size_t)i * w->places.n / RUNS % w->places.n];
		struct as_sym_run run;
		struct as_path path;

		ok = !as_sym_server_run(server, &(struct as_damage){ 0 }, p->ranges,
					symbolic ? p->n_ranges : 0, RUN_MS, &run, &err) &&
		     !run.late;
		own = (double)bench_cpu_us() / 1e6;
		if (ok && symbolic && !as_path_read(run.log, run.log_bytes, &path, &err))
			as_path_free(&path);
		*engine_s += (double)bench_cpu_us() / 1e6 - own;
	}
	as_sym_server_free(server);
	return ok ? bench_waited_s() - before : -1;
}

static void warm(const char *name, const char *checker, as_bench_report report)
{
	double many[2], one[2], engine[2], none;
	struct warm w;
	char full[64];
	bool ok;

	if (!as_bench_wants(name))
		return;
	ok = warm_open(&w, checker);
	for (unsigned k = 0; ok && k < 2; k++) {
		one[k] = cost_s(&w, 1, k, &none);
		many[k] = cost_s(&w, RUNS, k, &engine[k]);
		ok = one[k] >= 0 && many[k] > one[k];
	}
	if (ok) {
		report(name, (many[1] - one[1] + engine[1]) / (many[0] - one[0]), "x");
		snprintf(full, sizeof(full), "%s.run", name);
		report(full, (many[1] - one[1]) / (many[0] - one[0]), "x");
	}
	warm_close(&w);
}

void bench_sym_warm(as_bench_report report)
{
	warm("sym.minix.warm", "fsck.minix", report);
	warm("sym.labfs.warm", "labfs-fsck", report);
	warm("sym.e2fsck.warm", "e2fsck", report);
}
