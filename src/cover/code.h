/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code: the code of a kernel that workloads reached (base/codeset.h), as a file, and as functions
 * and source files.
 *
 *	assay-code 1
 *	kernel NAME BUILD	of `assay kernel`; "-": unknown. Files of old versions have no BUILD
 *	6004a2f1		an address a line, ascending, in hexadecimal
 *
 * The functions of a kernel are a file that its build leaves (kernel/functions.c), a line each,
 * ascending: ADDRESS SIZE FILE NAME. BUILD is the digest of that file: an address means something
 * in the kernel that it was seen in, and nothing in another one of the same name.
 */
#ifndef AS_COVER_CODE_H
#define AS_COVER_CODE_H

#include "base/codeset.h"
#include "base/finding.h"
#include "base/hash.h"

#include <stdio.h>

#define AS_CODE_MAX_BYTES ((size_t)64 << 20) /* of such a file */

/* Which kernel it is the code of; "": unknown. */
struct as_code_of {
	char kernel[AS_KERNEL_NAME_MAX];
	char build[AS_DIGEST_HEX_LEN + 1];
};

/* Whether an address means the same in both, as far as is known. */
bool as_code_of_same(const struct as_code_of *a, const struct as_code_of *b);

void as_code_print(const struct as_codeset *set, const struct as_code_of *of, struct as_buf *out);
/* Adds what the file holds, and says of which kernel it is. The file may be anything. */
AS_MUST_CHECK int as_code_load(const char *path, struct as_codeset *set, struct as_code_of *of,
			       struct as_err *err);
AS_MUST_CHECK int as_code_parse(const char *name, const char *text, struct as_codeset *set,
				struct as_code_of *of, struct as_err *err);

struct as_code_function {
	uint64_t at, size;
	uint32_t reached; /* places */
	const char *file, *name; /* in the text of the map */
};

struct as_code_map {
	struct as_code_function *functions;
	size_t n, cap;
	char *text;
	char build[AS_DIGEST_HEX_LEN + 1];
};

AS_MUST_CHECK int as_code_map_load(const char *path, struct as_code_map *map, struct as_err *err);
AS_MUST_CHECK int as_code_map_parse(const char *name, const char *text, struct as_code_map *map,
				    struct as_err *err);
void as_code_map_free(struct as_code_map *map);
/* Sets `reached` of each function. Returns how many of the set are in no function. */
uint64_t as_code_count(struct as_code_map *map, const struct as_codeset *set);
/* By file, and in a file by address. What the compiler has split off a function, or made of it,
 * counts for it. Counting needs the order of before: it comes first. */
void as_code_sort(struct as_code_map *map);
/* Of a sorted map: file,function,places with a line for each function of the files of which
 * something was reached. */
void as_code_table(const struct as_code_map *map, struct as_buf *out);

#endif
