/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sys_swap: swapon(2) on a file of the file system under test.
 *
 * Swap belongs to the whole kernel, so this is done where the kernel is ours:
 *   1. Only in a guest (User-Mode Linux) does a file get the header without which swapon can never
 *      succeed. If it succeeds, swapoff follows at once.
 *   2. On the running kernel the file is left as it is. A file with the signature of a swap area is
 *      not tried there, nor is one that is large enough to be judged.
 *   3. Devices are never tried: opening one would reach the machine.
 *   4. While the disk is recorded, the header is not written: a power cut could show it.
 *
 * The header takes the place of the first page, which is put back afterwards.
 */
#include "mount/mount.h"
#include "vfs/sys_priv.h"
#include "work/swap.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <unistd.h>

#define PAGE AS_SWAP_PAGE
#define VERSION_AT 1024 /* union swap_header of <linux/swap.h> */
#define SIGNATURE_AT (PAGE - 10)

/* All of it, or a negative errno. */
static int put_page(int fd, const char *page)
{
	ssize_t n = pwrite(fd, page, PAGE, 0);

	return n < 0 ? -errno : n < (ssize_t)PAGE ? -ENOSPC : 0;
}

static void make_header(char *page, uint64_t size)
{
	uint32_t info[3] = { 1, (uint32_t)(size / PAGE - 1), 0 };

	memset(page, 0, PAGE);
	memcpy(page + VERSION_AT, info, sizeof(info));
	memcpy(page + SIGNATURE_AT, "SWAPSPACE2", 10);
}

/* How many of the calls that would change it are not refused with ETXTBSY. They would change
 * nothing. */
static int count_allowed(int fd, uint64_t size)
{
	char byte;
	int n = 0;

	n += ftruncate(fd, (off_t)size) == 0 || errno != ETXTBSY;
	n += fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 1) == 0 || errno != ETXTBSY;
	n += pread(fd, &byte, 1, 0) != 1 || pwrite(fd, &byte, 1, 0) == 1 || errno != ETXTBSY;
	return n;
}

static int64_t try_swap(struct as_vfs *vfs, const char *path, int fd, uint64_t size)
{
	int64_t rc = as_sys_do(vfs, swapon, SYS_P(path), SWAP_FLAG_PREFER) ? -errno : 0;

	if (rc)
		return rc;
	rc = count_allowed(fd, size);
	return as_sys_do(vfs, swapoff, SYS_P(path)) ? -errno : rc;
}

static int64_t try_with_header(struct as_vfs *vfs, const char *path, int fd, struct stat *st)
{
	char old[PAGE], header[PAGE];
	int64_t rc;
	int back;

	if (pread(fd, old, PAGE, 0) != (ssize_t)PAGE)
		return -EIO;
	make_header(header, (uint64_t)st->st_size);
	rc = put_page(fd, header);
	if (!rc)
		rc = try_swap(vfs, path, fd, (uint64_t)st->st_size);
	/* What it has on the disk while it could be swapped to. */
	if (as_sys_look(fd, st))
		rc = -errno;
	back = put_page(fd, old);
	return back ? back : rc;
}

/* Whether it could be a swap area already. */
static bool is_signed(int fd)
{
	char page[PAGE];

	return pread(fd, page, PAGE, 0) == (ssize_t)PAGE &&
	       (!memcmp(page + SIGNATURE_AT, "SWAP", 4));
}

static int64_t try_file(struct as_vfs *vfs, const char *path, int fd, struct stat *st)
{
	bool large = st->st_size >= AS_SWAP_MIN_BYTES;

	if (large && as_mount_is_guest() && !vfs->recorded)
		return try_with_header(vfs, path, fd, st);
	if (large || is_signed(fd))
		return -AS_ERR_UNSUPPORTED;
	return try_swap(vfs, path, fd, (uint64_t)st->st_size);
}

void as_sys_swapon(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct stat st;
	int64_t rc;
	int fd;

	if (!as_sys_is_ours((const struct as_sys *)vfs) ||
	    (!stat(op->path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))) {
		as_vfs_answer(out, -AS_ERR_UNSUPPORTED);
		return;
	}
	fd = open(op->path, O_RDWR | O_NOATIME | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	rc = fd < 0 || as_sys_look(fd, &st) ? -errno : try_file(vfs, op->path, fd, &st);
	if (fd >= 0)
		close(fd);
	as_vfs_answer(out, rc);
	if (rc < 0)
		return;
	as_sys_convert_stat(&st, &out->st);
	out->payload = AS_PAYLOAD_STAT;
}
