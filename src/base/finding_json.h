/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding_json: findings as JSON, both ways. All code that writes or reads one uses this: the
 * folder of a finding (finding.json) and --json, and the whole form of it, in which a finding
 * travels: over the wire of a sandbox, in the pipes of a hunt and of a comparison of checkers, and
 * as what a check tells. The texts are rows of base/notice.def.
 */
#ifndef AS_BASE_FINDING_JSON_H
#define AS_BASE_FINDING_JSON_H

#include "base/err.h"
#include "base/finding.h"
#include "base/json.h"

struct json_t; /* of jansson */

/* Writes the members, without the braces and without the workload. */
void as_finding_print(struct as_json *json, const struct as_finding *finding, const char *id);

/* The whole form: these members, and the version of the form, the workload and the files. `id` may
 * be NULL where there is none yet. */
#define AS_FINDING_FORM 1
void as_finding_print_whole(struct as_json *json, const struct as_finding *finding, const char *id);
/* As an object of its own. */
void as_finding_pack(const struct as_finding *finding, const char *id, struct as_buf *out);

#define AS_FINDING_FILES_MAX 8

/* A finding that was read. All its texts live as long as the record. */
struct as_finding_record {
	struct as_finding finding; /* `disk` is NULL: see has_disk */
	const char *id;
	uint64_t count; /* how often it was met; 0: unknown */
	bool has_disk; /* there is a disk with it */
	struct as_finding_file *files; /* of `finding` */
	struct json_t *object;
};

enum as_finding_source {
	/* The whole form. All members that say what was found must be there. */
	AS_FINDING_WHOLE,
	/* The same from a guest, which may say anything: texts that are to be one line are made
	 * one, control characters become '?'. It has no files. */
	AS_FINDING_FROM_GUEST,
	/* The same, but only what a notice says must be there (base/notice.h). */
	AS_FINDING_SAID,
	/* From its folder: the workload stands in a file of its own. */
	AS_FINDING_STORED,
	AS_FINDING_SOURCES
};

/*
 * Reads a finding from an object that was parsed. Every member is checked: the id is the name of
 * one file and short enough, the kind is known, texts are texts, numbers are within their bounds.
 * AS_EUSE, and the message says what is wrong. The record holds a reference of the object.
 */
AS_MUST_CHECK int as_finding_parse(struct json_t *object, enum as_finding_source source,
				   struct as_finding_record *record, struct as_err *err);
/* Reads one that as_finding_pack() has made, or that may be anything. */
AS_MUST_CHECK int as_finding_unpack(const char *text, size_t len, enum as_finding_source source,
				    struct as_finding_record *record, struct as_err *err);
void as_finding_record_free(struct as_finding_record *record);

#endif
