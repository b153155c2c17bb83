/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_needs: the files that a dynamically linked program needs: its interpreter and its libraries,
 * read from the file itself. Nothing is executed.
 */
#ifndef AS_OS_ELF_NEEDS_H
#define AS_OS_ELF_NEEDS_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

/* Strings point into the file that was given. */
struct as_elf_needs {
	const char *interp; /* NULL: none, a static program or a library */
	const char *rpath; /* of DT_RUNPATH or DT_RPATH; NULL: none */
	const char **libs; /* DT_NEEDED, in order */
	size_t n_libs;
};

/* Refuses a file that is not a complete 64-bit little-endian ELF file for x86-64. `name` is for
 * messages. */
AS_MUST_CHECK int as_elf_needs(const void *file, size_t len, const char *name,
			       struct as_elf_needs *needs, struct as_err *err);
void as_elf_needs_free(struct as_elf_needs *needs);

/* Where the dynamic linker would look for libraries: the folders of /etc/ld.so.conf and what it
 * includes, then the usual ones; one a line. */
void as_elf_lib_folders(struct as_buf *folders);
/* The path of a library: first in `rpath` ($ORIGIN being the folder of `origin`), then in the
 * folders. AS_ELACK if it is in none of them. */
AS_MUST_CHECK int as_elf_find_lib(const char *lib, const char *rpath, const char *origin,
				  const struct as_buf *folders, struct as_buf *path,
				  struct as_err *err);

#endif
