/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage: how much memory and stack the functions of a library use at most, and how much they may.
 * It is shared by all processes that use the target: each raises the peaks.
 */
#ifndef AS_HOST_USAGE_H
#define AS_HOST_USAGE_H

#include "base/buf.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

enum as_use {
#define USE(name) AS_USE_##name,
#include "host/usage.def"
#undef USE
	AS_USES
};

enum as_resource { AS_RESOURCE_HEAP, AS_RESOURCE_STACK, AS_RESOURCES };

/* What can be measured of stacks (host_usage.c). */
#define AS_USAGE_STACK_MIN 1024u
#define AS_USAGE_STACK_MAX (1u << 20)

struct as_usage {
	bool measured[AS_RESOURCES];
	uint64_t max[AS_RESOURCES]; /* 0: any number of bytes */
	uint64_t peak[AS_RESOURCES][AS_USES]; /* in bytes; raised by as_usage_raise() */
};

const char *as_use_name(enum as_use use);

struct as_usage *as_usage_new(void); /* in shared memory */
void as_usage_free(struct as_usage *usage); /* takes NULL */

/* What was used: returns whether that is more than is allowed. */
bool as_usage_raise(struct as_usage *usage, enum as_resource what, enum as_use use, uint64_t bytes);
/* "heap 4096 bytes (in rename), stack 900 bytes (in write)"; nothing if nothing is measured. */
void as_usage_print(const struct as_usage *usage, struct as_buf *out);
/* Members "heap" and "stack": {"max":…,"peak":…,"in":"rename","calls":{"rename":…}}. */
void as_usage_json(const struct as_usage *usage, struct as_json *json);

#endif
