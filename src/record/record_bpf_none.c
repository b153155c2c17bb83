/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record_bpf_none: takes the place of record_bpf.c in a build without libbpf or clang. */
#include "trace/source.h"

#ifndef AS_HAVE_libbpf

static int usable(struct as_err *err)
{
	return as_fail(
		err, AS_ELACK,
		"this assay was built without eBPF (install libbpf-dev and clang, make again)");
}

static int record(const struct as_source_input *input, struct as_receiver *to, struct as_err *err)
{
	(void)input;
	(void)to;
	return usable(err);
}

const struct as_source_ops as_source_ebpf = {
	.name = "ebpf",
	.about = "not in this build",
	.version = AS_SOURCE_VERSION,
	.flags = AS_SOURCE_LIVE | AS_SOURCE_PRIVILEGED,
	.usable = usable,
	.run = record,
};

#endif
