/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acl: a POSIX access control list (acl(5)) as a workload spells it, and as the kernel takes and
 * gives it: the value of the attributes system.posix_acl_access and system.posix_acl_default.
 *
 *   u::rw-,u:1000:r--,g::r--,g:7:-w-,m::rw-,o::---
 *   none                                            a list without entries: there is none
 *
 * An id is a decimal number without zeros in front, 0 to 4294967294. The order is not checked here,
 * nor whether an entry is missing: the file system has to refuse that.
 */
#ifndef AS_WORK_ACL_H
#define AS_WORK_ACL_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AS_ACL_ACCESS "system.posix_acl_access"
#define AS_ACL_DEFAULT "system.posix_acl_default"
#define AS_ACL_MAX 32u /* entries */
#define AS_ACL_BYTES (4 + 8 * AS_ACL_MAX) /* of the kernel's form */

/* The tags of <linux/posix_acl.h>. */
enum as_acl_tag {
	AS_ACL_USER_OBJ = 0x01,
	AS_ACL_USER = 0x02,
	AS_ACL_GROUP_OBJ = 0x04,
	AS_ACL_GROUP = 0x08,
	AS_ACL_MASK = 0x10,
	AS_ACL_OTHER = 0x20,
};

struct as_acl_entry {
	uint16_t tag, perm; /* perm: 4 r, 2 w, 1 x */
	uint32_t id; /* of USER and GROUP */
};

struct as_acl {
	uint32_t n; /* 0: no list */
	struct as_acl_entry entry[AS_ACL_MAX];
};

/* The name of the attribute that holds it. */
static inline const char *as_acl_attribute(bool is_default)
{
	return is_default ? AS_ACL_DEFAULT : AS_ACL_ACCESS;
}

/* Whether an attribute is a list; if so, which one. */
bool as_acl_is_attribute(const char *name, bool *is_default);

/* False: it is not the spelling of a list. */
bool as_acl_parse(const char *text, struct as_acl *acl);
void as_acl_print(const struct as_acl *acl, struct as_buf *out);
/* The kernel's form; returns its length. */
size_t as_acl_encode(const struct as_acl *acl, uint8_t bytes[AS_ACL_BYTES]);
/* False: it is not that form, or has more entries than there is room for. */
bool as_acl_decode(const void *bytes, size_t len, struct as_acl *acl);

#endif
