/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel: User-Mode Linux kernels that are built here, from the sources that Debian ships or from
 * any other, with the debugging that a hunt wants. Everything is in the cache of the user:
 *
 *	kernels/source/ID/	an unpacked source, which is never changed
 *	kernels/tree/ID+OPTIONS/	src (a copy that patches change), obj (what make built), log
 *	kernels/built/NAME/	linux, kernel.json, functions: what the other commands use
 *
 * A tree serves all kernels of one source and one set of options, with any patches: the next one
 * compiles only what other patches change.
 */
#ifndef AS_KERNEL_KERNEL_H
#define AS_KERNEL_KERNEL_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What it can be built with: a bit for each row of option.def. */
enum as_kernel_option {
#define KERNEL_OPTION(name, help) AS_KERNEL_HAS_##name,
#include "kernel/option.def"
	AS_KERNEL_OPTIONS
};

const char *as_kernel_option_name(enum as_kernel_option option);
/* "kasan,kcov" to bits. */
AS_MUST_CHECK int as_kernel_options_parse(const char *text, uint32_t *with, struct as_err *err);
/* Bits to "kasan,kcov", in the order of the table; `between` stands between two. */
void as_kernel_options_print(uint32_t with, const char *between, struct as_buf *out);

struct as_kernel_flavour {
	const char *name, *with, *help;
};
/* Row i; NULL after the last one. */
const struct as_kernel_flavour *as_kernel_flavour(unsigned i);
/* The first flavour that has the option; NULL: none has it. */
const char *as_kernel_flavour_with(enum as_kernel_option option);

#define AS_KERNEL_SOURCE "linux-source-6.12"
#define AS_KERNEL_PATCHES_MAX 32

/* How far a build is. `all` is 0 while nobody knows. */
typedef void (*as_kernel_say_fn)(void *ctx, const char *what, unsigned done, unsigned all);

struct as_kernel_want {
	const char *name; /* of the result */
	const char *source; /* a package, a tarball or a folder; NULL: AS_KERNEL_SOURCE */
	uint32_t with;
	const char *const *patches; /* paths of files */
	size_t n_patches;
	unsigned jobs;
	as_kernel_say_fn say;
	void *say_ctx;
	const volatile int *stop; /* set by a signal handler; may be NULL */
	struct as_buf *last; /* gets the last lines of a build that fails; may be NULL */
};

/* A kernel that was built. The strings belong to it. */
struct as_kernel {
	char *name, *path, *version, *source;
	uint32_t with;
	char **patches;
	size_t n_patches;
	uint64_t size_bytes;
	char *lacks; /* lines of kernels/filesystems.config that its source does not know; "" */
};

/* AS_ELACK: the source package, a tool or space is missing. */
AS_MUST_CHECK int as_kernel_build(const struct as_kernel_want *want, struct as_kernel *built,
				  struct as_err *err);
void as_kernel_free(struct as_kernel *kernel);

/* Calls fn for each kernel that is built, sorted by name. */
AS_MUST_CHECK int as_kernel_each(void (*fn)(void *ctx, const struct as_kernel *kernel), void *ctx,
				 struct as_err *err);
/* Next to a kernel with kcov: its functions (functions.c). */
#define AS_KERNEL_FUNCTIONS "functions"

/* The one of Debian's package, which is not built here. */
#define AS_KERNEL_DEBIAN "debian"
/* AS_ELACK: no kernel of that name is built; the message says how to build one. AS_KERNEL_DEBIAN is
 * found too; of it, only name and path are set. */
AS_MUST_CHECK int as_kernel_find(const char *name, struct as_kernel *kernel, struct as_err *err);

#endif
