/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kwatch: see kwatch.h. */
#include "klog/kwatch.h"

#include <stdlib.h>
#include <string.h>

/* The name of our processes in stacks (TASK_COMM_LEN is 16). */
#define COMM "assay"

struct as_kwatch {
	struct as_kmsg *kmsg;
	struct as_kmsg_scan *scan;
	char *device;
	const char *devices[2];
	enum as_kmsg_class cls; /* class of the gravest report */
	struct as_buf title, signature, text;
	bool excused; /* a notice of corruption did not count */
};

static void on_report(void *ctx, const struct as_kmsg_report *report)
{
	struct as_kwatch *w = ctx;

	if (report->cls <= w->cls)
		return;
	w->cls = report->cls;
	as_buf_clear(&w->title);
	as_buf_clear(&w->signature);
	as_buf_clear(&w->text);
	as_buf_adds(&w->title, report->title);
	as_buf_adds(&w->signature, report->signature);
	as_buf_adds(&w->text, report->text);
}

void as_kwatch_name(struct as_kwatch *w, const char *device)
{
	if (!w)
		return;
	free(w->device);
	w->device = as_xstrdup(device);
	w->devices[0] = w->device;
}

void as_kwatch_skip(struct as_kwatch *w)
{
	if (w)
		as_kmsg_skip(w->kmsg);
}

void as_kwatch_move(struct as_kwatch *w, const char *device)
{
	if (!w || !strcmp(w->device, device))
		return;
	as_kwatch_skip(w);
	as_kwatch_name(w, device);
}

struct as_kwatch *as_kwatch_new(const char *device)
{
	struct as_kmsg *kmsg;
	struct as_kwatch *w;

	if (as_kmsg_open(&kmsg, NULL))
		return NULL;
	w = as_xcalloc(1, sizeof(*w));
	w->kmsg = kmsg;
	as_kwatch_name(w, device ? device : "");
	w->scan = as_kmsg_scan_new(&(struct as_kmsg_filter){ w->devices, COMM }, on_report, w);
	return w;
}

void as_kwatch_free(struct as_kwatch *w)
{
	if (!w)
		return;
	as_kmsg_scan_free(w->scan);
	as_kmsg_close(w->kmsg);
	as_buf_free(&w->title);
	as_buf_free(&w->signature);
	as_buf_free(&w->text);
	free(w->device);
	free(w);
}

bool as_kwatch_look(struct as_kwatch *w, bool excused, struct as_kwatch_news *news)
{
	if (!w)
		return false;
	w->cls = AS_KMSG_INFO;
	if (!as_kmsg_poll(w->kmsg, w->scan, NULL))
		return false;
	if (w->cls <= (excused ? AS_KMSG_CORRUPTION : AS_KMSG_INFO)) {
		w->excused |= w->cls == AS_KMSG_CORRUPTION;
		return false;
	}
	*news = (struct as_kwatch_news){ as_buf_str(&w->title), as_buf_str(&w->signature),
					 as_buf_str(&w->text) };
	return true;
}

bool as_kwatch_excused(const struct as_kwatch *w)
{
	return w && w->excused;
}
