/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz entry of the kernel's log: as a console, whole and byte by byte, which must give the same
 * reports; and as a record of /dev/kmsg. A report is never of class information, has a signature of
 * its class, and the text of it begins it. */
#include "klog/kmsg.h"

#include <string.h>

static void hear(void *ctx, const struct as_kmsg_report *r)
{
	struct as_buf *all = ctx;
	size_t len = strlen(as_kmsg_class_name(r->cls));

	as_assert(r->cls != AS_KMSG_INFO);
	as_assert(!strncmp(r->signature, as_kmsg_class_name(r->cls), len));
	as_assert(r->signature[len] == ':' && strstr(r->text, r->title));
	as_buf_addf(all, "%s\n", r->signature);
}

static void scan(const char *text, size_t len, size_t step, const struct as_kmsg_filter *filter,
		 struct as_buf *all)
{
	struct as_kmsg_scan *s = as_kmsg_scan_new(filter, hear, all);

	for (size_t at = 0; at < len; at += step)
		as_kmsg_scan_console(s, text + at, at + step < len ? step : len - at);
	as_kmsg_scan_end(s);
	as_assert(!as_kmsg_scan_is_open(s));
	as_kmsg_scan_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const devices[] = { "loop0", NULL };
	const struct as_kmsg_filter ours = { devices, "assay" };
	struct as_buf whole = { 0 }, bytes = { 0 }, some = { 0 }, text = { 0 };
	struct as_kmsg_record record;

	scan((const char *)data, len, len ? len : 1, NULL, &whole);
	scan((const char *)data, len, 1, NULL, &bytes);
	as_assert(!strcmp(as_buf_str(&whole), as_buf_str(&bytes)));
	/* A filter only takes away. */
	scan((const char *)data, len, 13, &ours, &some);
	as_assert(some.len <= whole.len);
	if (as_kmsg_parse_record((const char *)data, len, &record, &text))
		as_assert(record.level < 8 && text.len < len);
	as_buf_free(&whole);
	as_buf_free(&bytes);
	as_buf_free(&some);
	as_buf_free(&text);
	return 0;
}
