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

/* Which members there are, and how much of what is read is believed. */
enum as_finding_form {
	/* The whole form, in which it travels: with its version, the workload and the files. All
	 * members that say what was found must be there. */
	AS_FINDING_WHOLE,
	/* The same from a guest, which may say anything: texts that are to be one line are made
	 * one, control characters become '?'. It has no files. */
	AS_FINDING_FROM_GUEST,
	/* The same, but only what a notice says must be there (base/notice.h). */
	AS_FINDING_SAID,
	/* In its folder: the workload and the files stand beside it. Also for --json and pages. */
	AS_FINDING_STORED,
	AS_FINDING_FORMS
};
#define AS_FINDING_VERSION 1 /* of the whole form */

/* Writes the members, without the braces. */
void as_finding_print(struct as_json *json, const struct as_finding *finding,
		      enum as_finding_form form);
/* The whole form, as an object of its own. */
void as_finding_pack(const struct as_finding *finding, struct as_buf *out);

#define AS_FINDING_FILES_MAX 8

/*
 * Reads a finding from an object that was parsed. Every member is checked: the id is the name of
 * one file and short enough, the kind is known, texts are texts, numbers are within their bounds.
 * AS_EUSE, and the message says what is wrong. The finding holds a reference of the object.
 */
AS_MUST_CHECK int as_finding_parse(struct json_t *object, enum as_finding_form form,
				   struct as_finding *finding, struct as_err *err);
/* Reads one that as_finding_pack() has made, or that may be anything. */
AS_MUST_CHECK int as_finding_unpack(const char *text, size_t len, enum as_finding_form form,
				    struct as_finding *finding, struct as_err *err);
/* Of one that was read; its disks are let alone. */
void as_finding_free(struct as_finding *finding);

#endif
