/* SPDX-License-Identifier: GPL-2.0-or-later */
/* field_say: the values of fields in words. */
#include "layout/walk/walk_priv.h"

#include "base/show.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define SHOWN_BYTES 32u

static const char *const kinds[AS_FIELD_KINDS] = {
	[AS_FIELD_COUNT] = "count", [AS_FIELD_POINTER] = "pointer",
	[AS_FIELD_MAGIC] = "magic", [AS_FIELD_CHECKSUM] = "checksum",
	[AS_FIELD_FLAGS] = "flags", [AS_FIELD_TIME] = "time",
	[AS_FIELD_NAME] = "name",   [AS_FIELD_BITMAP] = "bitmap",
	[AS_FIELD_SIZE] = "size",   [AS_FIELD_MODE] = "mode",
	[AS_FIELD_ID] = "id",	    [AS_FIELD_OTHER] = "other",
};

const char *as_field_kind_name(enum as_field_kind kind)
{
	as_assert(kind < AS_FIELD_KINDS);
	return kinds[kind];
}

/* Parts of a second have no date. */
static void say_time(const struct as_field *field, uint64_t value, struct as_buf *out)
{
	time_t when = (time_t)value;
	char text[64];
	struct tm tm;

	as_buf_addu(out, value);
	/* Only seconds since 1970 that a person would take for a date. */
	if (strstr(field->name, "nsec") || strstr(field->name, "extra") || value < 86400 ||
	    value > UINT32_MAX || !gmtime_r(&when, &tm))
		return;
	if (strftime(text, sizeof(text), " (%Y-%m-%d %H:%M:%S UTC)", &tm))
		as_buf_adds(out, text);
}

void as_field_say_value(const struct as_field *field, uint64_t value, struct as_buf *out)
{
	switch (field->kind) {
	case AS_FIELD_MODE:
		as_buf_addf(out, "0%llo", (unsigned long long)value);
		if (value & S_IFMT)
			as_buf_addf(out, " (%s)", as_walk_mode_class((uint32_t)value));
		break;
	case AS_FIELD_MAGIC:
	case AS_FIELD_CHECKSUM:
	case AS_FIELD_FLAGS:
	case AS_FIELD_ID:
		as_buf_addf(out, "0x%llx", (unsigned long long)value);
		break;
	case AS_FIELD_BITMAP:
		as_buf_adds(out, field->bits == 1 ? value ? "used" : "free" : "");
		if (field->bits != 1)
			as_buf_addu(out, value);
		break;
	case AS_FIELD_TIME:
		say_time(field, value, out);
		break;
	default:
		as_buf_addu(out, value);
	}
}

static void say_bytes(const struct as_field *field, struct as_disk *disk, struct as_buf *out)
{
	unsigned char buf[256];
	size_t n = as_field_bytes(field, disk, buf, sizeof(buf)), last = n;

	while (last && !buf[last - 1])
		last--;
	if (field->kind == AS_FIELD_NAME) {
		as_buf_addc(out, '"');
		as_shown(out, (const char *)buf, last);
		as_buf_addc(out, '"');
	} else if (!last) {
		as_buf_adds(out, "zeros");
	} else {
		for (size_t i = 0; i < n && i < SHOWN_BYTES; i++)
			as_buf_addf(out, "%02x", buf[i]);
		if (n > SHOWN_BYTES)
			as_buf_adds(out, "...");
	}
}

void as_field_say(const struct as_field *field, struct as_disk *disk, struct as_buf *out)
{
	if (field->bytes > 8 || (field->kind == AS_FIELD_NAME && !field->bits))
		say_bytes(field, disk, out);
	else
		as_field_say_value(field, as_field_get(field, disk), out);
}
