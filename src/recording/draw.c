/* SPDX-License-Identifier: GPL-2.0-or-later */
/* draw: see draw.h. */
#include "recording/draw.h"

#include "base/choice.h"

#define QUEUE 0x5175657565u
#define HOLD_BITS 5u
#define EARLY_KINDS 1000u

struct as_drawn_queue as_draw_queue(const struct as_seq *seq, uint64_t seed,
				    struct as_share_chances chances)
{
	/* Of its own, so that the faults that are drawn stay what they were. */
	struct as_chooser *chooser = as_chooser_seeded(as_seq_digest(seq).lo ^ seed ^ QUEUE);
	struct as_choice *choice = as_chooser_choice(chooser);
	struct as_drawn_queue drawn = { 0 };

	if (as_choose(choice, AS_SHARE_OF) < chances.hold)
		drawn.hold = 1 + as_choose(choice, 1u << as_choose(choice, HOLD_BITS + 1));
	if (as_choose(choice, AS_SHARE_OF) < chances.early)
		drawn.early = 1 + as_choose(choice, EARLY_KINDS);
	drawn.rounds = as_choose(choice, AS_SHARE_OF) < chances.rounds ? 2 : 1;
	as_chooser_free(chooser);
	return drawn;
}
