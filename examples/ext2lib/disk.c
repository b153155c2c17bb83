/* SPDX-License-Identifier: MIT */
/* disk: the disk of assay as an I/O manager of libext2fs. It has no cache: each call is one call of
 * the disk. Blocks of less than a sector do not exist; write_byte() of less is refused. */
#include "ext2lib.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The library opens disks by name: this is the one that is meant. */
static struct as_bd *device;

void e2_device(struct as_bd *bd)
{
	device = bd;
}

static struct as_bd *of(io_channel channel)
{
	return channel->private_data;
}

static errcode_t disk_open(const char *name, int flags, io_channel *channel)
{
	io_channel io = calloc(1, sizeof(*io));

	(void)flags;
	if (!io)
		return EXT2_ET_NO_MEMORY;
	io->magic = EXT2_ET_MAGIC_IO_CHANNEL;
	io->manager = &e2_io;
	io->name = strdup(name);
	io->block_size = 1024;
	io->refcount = 1;
	io->private_data = device;
	*channel = io;
	return 0;
}

static errcode_t disk_close(io_channel io)
{
	if (--io->refcount > 0)
		return 0;
	free(io->name);
	free(io);
	return 0;
}

static errcode_t disk_set_blksize(io_channel io, int block_size)
{
	io->block_size = block_size;
	return 0;
}

/* A negative count is a number of bytes. */
static size_t bytes_of(io_channel io, int count)
{
	return count < 0 ? (size_t)-count : (size_t)count * (size_t)io->block_size;
}

static errcode_t disk_read(io_channel io, unsigned long long block, int count, void *data)
{
	uint64_t off = block * (uint64_t)io->block_size;
	size_t len = bytes_of(io, count), whole = (len + 511) / 512 * 512;
	unsigned char *sectors = malloc(whole);
	int rc = sectors ? as_bd_read(of(io), off, sectors, whole) : -ENOMEM;

	if (!rc)
		memcpy(data, sectors, len);
	free(sectors);
	return -rc;
}

static errcode_t disk_write(io_channel io, unsigned long long block, int count, const void *data)
{
	uint64_t off = block * (uint64_t)io->block_size;
	size_t len = bytes_of(io, count), whole = (len + 511) / 512 * 512;
	unsigned char *sectors;
	int rc = 0;

	if (len == whole)
		return -as_bd_write(of(io), off, data, len);
	sectors = malloc(whole);
	rc = sectors ? as_bd_read(of(io), off, sectors, whole) : -ENOMEM;
	if (!rc) {
		memcpy(sectors, data, len);
		rc = as_bd_write(of(io), off, sectors, whole);
	}
	free(sectors);
	return -rc;
}

static errcode_t disk_read_blk(io_channel io, unsigned long block, int count, void *data)
{
	return disk_read(io, block, count, data);
}

static errcode_t disk_write_blk(io_channel io, unsigned long block, int count, const void *data)
{
	return disk_write(io, block, count, data);
}

static errcode_t disk_flush(io_channel io)
{
	return -as_bd_flush(of(io));
}

static errcode_t disk_set_option(io_channel io, const char *option, const char *arg)
{
	(void)io;
	(void)option;
	(void)arg;
	return 0;
}

static errcode_t disk_zeroout(io_channel io, unsigned long long block, unsigned long long count)
{
	return -as_bd_zero(of(io), block * (uint64_t)io->block_size,
			   count * (uint64_t)io->block_size);
}

struct struct_io_manager e2_io = {
	.magic = EXT2_ET_MAGIC_IO_MANAGER,
	.name = "assay",
	.open = disk_open,
	.close = disk_close,
	.set_blksize = disk_set_blksize,
	.read_blk = disk_read_blk,
	.write_blk = disk_write_blk,
	.flush = disk_flush,
	.set_option = disk_set_option,
	.read_blk64 = disk_read,
	.write_blk64 = disk_write,
	.zeroout = disk_zeroout,
};

int e2_errno(errcode_t code)
{
	static const struct {
		errcode_t code;
		int err;
	} rows[] = {
		{ EXT2_ET_FILE_NOT_FOUND, ENOENT },    { EXT2_ET_NO_DIRECTORY, ENOTDIR },
		{ EXT2_ET_DIR_EXISTS, EEXIST },	       { EXT2_ET_FILE_EXISTS, EEXIST },
		{ EXT2_ET_BLOCK_ALLOC_FAIL, ENOSPC },  { EXT2_ET_INODE_ALLOC_FAIL, ENOSPC },
		{ EXT2_ET_DIR_NO_SPACE, ENOSPC },      { EXT2_ET_NO_MEMORY, ENOMEM },
		{ EXT2_ET_FILE_TOO_BIG, EFBIG },       { EXT2_ET_RO_FILSYS, EROFS },
		{ EXT2_ET_EA_KEY_NOT_FOUND, ENODATA }, { EXT2_ET_EA_NO_SPACE, ENOSPC },
		{ EXT2_ET_INVALID_ARGUMENT, EINVAL },  { EXT2_ET_FILE_RO, EBADF },
	};

	if (code < 256)
		return code ? -(int)code : 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].code == code)
			return -rows[i].err;
	return -EIO;
}
