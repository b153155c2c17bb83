/* SPDX-License-Identifier: MIT */
/* file: what is in a file: pages on flash, and those that wait in memory for the next commit. */
#include "flashfs.h"

#include <errno.h>
#include <string.h>

/* The page as it is now. */
static int load(struct as_fs *fs, const struct ff_node *node, unsigned p, unsigned char *bytes)
{
	if (node->dirty[p]) {
		memcpy(bytes, node->dirty[p], FF_PAGE);
		return 0;
	}
	if (node->pages[p])
		return ff_get_page(fs, node->pages[p], bytes);
	memset(bytes, 0, FF_PAGE);
	return 0;
}

/* A copy in memory that can be changed. */
static int make_dirty(struct as_fs *fs, struct ff_node *node, unsigned p)
{
	unsigned char *bytes;
	int rc;

	if (node->dirty[p])
		return 0;
	bytes = as_malloc(fs->host, FF_PAGE);
	if (!bytes)
		return -ENOMEM;
	rc = load(fs, node, p, bytes);
	if (rc)
		as_free(fs->host, bytes);
	else
		node->dirty[p] = bytes;
	return rc;
}

static void forget_page(struct as_fs *fs, struct ff_node *node, unsigned p)
{
	as_free(fs->host, node->dirty[p]);
	node->dirty[p] = NULL;
	node->pages[p] = 0;
}

void ff_forget(struct as_fs *fs, struct ff_node *node)
{
	for (unsigned p = 0; p < FF_PAGES; p++)
		forget_page(fs, node, p);
	node->size = 0;
	node->changed = node->unnamed = false;
}

int ff_resize(struct as_fs *fs, struct ff_node *node, uint64_t size)
{
	unsigned last = (unsigned)(size / FF_PAGE);
	int rc;

	if (size > FF_FILE_BYTES)
		return -EFBIG;
	if (size == node->size)
		return 0;
	/* What is cut off must read as zeros if the file grows again. */
	if (size < node->size && size % FF_PAGE && (node->dirty[last] || node->pages[last])) {
		rc = make_dirty(fs, node, last);
		if (rc)
			return rc;
		memset(node->dirty[last] + size % FF_PAGE, 0, FF_PAGE - size % FF_PAGE);
	}
	for (unsigned p = (unsigned)((size + FF_PAGE - 1) / FF_PAGE); p < FF_PAGES; p++)
		forget_page(fs, node, p);
	node->size = (uint32_t)size;
	node->changed = true;
	return 0;
}

int64_t ff_read_file(struct as_fs *fs, struct ff_node *node, void *buf, size_t len, uint64_t off)
{
	unsigned char bytes[FF_PAGE];
	size_t done = 0;

	if (off >= node->size)
		return 0;
	len = len < node->size - off ? len : (size_t)(node->size - off);
	while (done < len) {
		uint64_t at = off + done, in = at % FF_PAGE;
		size_t n = len - done < FF_PAGE - in ? len - done : (size_t)(FF_PAGE - in);
		int rc = load(fs, node, (unsigned)(at / FF_PAGE), bytes);

		if (rc)
			return rc;
		memcpy((char *)buf + done, bytes + in, n);
		done += n;
	}
	return (int64_t)len;
}

int64_t ff_write_file(struct as_fs *fs, struct ff_node *node, const void *buf, size_t len,
		      uint64_t off)
{
	int rc = 0;

	if (!len)
		return 0;
	if (off >= FF_FILE_BYTES)
		return -EFBIG;
	len = len < FF_FILE_BYTES - off ? len : (size_t)(FF_FILE_BYTES - off);
	rc = ff_has_room(fs, (uint32_t)(len / FF_PAGE + 2) * (ff_page_bytes(fs) + 4));
	/* Memory first: a write that fails changes nothing. */
	for (uint64_t p = off / FF_PAGE; !rc && p <= (off + len - 1) / FF_PAGE; p++)
		rc = make_dirty(fs, node, (unsigned)p);
	if (rc)
		return rc;
	for (size_t done = 0, n; done < len; done += n) {
		uint64_t at = off + done, in = at % FF_PAGE;

		n = len - done < FF_PAGE - in ? len - done : (size_t)(FF_PAGE - in);
		memcpy(node->dirty[at / FF_PAGE] + in, (const char *)buf + done, n);
	}
	if (off + len > node->size)
		node->size = (uint32_t)(off + len);
	node->changed = true;
	return (int64_t)len;
}

/* Pages of a file before a write that may have to be taken back. */
struct before {
	unsigned char *dirty[FF_PAGES];
	unsigned from, to;
	uint32_t size;
	bool changed;
};

static void forget_before(struct as_fs *fs, struct before *b)
{
	for (unsigned p = b->from; p <= b->to; p++) {
		as_free(fs->host, b->dirty[p]);
		b->dirty[p] = NULL;
	}
}

static int keep_before(struct as_fs *fs, const struct ff_node *node, uint64_t off, size_t len,
		       struct before *b)
{
	uint64_t last = off + len - 1 < FF_FILE_BYTES ? off + len - 1 : FF_FILE_BYTES - 1;
	int rc = 0;

	*b = (struct before){ .from = (unsigned)(off / FF_PAGE),
			      .to = (unsigned)(last / FF_PAGE),
			      .size = node->size,
			      .changed = node->changed };
	for (unsigned p = b->from; p <= b->to && !rc; p++) {
		if (!node->dirty[p])
			continue;
		b->dirty[p] = as_malloc(fs->host, FF_PAGE);
		if (b->dirty[p])
			memcpy(b->dirty[p], node->dirty[p], FF_PAGE);
		else
			rc = -ENOMEM;
	}
	if (rc)
		forget_before(fs, b);
	return rc;
}

static void go_back(struct as_fs *fs, struct ff_node *node, struct before *b)
{
	for (unsigned p = b->from; p <= b->to; p++) {
		as_free(fs->host, node->dirty[p]);
		node->dirty[p] = b->dirty[p];
	}
	node->size = b->size;
	node->changed = b->changed;
}

int64_t ff_write_stable(struct as_fs *fs, struct ff_node *node, const void *buf, size_t len,
			uint64_t off)
{
	struct before before;
	int64_t n;
	int rc;

	if (!len || off >= FF_FILE_BYTES)
		return ff_write_file(fs, node, buf, len, off);
	rc = keep_before(fs, node, off, len, &before);
	if (rc)
		return rc;
	n = ff_write_file(fs, node, buf, len, off);
	if (n > 0)
		rc = ff_flush(fs, node);
	if (rc)
		go_back(fs, node, &before);
	else
		forget_before(fs, &before);
	return rc ? rc : n;
}

/* Pages first; then the commit that makes all of them the file's at once. */
static int write_pages(struct as_fs *fs, struct ff_node *node)
{
	struct ff_change change = ff_as_it_is(node);
	uint32_t pages[FF_PAGES];
	int rc = 0;

	memcpy(pages, node->pages, sizeof(pages));
	change.pages = pages;
	change.size = node->size;
	for (unsigned p = 0; p < FF_PAGES && !rc; p++) {
		if (!node->dirty[p])
			continue;
		rc = ff_put_page(fs, node->ino, node->dirty[p], &pages[p]);
		if (!rc && fs->bug == FF_PAGES_IN_PLACE)
			rc = ff_commit(fs, &change, 1);
	}
	if (!rc)
		rc = ff_commit(fs, &change, 1);
	if (rc)
		return rc;
	for (unsigned p = 0; p < FF_PAGES; p++) {
		as_free(fs->host, node->dirty[p]);
		node->dirty[p] = NULL;
	}
	memcpy(node->pages, pages, sizeof(pages));
	node->changed = node->unnamed = false;
	return 0;
}

int ff_flush(struct as_fs *fs, struct ff_node *node)
{
	uint32_t bytes = 0;
	int rc;

	if ((!node->changed && !node->unnamed) || node->kind == FF_GONE)
		return 0;
	for (unsigned p = 0; p < FF_PAGES; p++)
		bytes += node->dirty[p] ? ff_page_bytes(fs) : 0;
	rc = ff_begin(fs, bytes);
	if (!rc)
		rc = write_pages(fs, node);
	ff_end(fs);
	return rc;
}
