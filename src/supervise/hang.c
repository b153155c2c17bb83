/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hang: when a box hangs. A kernel that does not schedule is silent; one whose engine makes no
 * progress for longer than any operation may take is stuck. Both are findings about the workload
 * that was running (verdict.c).
 */
#include "supervise/boxed_priv.h"

#include "os/spawn.h"

#include <sys/wait.h>

#define BOOT_MS 60000 /* until the first sign of life, and from there to the first workload */
#define SILENCE_MS 20000 /* without a beat, unless the caller says otherwise */
#define STUCK_EXTRA_MS 3000 /* longer than the engine gives an operation */
#define STUCK_TWICE_MS 15000 /* longer than the guest waits before it reports a hang */
#define LINGER_MS 2000 /* for a kernel that has crashed to end */
#define STEP_MAX_MS 1000 /* the most that one look adds to a clock */
#define ASK_MS 500 /* so often we ask for how long a box without progress waited */
#define STOPPED_MS (AS_BOXED_STOPPED_SECONDS * 1000)

unsigned as_boxed_stuck_ms(const struct as_boxed *how)
{
	unsigned deadline_ms = how->options.deadline_ms;

	return (deadline_ms ? deadline_ms : AS_RUN_DEADLINE_MS) + STUCK_EXTRA_MS;
}

static bool has_ended(const struct as_box *box)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)box->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

static int64_t less(int64_t clock_us, int64_t by_us)
{
	return clock_us > by_us ? clock_us - by_us : 0;
}

/*
 * On a busy machine a box may get so little of the processors that it seems to hang. What it waited
 * is taken from the clocks again, and the guest, which has a clock of its own, is told.
 */
static void forgive_waits(struct as_boxed_clocks *c, struct as_box *box)
{
	int64_t waited;

	if (!c->silent_us && !c->idle_us) {
		c->waits.us = 0;
		return;
	}
	if (c->waits.us && c->last_us - c->waits.us < ASK_MS * 1000)
		return;
	waited = as_patience_waited(&c->waits, box->pid);
	box->state->waited_us += waited;
	c->silent_us = less(c->silent_us, waited);
	c->idle_us = less(c->idle_us, waited);
	c->stuck_us = less(c->stuck_us, waited);
}

/*
 * Clocks count only time in which we were there to look and the box was free to run. If we, or the
 * whole machine, were stopped and continue later, that time does not count.
 */
static void advance(struct as_boxed_clocks *c, const struct as_boxed_session *b)
{
	struct as_box_state *state = b->box->state;
	uint64_t beat = state->beat, progress = as_box_progress(state);
	int64_t now_us = as_now_us(), step_us = now_us - c->last_us;

	c->last_us = now_us;
	if (step_us > STEP_MAX_MS * 1000)
		step_us = STEP_MAX_MS * 1000;
	if (b->box->watch->stopped) {
		c->stopped_us += step_us;
		return;
	}
	c->stopped_us = 0;
	c->silent_us = beat == c->beat ? c->silent_us + step_us : 0;
	c->idle_us = progress == c->progress ? c->idle_us + step_us : 0;
	if (progress != c->progress)
		state->stuck = 0; /* it came back after all; the guest may report a later one */
	c->stuck_us = state->stuck ? c->stuck_us + step_us : 0;
	c->crash_us = b->weight == AS_KMSG_CRASH ? c->crash_us + step_us : 0;
	c->beat = beat;
	c->progress = progress;
	if (b->how->sandbox->caps & AS_SANDBOX_OWN_KERNEL)
		forgive_waits(c, b->box);
}

enum as_boxed_end as_boxed_look(const struct as_boxed_session *b, struct as_boxed_clocks *c)
{
	unsigned silence_ms = b->how->silence_ms ? b->how->silence_ms : SILENCE_MS;

	advance(c, b);
	if (has_ended(b->box))
		return BOXED_ENDED;
	if (b->events_bytes > AS_BOXED_FLOOD_BYTES || b->console_bytes > AS_BOXED_FLOOD_BYTES)
		return BOXED_FLOODS;
	if (c->crash_us > LINGER_MS * 1000)
		return BOXED_LINGERS;
	if (c->stopped_us > STOPPED_MS * 1000)
		return BOXED_STOPPED;
	if (!(b->how->sandbox->caps & AS_SANDBOX_OWN_KERNEL))
		return BOXED_RUNS;
	if (c->silent_us > (int64_t)(c->beat ? silence_ms : BOOT_MS) * 1000)
		return BOXED_SILENT;
	if (b->box->state->job < 0)
		return c->idle_us > BOOT_MS * 1000ll ? BOXED_STUCK : BOXED_RUNS;
	/* Either the guest has reported it, and its kernel had time to print where every task
	 * waits; or the guest should have, and did not. */
	if (c->stuck_us > LINGER_MS * 1000 ||
	    (c->beat && c->idle_us > ((int64_t)b->stuck_ms + STUCK_TWICE_MS) * 1000))
		return BOXED_STUCK;
	return BOXED_RUNS;
}
