/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hang: see lead_priv.h. */
#include "fsck/lead_priv.h"

#include "base/array.h"
#include "os/spawn.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHARE 6 /* of the time of the session, at most */

struct as_hangs {
	struct as_subject_setup setup;
	const struct as_fsck_base *bases;
	struct as_hang *items; /* the first one is being asked about */
	size_t n, cap;
	pid_t pid; /* 0: nothing is being asked */
	int64_t start_us, asked_us, spent_us; /* when it began; when the last one was; for all */
	bool hurry;
};

void as_hang_free(struct as_hang *h)
{
	as_damage_free(&h->damage);
	free(h->signature);
	*h = (struct as_hang){ 0 };
}

struct as_hangs *as_hangs_new(const struct as_subject_setup *setup,
			      const struct as_fsck_base *bases)
{
	struct as_hangs *hs = as_xcalloc(1, sizeof(*hs));

	hs->setup = *setup;
	hs->setup.whole = hs->setup.patient = true;
	hs->setup.hint_ms = 0;
	hs->bases = bases;
	hs->start_us = as_now_us();
	return hs;
}

void as_hangs_free(struct as_hangs *hs)
{
	if (!hs)
		return;
	if (hs->pid > 0) {
		kill(hs->pid, SIGKILL);
		while (waitpid(hs->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	for (size_t i = 0; i < hs->n; i++)
		as_hang_free(&hs->items[i]);
	free(hs->items);
	free(hs);
}

/* In a process of its own: exit status 0: the disk shows the same again. */
_Noreturn static void ask(const struct as_hangs *hs, const struct as_hang *h)
{
	const struct as_fsck_base *base = &hs->bases[h->damage.base];
	struct as_fsck_subject *subject = NULL;
	struct as_fsck_verdict v = { 0 };
	struct as_judge *judge;
	struct as_disk *disk;
	struct as_err err;
	bool same = false;

	if (as_subject_open(&hs->setup, &subject, &err))
		_exit(1);
	judge = as_judge_new(subject);
	disk = as_damage_apply(&h->damage, base->disk, NULL);
	if (!as_judge_disk(judge, base, &h->damage, disk, &v, &err))
		same = v.problems & 1u << h->problem &&
		       !strcmp(as_buf_str(&v.found[h->problem].signature), h->signature);
	as_judge_free(judge);
	as_subject_free(subject);
	_exit(same ? 0 : 1);
}

/* To ask takes a processor that the search could have. */
static bool is_due(const struct as_hangs *hs)
{
	return hs->hurry || hs->spent_us * SHARE <= as_now_us() - hs->start_us;
}

static void begin(struct as_hangs *hs)
{
	pid_t parent = getpid();

	if (hs->pid || !hs->n || !is_due(hs))
		return;
	hs->asked_us = as_now_us();
	hs->pid = fork();
	if (hs->pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	signal(SIGINT, SIG_IGN);
	ask(hs, &hs->items[0]);
}

void as_hangs_hurry(struct as_hangs *hs)
{
	hs->hurry = true;
}

void as_hangs_add(struct as_hangs *hs, const struct as_hang *h)
{
	AS_ARRAY_ROOM(hs->items, hs->n, hs->cap);
	hs->items[hs->n++] = *h;
	begin(hs);
}

bool as_hangs_wait(const struct as_hangs *hs)
{
	return hs->n;
}

bool as_hangs_next(struct as_hangs *hs, struct as_hang *out)
{
	int status = 1;
	pid_t got;

	begin(hs);
	if (!hs->pid)
		return false;
	got = hs->pid > 0 ? waitpid(hs->pid, &status, WNOHANG) : -1;
	if (!got || (got < 0 && errno == EINTR))
		return false;
	*out = hs->items[0];
	out->confirmed = got > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
	memmove(hs->items, hs->items + 1, --hs->n * sizeof(*hs->items));
	hs->pid = 0;
	hs->spent_us += as_now_us() - hs->asked_us;
	begin(hs);
	return true;
}
