/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fsck_crash: see fsck_crash.h. */
#include "cmd/fsck/fsck_crash.h"

#include "cli/boxes.h"
#include "damage/crash_work.h"
#include "os/temp.h"
#include "scenario/scenario.h"
#include "work/parse.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define WORKLOADS 4u
#define WORKLOAD_MAX_BYTES ((size_t)16 << 20)
#define DEADLINE_MS 60000u
#define KERNEL_BYTES (UINT64_C(16) << 20) /* with room for a journal */
#define LIBRARY_BYTES (UINT64_C(2) << 20)

/* Hears the pieces of the tapes, one after the other. */
struct listener {
	struct as_sink sink;
	struct as_sink *notes;
	struct as_fsck_crashes *crashes;
	struct as_chunks *store;
	struct as_tape_pieces pieces;
	size_t at; /* the tape that comes next */
	int rc;
	struct as_err err;
	struct as_buf found; /* what the supervisor says of the kernel; "": nothing */
};

static struct listener *of(struct as_sink *sink)
{
	return (struct listener *)(void *)((char *)sink - offsetof(struct listener, sink));
}

static void on_told(struct as_sink *sink, const char *text)
{
	struct listener *l = of(sink);
	bool whole;

	if (l->rc || l->at == l->crashes->n)
		return;
	l->rc = as_tape_add(&l->pieces, text, &whole, &l->err);
	if (!l->rc && whole)
		l->rc = as_tape_read(&l->pieces, l->store, &l->crashes->tapes[l->at++], &l->err);
}

static void on_finding(struct as_sink *sink, const struct as_finding *finding)
{
	struct listener *l = of(sink);

	if (!l->found.len)
		as_buf_adds(&l->found, finding->summary);
}

static void on_note(struct as_sink *sink, const char *line)
{
	as_emit_note(of(sink)->notes, "%s", line);
}

/* ---- Workloads ------------------------------------------------------------------------------- */

static int add_work(struct as_fsck_crashes *c, const char *path, uint64_t seed, struct as_err *err)
{
	size_t i = c->n++;
	int rc = 0;

	if (path) {
		as_buf_adds(&c->names[i], path);
		rc = as_buf_read_file(&c->texts[i], path, WORKLOAD_MAX_BYTES, err);
	} else {
		as_buf_addf(&c->names[i], "%zu of seed %llu", i, (unsigned long long)seed);
		as_crash_work(seed, i, &c->texts[i]);
	}
	return rc ? rc
		  : as_parse_text(as_buf_str(&c->names[i]), as_buf_str(&c->texts[i]),
				  c->texts[i].len, &c->seqs[i], err);
}

static int read_work(const struct as_args *args, uint64_t seed, struct as_fsck_crashes *c,
		     struct as_err *err)
{
	const char *path = as_args_text(args, "workload", NULL);
	size_t want = path ? 1 : WORKLOADS;
	int rc = 0;

	c->seqs = as_xcalloc(want, sizeof(struct as_seq *));
	c->tapes = as_xcalloc(want, sizeof(*c->tapes));
	c->texts = as_xcalloc(want, sizeof(*c->texts));
	c->names = as_xcalloc(want, sizeof(*c->names));
	for (size_t i = 0; !rc && i < want; i++)
		rc = add_work(c, path, seed, err);
	return rc;
}

/* ---- Recording ------------------------------------------------------------------------------- */

static int record_here(const struct as_fsck_crashes *c, const char *type, struct listener *l,
		       uint64_t size, struct as_err *err)
{
	const struct as_scenario_ops *ops = &as_scenario_record;
	struct as_run_options options = { .deadline_ms = DEADLINE_MS, .size_bytes = size };
	struct as_target *target = NULL;
	struct as_scenario *scenario = NULL;
	const struct as_target *targets[1];
	struct as_scenario_args args = { .targets = targets,
					 .n_targets = 1,
					 .options = &options,
					 .params = "",
					 .sinks = &l->sink };
	int rc = as_target_open(type, &target, err);

	targets[0] = target;
	if (!rc)
		rc = ops->open(&args, &scenario, err);
	for (size_t i = 0; !rc && i < c->n; i++) {
		const struct as_seq *seqs[] = { c->seqs[i] };
		const char *names[] = { as_buf_str(&c->names[i]) };
		struct as_work work = { seqs, names, 1, NULL };
		struct as_run_result result = { 0 };

		rc = ops->run(scenario, &work, &result, err);
	}
	ops->close(scenario);
	as_target_free(target);
	return rc;
}

static int record_boxed(const struct as_args *args, const struct as_fsck_crashes *c,
			const char *type, struct listener *l, uint64_t size, struct as_err *err)
{
	const char **names = as_xcalloc(c->n, sizeof(*names));
	const struct as_work work = { (const struct as_seq *const *)c->seqs, names, c->n, NULL };
	struct as_boxed_session *session = NULL;
	struct as_run_result stats = { 0 };
	struct as_temp *temp = NULL;
	struct as_cli_box box = { 0 };
	int rc = as_temp_new(NULL, &temp, err);

	for (size_t i = 0; i < c->n; i++)
		names[i] = as_buf_str(&c->names[i]);
	if (!rc)
		rc = as_cli_box_open(args, type, size, &box, err);
	if (!rc) {
		box.boxed.options =
			(struct as_run_options){ .deadline_ms = DEADLINE_MS, .size_bytes = size };
		snprintf(box.boxed.options.scenario, sizeof(box.boxed.options.scenario), "%s",
			 as_scenario_record.name);
		box.boxed.out = as_temp_path(temp);
		box.boxed.notes = box.boxed.findings = &l->sink;
		/* An engine that stays up has told all of it when it is done. */
		rc = as_boxed_open(&box.boxed, &session, err);
	}
	if (!rc)
		rc = as_boxed_give(session, &work, &stats, err);
	as_boxed_close(session);
	as_cli_box_close(&box);
	as_temp_free(temp);
	free(names);
	return rc;
}

int as_fsck_crashes_record(const struct as_args *args, struct as_chunks *store, const char *type,
			   uint64_t seed, struct as_sink *notes, struct as_fsck_crashes *c,
			   struct as_err *err)
{
	bool boxed = as_cli_wants_box(args, type);
	uint64_t size =
		as_args_number(args, "size", as_cli_fstype(type) ? KERNEL_BYTES : LIBRARY_BYTES);
	struct listener l = { .sink = { .told = on_told, .finding = on_finding, .note = on_note },
			      .notes = notes,
			      .crashes = c,
			      .store = store };
	int rc = as_cli_check_box(args, type, err);

	if (!rc)
		rc = read_work(args, seed, c, err);
	if (!rc)
		rc = boxed ? record_boxed(args, c, type, &l, size, err)
			   : record_here(c, type, &l, size, err);
	if (!rc && l.rc) {
		rc = l.rc;
		*err = l.err;
	}
	if (!rc && l.at < c->n)
		rc = as_fail(err, AS_EIO, "%s: workload %s could not be recorded%s%.200s", type,
			     as_buf_str(&c->names[l.at]), l.found.len ? ": " : "",
			     as_buf_str(&l.found));
	for (size_t i = 0; !rc && i < c->n; i++)
		if (c->tapes[i].wrong.len)
			as_emit_note(notes, "%s: workload %s ended after %zu operations: %s", type,
				     as_buf_str(&c->names[i]), c->tapes[i].n_ops,
				     as_buf_str(&c->tapes[i].wrong));
	as_tape_pieces_free(&l.pieces);
	as_buf_free(&l.found);
	return rc;
}

/* Nothing was written between the umount before that mount and the mount. */
struct as_disk *as_fsck_crashes_base(const struct as_fsck_crashes *c, size_t i)
{
	const struct as_reclog *log = c->tapes[i].log;
	size_t mount = as_crash_work_mount(c->seqs[i]), n = 0;
	struct as_disk *disk = as_disk_snapshot(c->tapes[i].start);

	while (mount != SIZE_MAX && n < as_reclog_len(log)) {
		const struct as_log_entry *e = as_reclog_at(log, n);

		if (e->op != AS_RECLOG_NO_OP && e->op >= mount)
			break;
		n++;
	}
	as_assert(!as_reclog_replay(log, 0, n, as_disk_bd(disk), NULL));
	return disk;
}

void as_fsck_crashes_free(struct as_fsck_crashes *c)
{
	for (size_t i = 0; i < c->n; i++) {
		as_tape_free(&c->tapes[i]);
		as_seq_free(c->seqs[i]);
		as_buf_free(&c->texts[i]);
		as_buf_free(&c->names[i]);
	}
	free(c->tapes);
	free(c->seqs);
	free(c->texts);
	free(c->names);
	*c = (struct as_fsck_crashes){ 0 };
}
