/* SPDX-License-Identifier: GPL-2.0-or-later */
/* groups: counts findings by their likely cause (base/finding.h), for the summary of a run. */
#ifndef AS_REPORT_GROUPS_H
#define AS_REPORT_GROUPS_H

#include "base/event.h"

struct as_report_groups;

struct as_report_groups *as_report_groups_new(void);
void as_report_groups_free(struct as_report_groups *groups); /* takes NULL */
void as_report_groups_add(struct as_report_groups *groups, const struct as_finding *finding);
void as_report_groups_again(struct as_report_groups *groups, const char *signature);
/* A line for each, with most findings first: its count, its smallest example, its name. Nothing for
 * a single finding, which was just told. */
void as_report_groups_tell(const struct as_report_groups *groups, struct as_sink *talk);

#endif
