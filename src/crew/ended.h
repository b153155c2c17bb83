/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ended: how a process ended, in words. This is the one place that says that something died of a
 * signal, called exit, or did not come back. Summaries and signatures of findings are made of these
 * words, so they do not change.
 */
#ifndef AS_CREW_ENDED_H
#define AS_CREW_ENDED_H

#include "base/buf.h"
#include "base/finding.h"
#include "os/spawn.h"

struct as_stack;

/* What is known besides. All zero: nothing. */
struct as_ended_say {
	const struct as_stack *stack; /* where it died */
	const char *died; /* the same in words, if they were made elsewhere; "" is nothing */
	bool status; /* "called exit(3)", else "called exit" */
	unsigned within_ms; /* "did not come back within 10000 ms" */
	const char *late; /* in place of "did not come back" */
};

/* What it is if what is under test has ended a process of ours so: it hung, or it died. */
enum as_finding_kind as_ended_kind(const struct as_ended *ended);
/* Adds "died of SIGSEGV in f < g", "called exit", "did not come back" or "was stopped". */
void as_ended_words(const struct as_ended *ended, const struct as_ended_say *say,
		    struct as_buf *out);
/* The first of them without "died of ": what killed it, and where. */
void as_ended_signal(const struct as_ended *ended, const struct as_ended_say *say,
		     struct as_buf *out);
/* AS_EIO: "WHO ended early: it died of SIGKILL". `stack`: where it died, or NULL. */
int as_fail_ended(struct as_err *err, const char *who, const struct as_ended *ended,
		  const struct as_stack *stack);
/* A status as waitpid() gives it. */
struct as_ended as_ended_of(int status);

#endif
