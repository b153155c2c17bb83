/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child_corrupt: mounts of a disk on which something is wrong, after a workload that has ended
 * well: one bit was flipped, or a field has another value (child_fields.c). The mount may refuse,
 * reads may fail, the tree may be another one. But nothing may die or hang (then the parent sees
 * it), and a library whose contract says that what it reads has checksums (AS_PROMISE_CHECKSUMS)
 * may not hand out what was changed as data, also not after a byte was written next to it.
 *
 * Method. Each change is on a copy of the sound disk. Three of four bits are where a mount and a
 * look at the whole tree have read, the others in any chunk that is not all zeros.
 *
 * Each mount is in a process of its own: it may damage memory, and then a later one would die for
 * what it did.
 *
 * What is read wrong and is no garbage (an older version of a file, say) is told from it by reading
 * once more with the changed bytes mended: garbage is what makes the tree right then. A field that
 * stat or readdir shows (a size, a name) is told by three trees. If the tree with a wrong checksum
 * has that size, or is the one that the same value gives with a checksum that fits, and is not the
 * one that the wrong checksum alone gives, then the value was believed.
 */
#include "child/child_priv.h"

#include "base/array.h"
#include "base/choice.h"
#include "disk/cow.h"
#include "disk/flash.h"
#include "host/trail.h"
#include "model/compare.h"
#include "os/spawn.h"
#include "target/facts.h"
#include "vfs/vfs.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTOR 512u
#define CHUNK 4096u
#define AGAIN_TIMES 64u /* mounts, if a field is given */

/* ---- Mending --------------------------------------------------------------------------------- */

struct mender {
	struct as_vfs *vfs;
	const char *path;
	uint64_t at;
	const unsigned char *mask;
	size_t n;
};

static int mender_stat(void *ctx, const char *path, struct as_stat *st)
{
	struct mender *m = ctx;

	return as_vfs_tree(m->vfs)->stat(m->vfs, path, st);
}

static int mender_list(void *ctx, const char *path, as_fill_fn fill, void *fill_ctx)
{
	struct mender *m = ctx;

	return as_vfs_tree(m->vfs)->list(m->vfs, path, fill, fill_ctx);
}

static int64_t mender_readlink(void *ctx, const char *path, char *buf, size_t len)
{
	struct mender *m = ctx;

	return as_vfs_tree(m->vfs)->readlink(m->vfs, path, buf, len);
}

static int64_t mender_read(void *ctx, const char *path, void *buf, size_t len, uint64_t off)
{
	struct mender *m = ctx;
	int64_t n = as_vfs_tree(m->vfs)->read(m->vfs, path, buf, len, off);

	for (size_t i = 0; n > 0 && i < m->n && !strcmp(path, m->path); i++)
		if (m->at + i >= off && m->at + i < off + (uint64_t)n)
			((unsigned char *)buf)[m->at + i - off] ^= m->mask[i];
	return n;
}

static int64_t mender_listxattr(void *ctx, const char *path, char *buf, size_t len)
{
	struct mender *m = ctx;

	return as_vfs_tree(m->vfs)->listxattr(m->vfs, path, buf, len);
}

static int64_t mender_getxattr(void *ctx, const char *path, const char *name, void *buf, size_t len)
{
	struct mender *m = ctx;

	return as_vfs_tree(m->vfs)->getxattr(m->vfs, path, name, buf, len);
}

static const struct as_tree_ops mender_ops = {
	.stat = mender_stat,
	.list = mender_list,
	.readlink = mender_readlink,
	.read = mender_read,
	.listxattr = mender_listxattr,
	.getxattr = mender_getxattr,
};

/* ---- One bit --------------------------------------------------------------------------------- */

struct used {
	uint64_t *chunks;
	size_t n, cap;
	uint64_t *sectors; /* that are read */
	size_t n_sectors, cap_sectors;
};

static int note_chunk(void *ctx, uint64_t index, const unsigned char *data)
{
	struct used *used = ctx;

	(void)data;
	AS_ARRAY_ROOM(used->chunks, used->n, used->cap);
	used->chunks[used->n++] = index;
	return 0;
}

/* Mounts the sound disk and reads all of it. */
static void note_sectors(struct child *c, struct used *used)
{
	struct as_vfs *vfs = as_instance_vfs(c->instance);
	uint64_t n = as_medium_bd(c->disk)->size_bytes / SECTOR;
	unsigned char *bits = as_xcalloc(1, (size_t)n / 8 + 1);
	struct as_buf why = { 0 };

	as_child_enter(c, PHASE_CORRUPT);
	as_medium_note_reads(c->disk, bits);
	if (!as_instance_mount(c->instance)) {
		(void)!as_model_compare(c->trial.model, as_vfs_tree(vfs), vfs, &why);
		as_child_enter(c, PHASE_CORRUPT);
		(void)!as_instance_unmount(c->instance);
	}
	as_medium_note_reads(c->disk, NULL);
	for (uint64_t i = 0; i < n; i++)
		if (bits[i / 8] >> i % 8 & 1) {
			AS_ARRAY_ROOM(used->sectors, used->n_sectors, used->cap_sectors);
			used->sectors[used->n_sectors++] = i;
		}
	as_buf_free(&why);
	free(bits);
}

static uint64_t choose_byte(const struct used *used, struct as_choice *choice)
{
	if (used->n_sectors && as_choose(choice, 4))
		return used->sectors[as_choose(choice, (unsigned)used->n_sectors)] * SECTOR +
		       as_choose(choice, SECTOR);
	return used->chunks[as_choose(choice, (unsigned)used->n)] * CHUNK +
	       as_choose(choice, CHUNK);
}

static int trail_chunk(void *ctx, uint64_t index, const unsigned char *data)
{
	as_trail_mark(ctx, AS_TRAIL_LEFT, index * AS_CHUNK_BYTES, data, AS_CHUNK_BYTES);
	return 0;
}

/* A program that shows the finding begins with the disk on which something is wrong. */
static void trail_disk(struct child *c)
{
	struct as_trail *trail = as_target_trail(c->args->target);

	if (!trail)
		return;
	as_trail_mark(trail, AS_TRAIL_DISK, 0, NULL, 0);
	(void)as_disk_each(as_medium_disk(c->disk), trail_chunk, trail);
}

static void say(struct child *c, const char *words)
{
	c->sh->log.total_bytes = 0;
	as_host_log_add(&c->sh->log, words);
	as_host_log_add(&c->sh->log, "\n");
}

/* False: it cannot be. */
static bool flip(struct child *c, uint64_t at, unsigned bit, struct as_child_altered *a)
{
	struct as_bd *bd = as_medium_bd(c->disk);
	unsigned char sector[SECTOR];

	if (at >= bd->size_bytes || as_bd_read(bd, at / SECTOR * SECTOR, sector, SECTOR))
		return false;
	*a = (struct as_child_altered){ .mask = { (unsigned char)(1u << bit) },
					.n = 1,
					.guarded = true };
	sector[at % SECTOR] ^= a->mask[0];
	snprintf(a->again, sizeof(a->again), "%llu.%u", (unsigned long long)at, bit);
	snprintf(a->words, sizeof(a->words),
		 "bit %u of byte %llu of the disk was flipped before the mount", bit,
		 (unsigned long long)at);
	return !as_bd_write(bd, at / SECTOR * SECTOR, sector, SECTOR);
}

static bool flip_drawn(struct child *c, const struct used *used, struct as_choice *choice,
		       struct as_child_altered *a)
{
	uint64_t at;

	if (!used->n)
		return false;
	at = choose_byte(used, choice);
	return flip(c, at, as_choose(choice, 8), a);
}

static bool flip_again(struct child *c, const char *again, struct as_child_altered *a)
{
	unsigned long long at;
	unsigned bit;

	return sscanf(again, "%llu.%u", &at, &bit) == 2 && bit < 8 && flip(c, at, bit, a);
}

/* "/a: byte at offset 7 is 0x01, model says 0x00": whether the changed bytes alone are wrong. */
static bool is_garbage(struct child *c, const char *why, const struct as_child_altered *a)
{
	struct mender mender = { .vfs = as_instance_vfs(c->instance), .mask = a->mask, .n = a->n };
	const char *words = strstr(why, ": byte at offset ");
	unsigned long long at;
	struct as_buf again = { 0 };
	unsigned is, want;
	size_t first = 0;
	char *path;
	bool mended;

	while (first < a->n && !a->mask[first])
		first++;
	if (!words ||
	    sscanf(words, ": byte at offset %llu is 0x%x, model says 0x%x", &at, &is, &want) != 3 ||
	    first == a->n || (is ^ want) != a->mask[first] || at < first)
		return false;
	path = as_xstrndup(why, (size_t)(words - why));
	mender.path = path;
	mender.at = at - first;
	mended = !as_model_compare(c->trial.model, &mender_ops, &mender, &again);
	free(path);
	as_buf_free(&again);
	return mended;
}

/* ---- One mount ------------------------------------------------------------------------------- */

/* False: it was refused. */
static bool mount_it(struct child *c, struct as_buf *why)
{
	struct as_vfs *vfs = as_instance_vfs(c->instance);

	as_buf_clear(why);
	trail_disk(c);
	as_child_enter(c, PHASE_CORRUPT);
	if (as_instance_mount(c->instance))
		return false;
	(void)!as_model_compare(c->trial.model, as_vfs_tree(vfs), vfs, why);
	as_child_enter(c, PHASE_CORRUPT);
	return true;
}

static void unmount_it(struct child *c)
{
	as_child_enter(c, PHASE_CORRUPT);
	/* Of a damaged disk, an error is as good an answer as another. */
	(void)!as_instance_unmount(c->instance);
}

static void found(struct child *c, struct as_buf *why, const char *more, const char *signature)
{
	as_buf_adds(why, more);
	as_child_say(c, &(struct as_child_said){ AS_FIND_DATA, -1, as_phase_name(c->sh->phase),
						 as_buf_str(why), signature, NULL });
}

/* The disk is sound again, and what was done with another one is forgotten. */
static void go_back(struct child *c, struct as_disk *sound)
{
	if (as_instance_replace(c->instance, sound, &c->sh->tool_err))
		c->sh->tool_rc = c->sh->tool_err.code;
}

struct attempt {
	struct as_disk *sound;
	struct as_child_fields *fields; /* NULL: bits are flipped */
	struct used used;
	bool checksums;
};

/* Whether a mount with the field once more altered, sealed or not, is as the words say. */
static bool shows(struct child *c, const struct attempt *t, struct as_child_altered *a, bool seal,
		  const struct as_buf *want)
{
	struct as_buf why = { 0 };
	bool same = false;

	go_back(c, t->sound);
	a->seal = seal;
	as_child_fields_alter(t->fields, a, as_medium_disk(c->disk));
	say(c, a->words);
	if (mount_it(c, &why)) {
		same = !strcmp(as_buf_str(&why), as_buf_str(want));
		unmount_it(c);
	}
	as_buf_free(&why);
	return same;
}

/* Whether a wrong checksum alone makes the mount another one. */
static bool is_seal_seen(struct child *c, const struct attempt *t, struct as_child_altered *a,
			 const struct as_buf *want)
{
	struct as_buf why = { 0 };
	bool other = true;

	go_back(c, t->sound);
	if (!as_child_fields_unseal(t->fields, a, as_medium_disk(c->disk)))
		return false;
	say(c, "a checksum was changed before the mount");
	if (mount_it(c, &why)) {
		other = strcmp(as_buf_str(&why), as_buf_str(want)) != 0;
		unmount_it(c);
	}
	as_buf_free(&why);
	return other;
}

/* "/f: size 4294967295, model says 3", and that number was put on the disk. */
static bool says_size(const char *why, const struct as_child_altered *a)
{
	const char *size = strstr(why, ": size ");
	unsigned long long is;

	return a->is_size && size && sscanf(size, ": size %llu,", &is) == 1 && is == a->value;
}

/* A value with a wrong checksum has changed the tree: was it believed? */
static void judge_value(struct child *c, const struct attempt *t, struct as_child_altered *a,
			struct as_buf *why)
{
	struct as_buf last = { 0 };

	if ((!says_size(as_buf_str(why), a) && !shows(c, t, a, true, why)) ||
	    !is_seal_seen(c, t, a, why))
		return;
	go_back(c, t->sound);
	a->seal = false;
	as_child_fields_alter(t->fields, a, as_medium_disk(c->disk));
	say(c, a->words);
	if (mount_it(c, &last)) {
		if (last.len)
			found(c, &last,
			      "; that value was put on the disk, its checksum is wrong, and the "
			      "contract says that there are checksums",
			      "data: a value with a wrong checksum is believed");
		unmount_it(c);
	}
	as_buf_free(&last);
}

/* A damaged disk may lead to a read outside of it, which is refused, and a flipped bit may make
 * flash look programmed that was erased: then that is no finding. All else that a library may not
 * do is one. */
static void judge_calls(struct child *c)
{
	const char *misuse = as_instance_misuse(c->instance);

	if (!misuse || as_flash_misuse_rank(misuse) > 2)
		(void)as_child_troubled(c, -1);
}

static int64_t do_op(struct as_vfs *vfs, const struct as_op *op)
{
	struct as_outcome got = { 0 };

	as_vfs_exec(vfs, op, &got);
	return got.ret;
}

static int extend(void *ctx, const char *path, const struct as_attrs *attrs)
{
	struct as_op open = as_op_make(AS_OP_OPEN), append = as_op_make(AS_OP_PWRITE);
	struct as_op cut = as_op_make(AS_OP_FTRUNCATE), close = as_model_closing(0);
	struct as_vfs *vfs = ctx;
	struct as_stat st;

	if (!S_ISREG(attrs->type) || as_vfs_tree(vfs)->stat(vfs, path, &st))
		return 0;
	open.path = path;
	open.flags = AS_O_RDWR;
	open.slot = append.fd = cut.fd = 0;
	append.off = (int64_t)st.size;
	append.len = append.fill = 1;
	cut.len = st.size;
	if (do_op(vfs, &open) < 0)
		return 0;
	if (do_op(vfs, &append) >= 0)
		(void)do_op(vfs, &cut);
	(void)do_op(vfs, &close);
	return 0;
}

/* Writes a byte after the end of each file and cuts it off again. What was in the last block comes
 * from the disk, and gets a new checksum: if the old one was not looked at, it is data now. */
static void extend_files(struct child *c, struct as_buf *why)
{
	struct as_vfs *vfs = as_instance_vfs(c->instance);

	(void)!as_model_each(c->trial.model, false, extend, vfs);
	as_buf_clear(why);
	(void)!as_model_compare(c->trial.model, as_vfs_tree(vfs), vfs, why);
	as_child_enter(c, PHASE_CORRUPT);
}

static void tell_garbage(struct child *c, const struct attempt *t, struct as_buf *why)
{
	found(c, why,
	      t->fields
		      ? "; that value was put on the disk, and the contract says that there are "
			"checksums"
		      : "; that bit was flipped on the disk, and the contract says that there are "
			"checksums",
	      t->fields ? "data: a value with a wrong checksum is read as data"
			: "data: a flipped bit is read as data");
}

static void try_altered(struct child *c, const struct attempt *t, struct as_child_altered *a)
{
	struct as_buf why = { 0 }, later = { 0 };
	bool judged = t->checksums && a->guarded;

	say(c, a->words);
	if (!mount_it(c, &why)) {
		judge_calls(c);
		as_buf_free(&why);
		return;
	}
	if (judged && why.len && is_garbage(c, as_buf_str(&why), a)) {
		tell_garbage(c, t, &why);
	} else if (judged) {
		extend_files(c, &later);
		if (later.len && is_garbage(c, as_buf_str(&later), a)) {
			as_buf_adds(&later, ", after a byte was appended and cut off");
			tell_garbage(c, t, &later);
		}
	}
	unmount_it(c);
	judge_calls(c);
	if (judged && why.len && t->fields && a->shown && !c->sh->notice.is)
		judge_value(c, t, a, &why);
	as_buf_free(&why);
	as_buf_free(&later);
}

struct apart {
	struct child *c;
	const struct attempt *t;
	struct as_child_altered *a;
};

static int run_apart(void *ctx)
{
	struct apart *apart = ctx;

	try_altered(apart->c, apart->t, apart->a);
	apart->c->sh->tried = true;
	return 0;
}

/* In a process of its own. If that one dies, we do, of the same: the parent has but one child to
 * look at. The parent also watches the time. */
static void try_apart(struct child *c, const struct attempt *t, struct as_child_altered *a)
{
	struct as_child_shared *sh = c->sh;
	struct apart apart = { c, t, a };
	struct as_ended ended;
	int rc;

	sh->tried = false;
	snprintf(sh->alter, sizeof(sh->alter), "%s", a->again);
	snprintf(sh->altered, sizeof(sh->altered), "%s", a->name);
	rc = as_spawn_fork(run_apart, &apart, 0, NULL, &ended, &sh->tool_err);
	/* That process has its own errors in the same place. */
	if (rc)
		sh->tool_rc = rc;
	else if (!sh->tried) {
		if (ended.how == AS_END_SIGNAL) {
			signal(ended.status, SIG_DFL);
			raise(ended.status);
		}
		_exit(ended.status);
	}
	if (!sh->notice.is)
		sh->alter[0] = sh->altered[0] = '\0';
}

/* False: they cannot be read. */
static bool prepare(struct child *c, struct attempt *t)
{
	struct as_disk *disk = as_medium_disk(c->disk);

	t->checksums = as_target_contract(c->args->target).promises & AS_PROMISE_CHECKSUMS;
	t->sound = as_disk_snapshot(disk);
	if (c->args->options->fields) {
		t->fields = as_child_fields_read(c);
		return t->fields;
	}
	(void)as_disk_each(disk, note_chunk, &t->used);
	note_sectors(c, &t->used);
	go_back(c, t->sound);
	return true;
}

/* Attempt i. */
static bool alter_disk(struct child *c, const struct attempt *t, unsigned i,
		       struct as_choice *choice, struct as_child_altered *a)
{
	const char *again = c->args->options->alter;
	struct as_disk *disk = as_medium_disk(c->disk);

	if (t->fields)
		return *again ? as_child_fields_again(t->fields, again, i, disk, a)
			      : as_child_fields_draw(t->fields, choice, disk, a);
	return *again && !i ? flip_again(c, again, a) : flip_drawn(c, &t->used, choice, a);
}

void as_child_corrupt(struct child *c)
{
	const struct as_run_options *o = c->args->options;
	unsigned times = *o->alter ? AGAIN_TIMES : o->fields ? o->fields : o->corrupt;
	struct as_chooser *chooser;
	struct attempt t = { 0 };

	if (!times || c->trial.blind || !as_instance_can(c->instance, AS_INSTANCE_MEMORY))
		return;
	chooser = as_chooser_seeded(as_seq_digest(c->args->seq).lo ^ o->seed);
	for (unsigned i = prepare(c, &t) ? 0 : times;
	     i < times && !c->sh->notice.is && !c->sh->tool_rc; i++) {
		struct as_child_altered a;

		if (alter_disk(c, &t, i, as_chooser_choice(chooser), &a))
			try_apart(c, &t, &a);
		go_back(c, t.sound);
	}
	as_disk_free(t.sound);
	as_child_fields_free(t.fields);
	as_chooser_free(chooser);
	free(t.used.chunks);
	free(t.used.sectors);
	if (!c->sh->notice.is)
		c->sh->log.total_bytes = 0;
}
