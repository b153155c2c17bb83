/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz entry of findings on their way, in both forms.
 *
 * The input is read as a finding from each form. What is taken is within its bounds, fits into a
 * notice or does not, and comes back the same when it is packed and unpacked. Then the input is
 * written over a sound notice, as a file system under test may do it, from a place that its first
 * two bytes say: it is mended, and all of it can be read.
 */
#include "base/finding_json.h"
#include "base/notice.h"

#include <stdlib.h>
#include <string.h>

static void check_again(const struct as_finding *r)
{
	struct as_buf first = { 0 }, second = { 0 };
	struct as_finding again;

	as_finding_pack(r, &first);
	as_assert(!as_finding_unpack(first.data, first.len, AS_FINDING_WHOLE, &again, NULL));
	as_finding_pack(&again, &second);
	as_assert(!strcmp(as_buf_str(&first), as_buf_str(&second)));
	as_finding_free(&again);
	as_buf_free(&first);
	as_buf_free(&second);
}

static void check_notice(const struct as_finding *f, struct as_notice *notice)
{
	struct as_finding again;

	as_notice_begin(notice, AS_FIND_TREE, -1);
	if (!as_notice_of(f, notice))
		return;
	as_assert(notice->is && as_notice_mend(notice));
	again = as_notice_open(notice);
	as_assert(again.kind == f->kind && again.op_index == f->op_index);
	as_assert(!strcmp(again.summary, f->summary ? f->summary : ""));
	as_assert(!strcmp(again.signature, f->signature ? f->signature : ""));
}

static void read_it(const char *data, size_t len, enum as_finding_form form,
		    struct as_notice *notice)
{
	struct as_finding r;
	const struct as_finding *f = &r;

	if (as_finding_unpack(data, len, form, &r, NULL))
		return;
	as_assert((unsigned)f->kind < AS_FIND_KINDS && f->op_index >= -1 && f->op_line >= 0);
	as_assert(!r.id || as_finding_is_id(r.id));
	as_assert(f->n_files <= AS_FINDING_FILES_MAX);
	for (size_t i = 0; i < f->n_files; i++)
		as_assert(as_finding_is_id(f->files[i].name) && f->files[i].text);
	if (form == AS_FINDING_FROM_GUEST || form == AS_FINDING_SAID)
		as_assert(!strpbrk(f->summary, "\n\r\033") && !f->n_files);
	check_notice(f, notice);
	if (form == AS_FINDING_WHOLE)
		check_again(&r);
	as_finding_free(&r);
}

static void scribble(const uint8_t *data, size_t len, struct as_notice *notice)
{
	struct as_finding f;
	size_t at;

	if (len < 2)
		return;
	as_notice_begin(notice, AS_FIND_TREE, 3);
	as_notice_close(notice);
	at = (data[0] | (size_t)data[1] << 8) % sizeof(*notice);
	len -= 2;
	if (len > sizeof(*notice) - at)
		len = sizeof(*notice) - at;
	memcpy((char *)notice + at, data + 2, len);
	(void)as_notice_mend(notice);
	as_assert((unsigned)notice->kind < AS_FIND_KINDS && notice->op >= -1);
	f = as_notice_open(notice);
	as_assert(strlen(f.summary) < sizeof(notice->summary));
	as_assert(strlen(f.detail) < sizeof(notice->detail));
	as_assert(strlen(f.signature) < sizeof(notice->signature));
	as_assert(strlen(f.options) < sizeof(notice->options));
	as_assert(as_notice_mend(notice));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct as_notice *notice = as_xcalloc(1, sizeof(*notice));

	for (int form = 0; form < AS_FINDING_FORMS; form++)
		read_it((const char *)data, len, (enum as_finding_form)form, notice);
	scribble(data, len, notice);
	free(notice);
	return 0;
}
