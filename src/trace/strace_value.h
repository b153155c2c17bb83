/* SPDX-License-Identifier: GPL-2.0-or-later */
/* strace_value: arguments as strace prints them, into the slots of a call. */
#ifndef AS_TRACE_STRACE_VALUE_H
#define AS_TRACE_STRACE_VALUE_H

#include "calls/spell.h"
#include "calls/syscall.h"
#include "trace/strace_scan.h"

/* Where texts with escapes in them are put; as_syscall's slots point into it. */
struct as_scan_room {
	char *at; /* AS_LINE_MAX bytes */
	size_t used;
};

/* One argument alone: a string (or NULL, or an address), a descriptor with its path, and one of two
 * times (how: AS_HOW_TIMESPEC and its like). */
void as_scan_text(struct as_span s, struct as_scan_room *room, struct as_syscall_slot *slot);
void as_scan_fd(struct as_span s, struct as_scan_room *room, struct as_syscall_slot *slot);
/* What follows "key=", up to a comma or the end of the structure; len 0: it is not there. */
struct as_span as_scan_member(struct as_span s, const char *key);
void as_scan_time(struct as_span s, enum as_spec_how how, unsigned which,
		  struct as_syscall_slot *slot);

/* Fills everything but pid and tid. */
void as_scan_fill(const struct as_scan *scan, const struct as_spec_call *spec,
		  struct as_spell *spell, struct as_scan_room *room, struct as_syscall *call);
/* Of an exec: the arguments, "[\"bash\", \"-x\"]", a NUL after each, in the room. */
void as_scan_args(struct as_span list, struct as_scan_room *room, struct as_syscall *call);
/* clone's flags, also of a call that is not back yet. */
uint64_t as_scan_clone_flags(const struct as_scan *scan, const struct as_spec_words *words,
			     struct as_spell *spell);

#endif
