/* SPDX-License-Identifier: GPL-2.0-or-later */
/* child_shared: the memory that a child shares with its parent (child/child.h), and its words. */
#include "child/child.h"

#include "instance/outside.h"
#include "work/print.h"

#include <stddef.h>
#include <string.h>

#define OP_SHOWN_BYTES 120 /* of an operation, where it is only shown */
#define WITNESS_AT ((sizeof(struct as_child_shared) + 63) / 64 * 64)

size_t as_run_state_bytes(void)
{
	return WITNESS_AT + AS_RUN_WITNESS_BYTES + as_outside_bytes();
}

struct as_witness_area *as_shared_witness(struct as_box_state *state)
{
	return state ? (struct as_witness_area *)(void *)(state->engine + WITNESS_AT) : NULL;
}

struct as_outside *as_outside_of(struct as_box_state *state)
{
	uint8_t *witness = (uint8_t *)as_shared_witness(state);

	return witness ? (struct as_outside *)(void *)(witness + AS_RUN_WITNESS_BYTES) : NULL;
}

const char *as_phase_name(enum as_phase phase)
{
	static const char *const names[PHASES] = {
		[PHASE_SETUP] = "setting up",
		[PHASE_MKFS] = "mkfs",
		[PHASE_FRESH_MOUNT] = "mount of a fresh disk",
		[PHASE_MOUNT] = "mount",
		[PHASE_OP] = "an operation",
		[PHASE_COMPARE] = "reading the tree",
		[PHASE_UNMOUNT] = "unmount",
		[PHASE_FSCK] = "fsck",
		[PHASE_MOUNT_AGAIN] = "mounting again",
		[PHASE_COMPARE_AGAIN] = "reading the tree after mounting again",
		[PHASE_SPACE] = "removing everything",
		[PHASE_UNMOUNT_AGAIN] = "the second unmount",
		[PHASE_GROWTH] = "repeating operations",
		[PHASE_CORRUPT] = "mount of a corrupted disk",
	};

	return (unsigned)phase < PHASES ? names[phase] : "?";
}

void as_shared_clear(struct as_child_shared *sh)
{
	/* The notice and `fresh` are large: only pages that were used cost something. */
	memset((char *)sh + offsetof(struct as_child_shared, phase), 0,
	       offsetof(struct as_child_shared, notice) - offsetof(struct as_child_shared, phase));
	as_notice_begin(&sh->notice, AS_FIND_OUTCOME, -1);
	sh->fresh_len = 0;
}

void as_shared_mend(struct as_child_shared *sh)
{
	(void)as_notice_mend(&sh->notice);
	sh->answers[sizeof(sh->answers) - 1] = '\0';
	sh->alter[sizeof(sh->alter) - 1] = '\0';
	sh->altered[sizeof(sh->altered) - 1] = '\0';
	sh->device[sizeof(sh->device) - 1] = '\0';
}

void as_shared_describe(const struct as_child_shared *sh, const struct as_seq *seq,
			const char *faults, struct as_buf *out)
{
	int64_t last = sh->notice.op >= 0 ? sh->notice.op : (int64_t)sh->ops - 1;
	int64_t first = last >= RECENT ? last - RECENT + 1 : 0;
	struct as_buf op = { 0 };

	for (int64_t i = first; i <= last && i < (int64_t)seq->n; i++) {
		const struct as_recent *recent = &sh->recent[i % RECENT];
		struct as_outcome outcome = { .ret = recent->ret, .err = recent->err };

		as_buf_addf(out, "%6lld  ", (long long)i + 1);
		as_buf_clear(&op);
		as_print_op(&seq->ops[i], &op);
		as_buf_addf(out, "%.*s%s ", OP_SHOWN_BYTES, as_buf_str(&op),
			    op.len > OP_SHOWN_BYTES ? "..." : "");
		if (recent->index == i && i < (int64_t)sh->ops)
			as_outcome_print(&outcome, out);
		else
			as_buf_adds(out, "...");
		as_buf_addc(out, '\n');
	}
	if (faults && *faults)
		as_buf_addf(out, "with the fault %s\n", faults);
	if (sh->kfired_op)
		as_buf_addf(out,
			    "%u calls failed inside the kernel; the last one was number %llu of "
			    "operation %llu\n",
			    sh->kfired, (unsigned long long)sh->kfired_nth,
			    (unsigned long long)sh->kfired_op);
	if (sh->answers[0])
		as_buf_addf(out, AS_DETAIL_ANSWERS ", and 0 to the others\n%s", sh->answers);
	as_buf_free(&op);
}
