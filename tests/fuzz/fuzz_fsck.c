/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_fsck: damage to a small labfs image that the fuzzer writes: a list of patches, each four
 * bytes of head (block, little-endian; offset / 4; length and a flag) and the bytes themselves. The
 * flag says to make the checksums of the inodes right again. The checker runs twice; a second run
 * that finds anything, or a disk that is not sound after the first, is a failure.
 */
#include "tests/lib/lab_sample.h"

#define SEAL 0x80u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void patch(struct img *img, const uint8_t *data, size_t len)
{
	struct lab_inode *table = t_img_block(img, t_img_super(img)->inode_table_start);

	while (len >= 4) {
		uint32_t block = (data[0] | (uint32_t)data[1] << 8) % img->blocks;
		uint32_t off = data[2] * 4u, n = data[3] & ~SEAL;
		bool seal = data[3] & SEAL;

		data += 4;
		len -= 4;
		n = n > len ? (uint32_t)len : n;
		n = n > LAB_BLOCK - off ? LAB_BLOCK - off : n;
		memcpy((uint8_t *)t_img_block(img, block) + off, data, n);
		data += n;
		len -= n;
		for (unsigned i = 0; seal && i < I_FREE - 1; i++)
			table[i].csum = lab_crc_without(&table[i], sizeof(table[i]),
							offsetof(struct lab_inode, csum));
	}
}

static void fail(const char *why, const struct sample_run *first, const struct sample_run *second)
{
	fprintf(stderr, "%s\nfirst run, exit %d:\n%s", why, first->code, first->log);
	if (second)
		fprintf(stderr, "second run, exit %d:\n%s", second->code, second->log);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t disk[SAMPLE_BYTES];
	static struct tree tree;
	struct img img = t_sample_build(disk);
	struct sample_run first, second;

	patch(&img, data, len);
	t_sample_check(&img, AS_FSCK_FULL, "", false, &first);
	if (first.leaked || first.code < 0)
		fail("memory left, or an error", &first, NULL);
	/* Without a superblock, or without room, there is nothing more to ask for. */
	if (first.code <= AS_FSCK_REPAIRED) {
		t_sample_check(&img, AS_FSCK_FULL, "", false, &second);
		if (second.code || second.codes[0] || second.calls)
			fail("the second run is not clean", &first, &second);
		t_tree_walk(&tree, &img);
		if (tree.wrong)
			fail(tree.wrong, &first, NULL);
		free(second.log);
	}
	free(first.log);
	return 0;
}
