/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boxed: see boxed.h. After the shared memory of a crash run comes a witness (disk/witness.h).
 * While a disk is recovered it holds in what that disk differs from the one that every workload
 * began with; otherwise it is empty.
 */
#include "crash/boxed.h"

#include "child/child.h"
#include "disk/witness.h"
#include "instance/outside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEPER_AT ((sizeof(struct as_crash_shared) + 63) / 64 * 64)
#define PREFIX "crash"

struct as_crash_shared *as_crash_box_shared(struct as_box_state *state)
{
	as_assert(as_run_state_bytes() > KEEPER_AT);
	memset(state->engine, 0, KEEPER_AT);
	return (struct as_crash_shared *)(void *)state->engine;
}

static struct as_witness_area *area_of(struct as_box_state *state, size_t *room_bytes)
{
	*room_bytes = as_run_state_bytes() - KEEPER_AT - as_outside_bytes();
	return (struct as_witness_area *)(void *)(state->engine + KEEPER_AT);
}

/* ---- Keeping --------------------------------------------------------------------------------- */

struct as_crash_keeper {
	struct as_disk *start, *scratch;
	struct as_witness *witness;
};

struct as_crash_keeper *as_crash_keeper_new(struct as_box_state *state, struct as_disk *start)
{
	struct as_crash_keeper *k = as_xcalloc(1, sizeof(*k));
	struct as_witness_area *area;
	size_t room_bytes;

	area = area_of(state, &room_bytes);
	k->start = as_disk_snapshot(start);
	k->scratch = as_disk_snapshot(start);
	k->witness = as_witness_new(as_disk_bd(k->scratch), area, room_bytes);
	return k;
}

void as_crash_keeper_free(struct as_crash_keeper *k)
{
	if (!k)
		return;
	as_witness_truncate(k->witness, 0);
	as_witness_free(k->witness);
	as_disk_free(k->scratch);
	as_disk_free(k->start);
	free(k);
}

static int put_chunk(void *ctx, uint64_t index, const unsigned char *a, const unsigned char *b)
{
	struct as_crash_keeper *k = ctx;
	uint64_t off = index * AS_CHUNK_BYTES, left = as_disk_size(k->start) - off;

	(void)a;
	return as_bd_write(as_witness_bd(k->witness), off, b,
			   left < AS_CHUNK_BYTES ? left : AS_CHUNK_BYTES);
}

void as_crash_keep(struct as_crash_keeper *k, struct as_disk *disk)
{
	as_witness_truncate(k->witness, 0);
	as_disk_restore(k->scratch, k->start);
	(void)as_disk_diff(k->start, disk, put_chunk, k);
}

/* ---- Afterwards ------------------------------------------------------------------------------ */

static struct as_medium *kept_disk(const struct as_boxed *boxed, struct as_box_state *state)
{
	struct as_witness_area *area;
	struct as_medium *disk;
	size_t room_bytes;

	if (!boxed->fresh)
		return NULL;
	area = area_of(state, &room_bytes);
	disk = as_medium_copy(boxed->fresh);
	if (area->len && as_medium_repeat(disk, area, room_bytes))
		return disk;
	as_medium_free(disk);
	return NULL;
}

static void describe_spot(const char *what, const struct as_crash_spot *spot, struct as_buf *out)
{
	as_buf_addf(out, "    %s: view %u, cut %zu, state %s\n", what, spot->view, spot->cut,
		    spot->units);
}

static void note_options(const struct as_crash_options *o, struct as_boxed_place *place)
{
	struct as_buf params = { 0 };

	as_crash_options_print(o, &params);
	snprintf(place->options.scenario, sizeof(place->options.scenario), PREFIX ":%s",
		 as_buf_str(&params));
	as_buf_free(&params);
}

static void at_state(const struct as_flight *flight, struct as_crash_options *o,
		     struct as_boxed_place *place)
{
	unsigned way = flight->way < AS_WAYS ? flight->way : 0;

	o->way = (enum as_way)way;
	describe_spot("power cut", &o->spot, &place->detail);
	for (unsigned i = 0;
	     i < AS_CRASH_AGAIN_MAX && as_spot_of_flight(&flight->then[i], &o->then[i]); i++)
		describe_spot("and again during recovery", &o->then[i], &place->detail);
	as_buf_addf(&place->detail, "    recovery by %s\n", as_way_name(o->way));
	as_buf_addf(&place->about, "recovery by %s", as_way_name(o->way));
	note_options(o, place);
}

bool as_crash_where(const struct as_boxed *boxed, struct as_box_state *state,
		    const struct as_seq *seq, struct as_boxed_place *place)
{
	const struct as_crash_shared *sh = (const struct as_crash_shared *)(void *)state->engine;
	const char *scenario = boxed->options.scenario;
	struct as_crash_options o;
	int64_t op = sh->op;

	if (strncmp(scenario, PREFIX, strlen(PREFIX)) ||
	    as_crash_options_parse(scenario + strlen(PREFIX) + (scenario[strlen(PREFIX)] == ':'),
				   &o, NULL))
		return false;
	if (sh->plan[0] && memchr(sh->plan, '\0', sizeof(sh->plan)))
		place->options.faults = sh->plan;
	place->ops = sh->ops < seq->n ? sh->ops : seq->n;
	as_crash_options_from(&o, &sh->flight);
	if (o.from[0].view) {
		describe_spot("this is a later round, after a power cut", &o.from[0],
			      &place->detail);
		note_options(&o, place);
	}
	if (sh->recorded && as_spot_of_flight(&sh->flight.state, &o.spot)) {
		at_state(&sh->flight, &o, place);
		place->disk = kept_disk(boxed, state);
	} else if (!sh->recorded && op >= 0 && op < (int64_t)seq->n) {
		place->op = op;
		as_buf_adds(&place->about, as_op_table[seq->ops[op].code].name);
	} else {
		as_buf_adds(&place->about, sh->recorded ? "recovery" : "mount or unmount");
	}
	return true;
}
