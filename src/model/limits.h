/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * limits: what users, groups and projects may have at most (quotactl(2), Q_SETQUOTA), and who is
 * refused by it.
 *
 * 1. The model counts inodes. Its count is never more than the kernel's, which may give back later;
 *    so one that is over the limit in the model must be refused, and one that is not may be refused
 *    only if the type or an open file can hold inodes back.
 * 2. The model does not count space. Who has a limit of space may be refused whatever needs some;
 *    and if all that it has came under this limit, no file of it holds more data than the limit.
 * 3. Soft limits are soft: nobody is refused until the time of grace, a week, is over.
 * 4. The executor has no CAP_SYS_RESOURCE (vfs/sys_new.c), so limits hold for it, too. What xfs
 *    does otherwise has quirks.
 */
#ifndef AS_MODEL_LIMITS_H
#define AS_MODEL_LIMITS_H

#include "model/rules/rule.h"

struct as_limit {
	int64_t type; /* AS_QUOTA_* */
	uint32_t id;
	bool whole; /* nobody who has it had a file when it was set */
	struct as_quota_limits max;
};

struct as_quota_set {
	uint32_t ref, n;
	bool vague; /* xfs: the limits of id 0 are those of all who have none of their own */
	struct as_limit l[];
};

/* The limits that were set; NULL: none were. */
const struct as_limit *as_limits_of(const struct as_model *m, int64_t type, uint32_t id);
void as_limits_set(struct as_model *m, int64_t type, uint32_t id,
		   const struct as_quota_limits *max);
void as_limits_put(struct as_quota_set *limits); /* takes NULL */
/* From now on nothing can be said of what came under which limit. */
void as_limits_doubt(struct as_model *m);
/* How many inodes the owner has, at least; *late: there may be more. */
int64_t as_model_owned(const struct as_model *m, int64_t type, uint32_t id, bool *late);

/* Whether EDQUOT is possible at all for what the operation does to its files. */
bool as_rule_may_be_over(const struct as_rule_step *s);
/* A new inode in that directory may be refused; false: it is, since its owner has all that it may
 * have. Allows what as_rule_allow_full() does. */
bool as_rule_room_for_node(struct as_rule_step *s, uint32_t dir);
/* The same of an inode that gets other owners; -1: the same as before. */
bool as_rule_room_to_give(struct as_rule_step *s, const struct as_inode *inode, int64_t uid,
			  int64_t gid);
/* The same of an inode that gets another project. */
bool as_rule_room_for_project(struct as_rule_step *s, const struct as_inode *inode, uint32_t id);
/* What was accepted stores bytes in a file: whether all data of it is within the limits. */
void as_rule_check_limits(struct as_rule_step *s, const struct as_inode *inode, uint64_t off,
			  uint64_t len);

#endif
