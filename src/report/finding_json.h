/* SPDX-License-Identifier: GPL-2.0-or-later */
/* finding_json: the one way a finding is written as JSON, for the sinks. */
#ifndef AS_REPORT_FINDING_JSON_H
#define AS_REPORT_FINDING_JSON_H

#include "base/event.h"
#include "base/json.h"

/* The members, without the braces. */
void as_finding_json(struct as_json *json, const struct as_finding *finding, const char *id);

#endif
