/* SPDX-License-Identifier: GPL-2.0-or-later */
/* join_priv: what the files of this room share. */
#ifndef AS_JOIN_JOIN_PRIV_H
#define AS_JOIN_JOIN_PRIV_H

#include "join/join.h"

#include <jansson.h>

#define JOIN_JSON_MAX_BYTES ((size_t)256 << 20)
#define JOIN_FILE_MAX_BYTES ((size_t)4 << 30)
#define JOIN_FINDING "finding.json"
#define JOIN_STATE "state.json"
#define JOIN_HISTORY "history.csv"
#define JOIN_PROGRESS "progress.json"
#define JOIN_CODE "code.kcov"
#define JOIN_CODE_TABLE "code.csv"

struct join_names {
	char **v;
	size_t n, cap;
};

/* The plain names in a folder, sorted. */
void as_join_names(const struct as_dir *dir, struct join_names *names);
void as_join_names_free(struct join_names *names);

/* An object in a file; NULL: there is none that can be read. */
json_t *as_join_load(const struct as_dir *dir, const char *name);
/* Replaces a file as a whole. It is not synced: whoever joins can do so again. */
AS_MUST_CHECK int as_join_save(const struct as_dir *dir, const char *name, const json_t *object,
			       struct as_err *err);
/* Copies a regular file, if it is one. */
AS_MUST_CHECK int as_join_copy(const struct as_dir *from, const char *name, const struct as_dir *to,
			       const char *as, struct as_err *err);
/* Copies the regular files of a folder to a new one. */
AS_MUST_CHECK int as_join_copy_all(const struct as_dir *from, const struct as_dir *to,
				   struct as_err *err);
bool as_join_is_cov(const char *name);
/* A number of an object, not negative; 0: it has none. */
uint64_t as_join_number(const json_t *object, const char *key);

#endif
