/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kcov: see kcov.h.
 *
 * Method. The kernel writes the address after each instrumented place into a buffer that is shared
 * with us, its first word being their number. The buffer is emptied after each operation, by
 * setting that word to 0. What a call reaches after the buffer is full is lost; the next call is
 * seen again.
 */
#include "child/kcov.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#define DEBUGFS "/sys/kernel/debug"
#define DEVICE DEBUGFS "/kcov"
/* As of <linux/kcov.h>, which older headers lack in part. */
#define KCOV_INIT _IOR('c', 1, unsigned long)
#define KCOV_ON _IO('c', 100)
#define KCOV_OFF _IO('c', 101)
#define KCOV_BY_PC 0
#define WORDS ((size_t)1 << 17)

struct as_kcov {
	struct as_kcov_area *area;
	int fd;
	unsigned long *cover; /* MAP_FAILED: none */
};

int as_kcov_open(struct as_kcov_area *area, struct as_kcov **out, struct as_err *err)
{
	struct as_kcov *k = as_xcalloc(1, sizeof(*k));
	bool mounted = false;
	int rc = 0;

	if (access(DEVICE, F_OK))
		mounted = !mount("debugfs", DEBUGFS, "debugfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
				 NULL);
	k->area = area;
	k->cover = MAP_FAILED;
	k->fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	/* It hides what may be in use below it: that is one of the folders of mount/mount.c. */
	if (mounted)
		(void)!umount2(DEBUGFS, MNT_DETACH);
	if (k->fd < 0)
		rc = as_fail(err, AS_ELACK,
			     "this kernel does not record the code that calls reach (no " DEVICE
			     "): `assay kernel build debug` builds one that does, and --kernel "
			     "debug uses it");
	if (!rc && ioctl(k->fd, KCOV_INIT, WORDS))
		rc = as_fail_errno(err, errno, DEVICE ": its buffer");
	if (!rc)
		k->cover = mmap(NULL, WORDS * sizeof(*k->cover), PROT_READ | PROT_WRITE, MAP_SHARED,
				k->fd, 0);
	if (!rc && k->cover == MAP_FAILED)
		rc = as_fail_errno(err, errno, DEVICE ": its buffer cannot be mapped");
	if (!rc && ioctl(k->fd, KCOV_ON, KCOV_BY_PC))
		rc = as_fail_errno(err, errno, DEVICE ": it cannot be turned on");
	if (rc) {
		as_kcov_close(k);
		k = NULL;
	}
	*out = k;
	return rc;
}

void as_kcov_take(struct as_kcov *k, uint64_t workload)
{
	struct as_kcov_area *area = k->area;
	unsigned long n = __atomic_load_n(&k->cover[0], __ATOMIC_RELAXED);

	for (unsigned long i = 1; i <= n && i < WORDS; i++) {
		uint64_t at, pc = k->cover[i];

		if (!as_codeset_add(&area->all, pc))
			continue;
		at = atomic_fetch_add(&area->n_new, 1);
		if (at < AS_KCOV_NEW_MAX)
			area->fresh[at] = (struct as_kcov_new){ pc, workload };
	}
	__atomic_store_n(&k->cover[0], 0, __ATOMIC_RELAXED);
}

void as_kcov_close(struct as_kcov *k)
{
	if (!k)
		return;
	if (k->cover != MAP_FAILED) {
		(void)!ioctl(k->fd, KCOV_OFF, 0);
		munmap(k->cover, WORDS * sizeof(*k->cover));
	}
	if (k->fd >= 0)
		close(k->fd);
	free(k);
}

/* ---- Telling --------------------------------------------------------------------------------- */

static void emit(struct as_sink *sinks, const char *name, const uint64_t *pcs, size_t n)
{
	struct as_buf text = { 0 };

	if (!n)
		return;
	as_codeset_tell(name, pcs, n, &text);
	as_emit_told(sinks, as_buf_str(&text));
	as_buf_free(&text);
}

void as_kcov_tell(struct as_kcov_area *area, uint64_t workload, const char *name,
		  struct as_sink *sinks)
{
	uint64_t n = area->n_new < AS_KCOV_NEW_MAX ? area->n_new : AS_KCOV_NEW_MAX;
	uint64_t *pcs = n ? as_xcalloc(AS_CODESET_TOLD_MAX, sizeof(*pcs)) : NULL;
	size_t some = 0;

	for (uint64_t i = 0; i < n; i++) {
		struct as_kcov_new *fresh = &area->fresh[i];

		if (!fresh->pc || (workload != AS_KCOV_NOBODY && fresh->workload != workload))
			continue;
		pcs[some++] = fresh->pc;
		fresh->pc = 0;
		if (some == AS_CODESET_TOLD_MAX) {
			emit(sinks, name, pcs, some);
			some = 0;
		}
	}
	emit(sinks, name, pcs, some);
	free(pcs);
	if (workload == AS_KCOV_NOBODY)
		area->n_new = 0;
}
