/* SPDX-License-Identifier: MIT */
/* solo_host.h: the second part of solo.h, which includes it: the seams that the file system is
 * given, how a program makes its calls, and what it says at the end. */
#ifndef ASSAY_SOLO_HOST_H
#define ASSAY_SOLO_HOST_H

#include <assay/solo.h>

/* ---- Block device and flash ------------------------------------------------------------------ */

static inline struct as_solo *as_solo_of_bd(struct as_bd *bd)
{
	return (struct as_solo *)(void *)((char *)bd - offsetof(struct as_solo, bd));
}

static inline struct as_solo *as_solo_of_flash(struct as_flash *flash)
{
	return (struct as_solo *)(void *)((char *)flash - offsetof(struct as_solo, flash));
}

static inline int as_solo_bd_read(struct as_bd *bd, uint64_t off, void *buf, size_t len)
{
	return as_solo_get(as_solo_of_bd(bd), off, buf, len);
}

static inline int as_solo_bd_write(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	return as_solo_change(as_solo_of_bd(bd), AS_SOLO_WRITE, off, buf, len);
}

static inline int as_solo_bd_flush(struct as_bd *bd)
{
	struct as_solo *s = as_solo_of_bd(bd);
	int hit = as_solo_hit(s, AS_SOLO_FLUSH);

	return hit < 0 ? 0 : -s->fault[hit].err;
}

static inline int as_solo_bd_zero(struct as_bd *bd, uint64_t off, uint64_t len)
{
	return as_solo_change(as_solo_of_bd(bd), AS_SOLO_ERASE, off, NULL, (size_t)len);
}

static inline int as_solo_bd_submit(struct as_bd *bd, uint64_t off, const void *buf, size_t len,
				    unsigned flags, uint64_t *ticket)
{
	(void)flags;
	*ticket = 1;
	return as_solo_bd_write(bd, off, buf, len);
}

static inline int as_solo_bd_wait(struct as_bd *bd, uint64_t ticket)
{
	(void)bd;
	(void)ticket;
	return 0;
}

static inline int as_solo_flash_read(struct as_flash *flash, uint64_t off, void *buf, size_t len)
{
	if (off % flash->geometry.read_bytes || len % flash->geometry.read_bytes)
		as_solo_note(as_solo_of_flash(flash), "a read of no whole units", off, len);
	return as_solo_get(as_solo_of_flash(flash), off, buf, len);
}

static inline int as_solo_flash_program(struct as_flash *flash, uint64_t off, const void *buf,
					size_t len)
{
	struct as_solo *s = as_solo_of_flash(flash);
	const struct as_flash_geometry *g = &flash->geometry;
	const unsigned char *data = buf;

	if (off % g->program_bytes || len % g->program_bytes)
		as_solo_note(s, "a program of no whole units", off, len);
	for (size_t i = 0; i < len && off + i < s->size_bytes; i++) {
		unsigned char was = s->bytes[off + i] ^ g->erased, now = data[i] ^ g->erased;

		if (g->flags & AS_FLASH_OVERWRITE ? was & ~now : was) {
			as_solo_note(s, "a program of what is not erased", off, len);
			break;
		}
	}
	return as_solo_change(s, AS_SOLO_WRITE, off, buf, len);
}

static inline int as_solo_flash_erase(struct as_flash *flash, uint64_t off)
{
	struct as_solo *s = as_solo_of_flash(flash);
	uint64_t len = flash->geometry.erase_bytes, n = s->size_bytes / len;
	uint32_t *block = off / len < n ? &s->erases[off / len] : NULL, least = UINT32_MAX;
	int rc = as_solo_change(s, AS_SOLO_ERASE, off, NULL, (size_t)len);

	if (off % len)
		as_solo_note(s, "an erase that begins within a block", off, (size_t)len);
	if (rc || !block)
		return rc;
	++*block;
	for (uint64_t i = 0; i < n; i++)
		least = s->erases[i] < least ? s->erases[i] : least;
	if (s->wear && *block > s->wear)
		as_solo_note(s, "a block is worn out", off, (size_t)len);
	if (s->spread && *block - least > s->spread)
		as_solo_note(s, "wear is not levelled: the worst block", off, (size_t)len);
	return 0;
}

/* ---- Memory, time, rules --------------------------------------------------------------------- */

static inline void *as_solo_alloc(void *ctx, size_t len)
{
	struct as_solo *s = ctx;
	uint64_t guard = AS_SOLO_GUARD;
	struct as_solo_block *b;

	if (as_solo_hit(s, AS_SOLO_ALLOC) >= 0 || len > (size_t)1 << 30)
		return NULL;
	b = calloc(1, sizeof(*b) + len + sizeof(guard));
	if (!b)
		return NULL;
	*b = (struct as_solo_block){ s->live, &s->live, len, guard };
	if (s->live)
		s->live->back = &b->next;
	s->live = b;
	s->n_live++;
	s->heap += len;
	if (s->max_heap && s->heap > s->max_heap && !s->trouble[0])
		snprintf(s->trouble, sizeof(s->trouble),
			 "it has %" PRIu64 " bytes of memory and may have %" PRIu64, s->heap,
			 s->max_heap);
	memcpy((char *)(b + 1) + len, &guard, sizeof(guard));
	return b + 1;
}

static inline void as_solo_release(void *ctx, void *ptr)
{
	struct as_solo *s = ctx;
	struct as_solo_block *b = s->live;
	uint64_t guard = AS_SOLO_GUARD;

	if (!ptr)
		return;
	while (b && b + 1 != ptr)
		b = b->next;
	if (!b) {
		as_solo_note(s, "freed memory that is not allocated", 0, 0);
		return;
	}
	if (memcmp((char *)(b + 1) + b->len, &guard, sizeof(guard)))
		as_solo_note(s, "wrote past the end of an allocation", 0, b->len);
	*b->back = b->next;
	if (b->next)
		b->next->back = b->back;
	s->n_live--;
	s->heap -= b->len;
	free(b);
}

static inline uint64_t as_solo_now(void *ctx)
{
	return ((struct as_solo *)ctx)->now_ns += 1000;
}

static inline void as_solo_log(void *ctx, const char *line)
{
	(void)ctx;
	printf("    %s\n", line);
}

static inline unsigned as_solo_pick(struct as_choice *choice, unsigned n)
{
	(void)choice;
	(void)n;
	return 0;
}

static inline unsigned as_solo_ask(void *ctx, unsigned n, const char *why)
{
	struct as_solo *s = ctx;
	char *end;
	unsigned long answer = strtoul(s->answers, &end, 10);

	(void)why;
	if (end == s->answers)
		return 0;
	s->answers = end + (*end == '.');
	return answer < n ? (unsigned)answer : 0;
}

static inline void as_solo_rule(struct as_solo *s, const char *name, as_invariant_fn fn,
				void *fn_ctx, int until, int by)
{
	int i = 0;

	while (i < AS_SOLO_RULES - 1 && s->rule[i].name &&
	       (fn || s->rule[i].fn || s->rule[i].until != until || strcmp(s->rule[i].name, name)))
		i++;
	s->rule[i].name = name;
	s->rule[i].fn = fn;
	s->rule[i].ctx = fn_ctx;
	s->rule[i].until = until;
	s->rule[i].taken += by;
	if (s->rule[i].taken < 0 && !s->trouble[0])
		snprintf(s->trouble, sizeof(s->trouble), "'%s' is given back more often than taken",
			 name);
}

static inline void as_solo_invariant(void *ctx, const char *name, as_invariant_fn fn, void *fn_ctx)
{
	as_solo_rule(ctx, name, fn, fn_ctx, 0, 0);
}

static inline void as_solo_pair(void *ctx, enum as_pair_until until, const char *name, int by)
{
	as_solo_rule(ctx, name, NULL, NULL, (int)until, by);
}

/* Who takes locks is told by nobody here: `assay replay` judges them. */
static inline void as_solo_lock(void *ctx, const char *name, uint64_t which)
{
	(void)ctx;
	(void)name;
	(void)which;
}

static inline void as_solo_forgive(void *ctx)
{
	(void)ctx;
}

/* ---- Start ----------------------------------------------------------------------------------- */

static inline void as_solo_start(struct as_solo *s, const struct as_target_ops *ops,
				 uint64_t size_bytes, const char *opts)
{
	static const struct as_bd_ops bd = { .api = AS_BD_PARTS,
					     .name = "solo",
					     .read = as_solo_bd_read,
					     .write = as_solo_bd_write,
					     .flush = as_solo_bd_flush,
					     .discard = as_solo_bd_zero,
					     .zero = as_solo_bd_zero,
					     .submit = as_solo_bd_submit,
					     .wait = as_solo_bd_wait };
	static const struct as_flash_ops flash = { 1, "solo", as_solo_flash_read,
						   as_solo_flash_program, as_solo_flash_erase };
	static struct as_choice choice = { as_solo_pick };
	int raw = ops->api >= AS_TARGET_CONTRACT && ops->flash;

	memset(s, 0, sizeof(*s));
	s->size_bytes = size_bytes;
	s->bytes = calloc(1, size_bytes);
	s->now_ns = AS_SOLO_EPOCH_NS;
	s->answers = "";
	s->checks = (struct as_checks){ .ask = as_solo_ask,
					.lock = as_solo_lock,
					.unlock = as_solo_lock,
					.pair = as_solo_pair,
					.invariant = as_solo_invariant,
					.forgive = as_solo_forgive };
	s->host = (struct as_host){ .api = AS_TARGET_API,
				    .ctx = s,
				    .alloc = as_solo_alloc,
				    .release = as_solo_release,
				    .choice = &choice,
				    .now_ns = as_solo_now,
				    .log = as_solo_log,
				    .checks = &s->checks };
	s->bd = (struct as_bd){ &bd, size_bytes, 512 };
	s->args = (struct as_mount_args){ .host = &s->host, .bd = &s->bd, .opts = opts };
	if (raw) {
		s->flash = (struct as_flash){ &flash, *ops->flash };
		s->flash.geometry.size_bytes = size_bytes;
		s->args.bd = NULL;
		s->args.flash = &s->flash;
	}
	s->erases = calloc((size_t)(size_bytes / 512) + 1, sizeof(*s->erases));
	memset(s->bytes, s->flash.geometry.erased, size_bytes);
	setvbuf(stdout, NULL, _IONBF, 0);
}

#endif
