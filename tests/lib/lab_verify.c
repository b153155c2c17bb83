/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lab_verify: see lab_verify.h. */
#include "tests/lib/lab_verify.h"

static void tree_dir(struct tree *tree, const struct img *img, uint32_t ino, uint32_t parent,
		     const char *path);

static void tree_wrong(struct tree *tree, const char *what, uint32_t at)
{
	if (!tree->wrong) {
		tree->wrong = what;
		tree->wrong_at = at;
	}
}

/* Takes a block for one owner; false if that cannot be. */
static bool tree_take(struct tree *tree, const struct img *img, uint32_t block)
{
	if (block < t_img_super(img)->data_start || block >= img->blocks - 1) {
		tree_wrong(tree, "pointer out of range", block);
		return false;
	}
	if (tree->used[block])
		tree_wrong(tree, "block with two owners", block);
	return !tree->used[block]++;
}

/* Puts the data blocks of an inode into tree->list (0 = hole) and takes them all. Returns how many
 * blocks of any kind there are; *end is after the last data block. */
static uint32_t tree_blocks(struct tree *tree, const struct img *img, const struct lab_inode *node,
			    uint32_t *end)
{
	uint32_t all = 0;

	*end = 0;
	for (unsigned top = 0; top < LAB_DIRECT + 2; top++) {
		unsigned depth = top < LAB_DIRECT ? 0 : top - LAB_DIRECT + 1;
		uint32_t first = depth == 2 ? LAB_DIRECT + LAB_PTRS : top;
		const uint32_t *one = node->ptr + top, *outer = NULL;

		if (!*one || !tree_take(tree, img, *one))
			continue;
		all++;
		if (depth == 2)
			outer = t_img_block(img, *one);
		for (unsigned i = 0; i < (depth == 2 ? LAB_PTRS : 1); i++) {
			const uint32_t *leaf = one;

			if (outer && (!outer[i] || !tree_take(tree, img, outer[i])))
				continue;
			all += outer != NULL;
			if (depth)
				leaf = t_img_block(img, outer ? outer[i] : *one);
			for (unsigned k = 0; k < (depth ? LAB_PTRS : 1); k++) {
				uint32_t index = first + i * LAB_PTRS + k;

				if (!leaf[k] || (depth && !tree_take(tree, img, leaf[k])))
					continue;
				all += depth != 0;
				tree->list[index] = leaf[k];
				*end = index + 1;
			}
		}
	}
	return all;
}

static uint32_t tree_xattr(struct tree *tree, const struct img *img, uint32_t ino)
{
	uint32_t block = t_img_inode(img, ino)->xattr_block;
	const struct lab_xattr_head *head;

	if (!block || !tree_take(tree, img, block))
		return 0;
	head = t_img_block(img, block);
	if (head->magic != LAB_XATTR_MAGIC || head->ino != ino || head->used_bytes > LAB_BLOCK ||
	    head->csum != lab_crc_without(head, LAB_BLOCK, offsetof(struct lab_xattr_head, csum)))
		tree_wrong(tree, "attribute block", block);
	return head->csum;
}

/* Holes are skipped: what is read there is zeros, as in blocks full of zeros, but not the same. */
static uint32_t tree_contents(const struct tree *tree, const struct img *img,
			      const struct lab_inode *node, uint32_t end)
{
	uint32_t crc = 0;

	for (uint32_t i = 0; i < end && (uint64_t)i * LAB_BLOCK < node->size; i++) {
		uint64_t left = node->size - (uint64_t)i * LAB_BLOCK;

		if (!tree->list[i])
			continue;
		crc = lab_crc32c(crc, &i, sizeof(i));
		crc = lab_crc32c(crc, t_img_block(img, tree->list[i]),
				 left < LAB_BLOCK ? (size_t)left : LAB_BLOCK);
	}
	return crc;
}

/* Everything but the names in a directory; the first time an inode is met. */
static void tree_inode(struct tree *tree, const struct img *img, uint32_t ino,
		       struct tree_entry *entry)
{
	const struct lab_inode *node = t_img_inode(img, ino);
	uint32_t end = 0, all = 0, xattr = tree_xattr(tree, img, ino), crc = 0;
	bool link = S_ISLNK(node->mode), special = !S_ISREG(node->mode) && !S_ISDIR(node->mode);
	bool is_inline = link && node->size <= LAB_INLINE_SYMLINK;

	if (node->csum != lab_crc_without(node, sizeof(*node), offsetof(struct lab_inode, csum)))
		tree_wrong(tree, "inode checksum", ino);
	if (node->flags || node->next_orphan || node->size > LAB_MAX_SIZE)
		tree_wrong(tree, "inode fields", ino);
	if (!is_inline && (!special || link))
		all = tree_blocks(tree, img, node, &end);
	else if (!link && (node->ptr[0] || node->size))
		tree_wrong(tree, "special file with contents", ino);
	if (node->blocks != all + (node->xattr_block != 0))
		tree_wrong(tree, "inode block count", ino);
	if (link && (!node->size || node->size > LAB_SYMLINK_MAX || (!is_inline && end != 1)))
		tree_wrong(tree, "symbolic link", ino);
	if (S_ISDIR(node->mode) && (node->size != (uint64_t)end * LAB_BLOCK || !end))
		tree_wrong(tree, "directory size", ino);
	if (is_inline)
		crc = lab_crc32c(0, node->text, node->size);
	else if (!S_ISDIR(node->mode) && (!special || link))
		crc = tree_contents(tree, img, node, end);
	memset(tree->list, 0, end * sizeof(*tree->list));
	snprintf(entry->what, sizeof(entry->what), "%o %u:%u size %llu crc %08x attr %08x",
		 node->mode, node->uid, node->gid,
		 S_ISDIR(node->mode) ? 0 : (unsigned long long)node->size, crc, xattr);
}

static void tree_name(struct tree *tree, const struct img *img, uint32_t dir, const char *path,
		      const struct lab_dirent *rec)
{
	struct tree_entry *entry = &tree->entry[tree->count];

	if (rec->ino > t_img_super(img)->inode_count || !t_img_inode(img, rec->ino)->mode ||
	    rec->type != (t_img_inode(img, rec->ino)->mode & S_IFMT) >> 12) {
		tree_wrong(tree, "directory entry", dir);
		return;
	}
	if (memchr(rec->name, 0, rec->name_len) || memchr(rec->name, '/', rec->name_len) ||
	    tree->count == TREE_MAX ||
	    (size_t)snprintf(entry->path, TREE_PATH, "%s/%.*s", path, rec->name_len, rec->name) >=
		    TREE_PATH) {
		tree_wrong(tree, "name", dir);
		return;
	}
	for (unsigned i = 0; i < tree->count; i++)
		if (!strcmp(tree->entry[i].path, entry->path))
			tree_wrong(tree, "name twice", dir);
	if (!tree->links[rec->ino])
		tree->first[rec->ino] = tree->count;
	tree->count++;
	if (tree->links[rec->ino]++) {
		memcpy(entry->what, tree->entry[tree->first[rec->ino]].what, sizeof(entry->what));
		if (S_ISDIR(t_img_inode(img, rec->ino)->mode))
			tree_wrong(tree, "directory with two names", rec->ino);
		return;
	}
	tree_inode(tree, img, rec->ino, entry);
	if (S_ISDIR(t_img_inode(img, rec->ino)->mode) && !tree->wrong) {
		tree->links[dir]++;
		tree_dir(tree, img, rec->ino, dir, entry->path);
	}
}

static void tree_dir(struct tree *tree, const struct img *img, uint32_t ino, uint32_t parent,
		     const char *path)
{
	uint64_t size = t_img_inode(img, ino)->size;
	unsigned number = 0;

	tree->links[ino]++; /* for its "."; its name, or for the root "..", was counted before */
	for (uint32_t i = 0; i < size / LAB_BLOCK && !tree->wrong; i++) {
		const uint8_t *block = t_img_block(img, *t_img_ptr((struct img *)img, ino, i));

		for (unsigned off = 0; off < LAB_BLOCK && !tree->wrong; number++) {
			const struct lab_dirent *rec = (const void *)(block + off);
			const char *dots = number ? ".." : ".";

			if (rec->rec_len < LAB_DIRENT_HEAD || rec->rec_len % 4 ||
			    off + rec->rec_len > LAB_BLOCK ||
			    (rec->ino && LAB_DIRENT_LEN(rec->name_len) > rec->rec_len))
				tree_wrong(tree, "record", ino);
			else if (number < 2 && (rec->ino != (number ? parent : ino) ||
						rec->name_len != strlen(dots) ||
						memcmp(rec->name, dots, rec->name_len)))
				tree_wrong(tree, "\".\" or \"..\"", ino);
			else if (number >= 2 && rec->ino)
				tree_name(tree, img, ino, path, rec);
			off += rec->rec_len;
		}
	}
}

static void tree_maps(struct tree *tree, const struct img *img)
{
	const struct lab_super *sb = t_img_super(img);
	const uint8_t *map = t_img_block(img, sb->block_bitmap_start);
	uint32_t free_blocks = 0, free_inodes = 0;

	for (uint32_t b = 0; b < img->blocks; b++) {
		bool used = b < sb->data_start || b == img->blocks - 1 || tree->used[b];

		if ((map[b / 8] >> b % 8 & 1) != used)
			tree_wrong(tree, "block bitmap", b);
		free_blocks += !used;
	}
	map = t_img_block(img, sb->inode_bitmap_start);
	for (uint32_t ino = 1; ino <= sb->inode_count; ino++) {
		if ((map[(ino - 1) / 8] >> (ino - 1) % 8 & 1) != !!tree->links[ino])
			tree_wrong(tree, "inode bitmap", ino);
		if (!tree->links[ino] != !t_img_inode(img, ino)->mode)
			tree_wrong(tree, "inode without a name", ino);
		if (tree->links[ino] && tree->links[ino] != t_img_inode(img, ino)->nlink)
			tree_wrong(tree, "link count", ino);
		free_inodes += !tree->links[ino];
	}
	if (sb->free_blocks != free_blocks || sb->free_inodes != free_inodes)
		tree_wrong(tree, "free counts", free_blocks);
}

int t_tree_order(const void *a, const void *b)
{
	return strcmp(((const struct tree_entry *)a)->path, ((const struct tree_entry *)b)->path);
}

void t_tree_walk(struct tree *tree, const struct img *img)
{
	const struct lab_super *sb = t_img_super(img);
	struct tree_entry root;

	tree->count = 0;
	tree->wrong = NULL;
	tree->used = calloc(1, img->blocks);
	tree->links = calloc(sb->inode_count + 1, sizeof(*tree->links));
	tree->first = calloc(sb->inode_count + 1, sizeof(*tree->first));
	tree->list = calloc(LAB_MAX_BLOCKS, sizeof(*tree->list));
	tree->links[LAB_ROOT_INO] = 1;
	if (sb->state != LAB_CLEAN || sb->orphan_head)
		tree_wrong(tree, "superblock state", sb->state);
	if (!S_ISDIR(t_img_inode(img, LAB_ROOT_INO)->mode))
		tree_wrong(tree, "root", LAB_ROOT_INO);
	if (!tree->wrong)
		tree_inode(tree, img, LAB_ROOT_INO, &root);
	if (!tree->wrong)
		tree_dir(tree, img, LAB_ROOT_INO, LAB_ROOT_INO, "");
	if (!tree->wrong)
		tree_maps(tree, img);
	free(tree->list);
	free(tree->first);
	free(tree->used);
	free(tree->links);
	qsort(tree->entry, tree->count, sizeof(tree->entry[0]), t_tree_order);
}
