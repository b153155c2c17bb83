/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reuse: see finish.h.
 *
 * Method. What lies between two states of a journal goes wrong if a block changes its owner there:
 * pointers, attributes and leaves that were journaled are freed, and the block becomes data of
 * another file before the journal has forgotten it. And a file with many such blocks is not freed
 * in one transaction. Drawn one by one, the operations for this hardly ever come in that order. So
 * every `reuse`th workload gets them:
 *   1. a file of its own is written in one long piece, or like a comb: small pieces, each in a
 *      place that has pointers of its own; now and then it gets an attribute;
 *   2. that is made stable, or not; or the file system is mounted anew, so that it has to read its
 *      pointers again, and a piece is written once more;
 *   3. the file is cut, emptied, punched or removed, and the attribute with it;
 *   4. that is made stable, or not; the file may grow again, and is read then;
 *   5. another file is written where the blocks are free, and made stable.
 * They come one after the other, or with a few operations of the workload between them. Names and
 * slots are of their own, so the rest of the workload means what it meant.
 */
#include "gen/finish.h"

#include "base/choice.h"
#include "gen/gen.h"

#include <string.h>

#define FILE_OF "/p"
#define NEXT_OF "/q"
#define FILE_SLOT 70 /* more than a profile has */
#define NEXT_SLOT 71
#define ATTRIBUTE "user.r"

enum {
	LONG_MIN_BYTES = 8192,
	LONG_SPAN_BYTES = 24576,
	PIECES_MIN = 4,
	PIECES_SPAN = 20,
	PIECES_FAR_MIN = 16,
	PIECE_BYTES = 2048,
	STRIDE_MIN_BITS = 12,
	STRIDE_BITS = 6, /* how many others */
	STRIDE_FAR_BITS = 18, /* as far as one block of pointers of 4 bytes in 1 KiB reaches */
	NEXT_BYTES = 24576,
	CUT_BYTES = 5000,
};

struct reuse {
	struct as_choice *choice;
	const struct as_traits *traits;
	struct as_seq *out; /* operations of its own */
	uint64_t end; /* of what was written */
	unsigned pieces, bits; /* of the comb; pieces lie 1 << bits apart */
	bool attribute, open;
};

static struct as_op *put(struct reuse *r, enum as_opcode code)
{
	struct as_op op = as_op_make(code);

	return as_seq_add(r->out, &op);
}

static struct as_op *put_path(struct reuse *r, enum as_opcode code, const char *path)
{
	struct as_op *op = put(r, code);

	op->path = path;
	return op;
}

static void put_open(struct reuse *r, const char *path, int32_t slot)
{
	struct as_op *op = put_path(r, AS_OP_OPEN, path);

	op->slot = slot;
	op->flags = AS_O_RDWR | AS_O_CREAT;
	op->mode = 0644;
}

static void put_data(struct reuse *r, int32_t slot, uint64_t at, uint64_t len)
{
	struct as_op *op = put(r, AS_OP_PWRITE);

	op->fd = slot;
	op->off = (int64_t)at;
	op->len = len;
	op->fill = 1 + as_choose(r->choice, 15);
	if (slot == FILE_SLOT && at + len > r->end)
		r->end = at + len;
}

static void put_fd(struct reuse *r, enum as_opcode code, int32_t slot)
{
	put(r, code)->fd = slot;
}

static void put_piece(struct reuse *r, unsigned i)
{
	put_data(r, FILE_SLOT, (uint64_t)i << r->bits, 1 + as_choose(r->choice, PIECE_BYTES));
}

static void write_comb(struct reuse *r)
{
	bool far = as_choose(r->choice, 3);

	r->pieces = (far ? PIECES_FAR_MIN : PIECES_MIN) + as_choose(r->choice, PIECES_SPAN);
	r->bits = far ? STRIDE_FAR_BITS : STRIDE_MIN_BITS + as_choose(r->choice, STRIDE_BITS);
	for (unsigned i = 0; i < r->pieces; i++)
		put_piece(r, i);
}

static void write_file(struct reuse *r)
{
	put_open(r, FILE_OF, FILE_SLOT);
	r->open = true;
	if (as_traits_may(r->traits, AS_FEAT_SPARSE) && as_choose(r->choice, 3))
		write_comb(r);
	else
		put_data(r, FILE_SLOT, as_choose(r->choice, 2) * 4096u,
			 LONG_MIN_BYTES + as_choose(r->choice, LONG_SPAN_BYTES));
	r->attribute = as_traits_may(r->traits, AS_FEAT_XATTR_USER) && !as_choose(r->choice, 3);
	if (r->attribute) {
		struct as_op *op = put_path(r, AS_OP_WRITE_XATTR, FILE_OF);

		op->name = ATTRIBUTE;
		op->len = 1 + as_choose(r->choice, 600);
		op->fill = 1 + as_choose(r->choice, 15);
	}
}

/* Nothing else may be open. */
static void mount_anew(struct reuse *r)
{
	put_fd(r, AS_OP_CLOSE, FILE_SLOT);
	put(r, AS_OP_UMOUNT);
	put(r, AS_OP_MOUNT);
	put_open(r, FILE_OF, FILE_SLOT);
	if (r->pieces)
		put_piece(r, as_choose(r->choice, r->pieces));
}

static void make_stable(struct reuse *r)
{
	unsigned how = as_choose(r->choice, 4);

	if (how < 2 && r->open)
		put_fd(r, AS_OP_FSYNC, FILE_SLOT);
	else if (how < 3)
		put(r, AS_OP_SYNC);
}

static void set_size(struct reuse *r, uint64_t size)
{
	struct as_op *op = put(r, AS_OP_FTRUNCATE);

	op->fd = FILE_SLOT;
	op->len = size;
}

static void punch(struct reuse *r)
{
	struct as_op *op = put(r, AS_OP_FALLOCATE);

	op->fd = FILE_SLOT;
	op->flags = AS_FALLOC_PUNCH_HOLE | AS_FALLOC_KEEP_SIZE;
	op->off = as_choose(r->choice, 2) * 4096;
	op->len = r->end + 1;
}

static void give_back(struct reuse *r)
{
	if (r->attribute && as_choose(r->choice, 2))
		put_path(r, AS_OP_REMOVEXATTR, FILE_OF)->name = ATTRIBUTE;
	switch (as_choose(r->choice, 5)) {
	case 0:
		set_size(r, 0);
		break;
	case 1:
		if (as_traits_may(r->traits, AS_FEAT_FALLOC_PUNCH)) {
			punch(r);
			break;
		}
		/* fallthrough */
	case 2:
		put_fd(r, AS_OP_CLOSE, FILE_SLOT);
		r->open = false;
		put_path(r, AS_OP_UNLINK, FILE_OF);
		break;
	default:
		set_size(r, as_choose(r->choice, CUT_BYTES));
	}
}

static void grow_again(struct reuse *r)
{
	struct as_op *op;

	if (!r->open || as_choose(r->choice, 4))
		return;
	set_size(r, r->end);
	op = put(r, AS_OP_PREAD);
	op->fd = FILE_SLOT;
	op->off = (int64_t)(r->end > NEXT_BYTES ? r->end - NEXT_BYTES : 0);
	op->len = NEXT_BYTES;
}

static void write_next(struct reuse *r)
{
	if (as_choose(r->choice, 4)) {
		put_open(r, NEXT_OF, NEXT_SLOT);
		put_data(r, NEXT_SLOT, 0, 1 + as_choose(r->choice, NEXT_BYTES));
		put_fd(r, AS_OP_FSYNC, NEXT_SLOT);
		put_fd(r, AS_OP_CLOSE, NEXT_SLOT);
	}
	if (r->open)
		put_fd(r, AS_OP_CLOSE, FILE_SLOT);
}

/* What the operations must not be torn apart by: the file would be open at an unmount. */
static bool is_border(const struct as_seq *seq, size_t i)
{
	if (i == seq->n)
		return true;
	switch (seq->ops[i].code) {
	case AS_OP_UMOUNT:
	case AS_OP_MOUNT:
	case AS_OP_REMOUNT:
	case AS_OP_CRASH:
	case AS_OP_FREEZE:
		return true;
	default:
		/* A power cut belongs to the sync before it. */
		return i + 1 < seq->n && seq->ops[i + 1].code == AS_OP_CRASH;
	}
}

/* A place where the file system is mounted, and not between a sync and the crash after it. */
static size_t draw_place(struct reuse *r, const struct as_seq *seq)
{
	size_t at = as_choose(r->choice, (uint32_t)seq->n + 1);

	while (at && at < seq->n && (is_border(seq, at - 1) || is_border(seq, at)))
		at++;
	return at;
}

static struct as_seq *join(struct reuse *r, const struct as_seq *seq, bool first)
{
	struct as_seq *all = as_seq_new();
	size_t at = first ? 0 : draw_place(r, seq), k = 0;
	unsigned between = first || as_choose(r->choice, 2) ? 0 : 1 + as_choose(r->choice, 2);

	for (size_t i = 0; i < seq->n_meta; i++)
		as_seq_set_meta(all, seq->meta[i].key, seq->meta[i].value);
	for (size_t i = 0; i <= seq->n; i++) {
		bool border = is_border(seq, i);

		while (i >= at && k < r->out->n) {
			as_seq_add(all, &r->out->ops[k++]);
			if (between && !border && as_choose(r->choice, between + 1))
				break;
		}
		if (i < seq->n)
			as_seq_add(all, &seq->ops[i]);
	}
	return all;
}

static bool can(const struct as_traits *traits)
{
	static const enum as_opcode needed[] = { AS_OP_OPEN,  AS_OP_PWRITE, AS_OP_FSYNC,
						 AS_OP_CLOSE, AS_OP_UNLINK, AS_OP_FTRUNCATE };

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!as_traits_may(traits, as_gen_rows[needed[i]].features))
			return false;
	return true;
}

struct as_seq *as_reuse_blocks(struct as_seq *seq, const struct as_profile *profile,
			       const struct as_traits *traits, uint64_t number)
{
	struct reuse r = { .traits = traits };
	struct as_chooser *chooser;
	struct as_seq *all;
	bool anew;

	if (!profile->reuse || (number + 1) % profile->reuse || !can(traits))
		return seq;
	chooser = as_chooser_seeded(as_seq_digest(seq).lo);
	r.choice = as_chooser_choice(chooser);
	r.out = as_seq_new();
	anew = as_traits_may(traits, AS_FEAT_MOUNT) && !as_choose(r.choice, 4);
	write_file(&r);
	if (anew)
		mount_anew(&r);
	else
		make_stable(&r);
	give_back(&r);
	make_stable(&r);
	grow_again(&r);
	write_next(&r);
	all = join(&r, seq, anew);
	as_seq_free(r.out);
	as_seq_free(seq);
	as_chooser_free(chooser);
	return all;
}
