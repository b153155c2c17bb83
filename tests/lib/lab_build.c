/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lab_build: see lab_build.h. */
#include "tests/lib/lab_build.h"

void *t_img_block(const struct img *img, uint32_t block)
{
	assert(block < img->blocks);
	return img->data + (size_t)block * LAB_BLOCK;
}

struct lab_super *t_img_super(const struct img *img)
{
	return (struct lab_super *)img->data;
}

struct lab_inode *t_img_inode(const struct img *img, uint32_t ino)
{
	struct lab_inode *table = t_img_block(img, t_img_super(img)->inode_table_start);

	assert(ino && ino <= t_img_super(img)->inode_count);
	return table + (ino - 1);
}

static uint32_t img_alloc(struct img *img)
{
	assert(img->next_block < img->blocks - 1);
	return img->next_block++;
}

uint32_t *t_img_ptr(struct img *img, uint32_t ino, uint32_t index)
{
	struct lab_inode *node = t_img_inode(img, ino);
	uint32_t *at = &node->ptr[index < LAB_DIRECT ? index : LAB_DIRECT], way[2], depth = 0;

	if (index >= LAB_DIRECT + LAB_PTRS) {
		index -= LAB_DIRECT + LAB_PTRS;
		at = &node->ptr[LAB_DIRECT + 1];
		way[depth++] = index / LAB_PTRS;
		way[depth++] = index % LAB_PTRS;
	} else if (index >= LAB_DIRECT) {
		way[depth++] = index - LAB_DIRECT;
	}
	for (uint32_t i = 0; i < depth; i++) {
		if (!*at) {
			*at = img_alloc(img);
			node->blocks++;
		}
		at = (uint32_t *)t_img_block(img, *at) + way[i];
	}
	return at;
}

static uint32_t img_append(struct img *img, uint32_t ino, uint32_t index)
{
	uint32_t *ptr = t_img_ptr(img, ino, index);

	*ptr = img_alloc(img);
	t_img_inode(img, ino)->blocks++;
	return *ptr;
}

static void img_rec(uint8_t *at, uint32_t ino, unsigned rec_len, const char *name, uint32_t mode)
{
	struct lab_dirent *rec = (struct lab_dirent *)at;

	rec->ino = ino;
	rec->rec_len = (uint16_t)rec_len;
	rec->name_len = (uint8_t)strlen(name);
	rec->type = (uint8_t)((mode & S_IFMT) >> 12);
	memcpy(rec->name, name, strlen(name));
}

void t_img_entry(struct img *img, uint32_t dir, const char *name, uint32_t ino)
{
	uint32_t mode = t_img_inode(img, ino)->mode, last;
	unsigned need = LAB_DIRENT_LEN((unsigned)strlen(name)), off = 0, used;
	struct lab_dirent *rec;
	uint8_t *block;

	last = (uint32_t)(t_img_inode(img, dir)->size / LAB_BLOCK) - 1;
	block = t_img_block(img, *t_img_ptr(img, dir, last));
	for (rec = (void *)block; off + rec->rec_len < LAB_BLOCK; rec = (void *)(block + off))
		off += rec->rec_len;
	used = LAB_DIRENT_LEN(rec->name_len);
	if (rec->rec_len - used >= need) {
		img_rec(block + off + used, ino, rec->rec_len - used, name, mode);
		rec->rec_len = (uint16_t)used;
		return;
	}
	block = t_img_block(img, img_append(img, dir, last + 1));
	t_img_inode(img, dir)->size += LAB_BLOCK;
	img_rec(block, ino, LAB_BLOCK, name, mode);
}

uint32_t t_img_node(struct img *img, uint32_t dir, const char *name, uint32_t mode)
{
	uint32_t ino = img->next_ino++;
	struct lab_inode *node = t_img_inode(img, ino);

	*node = (struct lab_inode){ .mode = mode,
				    .nlink = 1,
				    .uid = 7,
				    .gid = 8,
				    .atime_ns = 1,
				    .mtime_ns = 2,
				    .ctime_ns = 3,
				    .generation = ino };
	if (name)
		t_img_entry(img, dir, name, ino);
	return ino;
}

uint32_t t_img_dir(struct img *img, uint32_t dir, const char *name)
{
	uint32_t ino = t_img_node(img, dir, name, S_IFDIR | 0755), block;

	t_img_inode(img, ino)->nlink = 2;
	t_img_inode(img, ino)->size = LAB_BLOCK;
	block = img_append(img, ino, 0);
	img_rec(t_img_block(img, block), ino, LAB_DIRENT_LEN(1), ".", S_IFDIR);
	img_rec((uint8_t *)t_img_block(img, block) + LAB_DIRENT_LEN(1), dir ? dir : ino,
		LAB_BLOCK - LAB_DIRENT_LEN(1), "..", S_IFDIR);
	if (dir)
		t_img_inode(img, dir)->nlink++;
	return ino;
}

void t_img_fill(struct img *img, uint32_t ino, uint32_t index)
{
	uint8_t *block = t_img_block(img, img_append(img, ino, index));

	for (unsigned i = 0; i < LAB_BLOCK; i++)
		block[i] = (uint8_t)(ino * 31 + index * 7 + i);
}

uint32_t t_img_file(struct img *img, uint32_t dir, const char *name, uint32_t size)
{
	uint32_t ino = t_img_node(img, dir, name, S_IFREG | 0644);

	t_img_inode(img, ino)->size = size;
	for (uint32_t i = 0; i * LAB_BLOCK < size; i++)
		t_img_fill(img, ino, i);
	return ino;
}

uint32_t t_img_symlink(struct img *img, uint32_t dir, const char *name, const char *text)
{
	uint32_t ino = t_img_node(img, dir, name, S_IFLNK | 0777);
	size_t len = strlen(text);

	t_img_inode(img, ino)->size = len;
	memcpy(len > LAB_INLINE_SYMLINK ? t_img_block(img, img_append(img, ino, 0))
					: t_img_inode(img, ino)->text,
	       text, len);
	return ino;
}

void t_img_xattr(struct img *img, uint32_t ino, const char *name, const char *value)
{
	struct lab_inode *node = t_img_inode(img, ino);
	struct lab_xattr_head *head;
	struct lab_xattr *entry;

	if (!node->xattr_block) {
		node->xattr_block = img_alloc(img);
		node->blocks++;
		head = t_img_block(img, node->xattr_block);
		*head = (struct lab_xattr_head){ LAB_XATTR_MAGIC, ino, sizeof(*head), 0 };
	}
	head = t_img_block(img, node->xattr_block);
	entry = (struct lab_xattr *)((uint8_t *)head + head->used_bytes);
	entry->name_len = (uint8_t)strlen(name);
	entry->value_len = (uint16_t)strlen(value);
	memcpy(entry->data, name, strlen(name));
	memcpy(entry->data + strlen(name), value, strlen(value));
	head->used_bytes += LAB_XATTR_LEN(entry->name_len, entry->value_len);
}

void t_img_seal_inode(const struct img *img, uint32_t ino)
{
	struct lab_inode *node = t_img_inode(img, ino);

	node->csum = lab_crc_without(node, sizeof(*node), offsetof(struct lab_inode, csum));
}

void t_img_seal_super(const struct img *img, uint32_t block)
{
	struct lab_super *sb = t_img_block(img, block);

	sb->csum = lab_crc_without(sb, sizeof(*sb), offsetof(struct lab_super, csum));
}

void t_img_seal_j(const struct img *img, uint32_t block)
{
	struct lab_j_head *head = t_img_block(img, block);

	head->csum = lab_crc_without(head, LAB_BLOCK, offsetof(struct lab_j_head, csum));
}

static void img_set_bits(uint8_t *map, uint32_t from, uint32_t to)
{
	for (; from < to; from++)
		map[from / 8] |= (uint8_t)(1u << from % 8);
}

void t_img_seal(struct img *img)
{
	struct lab_super *sb = t_img_super(img);
	uint8_t *map = t_img_block(img, sb->block_bitmap_start);

	memset(map, 0, LAB_BLOCK);
	img_set_bits(map, 0, img->next_block);
	img_set_bits(map, img->blocks - 1, LAB_BLOCK * 8);
	map = t_img_block(img, sb->inode_bitmap_start);
	memset(map, 0, LAB_BLOCK);
	img_set_bits(map, 0, img->next_ino - 1);
	img_set_bits(map, sb->inode_count, LAB_BLOCK * 8);
	for (uint32_t ino = 1; ino < img->next_ino; ino++) {
		struct lab_xattr_head *head;

		if (t_img_inode(img, ino)->xattr_block) {
			head = t_img_block(img, t_img_inode(img, ino)->xattr_block);
			head->csum = lab_crc_without(head, LAB_BLOCK,
						     offsetof(struct lab_xattr_head, csum));
		}
		t_img_seal_inode(img, ino);
	}
	sb->free_blocks = img->blocks - 1 - img->next_block;
	sb->free_inodes = sb->inode_count - (img->next_ino - 1);
	t_img_seal_super(img, 0);
	memcpy(t_img_block(img, img->blocks - 1), sb, sizeof(*sb));
}

struct img t_img_new(uint8_t *data, uint32_t blocks, uint32_t inodes, uint32_t journal)
{
	struct img img = { .data = data, .blocks = blocks, .next_ino = 1 };
	struct lab_super *sb = t_img_super(&img);
	struct lab_j_super *j;

	memset(data, 0, (size_t)blocks * LAB_BLOCK);
	*sb = (struct lab_super){ .magic = LAB_MAGIC,
				  .version = LAB_VERSION,
				  .block_bytes = LAB_BLOCK,
				  .block_count = blocks,
				  .inode_count = inodes,
				  .inode_bitmap_start = 1,
				  .inode_bitmap_blocks = 1,
				  .block_bitmap_start = 2,
				  .block_bitmap_blocks = 1,
				  .inode_table_start = 3,
				  .inode_table_blocks = (inodes + 7) / 8,
				  .state = LAB_CLEAN,
				  .journal_blocks = journal,
				  .label = "built by hand" };
	sb->journal_start = sb->inode_table_start + sb->inode_table_blocks;
	sb->data_start = img.next_block = sb->journal_start + journal;
	j = t_img_block(&img, sb->journal_start);
	*j = (struct lab_j_super){ { LAB_J_MAGIC, LAB_J_SUPER, 5, 0 }, 1, 1 };
	t_img_seal_j(&img, sb->journal_start);
	t_img_dir(&img, 0, NULL);
	t_img_dir(&img, LAB_ROOT_INO, "lost+found");
	return img;
}
