/* SPDX-License-Identifier: MIT */
/*
 * skeleton: the smallest file system that keeps to every rule of <assay/target.h>; a start for your
 * own. Copy it, or read it next to the header while you wrap a library that exists already.
 *
 *	cc -fPIC -shared -Iinclude skeleton.c -o skeleton.so
 *	assay run --target plugin:./skeleton.so smoke.txt
 *
 * On disk: sector 0 is a superblock; then `count` records of one sector each; then `count` areas of
 * FILE_BYTES, one for each record. A record is a file or a directory: its name, the number of its
 * parent, its attributes. Record 0 is the root. Nothing is kept in memory but who is open, and what
 * a disk that fails owes, so every change is one write of one sector, and what was acknowledged is
 * on the disk (stable after a flush).
 *
 * It also tells assay of itself, a line for each thing that <assay/host.h> has: a question, a lock,
 * a pair, an invariant, and a failure that does not matter. None of that is required.
 *
 * What it does not have (hard and symbolic links, nodes, attributes, ...) it does not claim in
 * `caps`: assay then answers for it as Linux does, and expects nothing.
 */
#include <assay/target.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define MAGIC 0x6c656b73u
#define SECTOR 512u
#define FILE_BYTES (32u * 1024u)
#define NAME_MAX_BYTES 255u
#define COUNT_MAX 4096u
#define NOWHERE UINT32_MAX /* parent of a record that was removed while open */

struct super {
	uint32_t magic, count;
};

struct record {
	uint32_t mode; /* 0: free */
	uint32_t parent;
	uint32_t uid, gid;
	uint64_t size;
	int64_t atime_ns, mtime_ns, ctime_ns;
	char name[NAME_MAX_BYTES + 1];
};
_Static_assert(sizeof(struct record) <= SECTOR, "a record fits its sector");

/* The two types that <assay/target.h> leaves to you. */
struct as_handle {
	uint32_t number; /* of the record */
	unsigned flags;
	bool removed; /* its name is gone: the last close frees the record */
	struct as_handle *next;
};

struct as_fs {
	const struct as_host *host;
	struct as_bd *bd;
	uint32_t count;
	bool readonly;
	struct as_handle *open;
	/* A record that could not be taken back on the disk: so it is here, until it can be. */
	struct {
		bool is;
		uint32_t number;
		struct record record;
	} owed;
};

/* ---- Records --------------------------------------------------------------------------------- */

static uint32_t count_for(const struct as_bd *bd)
{
	uint64_t count = (bd->size_bytes - SECTOR) / (SECTOR + FILE_BYTES);

	return count < COUNT_MAX ? (uint32_t)count : COUNT_MAX;
}

static int get(struct as_fs *fs, uint32_t number, struct record *record)
{
	unsigned char sector[SECTOR];
	int rc;

	if (fs->owed.is && fs->owed.number == number) {
		*record = fs->owed.record;
		return 0;
	}
	rc = as_bd_read(fs->bd, (uint64_t)SECTOR * (1 + number), sector, SECTOR);
	memcpy(record, sector, sizeof(*record));
	return rc;
}

static int write_record(struct as_fs *fs, uint32_t number, const struct record *record)
{
	unsigned char sector[SECTOR] = { 0 };
	int rc;

	memcpy(sector, record, sizeof(*record));
	rc = as_bd_write(fs->bd, (uint64_t)SECTOR * (1 + number), sector, SECTOR);
	if (!rc && fs->owed.number == number)
		fs->owed.is = false;
	return rc;
}

/* As long as that is not possible, nothing else can be changed. */
static int pay(struct as_fs *fs)
{
	return fs->owed.is ? write_record(fs, fs->owed.number, &fs->owed.record) : 0;
}

static int put(struct as_fs *fs, uint32_t number, const struct record *record)
{
	int rc;

	if (fs->readonly)
		return -EROFS;
	rc = fs->owed.number == number ? 0 : pay(fs);
	return rc ? rc : write_record(fs, number, record);
}

/* Puts back what it was: on the disk, or else in memory. */
static void take_back(struct as_fs *fs, uint32_t number, const struct record *record)
{
	if (!put(fs, number, record))
		return;
	fs->owed.is = true;
	fs->owed.number = number;
	fs->owed.record = *record;
}

static uint64_t data_at(const struct as_fs *fs, uint32_t number)
{
	return (uint64_t)SECTOR * (1 + fs->count) + (uint64_t)FILE_BYTES * number;
}

/* The record called name[0..len) in a directory; -ENOENT. A failed read is never "not there". */
static int find(struct as_fs *fs, uint32_t parent, const char *name, size_t len, uint32_t *number,
		struct record *record)
{
	for (uint32_t i = 1; i < fs->count; i++) {
		int rc = get(fs, i, record);

		if (rc)
			return rc;
		if (record->mode && record->parent == parent && strlen(record->name) == len &&
		    !memcmp(record->name, name, len)) {
			*number = i;
			return 0;
		}
	}
	return -ENOENT;
}

/* Where a path leads: the directory it lies in, its last name, and the record, if there is one. */
struct place {
	uint32_t parent, number;
	struct record record;
	const char *name; /* "" for the root */
	bool there;
};

/* Paths come absolute and normal (rule 5), so this is all there is to it. */
static int walk(struct as_fs *fs, const char *path, struct place *p)
{
	int rc;

	memset(p, 0, sizeof(*p));
	p->there = true;
	rc = get(fs, 0, &p->record);
	for (p->name = path + 1; !rc && *p->name;) {
		size_t len = strcspn(p->name, "/");

		if (!S_ISDIR(p->record.mode))
			return -ENOTDIR;
		p->parent = p->number;
		rc = find(fs, p->parent, p->name, len, &p->number, &p->record);
		if (rc == -ENOENT && !p->name[len]) {
			p->there = false;
			return 0;
		}
		if (!p->name[len])
			break;
		p->name += len + 1;
	}
	return rc;
}

static int walk_to(struct as_fs *fs, const char *path, struct place *p)
{
	int rc = walk(fs, path, p);

	return !rc && !p->there ? -ENOENT : rc;
}

/* Directories in it (for the link count), and whether there is anything at all. */
static int look_inside(struct as_fs *fs, uint32_t dir, uint32_t *subdirs, bool *empty)
{
	struct record record;

	*subdirs = 0;
	*empty = true;
	for (uint32_t i = 1; i < fs->count; i++) {
		int rc = get(fs, i, &record);

		if (rc)
			return rc;
		if (!record.mode || record.parent != dir)
			continue;
		*empty = false;
		*subdirs += S_ISDIR(record.mode);
	}
	return 0;
}

static bool is_open(const struct as_fs *fs, uint32_t number)
{
	for (const struct as_handle *h = fs->open; h; h = h->next)
		if (h->number == number)
			return true;
	return false;
}

/* Takes the name away. What is open stays until the last close (AS_CAP_OPEN_UNLINKED). */
static int drop(struct as_fs *fs, uint32_t number, const struct record *record)
{
	struct record changed = *record;
	int rc;

	if (is_open(fs, number))
		changed.parent = NOWHERE;
	else
		changed.mode = 0;
	rc = put(fs, number, &changed);
	for (struct as_handle *h = fs->open; h && !rc; h = h->next)
		h->removed = h->removed || h->number == number;
	return rc;
}

/* Gives it back, when what was to follow did not work. */
static void undrop(struct as_fs *fs, uint32_t number, const struct record *record)
{
	take_back(fs, number, record);
	for (struct as_handle *h = fs->open; h; h = h->next)
		h->removed = h->removed && h->number != number;
}

static int make(struct as_fs *fs, struct place *p, uint32_t mode)
{
	struct record record = { .mode = mode, .parent = p->parent };
	int64_t now = (int64_t)fs->host->now_ns(fs->host->ctx);
	struct record other;
	unsigned last;
	int rc;

	if (p->there)
		return -EEXIST;
	if (strlen(p->name) > NAME_MAX_BYTES)
		return -ENAMETOOLONG;
	memcpy(record.name, p->name, strlen(p->name));
	/* A set-group-id directory hands on its group, and the bit to directories (mkdir(2)). */
	rc = get(fs, p->parent, &other);
	if (rc)
		return rc;
	if (other.mode & S_ISGID) {
		record.gid = other.gid;
		record.mode |= S_ISDIR(mode) ? S_ISGID : 0;
	}
	record.atime_ns = record.mtime_ns = record.ctime_ns = now;
	/* Both are right, so assay may choose. */
	last = as_ask(fs->host, 2, "which free record: the first or the last");
	for (uint32_t i = 1; i < fs->count; i++) {
		uint32_t number = last ? fs->count - i : i;

		rc = get(fs, number, &other);
		if (rc)
			return rc;
		if (other.mode)
			continue;
		p->number = number;
		p->record = record;
		p->there = true;
		return put(fs, number, &record);
	}
	return -ENOSPC;
}

/* ---- mkfs, mount ----------------------------------------------------------------------------- */

static int known_options(const char *opts)
{
	/* An option you do not know is -EINVAL; these two are enough for a start. */
	return !*opts || !strcmp(opts, "ro") || !strcmp(opts, "rw") ? 0 : -EINVAL;
}

static int fs_mkfs(const struct as_mount_args *args)
{
	unsigned char sector[SECTOR] = { 0 };
	struct super super = { MAGIC, count_for(args->bd) };
	struct record root = { .mode = S_IFDIR | 0755, .parent = 0 };
	struct as_fs fs = { .host = args->host, .bd = args->bd, .count = super.count };
	int rc = known_options(args->opts);

	if (!rc)
		rc = as_bd_zero(args->bd, 0, (uint64_t)SECTOR * (1 + super.count));
	if (!rc)
		rc = put(&fs, 0, &root);
	if (!rc)
		rc = as_bd_flush(args->bd);
	/* The superblock comes last: a disk that has one is whole. */
	memcpy(sector, &super, sizeof(super));
	if (!rc)
		rc = as_bd_write(args->bd, 0, sector, SECTOR);
	return rc ? rc : as_bd_flush(args->bd);
}

/* Files that were removed while open, when the power went: nobody holds them any more. */
static int free_orphans(struct as_fs *fs)
{
	struct record record;
	int rc = 0;

	for (uint32_t i = 1; i < fs->count && !rc; i++) {
		rc = get(fs, i, &record);
		if (!rc && record.mode && record.parent == NOWHERE) {
			record.mode = 0;
			rc = put(fs, i, &record);
		}
	}
	return rc;
}

/* Called after every operation: what must be true then, whatever the answers were. */
static const char *check_handles(void *ctx)
{
	const struct as_fs *fs = ctx;

	for (const struct as_handle *h = fs->open; h; h = h->next)
		if (h->number >= fs->count)
			return "an open file has no record";
	return NULL;
}

static int fs_mount(const struct as_mount_args *args, struct as_fs **out)
{
	unsigned char sector[SECTOR];
	struct super super;
	struct as_fs *fs;
	int rc = known_options(args->opts);

	if (!rc)
		rc = as_bd_read(args->bd, 0, sector, SECTOR);
	if (rc)
		return rc;
	memcpy(&super, sector, sizeof(super));
	if (super.magic != MAGIC || super.count != count_for(args->bd))
		return -EINVAL;
	/* All memory comes from the host (rule 2), and any allocation may fail. */
	fs = as_malloc(args->host, sizeof(*fs));
	if (!fs)
		return -ENOMEM;
	fs->host = args->host;
	fs->bd = args->bd;
	fs->count = super.count;
	fs->owed.is = false;
	fs->readonly = args->readonly;
	rc = fs->readonly ? 0 : free_orphans(fs);
	if (rc) {
		as_free(args->host, fs);
		return rc;
	}
	as_invariant(fs->host, "open files", check_handles, fs);
	*out = fs;
	return 0;
}

static int fs_sync(struct as_fs *fs)
{
	int rc = pay(fs);

	return rc ? rc : as_bd_flush(fs->bd);
}

static int fs_unmount(struct as_fs *fs)
{
	int rc = fs_sync(fs);

	as_free(fs->host, fs);
	return rc;
}

static int fs_statfs(struct as_fs *fs, struct as_statfs *st)
{
	struct record record;

	*st = (struct as_statfs){ .block_bytes = FILE_BYTES,
				  .name_max = NAME_MAX_BYTES,
				  .blocks = fs->count,
				  .files = fs->count };
	for (uint32_t i = 0; i < fs->count; i++) {
		int rc = get(fs, i, &record);

		if (rc)
			return rc;
		st->blocks_free += !record.mode;
	}
	st->files_free = st->blocks_free;
	return 0;
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static int stat_record(struct as_fs *fs, uint32_t number, const struct record *r,
		       struct as_stat *st)
{
	uint32_t subdirs = 0;
	bool empty;
	int rc = S_ISDIR(r->mode) ? look_inside(fs, number, &subdirs, &empty) : 0;

	*st = (struct as_stat){
		.ino = number + 1,
		.mode = r->mode,
		.nlink = r->parent == NOWHERE ? 0
			 : S_ISDIR(r->mode)   ? 2 + subdirs
					      : 1,
		.uid = r->uid,
		.gid = r->gid,
		.size = r->size,
		.atime_ns = r->atime_ns,
		.mtime_ns = r->mtime_ns,
		.ctime_ns = r->ctime_ns,
	};
	return rc;
}

static int fs_getattr(struct as_fs *fs, const char *path, struct as_stat *st)
{
	struct place p;
	int rc = walk_to(fs, path, &p);

	return rc ? rc : stat_record(fs, p.number, &p.record, st);
}

/* Bytes between two offsets of a file's area become zeros, whatever was there before. */
static int clear_data(struct as_fs *fs, uint32_t number, uint64_t from, uint64_t to)
{
	unsigned char sector[SECTOR];
	int rc = 0;

	while (from < to && !rc) {
		uint64_t base = from - from % SECTOR, end = base + SECTOR < to ? base + SECTOR : to;

		rc = as_bd_read(fs->bd, data_at(fs, number) + base, sector, SECTOR);
		memset(sector + (from - base), 0, (size_t)(end - from));
		if (!rc)
			rc = as_bd_write(fs->bd, data_at(fs, number) + base, sector, SECTOR);
		from = end;
	}
	return rc;
}

static int set_record(struct as_fs *fs, uint32_t number, struct record *r, const struct as_stat *st,
		      unsigned set)
{
	int64_t now = (int64_t)fs->host->now_ns(fs->host->ctx);
	int rc;

	if (fs->readonly)
		return -EROFS;
	if (set & AS_SET_SIZE) {
		if (S_ISDIR(r->mode))
			return -EISDIR;
		if (st->size > FILE_BYTES)
			return -EFBIG;
		/* Data first, size last: a failure on the way leaves the file as it was. */
		rc = clear_data(fs, number, r->size, st->size);
		if (rc)
			return rc;
		r->size = st->size;
		r->mtime_ns = now;
	}
	if (set & AS_SET_MODE)
		r->mode = (r->mode & S_IFMT) | (st->mode & 07777);
	if (set & AS_SET_UID)
		r->uid = st->uid;
	if (set & AS_SET_GID)
		r->gid = st->gid;
	if (set & AS_SET_ATIME)
		r->atime_ns = st->atime_ns;
	if (set & AS_SET_MTIME)
		r->mtime_ns = st->mtime_ns;
	r->ctime_ns = now;
	return put(fs, number, r);
}

static int fs_setattr(struct as_fs *fs, const char *path, const struct as_stat *st, unsigned set)
{
	struct place p;
	int rc = walk_to(fs, path, &p);

	return rc ? rc : set_record(fs, p.number, &p.record, st, set);
}

/* ---- Names ----------------------------------------------------------------------------------- */

static int fs_mkdir(struct as_fs *fs, const char *path, uint32_t mode)
{
	struct place p;
	int rc = walk(fs, path, &p);

	return rc ? rc : make(fs, &p, S_IFDIR | mode);
}

static int fs_rmdir(struct as_fs *fs, const char *path)
{
	struct place p;
	uint32_t subdirs;
	bool empty = true;
	int rc = walk_to(fs, path, &p);

	if (!rc && !S_ISDIR(p.record.mode))
		rc = -ENOTDIR;
	if (!rc && !p.number)
		rc = -EBUSY;
	if (!rc)
		rc = look_inside(fs, p.number, &subdirs, &empty);
	if (!rc && !empty)
		rc = -ENOTEMPTY;
	return rc ? rc : drop(fs, p.number, &p.record);
}

static int fs_unlink(struct as_fs *fs, const char *path)
{
	struct place p;
	int rc = walk_to(fs, path, &p);

	if (!rc && S_ISDIR(p.record.mode))
		rc = -EISDIR;
	return rc ? rc : drop(fs, p.number, &p.record);
}

/* What rename(2) forbids when something is there already. */
static int may_replace(struct as_fs *fs, const struct place *from, const struct place *to)
{
	uint32_t subdirs;
	bool empty;
	int rc;

	if (S_ISDIR(from->record.mode) && !S_ISDIR(to->record.mode))
		return -ENOTDIR;
	if (!S_ISDIR(from->record.mode) && S_ISDIR(to->record.mode))
		return -EISDIR;
	if (!S_ISDIR(to->record.mode))
		return 0;
	rc = look_inside(fs, to->number, &subdirs, &empty);
	return rc ? rc : empty ? 0 : -ENOTEMPTY;
}

static bool lies_below(const char *path, const char *top)
{
	size_t len = strlen(top);

	return !strncmp(path, top, len) && path[len] == '/';
}

static int fs_rename(struct as_fs *fs, const char *from_path, const char *to_path, unsigned flags)
{
	struct place from, to;
	int rc = walk_to(fs, from_path, &from);

	if (flags)
		return -EINVAL; /* AS_CAP_RENAME2 is not claimed */
	if (!rc)
		rc = walk(fs, to_path, &to);
	if (rc)
		return rc;
	if (to.there && to.number == from.number)
		return 0;
	if (lies_below(to_path, from_path))
		return -EINVAL;
	if (lies_below(from_path, to_path))
		return -ENOTEMPTY;
	if (to.there)
		rc = may_replace(fs, &from, &to);
	if (!rc && !to.there && strlen(to.name) > NAME_MAX_BYTES)
		rc = -ENAMETOOLONG;
	/* Two writes. A power cut between them loses what was to be replaced: a journal would keep
	 * them together; assay's crash tests will tell. */
	if (rc)
		return rc;
	/* If yours has threads: tell of the lock that keeps others away from the two writes. */
	as_lock(fs->host, "names", 0);
	rc = to.there ? drop(fs, to.number, &to.record) : 0;
	if (!rc) {
		from.record.parent = to.parent;
		memset(from.record.name, 0, sizeof(from.record.name));
		memcpy(from.record.name, to.name, strlen(to.name));
		rc = put(fs, from.number, &from.record);
		/* A function that fails leaves the tree as it was (rule 4). */
		if (rc && to.there)
			undrop(fs, to.number, &to.record);
	}
	as_unlock(fs->host, "names", 0);
	return rc;
}

static int fs_readdir(struct as_fs *fs, const char *path, as_fill_fn fill, void *ctx)
{
	struct record record;
	struct place p;
	int rc = walk_to(fs, path, &p);

	if (!rc && !S_ISDIR(p.record.mode))
		rc = -ENOTDIR;
	for (uint32_t i = 1; i < fs->count && !rc; i++) {
		rc = get(fs, i, &record);
		if (!rc && record.mode && record.parent == p.number)
			rc = fill(ctx, record.name, i + 1, record.mode & S_IFMT);
	}
	return rc;
}

/* ---- Open files ------------------------------------------------------------------------------ */

/* What open(2) forbids on what is there. */
static int may_open(const struct place *p, unsigned flags)
{
	bool dir = S_ISDIR(p->record.mode);

	if (flags & O_CREAT && flags & O_EXCL)
		return -EEXIST;
	if (flags & O_DIRECTORY && !dir)
		return -ENOTDIR;
	if (dir && (flags & O_CREAT || flags & O_TRUNC || (flags & O_ACCMODE) != O_RDONLY))
		return -EISDIR;
	return 0;
}

static int fs_open(struct as_fs *fs, const char *path, unsigned flags, uint32_t mode,
		   struct as_handle **out)
{
	struct as_stat empty = { 0 };
	struct as_handle *handle;
	struct place p;
	int rc = walk(fs, path, &p);

	if (rc)
		return rc;
	if (!p.there && !(flags & O_CREAT))
		return -ENOENT;
	if (p.there)
		rc = may_open(&p, flags);
	if (rc)
		return rc;
	/* Memory before changes: when it fails, nothing has happened yet (rule 4). */
	handle = as_malloc(fs->host, sizeof(*handle));
	if (!handle)
		return -ENOMEM;
	if (!p.there)
		rc = make(fs, &p, S_IFREG | mode);
	else if (flags & O_TRUNC)
		rc = set_record(fs, p.number, &p.record, &empty, AS_SET_SIZE);
	if (rc) {
		as_free(fs->host, handle);
		return rc;
	}
	handle->number = p.number;
	handle->flags = flags;
	handle->next = fs->open;
	fs->open = handle;
	/* What is taken now and given back before the unmount ends. */
	as_pair(fs->host, AS_PAIR_UNMOUNT, "open file", 1);
	*out = handle;
	return 0;
}

static int fs_close(struct as_fs *fs, struct as_handle *handle)
{
	uint32_t number = handle->number;
	bool removed = handle->removed;
	struct record record;
	int rc;

	for (struct as_handle **h = &fs->open; *h; h = &(*h)->next)
		if (*h == handle) {
			*h = handle->next;
			break;
		}
	as_free(fs->host, handle);
	as_pair(fs->host, AS_PAIR_UNMOUNT, "open file", -1);
	if (!removed || is_open(fs, number))
		return 0;
	rc = get(fs, number, &record);
	record.mode = 0;
	if (!rc)
		rc = put(fs, number, &record);
	/* Success although a call failed (rule 7): the next mount frees the record. */
	if (rc)
		as_forgive(fs->host);
	return 0;
}

static int64_t fs_read(struct as_fs *fs, struct as_handle *handle, void *buf, size_t len,
		       uint64_t off)
{
	unsigned char sector[SECTOR];
	struct record record;
	size_t done = 0;
	int rc = get(fs, handle->number, &record);

	if (!rc && S_ISDIR(record.mode))
		rc = -EISDIR;
	if (rc || off >= record.size)
		return rc;
	if (len > record.size - off)
		len = (size_t)(record.size - off);
	while (done < len && !rc) {
		uint64_t at = off + done, base = at - at % SECTOR;
		size_t n = (size_t)(base + SECTOR - at) < len - done ? (size_t)(base + SECTOR - at)
								     : len - done;

		rc = as_bd_read(fs->bd, data_at(fs, handle->number) + base, sector, SECTOR);
		memcpy((char *)buf + done, sector + (at - base), n);
		done += n;
	}
	return rc ? rc : (int64_t)len;
}

/* *len: at the end, how much was written. It fails only if nothing was, and nothing has changed. */
static int write_data(struct as_fs *fs, uint32_t number, const void *buf, size_t *len, uint64_t off)
{
	unsigned char sector[SECTOR];
	size_t done = 0;
	int rc = 0;

	while (done < *len) {
		uint64_t at = off + done, base = at - at % SECTOR;
		size_t n = (size_t)(base + SECTOR - at) < *len - done ? (size_t)(base + SECTOR - at)
								      : *len - done;

		/* Part of a sector is written by reading the rest of it first. */
		rc = as_bd_read(fs->bd, data_at(fs, number) + base, sector, SECTOR);
		memcpy(sector + (at - base), (const char *)buf + done, n);
		if (!rc)
			rc = as_bd_write(fs->bd, data_at(fs, number) + base, sector, SECTOR);
		if (rc)
			break;
		done += n;
	}
	*len = done;
	return done ? 0 : rc;
}

static void grow(struct as_fs *fs, struct record *record, uint64_t size)
{
	if (size > record->size)
		record->size = size;
	record->mtime_ns = record->ctime_ns = (int64_t)fs->host->now_ns(fs->host->ctx);
}

static int64_t fs_write(struct as_fs *fs, struct as_handle *handle, const void *buf, size_t len,
			uint64_t *off)
{
	struct record record, was;
	size_t asked;
	uint64_t at;
	int rc = get(fs, handle->number, &record);

	if (rc)
		return rc;
	if (fs->readonly)
		return -EROFS;
	at = handle->flags & O_APPEND ? record.size : *off;
	if (!len)
		return 0;
	if (at >= FILE_BYTES)
		return -EFBIG;
	if (len > FILE_BYTES - at)
		len = (size_t)(FILE_BYTES - at);
	asked = len;
	was = record;
	/* What lies between the old end and the new bytes reads as zeros. */
	if (at > record.size)
		rc = clear_data(fs, handle->number, record.size, at);
	/* The record first: it can be put back if the data fails (rule 4). */
	grow(fs, &record, at + len);
	if (!rc)
		rc = put(fs, handle->number, &record);
	if (!rc) {
		rc = write_data(fs, handle->number, buf, &len, at);
		if (rc || len < asked) {
			record = was;
			if (!rc)
				grow(fs, &record, at + len);
			take_back(fs, handle->number, &record);
		}
	}
	if (rc)
		return rc;
	*off = at + len;
	return (int64_t)len;
}

static int fs_fgetattr(struct as_fs *fs, struct as_handle *handle, struct as_stat *st)
{
	struct record record;
	int rc = get(fs, handle->number, &record);

	return rc ? rc : stat_record(fs, handle->number, &record, st);
}

static int fs_fsetattr(struct as_fs *fs, struct as_handle *handle, const struct as_stat *st,
		       unsigned set)
{
	struct record record;
	int rc = get(fs, handle->number, &record);

	return rc ? rc : set_record(fs, handle->number, &record, st, set);
}

static int fs_fsync(struct as_fs *fs, struct as_handle *handle, bool data_only)
{
	(void)handle;
	(void)data_only;
	return fs_sync(fs);
}

/* ---- The table ------------------------------------------------------------------------------- */

static const struct as_limits limits = { .name_max = NAME_MAX_BYTES, .file_bytes = FILE_BYTES };

/* The one symbol that assay looks for. */
__attribute__((visibility("default"))) extern const struct as_target_ops as_target;
const struct as_target_ops as_target = {
	.api = AS_TARGET_API,
	.caps = AS_CAP_OWNER | AS_CAP_TIMES | AS_CAP_STATFS | AS_CAP_OPEN_UNLINKED,
	.name = "skeleton",
	.version = "1",
	.min_bytes = 256 * 1024,
	.default_bytes = 4 * 1024 * 1024,
	.mkfs = fs_mkfs,
	.mount = fs_mount,
	.unmount = fs_unmount,
	.sync = fs_sync,
	.getattr = fs_getattr,
	.setattr = fs_setattr,
	.mkdir = fs_mkdir,
	.rmdir = fs_rmdir,
	.unlink = fs_unlink,
	.rename = fs_rename,
	.readdir = fs_readdir,
	.open = fs_open,
	.close = fs_close,
	.read = fs_read,
	.write = fs_write,
	.fgetattr = fs_fgetattr,
	.fsetattr = fs_fsetattr,
	.fsync = fs_fsync,
	.statfs = fs_statfs,
	.limits = &limits,
};
