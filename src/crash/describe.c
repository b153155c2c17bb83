/* SPDX-License-Identifier: GPL-2.0-or-later */
/* describe: what is said of a crash state with which something is wrong. */
#include "crash/child.h"
#include "crash/story.h"

#include "disk/image.h"
#include "os/spawn.h"
#include "work/print.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OP_SHOWN_BYTES 80
#define STORY_DEADLINE_MS 10000u

bool as_crash_found_already(const struct as_crash_shared *sh, const char *signature)
{
	for (unsigned i = 0; i < sh->n_found; i++)
		if (!strncmp(sh->found[i].signature, signature, sizeof(sh->found[i].signature) - 1))
			return true;
	return false;
}

static void print_op(const struct as_recording *rec, size_t op, struct as_buf *out)
{
	struct as_buf text = { 0 };

	as_print_op(&rec->seq->ops[op], &text);
	as_buf_addf(out, "op %zu `%.*s%s`", op + 1, OP_SHOWN_BYTES, as_buf_str(&text),
		    text.len > OP_SHOWN_BYTES ? "..." : "");
	as_buf_free(&text);
}

static void print_moment(const struct as_recording *rec, struct as_moment m, struct as_buf *out)
{
	if (m.begun > m.done && m.done < rec->n_ops) {
		as_buf_adds(out, "power cut during ");
		print_op(rec, m.done, out);
	} else if (m.done) {
		as_buf_adds(out, "power cut after ");
		print_op(rec, m.done - 1, out);
	} else {
		as_buf_adds(out, "power cut before the first operation");
	}
}

/* Which operation to point at, -1: none. */
static int64_t guilty(const struct as_recording *rec, struct as_moment m)
{
	if (m.begun > m.done && m.done < rec->n_ops)
		return (int64_t)m.done;
	return m.done ? (int64_t)m.done - 1 : -1;
}

/* ---- The state as parameters ----------------------------------------------------------------- */

static void print_params(const struct as_crash_args *args, struct as_perm *perm,
			 const struct as_perm_state *state, const struct as_problem *wrong,
			 struct as_buf *out)
{
	struct as_crash_options o = *args->options;
	struct as_buf units = { 0 };

	o.spot = (struct as_crash_spot){ .view = state->view, .cut = state->cut };
	as_perm_print_units(perm, &units);
	for (size_t i = 0; i < units.len; i++)
		if (units.data[i] == ',')
			units.data[i] = '+';
	if (units.len < sizeof(o.spot.units))
		snprintf(o.spot.units, sizeof(o.spot.units), "%s", as_buf_str(&units));
	else
		snprintf(o.spot.units, sizeof(o.spot.units), "#%llu",
			 (unsigned long long)state->index);
	o.way = wrong->way;
	o.sig = as_problem_sig(wrong);
	memcpy(o.then, wrong->then, sizeof(o.then));
	as_crash_options_print(&o, out);
	as_buf_free(&units);
}

/* ---- The state in words ---------------------------------------------------------------------- */

struct telling {
	struct as_story story;
	char *detail; /* in shared memory */
	size_t room;
};

static int tell(void *ctx)
{
	struct telling *t = ctx;
	struct as_buf text = { 0 };

	as_story_tell(&t->story, t->room - 2048, &text);
	snprintf(t->detail, t->room, "%s", as_buf_str(&text));
	as_buf_free(&text);
	return 0;
}

/* The story takes further recoveries, and a library that dies of one must not take us with it. */
static void tell_story(const struct as_crash_args *args, struct telling *t)
{
	struct as_ended ended = { 0 };

	if (!t->story.recoverer || !as_target_library(args->target)) {
		(void)tell(t);
		return;
	}
	if (as_spawn_fork(tell, t, STORY_DEADLINE_MS, NULL, &ended, NULL) != 0 ||
	    ended.how != AS_END_EXIT || ended.status != 0) {
		t->story.recoverer = NULL;
		(void)tell(t);
	}
}

static void print_summary(const struct as_recording *rec, const struct as_perm_state *state,
			  const struct as_problem *wrong, struct as_buf *out)
{
	print_moment(rec, wrong->moment, out);
	if (state->n_units)
		as_buf_addf(out, ", %zu of %zu %s lost", state->n_units - state->n_kept,
			    state->n_units, state->view == AS_VIEW_ATOMIC ? "writes" : "sectors");
	as_buf_addf(out, " (view %u), recovered by %s: %s", (unsigned)state->view,
		    as_way_name(wrong->way), as_buf_str(&wrong->why));
}

/* ---- Keeping it ------------------------------------------------------------------------------ */

static void keep_disk(const struct as_crash_args *args, struct as_perm *perm,
		      struct as_crash_problem *f)
{
	struct as_crash_shared *sh = args->shared;
	struct as_disk *disk = as_perm_disk(perm);
	struct as_buf image = { 0 };

	if (!as_image_encode(disk, &image, NULL) &&
	    pwrite(args->disk_fd, image.data, image.len, (off_t)sh->disk_end) ==
		    (ssize_t)image.len) {
		f->disk_at = sh->disk_end;
		f->disk_len = image.len;
		sh->disk_end += image.len;
	}
	as_buf_free(&image);
	as_disk_free(disk);
}

bool as_crash_found(const struct as_crash_args *args, const struct as_recording *rec,
		    struct as_perm *perm, const struct as_perm_state *state,
		    const struct as_problem *wrong, struct as_recoverer *recoverer)
{
	struct as_crash_shared *sh = args->shared;
	struct as_buf summary = { 0 }, params = { 0 };
	struct as_crash_problem *f = &sh->found[sh->n_found];
	struct telling t = { .story = { .target = args->target,
					.recording = rec,
					.options = args->options,
					.perm = perm,
					.state = state,
					.wrong = wrong,
					.recoverer = recoverer },
			     .detail = f->detail,
			     .room = sizeof(f->detail) };

	if (sh->n_found == AS_CRASH_FOUND_MAX)
		return false;
	memset(f, 0, sizeof(*f));
	f->kind = wrong->kind;
	f->op = guilty(rec, wrong->moment);
	if (perm) {
		print_summary(rec, state, wrong, &summary);
		tell_story(args, &t);
		print_params(args, perm, state, wrong, &params);
		keep_disk(args, perm, f);
	} else {
		f->op = rec->wrong_op;
		if (f->op >= 0)
			print_op(rec, (size_t)f->op, &summary);
		as_buf_addf(&summary, "%s%s",
			    f->op >= 0 ? ": " : "mount: ", as_buf_str(&wrong->why));
		as_crash_options_print(args->options, &params);
	}
	snprintf(f->summary, sizeof(f->summary), "%s", as_buf_str(&summary));
	snprintf(f->params, sizeof(f->params), "%s", as_buf_str(&params));
	snprintf(f->signature, sizeof(f->signature), "%s", as_buf_str(&wrong->signature));
	as_buf_free(&summary);
	as_buf_free(&params);
	sh->n_found++;
	return sh->n_found < AS_CRASH_FOUND_MAX && !args->options->spot.view;
}
