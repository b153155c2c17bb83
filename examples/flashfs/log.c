/* SPDX-License-Identifier: MIT */
/* log: records, and commits made of them; see flashfs.h. */
#include "flashfs.h"

#include <errno.h>
#include <string.h>

#define MAGIC 0xf1a5u

/* table[k][b]: what byte b comes to, with k bytes of zeros after it. */
static uint32_t table[4][256];

static void make_table(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		table[0][b] = b;
		for (int bit = 0; bit < 8; bit++)
			table[0][b] = table[0][b] >> 1 ^ (table[0][b] & 1 ? 0xedb88320u : 0);
	}
	for (uint32_t b = 0; b < 256; b++)
		for (int k = 1; k < 4; k++)
			table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 255];
}

static uint32_t crc32(uint32_t crc, const void *data, size_t len)
{
	const unsigned char *b = data;

	if (!table[0][1])
		make_table();
	crc = ~crc;
	for (; len >= 4; len -= 4, b += 4) {
		crc ^= b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
		crc = table[3][crc & 255] ^ table[2][crc >> 8 & 255] ^ table[1][crc >> 16 & 255] ^
		      table[0][crc >> 24];
	}
	for (; len; len--)
		crc = crc >> 8 ^ table[0][(crc ^ *b++) & 255];
	return ~crc;
}

uint32_t ff_round(const struct as_fs *fs, uint32_t len)
{
	return (len + fs->unit - 1) / fs->unit * fs->unit;
}

uint32_t ff_head_bytes(const struct as_fs *fs)
{
	return ff_round(fs, sizeof(struct ff_head));
}

uint32_t ff_page_bytes(const struct as_fs *fs)
{
	return ff_round(fs, sizeof(struct ff_record) + FF_PAGE);
}

uint32_t ff_state_bytes(const struct as_fs *fs)
{
	return ff_round(fs, sizeof(struct ff_record) +
				    2 * (sizeof(struct ff_state) + FF_NAME + 4 * FF_PAGES));
}

bool ff_newer(const struct as_fs *fs, uint32_t a, uint32_t b)
{
	return fs->bug == FF_COUNTER_WRAP ? a > b : (int32_t)(a - b) > 0;
}

int ff_read(struct as_fs *fs, uint32_t at, void *buf, uint32_t len)
{
	int rc = as_flash_read(fs->flash, at, buf, len);

	if (rc != -EUCLEAN || fs->bug == FF_WEAK_IS_ERROR)
		return rc;
	/* The bytes are right; gc moves them before they are not. */
	fs->blocks[at / fs->block_bytes].weak = true;
	as_forgive(fs->host);
	return 0;
}

static uint32_t crc_of(const struct as_fs *fs, const struct ff_record *rec, const void *body)
{
	struct ff_record head = *rec;
	uint32_t crc;

	head.crc = 0;
	crc = crc32(0, &head, sizeof(head));
	if (fs->bug == FF_HALF_COMMIT && rec->type == FF_REC_COMMIT)
		return crc;
	return crc32(crc, body, rec->len);
}

/* The record is in fs->record, after room for its head. */
static int put(struct as_fs *fs, enum ff_type type, uint32_t count, uint32_t len, uint32_t *at)
{
	struct ff_record rec = {
		.magic = MAGIC, .type = (uint16_t)type, .len = len, .count = count
	};
	uint32_t total = ff_round(fs, (uint32_t)sizeof(rec) + len);

	rec.crc = crc_of(fs, &rec, fs->record + sizeof(rec));
	memcpy(fs->record, &rec, sizeof(rec));
	memset(fs->record + sizeof(rec) + len, fs->flash->geometry.erased,
	       total - sizeof(rec) - len);
	for (;;) {
		int rc = 0;

		if (fs->cur == FF_NONE || fs->at + total > fs->block_bytes)
			rc = ff_take_block(fs);
		if (rc)
			return rc;
		*at = fs->cur * fs->block_bytes + fs->at;
		rc = as_flash_program(fs->flash, *at, fs->record, total);
		if (!rc || fs->bug == FF_BAD_KEPT) {
			fs->at += total;
			return 0;
		}
		if (rc == -EINVAL)
			return rc;
		/* The block is bad; what was to go there goes to another one. Whatever the error
		 * is, some units may be programmed. */
		ff_retire(fs, fs->cur);
		as_forgive(fs->host);
	}
}

int ff_put_page(struct as_fs *fs, uint32_t ino, const unsigned char *bytes, uint32_t *at)
{
	memcpy(fs->record + sizeof(struct ff_record), bytes, FF_PAGE);
	return put(fs, FF_REC_PAGE, ino, FF_PAGE, at);
}

int ff_get_page(struct as_fs *fs, uint32_t at, unsigned char *bytes)
{
	uint32_t total = (uint32_t)sizeof(struct ff_record) + FF_PAGE;
	struct ff_record rec;
	int rc;

	/* Reads have units, too. */
	total = (total + fs->flash->geometry.read_bytes - 1) / fs->flash->geometry.read_bytes *
		fs->flash->geometry.read_bytes;
	rc = ff_read(fs, at, fs->page, total);
	if (rc)
		return rc;
	memcpy(&rec, fs->page, sizeof(rec));
	if (fs->bug != FF_CRC_UNCHECKED &&
	    (rec.magic != MAGIC || rec.type != FF_REC_PAGE || rec.len != FF_PAGE ||
	     rec.crc != crc_of(fs, &rec, fs->page + sizeof(rec))))
		return -EIO;
	memcpy(bytes, fs->page + sizeof(rec), FF_PAGE);
	return 0;
}

/* ---- Commits ---- */

struct ff_change ff_as_it_is(struct ff_node *node)
{
	return (struct ff_change){ .node = node,
				   .kind = node->kind,
				   .parent = node->parent,
				   .size = node->flash_size,
				   .name = node->name,
				   .pages = node->flash_pages };
}

static uint16_t count_pages(const struct ff_change *c)
{
	unsigned n = FF_PAGES;

	while (n && (c->kind == FF_GONE || !c->pages[n - 1]))
		n--;
	return (uint16_t)n;
}

static uint32_t write_state(const struct as_fs *fs, const struct ff_change *c, uint32_t version,
			    unsigned char *out)
{
	struct ff_state state = {
		.ino = c->node->ino,
		.parent = c->parent,
		.version = version,
		.size = c->size,
		.kind = (uint8_t)c->kind,
		.name_len = (uint8_t)(c->kind == FF_GONE ? 0 : strlen(c->name)),
		.n_pages = count_pages(c),
	};

	(void)fs;
	memcpy(out, &state, sizeof(state));
	memcpy(out + sizeof(state), c->name, state.name_len);
	memcpy(out + sizeof(state) + state.name_len, c->pages, 4u * state.n_pages);
	return (uint32_t)sizeof(state) + state.name_len + 4u * state.n_pages;
}

int ff_commit(struct as_fs *fs, const struct ff_change *changes, unsigned n)
{
	uint32_t len = 0, at = 0, version = fs->version;
	int rc;

	for (unsigned i = 0; i < n; i++)
		len += write_state(fs, &changes[i], ++version,
				   fs->record + sizeof(struct ff_record) + len);
	rc = put(fs, FF_REC_COMMIT, n, len, &at);
	if (rc)
		return rc;
	for (unsigned i = 0; i < n; i++) {
		const struct ff_change *c = &changes[i];
		struct ff_node *node = c->node;

		node->version = ++fs->version;
		node->kind = c->kind;
		node->parent = c->parent;
		node->where = at;
		node->records++;
		node->flash_size = c->size;
		if (c->name != node->name)
			memcpy(node->name, c->name, strlen(c->name) + 1);
		if (c->kind == FF_GONE)
			memset(node->flash_pages, 0, sizeof(node->flash_pages));
		else if (c->pages != node->flash_pages)
			memcpy(node->flash_pages, c->pages, sizeof(node->flash_pages));
	}
	return 0;
}

/* ---- Reading ---- */

int ff_next_record(struct as_fs *fs, uint32_t at, uint32_t end, struct ff_record *rec,
		   unsigned char *body)
{
	/* `body` has the whole block. */
	uint32_t in = at % fs->block_bytes;

	if (end - at < sizeof(*rec))
		return -ENOENT;
	memcpy(rec, body + in, sizeof(*rec));
	if (rec->magic != MAGIC || rec->len > end - at - sizeof(*rec) ||
	    (rec->type != FF_REC_PAGE && rec->type != FF_REC_COMMIT))
		return -ENOENT;
	return rec->crc == crc_of(fs, rec, body + in + sizeof(*rec)) ? 0 : -EBADMSG;
}

/* A page that has rotted is skipped, if a good record comes after it: then no power cut has torn
 * it. Whoever reads it is told. */
static bool is_rotten(struct as_fs *fs, uint32_t at, uint32_t end, const struct ff_record *rec)
{
	struct ff_record next;

	at += ff_round(fs, (uint32_t)sizeof(*rec) + rec->len);
	return rec->type == FF_REC_PAGE && rec->len == FF_PAGE && at < end &&
	       !ff_next_record(fs, at, end, &next, fs->page);
}

/* False: it is longer than what is there. */
static bool read_state(const struct as_fs *fs, const unsigned char *body, uint32_t len,
		       uint32_t *at, struct ff_state *state, const char **name,
		       const unsigned char **pages)
{
	if (len - *at < sizeof(*state))
		return false;
	memcpy(state, body + *at, sizeof(*state));
	*at += (uint32_t)sizeof(*state);
	if (fs->bug != FF_LENGTHS_TRUSTED &&
	    (state->name_len > FF_NAME || state->n_pages > FF_PAGES ||
	     len - *at < state->name_len + 4u * state->n_pages))
		return false;
	*name = (const char *)body + *at;
	*pages = body + *at + state->name_len;
	*at += state->name_len + 4u * state->n_pages;
	return true;
}

int ff_each_state(struct as_fs *fs, uint32_t block, ff_state_fn fn, uint32_t *end)
{
	uint32_t from = block * fs->block_bytes, stop = from + fs->block_bytes;
	uint32_t at = from + ff_head_bytes(fs);
	struct ff_record rec;
	int rc = ff_read(fs, from, fs->page, fs->block_bytes);

	while (!rc) {
		const unsigned char *body = fs->page + at % fs->block_bytes + sizeof(rec);
		uint32_t in = 0;
		int got = at < stop ? ff_next_record(fs, at, stop, &rec, fs->page) : -ENOENT;

		if (got && (got != -EBADMSG || !is_rotten(fs, at, stop, &rec)))
			break;
		if (fs->bug == FF_READ_AGAIN)
			rc = ff_read(fs, from, fs->page, fs->block_bytes);
		for (uint32_t i = 0; rec.type == FF_REC_COMMIT && i < rec.count && !rc; i++) {
			const unsigned char *pages;
			struct ff_state state;
			const char *name;

			if (!read_state(fs, body, rec.len, &in, &state, &name, &pages))
				break;
			rc = fn(fs, &state, name, pages, at);
		}
		at += ff_round(fs, (uint32_t)sizeof(rec) + rec.len);
	}
	*end = at - from;
	return rc;
}
