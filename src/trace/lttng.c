/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lttng: see lttng.h. */
#include "trace/lttng.h"

#include <string.h>

#define CPU_KEYS 0x40000000u /* beyond all process ids */
#define NO_IDS 1u /* the only process of a trace that has no process ids */

void as_lttng_open(struct as_lttng *lttng, struct as_receiver *to)
{
	*lttng = (struct as_lttng){ .to = to };
	as_pendings_open(&lttng->pendings);
}

void as_lttng_close(struct as_lttng *lttng)
{
	lttng->to->remark(lttng->to, AS_REMARK_UNFINISHED, as_pendings_active(&lttng->pendings));
	lttng->to->remark(lttng->to, AS_REMARK_FORGOTTEN, lttng->pendings.dropped);
	as_pendings_close(&lttng->pendings);
}

static bool starts(const char *s, size_t len, const char *with, size_t n)
{
	return len >= n && !memcmp(s, with, n);
}

enum as_lttng_kind as_lttng_kind(const char *name, size_t len, const char **call, size_t *call_len)
{
	static const struct {
		const char *prefix;
		size_t len;
		enum as_lttng_kind kind;
		bool whole;
	} kinds[] = {
		{ "syscall_entry_", 14, AS_LTTNG_ENTRY, false },
		{ "syscall_exit_", 13, AS_LTTNG_EXIT, false },
		{ "compat_s", 8, AS_LTTNG_FOREIGN, false },
		{ "sched_process_fork", 18, AS_LTTNG_FORK, true },
		{ "sched_process_exit", 18, AS_LTTNG_END, true },
		{ "exit_syscall", 12, AS_LTTNG_EXIT, true }, /* before version 2.6 */
		{ "sys_", 4, AS_LTTNG_ENTRY, false },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (starts(name, len, kinds[i].prefix, kinds[i].len) &&
		    (!kinds[i].whole || len == kinds[i].len)) {
			*call = name + kinds[i].len;
			*call_len = len - kinds[i].len;
			return kinds[i].kind;
		}
	return AS_LTTNG_OTHER;
}

/* ---- Entries --------------------------------------------------------------------------------- */

void as_lttng_begin(struct as_lttng *lttng, const struct as_spec_call *spec)
{
	struct as_syscall *call = &lttng->call;

	call->spec = spec;
	call->args = NULL;
	call->args_len = 0;
	call->args_cut = false;
	call->finished = call->no_result = false;
	call->made[0] = call->made[1] = -1;
	for (unsigned i = 0; i < spec->n_slots; i++) {
		call->slots[i] = (struct as_syscall_slot){ .state = AS_SLOT_UNSEEN };
		if (spec->slots[i].how == AS_HOW_CONST) {
			call->slots[i].state = AS_SLOT_VALUE;
			call->slots[i].value = spec->slots[i].constant;
		}
	}
}

static bool is_field(const struct as_spec_slot *slot, const char *field, size_t len)
{
	return slot->field_len == len && !memcmp(slot->field, field, len);
}

void as_lttng_number(struct as_lttng *lttng, const char *field, size_t len, uint64_t value)
{
	const struct as_spec_call *spec = lttng->call.spec;

	for (unsigned i = 0; i < spec->n_slots; i++) {
		const struct as_spec_slot *how = &spec->slots[i];
		struct as_syscall_slot *slot = &lttng->call.slots[i];

		if (!is_field(how, field, len))
			continue;
		if (how->how == AS_HOW_VALUE || how->how == AS_HOW_INT || how->how == AS_HOW_UINT) {
			slot->state = AS_SLOT_VALUE;
			slot->value = as_syscall_value(how, value);
		} else if (!value) {
			/* This is all that the trace says about the memory of a pointer. */
			slot->state = AS_SLOT_NULL;
		}
	}
}

void as_lttng_text(struct as_lttng *lttng, const char *field, size_t len, const char *text,
		   size_t text_len)
{
	const struct as_spec_call *spec = lttng->call.spec;

	for (unsigned i = 0; i < spec->n_slots; i++) {
		struct as_syscall_slot *slot = &lttng->call.slots[i];

		if (!is_field(&spec->slots[i], field, len) || spec->slots[i].how != AS_HOW_TEXT)
			continue;
		slot->state = AS_SLOT_TEXT;
		slot->text = text;
		slot->len = (unsigned)text_len;
	}
}

static unsigned key_of(struct as_lttng *lttng, const struct as_lttng_ids *ids)
{
	if (ids->has_tid || ids->has_pid)
		return ids->has_tid ? ids->tid : ids->pid;
	lttng->without_ids = true;
	if (ids->cpu > lttng->max_cpu && ids->cpu < 4096)
		lttng->max_cpu = ids->cpu;
	return CPU_KEYS + ids->cpu;
}

void as_lttng_enter(struct as_lttng *lttng, const struct as_lttng_ids *ids)
{
	unsigned key = key_of(lttng, ids);
	struct as_syscall *call = &lttng->call;
	struct as_pending *pending;

	call->tid = key >= CPU_KEYS ? NO_IDS : key;
	call->pid = ids->has_pid ? ids->pid : call->tid;
	if (call->spec->act == AS_ACT_EXIT || call->spec->act == AS_ACT_EXIT_GROUP) {
		as_pendings_end(&lttng->pendings, key);
		lttng->to->call(lttng->to, call);
		return;
	}
	pending = as_pendings_get(&lttng->pendings, key);
	/* The return from a handler has no number, and not always a name. */
	if (pending->active &&
	    ((const struct as_syscall *)pending->text)->spec->act != AS_ACT_SIGRETURN)
		lttng->to->remark(lttng->to, AS_REMARK_UNFINISHED, 1);
	pending->active = true;
	as_pending_room(&lttng->pendings, pending, as_syscall_bytes(call));
	as_syscall_keep(call, pending->text);
	as_world_enter(lttng->to->world, call);
	if (call->spec->act == AS_ACT_CLONE || call->spec->act == AS_ACT_FORK ||
	    call->spec->act == AS_ACT_VFORK) {
		uint64_t flags = 0;

		for (unsigned i = 0; i < call->spec->n_slots; i++)
			if (call->slots[i].state == AS_SLOT_VALUE)
				flags = call->slots[i].value;
		as_world_forking(lttng->to->world, call->tid, flags);
	}
}

/* ---- Exits ----------------------------------------------------------------------------------- */

static bool fits(const struct as_pending *pending, const struct as_spec_call *spec)
{
	return pending && pending->active &&
	       (!spec || ((const struct as_syscall *)pending->text)->spec == spec);
}

bool as_lttng_is_unknown(const char *name, size_t len)
{
	return len == 7 && !memcmp(name, "unknown", 7);
}

bool as_lttng_in_sigreturn(struct as_lttng *lttng, const struct as_lttng_ids *ids)
{
	const struct as_pending *pending = as_pendings_find(&lttng->pendings, key_of(lttng, ids));

	return fits(pending, NULL) &&
	       ((const struct as_syscall *)pending->text)->spec->act == AS_ACT_SIGRETURN;
}

/* The thread may have moved to another processor; this matters only if there are no ids. */
static struct as_pending *find(struct as_lttng *lttng, unsigned key,
			       const struct as_spec_call *spec)
{
	struct as_pending *pending = as_pendings_find(&lttng->pendings, key);

	for (unsigned i = 0; key >= CPU_KEYS && !fits(pending, spec) && i <= lttng->max_cpu; i++)
		pending = as_pendings_find(&lttng->pendings, CPU_KEYS + i);
	return fits(pending, spec) ? pending : NULL;
}

void as_lttng_leave(struct as_lttng *lttng, const struct as_lttng_ids *ids,
		    const struct as_spec_call *spec, int64_t ret, const int made[2])
{
	struct as_pending *pending = find(lttng, key_of(lttng, ids), spec);
	struct as_syscall *call;

	if (!pending) {
		/* A child comes back from fork without having entered it. */
		if (!spec || ret ||
		    (spec->act != AS_ACT_CLONE && spec->act != AS_ACT_FORK &&
		     spec->act != AS_ACT_VFORK))
			lttng->to->remark(lttng->to, AS_REMARK_UNFINISHED, 1);
		return;
	}
	pending->active = false;
	call = (struct as_syscall *)pending->text;
	call->err = ret < 0 && ret >= -4095 ? (int)-ret : 0;
	call->ret = call->err ? -1 : ret;
	call->finished = false;
	call->finished = !as_syscall_interrupted(call);
	memcpy(call->made, made, sizeof(call->made));
	lttng->to->call(lttng->to, call);
}

void as_lttng_forked(struct as_lttng *lttng, unsigned parent, unsigned child)
{
	struct as_pending *pending = as_pendings_find(&lttng->pendings, parent);
	const struct as_syscall *call = NULL;
	uint64_t flags = 0;

	if (pending && pending->active)
		call = (const struct as_syscall *)pending->text;
	for (unsigned i = 0; call && call->spec->act == AS_ACT_CLONE && i < call->spec->n_slots;
	     i++)
		if (call->slots[i].state == AS_SLOT_VALUE)
			flags = call->slots[i].value;
	as_world_fork(lttng->to->world, parent, child, flags);
}
