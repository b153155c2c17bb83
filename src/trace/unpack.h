/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unpack: gzip and zstd, as a stream. */
#ifndef AS_TRACE_UNPACK_H
#define AS_TRACE_UNPACK_H

#include "base/err.h"

#include <stddef.h>

struct as_unpack;

/* Gives more of the packed bytes; 0: no more. */
typedef size_t (*as_unpack_source)(void *ctx, char *out, size_t len);

/* head: the first bytes, already taken from the source. *out is NULL if they are not those of a
 * packed file. AS_ELACK: this build cannot unpack it. */
AS_MUST_CHECK int as_unpack_new(const char *head, size_t head_len, as_unpack_source source,
				void *ctx, const char *name, struct as_unpack **out,
				struct as_err *err);
/* At most len bytes; 0: the end, or *err says why not. */
size_t as_unpack_read(struct as_unpack *unpack, char *out, size_t len, struct as_err *err);
void as_unpack_free(struct as_unpack *unpack);

#endif
