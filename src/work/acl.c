/* SPDX-License-Identifier: GPL-2.0-or-later */
/* acl: see acl.h. The kernel's form: a version (2) in 4 bytes, then 8 bytes for each entry: tag,
 * permissions, id; little-endian (<linux/posix_acl_xattr.h>). */
#include "work/acl.h"

#include "work/arg.h"

#include <string.h>

#define VERSION 2
#define HEAD_BYTES 4u
#define ENTRY_BYTES 8u
#define NO_ID 0xffffffffu /* ACL_UNDEFINED_ID */
#define NONE "none"

static bool is_named(const struct as_acl_entry *e)
{
	return e->tag == AS_ACL_USER || e->tag == AS_ACL_GROUP;
}

bool as_acl_is_attribute(const char *name, bool *is_default)
{
	*is_default = !strcmp(name, AS_ACL_DEFAULT);
	return *is_default || !strcmp(name, AS_ACL_ACCESS);
}

/* ---- Text ---- */

/* A decimal number up to the next colon; false: it is none. */
static bool read_id(const char **at, uint32_t *id)
{
	const char *p = *at;
	uint64_t v = 0;

	if (*p == '0' && p[1] != ':')
		return false;
	for (; *p >= '0' && *p <= '9' && v <= AS_ID_MAX; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	if (*p != ':' || v > AS_ID_MAX)
		return false;
	*id = (uint32_t)v;
	*at = p;
	return true;
}

static bool read_perm(const char **at, uint16_t *perm)
{
	static const char letters[] = "rwx";

	*perm = 0;
	for (unsigned i = 0; i < 3; i++, ++*at) {
		if (**at == letters[i])
			*perm |= (uint16_t)(4u >> i);
		else if (**at != '-')
			return false;
	}
	return true;
}

static bool read_entry(const char **at, struct as_acl_entry *e)
{
	static const struct {
		char letter;
		uint16_t tag, named;
	} kinds[] = {
		{ 'u', AS_ACL_USER_OBJ, AS_ACL_USER },
		{ 'g', AS_ACL_GROUP_OBJ, AS_ACL_GROUP },
		{ 'm', AS_ACL_MASK, 0 },
		{ 'o', AS_ACL_OTHER, 0 },
	};

	*e = (struct as_acl_entry){ .id = NO_ID };
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (**at != kinds[i].letter || (*at)[1] != ':')
			continue;
		*at += 2;
		e->tag = **at == ':' ? kinds[i].tag : kinds[i].named;
		if (!e->tag || (is_named(e) && !read_id(at, &e->id)))
			return false;
		++*at;
		return read_perm(at, &e->perm);
	}
	return false;
}

bool as_acl_parse(const char *text, struct as_acl *acl)
{
	acl->n = 0;
	if (!strcmp(text, NONE))
		return true;
	do {
		if (acl->n == AS_ACL_MAX || !read_entry(&text, &acl->entry[acl->n]))
			return false;
		acl->n++;
	} while (*text++ == ',');
	return text[-1] == '\0';
}

void as_acl_print(const struct as_acl *acl, struct as_buf *out)
{
	if (!acl->n)
		as_buf_adds(out, NONE);
	for (uint32_t i = 0; i < acl->n; i++) {
		const struct as_acl_entry *e = &acl->entry[i];

		if (i)
			as_buf_addc(out, ',');
		as_buf_addc(out, e->tag == AS_ACL_MASK			    ? 'm'
				 : e->tag == AS_ACL_OTHER		    ? 'o'
				 : e->tag & (AS_ACL_USER_OBJ | AS_ACL_USER) ? 'u'
									    : 'g');
		as_buf_addc(out, ':');
		if (is_named(e))
			as_buf_addu(out, e->id);
		as_buf_addf(out, ":%c%c%c", e->perm & 4 ? 'r' : '-', e->perm & 2 ? 'w' : '-',
			    e->perm & 1 ? 'x' : '-');
	}
}

/* ---- Bytes ---- */

static void put(uint8_t *at, uint32_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get(const uint8_t *at, unsigned bytes)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint32_t)at[i] << (8 * i);
	return value;
}

size_t as_acl_encode(const struct as_acl *acl, uint8_t bytes[AS_ACL_BYTES])
{
	uint8_t *at = bytes + HEAD_BYTES;

	put(bytes, VERSION, HEAD_BYTES);
	for (uint32_t i = 0; i < acl->n; i++, at += ENTRY_BYTES) {
		put(at, acl->entry[i].tag, 2);
		put(at + 2, acl->entry[i].perm, 2);
		put(at + 4, acl->entry[i].id, 4);
	}
	return (size_t)(at - bytes);
}

bool as_acl_decode(const void *bytes, size_t len, struct as_acl *acl)
{
	const uint8_t *at = bytes;

	acl->n = 0;
	if (len < HEAD_BYTES || (len - HEAD_BYTES) % ENTRY_BYTES || len > AS_ACL_BYTES ||
	    get(at, HEAD_BYTES) != VERSION)
		return false;
	for (at += HEAD_BYTES; at < (const uint8_t *)bytes + len; at += ENTRY_BYTES) {
		struct as_acl_entry *e = &acl->entry[acl->n++];

		*e = (struct as_acl_entry){ (uint16_t)get(at, 2), (uint16_t)get(at + 2, 2),
					    get(at + 4, 4) };
		if (!e->tag || e->tag > AS_ACL_OTHER || e->tag & (e->tag - 1) || e->perm > 7 ||
		    is_named(e) != (e->id != NO_ID))
			return false;
	}
	return true;
}
