/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * apart: see apart.h. mke2fs -J device= does what as_apart_join_ext() does, but only for a block
 * device, which an ordinary user does not have (ext2fs_add_journal_device()).
 */
#include "target/apart.h"

#include "base/buf.h"
#include "base/crc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES 65536u

/* ---- One file and two ------------------------------------------------------------------------ */

static int move_bytes(int from_fd, uint64_t from, int to_fd, uint64_t to, uint64_t len,
		      struct as_err *err)
{
	unsigned char *piece = as_xmalloc(PIECE_BYTES);
	int rc = 0;

	while (len && !rc) {
		size_t want = len < PIECE_BYTES ? (size_t)len : PIECE_BYTES;
		ssize_t n = pread(from_fd, piece, want, (off_t)from);

		if (n <= 0)
			rc = as_fail_errno(err, n ? errno : EIO, "cannot read a disk");
		else if (pwrite(to_fd, piece, (size_t)n, (off_t)to) != n)
			rc = as_fail_errno(err, errno, "cannot copy a disk");
		from += n > 0 ? (uint64_t)n : 0;
		to += n > 0 ? (uint64_t)n : 0;
		len -= n > 0 ? (uint64_t)n : 0;
	}
	free(piece);
	return rc;
}

static int size_of(int fd, uint64_t *size, struct as_err *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return as_fail_errno(err, errno, "cannot tell the size of a disk");
	*size = (uint64_t)st.st_size;
	return 0;
}

int as_apart_split(int fd, const char *journal, uint64_t journal_bytes, struct as_err *err)
{
	int to_fd = open(journal, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	uint64_t size = 0;
	int rc = to_fd < 0 ? as_fail_errno(err, errno, "%s", journal) : size_of(fd, &size, err);

	as_assert(rc || journal_bytes < size);
	if (!rc)
		rc = move_bytes(fd, size - journal_bytes, to_fd, 0, journal_bytes, err);
	if (!rc && ftruncate(fd, (off_t)(size - journal_bytes)))
		rc = as_fail_errno(err, errno, "cannot divide a disk");
	if (to_fd >= 0)
		close(to_fd);
	return rc;
}

int as_apart_unite(int fd, const char *journal, struct as_err *err)
{
	int from_fd = open(journal, O_RDONLY | O_CLOEXEC);
	uint64_t size = 0, journal_bytes = 0;
	int rc = from_fd < 0 ? as_fail_errno(err, errno, "%s", journal) : size_of(fd, &size, err);

	if (!rc)
		rc = size_of(from_fd, &journal_bytes, err);
	if (!rc)
		rc = move_bytes(from_fd, 0, fd, size, journal_bytes, err);
	if (from_fd >= 0)
		close(from_fd);
	return rc;
}

/* ---- ext4 ------------------------------------------------------------------------------------ */

/* Documentation/filesystems/ext4/super.rst and journal.rst. The journal's superblock comes in the
 * block after the one with the disk's own. */
enum {
	SUPER_AT = 1024,
	SUPER_BYTES = 1024,
	LOG_BLOCK_SIZE = 0x18,
	FEATURE_COMPAT = 0x5c,
	FEATURE_RO_COMPAT = 0x64,
	UUID = 0x68,
	UUID_BYTES = 16,
	MAGIC = 0x38,
	JOURNAL_UUID = 0xd0,
	JOURNAL_DEV = 0xe4,
	CHECKSUM = 0x3fc,
	HAS_JOURNAL = 4,
	METADATA_CSUM = 4, /* of the second byte of FEATURE_RO_COMPAT */
	JOURNAL_USERS = 0x40,
	JOURNAL_USER = 0x100,
};

static uint64_t journal_super_at(const unsigned char *super)
{
	uint64_t block_bytes = UINT64_C(1024) << (super[LOG_BLOCK_SIZE] & 7);

	return block_bytes == SUPER_AT ? 2 * block_bytes : block_bytes;
}

static void put_le32(unsigned char *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (unsigned char)(value >> 8 * i);
}

static bool is_summed(const unsigned char *super)
{
	return super[FEATURE_RO_COMPAT + 1] & METADATA_CSUM;
}

static void sum_up(unsigned char *super)
{
	if (is_summed(super))
		put_le32(super + CHECKSUM, as_crc32c(UINT32_MAX, super, CHECKSUM));
}

static bool is_sound(const unsigned char *super)
{
	unsigned char sum[4];

	put_le32(sum, as_crc32c(UINT32_MAX, super, CHECKSUM));
	return super[MAGIC] == 0x53 && super[MAGIC + 1] == 0xef &&
	       (!is_summed(super) || !memcmp(super + CHECKSUM, sum, sizeof(sum)));
}

static int get(int fd, uint64_t at, unsigned char *data, struct as_err *err)
{
	return pread(fd, data, SUPER_BYTES, (off_t)at) == SUPER_BYTES
		       ? 0
		       : as_fail(err, AS_EIO, "a disk of mke2fs is too short");
}

static int put(int fd, uint64_t at, const unsigned char *data, struct as_err *err)
{
	return pwrite(fd, data, SUPER_BYTES, (off_t)at) == SUPER_BYTES
		       ? 0
		       : as_fail_errno(err, errno, "cannot write a superblock");
}

int as_apart_join_ext(int fd, const char *journal, struct as_err *err)
{
	unsigned char data[SUPER_BYTES], own[SUPER_BYTES], log[SUPER_BYTES];
	int journal_fd = open(journal, O_RDWR | O_CLOEXEC);
	int rc = journal_fd < 0 ? as_fail_errno(err, errno, "%s", journal) : 0;

	if (!rc)
		rc = get(fd, SUPER_AT, data, err);
	if (!rc)
		rc = get(journal_fd, SUPER_AT, own, err);
	if (!rc)
		rc = get(journal_fd, journal_super_at(own), log, err);
	if (rc)
		goto out;
	data[FEATURE_COMPAT] |= HAS_JOURNAL;
	memcpy(data + JOURNAL_UUID, own + UUID, UUID_BYTES);
	sum_up(data);
	log[JOURNAL_USERS + 3] = 1; /* big-endian */
	memcpy(log + JOURNAL_USER, data + UUID, UUID_BYTES);
	rc = put(fd, SUPER_AT, data, err);
	if (!rc)
		rc = put(journal_fd, journal_super_at(own), log, err);
out:
	if (journal_fd >= 0)
		close(journal_fd);
	return rc;
}

void as_apart_number_ext(const char *device, uint32_t number)
{
	int fd = open(device, O_RDWR | O_CLOEXEC);
	unsigned char super[SUPER_BYTES], want[4];

	if (fd < 0)
		return;
	put_le32(want, number);
	if (!get(fd, SUPER_AT, super, NULL) && is_sound(super) &&
	    memcmp(super + JOURNAL_DEV, want, sizeof(want))) {
		memcpy(super + JOURNAL_DEV, want, sizeof(want));
		sum_up(super);
		/* What fails here, the mount meets, too. */
		if (!put(fd, SUPER_AT, super, NULL))
			(void)fsync(fd);
	}
	close(fd);
}
