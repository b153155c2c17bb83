/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_disk: information about saved disks, and saved disks as raw images. */
#include "base/hash.h"
#include "cli/cli.h"
#include "cmd/disk_show.h"
#include "disk/image.h"

#include <string.h>

static int count_chunk(void *ctx, uint64_t index, const unsigned char *data)
{
	(void)index;
	(void)data;
	++*(uint64_t *)ctx;
	return 0;
}

static void show(const char *path, struct as_disk *disk)
{
	char hex[AS_DIGEST_HEX_LEN + 1];
	uint64_t chunks = 0;

	as_disk_each(disk, count_chunk, &chunks);
	as_digest_hex(as_disk_digest(disk), hex);
	printf("%s: %llu bytes, %llu of %llu chunks of %u bytes in use, digest %s\n", path,
	       (unsigned long long)as_disk_size(disk), (unsigned long long)chunks,
	       (unsigned long long)((as_disk_size(disk) + AS_CHUNK_BYTES - 1) / AS_CHUNK_BYTES),
	       AS_CHUNK_BYTES, hex);
}

static int run(const struct as_args *args, struct as_err *err)
{
	bool show_it = !strcmp(args->operands[0], "show");
	bool export = !strcmp(args->operands[0], "export");
	struct as_chunks *store;
	struct as_disk *disk = NULL;
	int rc;

	if (!export && !show_it && strcmp(args->operands[0], "info"))
		return as_fail(err, AS_EUSE, "disk: '%s' is neither show, info nor export",
			       args->operands[0]);
	if (export != (args->n_operands == 3))
		return as_fail(err, AS_EUSE,
			       "disk: expected `disk show IMAGE`, `disk info IMAGE` or "
			       "`disk export IMAGE RAW`");
	if (!show_it && args->n_given)
		return as_fail(err, AS_EUSE, "disk: --%s is an option of `disk show`",
			       args->given[0].opt->name);
	if (show_it)
		return as_disk_show(args, err);
	store = as_chunks_new();
	rc = as_image_load(store, args->operands[1], &disk, err);
	if (!rc && export)
		rc = as_image_export_raw(disk, args->operands[2], err);
	else if (!rc)
		show(args->operands[1], disk);
	as_disk_free(disk);
	as_chunks_free(store);
	return rc;
}

static const struct as_opt opts[] = {
	{ .name = "type",
	  .letter = 't',
	  .kind = AS_OPT_TEXT,
	  .arg = "TYPE",
	  .help = "show: the type of the file system; default: by what is on the disk" },
	{ .name = "diff",
	  .kind = AS_OPT_TEXT,
	  .arg = "IMAGE2",
	  .help = "show: only what differs on this disk" },
	{ .name = "structure",
	  .kind = AS_OPT_TEXT,
	  .arg = "S",
	  .help = "show: only structures of this name, such as super or inode" },
	{ .name = "path",
	  .kind = AS_OPT_TEXT,
	  .arg = "P",
	  .help = "show: only what belongs to the file of this path" },
	{ .name = "layout",
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "show: structures as this file describes them" },
	{ .name = "block",
	  .kind = AS_OPT_SIZE,
	  .arg = "N",
	  .max = 1u << 30,
	  .help = "show: block_bytes of that description; default 4096" },
	{ .name = "unit",
	  .kind = AS_OPT_SIZE,
	  .arg = "N",
	  .max = 1u << 30,
	  .help = "show: unit_bytes of that description; default 1" },
	{ .name = "erased",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .max = 255,
	  .help = "show: the disk is saved raw flash, whose erased bytes are N" },
	{ .name = "json", .help = "show: print JSON lines" },
	{ .name = NULL },
};

const struct as_command as_cmd_disk = {
	.name = "disk",
	.operands = "show IMAGE | info IMAGE | export IMAGE RAW",
	.summary = "show what a disk holds, field by field, or write a saved disk as a raw image",
	.text = "`disk show` prints the structures of the file system on a disk, with the value "
		"of each field: the superblock, inodes, directory entries, the journal. IMAGE is a "
		"saved disk (disk.img.zst) or a raw image. With --diff, it prints in words which "
		"fields of a second disk are different. The structures are described in "
		"layouts/*.layout; docs/LAYOUT.md explains the format.\n\n"
		"`disk info` prints the size of the disk, how much of it is in use, and a digest "
		"of its contents. `disk export` writes the raw image RAW, with holes where the "
		"disk has zeros, and checks the saved disk on the way. `zstd -d IMAGE` gives the "
		"same bytes.",
	.opts = opts,
	.min_operands = 2,
	.max_operands = 3,
	.run = run,
};
