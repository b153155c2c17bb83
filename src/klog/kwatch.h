/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kwatch: the running kernel's log while a workload uses one of its file systems, and what in it
 * is a finding. The log is read twice: by the child after every operation, so that it can name the
 * operation in flight, and by the parent when the child is gone, because what the child did to the
 * kernel may have killed it. */
#ifndef AS_KLOG_KWATCH_H
#define AS_KLOG_KWATCH_H

#include "klog/kmsg.h"

struct as_kwatch;

/* Looks at messages from now on that name `device` ("loop7") or none. NULL where we may not read
 * the log: then nothing is ever found in it. */
struct as_kwatch *as_kwatch_new(const char *device);
void as_kwatch_free(struct as_kwatch *watch); /* takes NULL, as do the others */
/* Before the first look: the device, where it was not known (NULL) in the beginning. "": messages
 * that name a device do not count. */
void as_kwatch_name(struct as_kwatch *watch, const char *device);
/* The device is ours from now on: what the log says of its last user is left out. as_kwatch_skip()
 * may be called by a child, and counts for the parent that gave it the watch by a fork. */
void as_kwatch_skip(struct as_kwatch *watch);
void as_kwatch_move(struct as_kwatch *watch, const char *device);

struct as_kwatch_news {
	const char *title, *signature, *text; /* until the next look */
};

/* Whether the kernel has reported something since the last look; *news is the gravest report. With
 * `excused` (a fault was injected into the disk), notices of corruption do not count. */
bool as_kwatch_look(struct as_kwatch *watch, bool excused, struct as_kwatch_news *news);
/* Whether there were such notices. */
bool as_kwatch_excused(const struct as_kwatch *watch); /* takes NULL */

#endif
