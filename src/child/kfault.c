/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kfault: see kfault.h.
 *
 * Method. fail-nth counts every place in the kernel that may be made to fail: allocations of slabs
 * and of pages, and requests to disks. The settings in debugfs decide which of these count:
 *
 *	kalloc	slabs: cache-filter off, and also allocations that may wait
 *	kpage	pages of any order, also those that may wait and those for data
 *	kio	requests to the disk: its make-it-fail
 *
 * What is not wanted is turned off: slabs by a filter that lets no cache through, pages by an order
 * that nobody asks for. An allocation that may not fail (__GFP_NOFAIL) is never counted.
 */
#include "child/kfault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define DEBUGFS "/sys/kernel/debug"
#define FAIL_NTH "/proc/thread-self/fail-nth"

struct as_kfault {
	int fd;
	char device[64]; /* whose requests fail; "": nobody's */
};

static const struct {
	const char *file, *on, *off;
	enum as_kfail kind;
	const char *every; /* if it is another value where all fail, one after the other */
} settings[] = {
	{ "failslab/cache-filter", "N", "Y", AS_KFAIL_ALLOC, NULL },
	{ "failslab/ignore-gfp-wait", "N", "Y", AS_KFAIL_ALLOC, NULL },
	{ "failslab/verbose", "2", "0", AS_KFAIL_ALLOC, "0" },
	{ "fail_page_alloc/min-order", "0", "30", AS_KFAIL_PAGE, NULL },
	{ "fail_page_alloc/ignore-gfp-wait", "N", "Y", AS_KFAIL_PAGE, NULL },
	{ "fail_page_alloc/ignore-gfp-highmem", "N", "Y", AS_KFAIL_PAGE, NULL },
	{ "fail_page_alloc/verbose", "2", "0", AS_KFAIL_PAGE, "0" },
	{ "fail_make_request/verbose", "2", "0", AS_KFAIL_IO, "0" },
};

static bool put(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool set_device(const char *device, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/block/%s/make-it-fail", device);
	return put(path, value);
}

static int lacks(const char *what, struct as_err *err)
{
	return as_fail(err, AS_ELACK,
		       "this kernel cannot make its own calls fail (no %s): `assay kernel build "
		       "debug` builds one that can, and `--sandbox uml --kernel debug` uses it",
		       what);
}

/* A stack for each of thousands would hide what matters in the log. */
static int set_up(const struct as_kfail_rules *rules, struct as_err *err)
{
	enum as_kfail kind = rules->rule[0].kind;
	bool every = as_kfail_every(rules);
	char path[128];

	if (access(DEBUGFS "/failslab", F_OK))
		(void)!mount("debugfs", DEBUGFS, "debugfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		bool on = settings[i].kind == kind;
		const char *value = on ? settings[i].on : settings[i].off;

		if (on && every && settings[i].every)
			value = settings[i].every;
		snprintf(path, sizeof(path), DEBUGFS "/%s", settings[i].file);
		if (!put(path, value) && on)
			return lacks(path, err);
	}
	return 0;
}

int as_kfault_open(const struct as_kfail_rules *rules, const char *device, struct as_kfault **out,
		   struct as_err *err)
{
	struct as_kfault *f = as_xcalloc(1, sizeof(*f));
	int rc = 0;

	f->fd = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	if (f->fd < 0)
		rc = lacks(FAIL_NTH, err);
	if (!rc)
		rc = set_up(rules, err);
	if (!rc && rules->rule[0].kind == AS_KFAIL_IO) {
		snprintf(f->device, sizeof(f->device), "%s", device);
		if (!set_device(f->device, "1"))
			rc = lacks("make-it-fail of the disk", err);
	}
	if (rc) {
		as_kfault_close(f);
		f = NULL;
	}
	*out = f;
	return rc;
}

void as_kfault_close(struct as_kfault *f)
{
	if (!f)
		return;
	if (f->device[0])
		set_device(f->device, "0");
	if (f->fd >= 0)
		close(f->fd);
	free(f);
}

void as_kfault_arm(struct as_kfault *f, uint64_t nth)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%llu", (unsigned long long)nth);

	(void)!pwrite(f->fd, text, (size_t)len, 0);
}

bool as_kfault_disarm(struct as_kfault *f)
{
	char text[32] = { 0 };
	bool fired = pread(f->fd, text, sizeof(text) - 1, 0) > 0 && strtoul(text, NULL, 10) == 0;

	(void)!pwrite(f->fd, "0", 1, 0);
	return fired;
}
