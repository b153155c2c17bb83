/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store: see store.h.
 *
 * Layout of the file, and of the memory where there is none: a header, room for `max` states, room
 * for their lines. All of it is sparse. Next to it, in memory only and made again when a file is
 * opened: a table of the digests, and the frontier, a binary heap.
 *
 * Invariants
 *   1. States 0..n-1 are complete: n is raised last, so a process that is killed leaves none half
 *      written.
 *   2. A state that is neither expanded nor stopped is in the frontier, or in work, or was just
 *      added by a process that will push it.
 *   3. Whoever changes anything holds the lock. It is a robust one: a process that dies with it
 *      leaves a state at most that nobody pushed, which is found when the file is opened again.
 *   4. A state whose judge was killed is not expanded: its parent was not expanded to the end, and
 *      leads there again.
 *   5. Of a file, only what has blocks is written to: on a full disk, a store to memory that needs
 *      a new block would kill the process.
 *   6. A state that was discarded is stopped, and is a gap, until it is met by a shorter trace, or
 *      the file is opened again: then it is in the frontier once more, if there is room.
 *   7. What is kept of a state has a sum, which changes with its flags in one piece; numbers of the
 *      header that cannot be counted again are there twice. A file with a bit that flipped is
 *      refused: a state that only seems to be expanded would not be looked at.
 *   8. The table has the state with the shortest trace of each digest. The others stay where they
 *      are: the traces of their successors begin with theirs, and names may differ.
 */
#include "check/store_priv.h"

#include "base/choice.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define GROW_BYTES ((size_t)1 << 20) /* by which the parts of a file grow */
#define FEW_BYTES 4096u

static void lock(struct as_store *s)
{
	int rc = pthread_mutex_lock(&s->lock);

	if (rc == EOWNERDEAD)
		pthread_mutex_consistent(&s->lock);
	else
		as_assert(!rc);
}

static void unlock(struct as_store *s)
{
	pthread_mutex_unlock(&s->lock);
}

/* ---- What is kept of a state ----------------------------------------------------------------- */

uint16_t as_store_sum(const struct as_store *s, const struct as_store_state *state)
{
	uint64_t of[6] = { state->digest.lo,
			   state->digest.hi,
			   (uint64_t)state->parent << 32 | state->line,
			   (uint64_t)state->depth << 32 | state->flags,
			   state->line_bytes,
			   as_hash(s->text + state->line, state->line_bytes).lo };

	return (uint16_t)as_hash(of, sizeof(of)).lo;
}

/* In one piece: a process that is killed leaves the flags with their sum. */
void as_store_set_flags(struct as_store *s, uint32_t id, unsigned flags)
{
	struct as_store_state state = s->state[id];

	state.flags = (uint8_t)flags;
	state.sum = as_store_sum(s, &state);
	__atomic_store_n(&s->state[id].word, state.word, __ATOMIC_RELEASE);
}

static void add_flags(struct as_store *s, uint32_t id, unsigned flags)
{
	as_store_set_flags(s, id, s->state[id].flags | flags);
}

/* ---- The table of digests -------------------------------------------------------------------- */

struct state_key {
	const struct as_store *store;
	struct as_digest digest;
};

static bool is_state(const void *ctx, size_t i)
{
	const struct state_key *key = ctx;

	return as_digest_eq(key->store->state[i].digest, key->digest);
}

uint32_t as_store_find(const struct as_store *s, struct as_digest digest)
{
	struct state_key key = { s, digest };
	size_t i = as_table_find(&s->table, digest.lo, is_state, &key);

	return i == AS_TABLE_NONE ? AS_STORE_NONE : (uint32_t)i;
}

/* ---- The frontier ---------------------------------------------------------------------------- */

static void rise(struct as_store *s, size_t i, struct as_store_place place)
{
	for (; i && s->heap[(i - 1) / 2].rank < place.rank; i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = place;
}

void as_store_put_back(struct as_store *s, uint32_t id, uint64_t rank)
{
	rise(s, s->n_heap++, (struct as_store_place){ rank, id });
}

/* Takes the one at place i. The last one takes its place, and sinks or rises from there. */
static uint32_t take_out(struct as_store *s, size_t i)
{
	uint32_t id = s->heap[i].id;
	struct as_store_place last = s->heap[--s->n_heap];
	size_t child;

	if (i == s->n_heap)
		return id;
	while ((child = 2 * i + 1) < s->n_heap) {
		child += child + 1 < s->n_heap && s->heap[child + 1].rank > s->heap[child].rank;
		if (s->heap[child].rank <= last.rank)
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	rise(s, i, last);
	return id;
}

/* Each choice has a seed of its own: whoever makes the next one, it is another. */
static size_t choose_place(struct as_store *s)
{
	struct as_chooser *chooser = as_chooser_seeded(as_mix64(s->seed + s->choices++));
	size_t i = as_choose(as_chooser_choice(chooser), (unsigned)s->n_heap);

	as_chooser_free(chooser);
	return i;
}

/* A state that was replaced is not lost. */
static unsigned discard(struct as_store *s)
{
	unsigned n = 0;

	while (s->most && s->n_heap > s->most) {
		uint32_t id = take_out(s, choose_place(s));

		if (s->state[id].flags & AS_STATE_REPLACED)
			continue;
		add_flags(s, id, AS_STATE_STOPPED | AS_STATE_DISCARDED);
		as_store_gap(s, 1);
		n++;
	}
	return n;
}

unsigned as_store_bound(struct as_store *s, size_t most, uint64_t seed)
{
	s->most = most;
	s->seed = seed;
	return discard(s);
}

unsigned as_store_push(struct as_store *s, uint32_t id, uint64_t rank)
{
	unsigned n;

	lock(s);
	add_flags(s, id, AS_STATE_JUDGED);
	as_store_put_back(s, id, rank);
	n = discard(s);
	unlock(s);
	return n;
}

bool as_store_pop(struct as_store *s, uint32_t *id)
{
	bool any;

	lock(s);
	do {
		any = s->n_heap;
		if (any)
			*id = take_out(s, 0);
	} while (any && s->state[*id].flags & AS_STATE_REPLACED);
	s->in_work += any;
	unlock(s);
	return any;
}

bool as_store_first(struct as_store *s, uint32_t *id)
{
	bool any;

	lock(s);
	if ((any = s->n_heap))
		*id = s->heap[0].id;
	unlock(s);
	return any;
}

static void end_work(struct as_store *s, uint32_t id, unsigned flag)
{
	lock(s);
	add_flags(s, id, flag);
	s->in_work--;
	unlock(s);
}

void as_store_done(struct as_store *s, uint32_t id)
{
	end_work(s, id, AS_STATE_EXPANDED);
}

void as_store_leave(struct as_store *s, uint32_t id)
{
	end_work(s, id, AS_STATE_STOPPED | AS_STATE_WRONG);
}

void as_store_stop(struct as_store *s, uint32_t id, bool wrong)
{
	lock(s);
	add_flags(s, id, AS_STATE_STOPPED | (wrong ? AS_STATE_WRONG : 0u));
	unlock(s);
}

void as_store_gap(struct as_store *s, int more)
{
	uint64_t was = __atomic_load_n(&s->header->gaps, __ATOMIC_RELAXED), is;

	do
		is = as_store_twice_of(as_store_once(was) + (uint32_t)more);
	while (!__atomic_compare_exchange_n(&s->header->gaps, &was, is, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
}

int64_t as_store_gaps(const struct as_store *s)
{
	return (int32_t)as_store_once(__atomic_load_n(&s->header->gaps, __ATOMIC_RELAXED));
}

/* ---- States ---------------------------------------------------------------------------------- */

/* Whether `bytes` bytes of a part that begins at `from` have blocks, or can get them. The part has
 * at most `most` bytes. */
static bool has_room(const struct as_store *s, const void *from, size_t most, size_t *room,
		     size_t bytes)
{
	off_t at = (off_t)((const char *)from - (const char *)s->header);

	while (s->fd >= 0 && *room < bytes) {
		size_t left = most - *room, few = left < FEW_BYTES ? left : FEW_BYTES;
		size_t more = left < GROW_BYTES ? left : GROW_BYTES;

		/* On a disk that is nearly full, as long as it goes. */
		if (posix_fallocate(s->fd, at + (off_t)*room, (off_t)more)) {
			more = few;
			if (posix_fallocate(s->fd, at + (off_t)*room, (off_t)more))
				return false;
		}
		*room += more;
	}
	return true;
}

static bool can_add(struct as_store *s, size_t len)
{
	struct as_store_header *h = s->header;

	return as_store_n(s) < h->max && len < AS_STORE_LINE_MAX &&
	       h->text + len <= s->text_bytes &&
	       has_room(s, s->state, h->max * sizeof(*s->state), &h->room_state,
			(as_store_n(s) + 1) * sizeof(*s->state)) &&
	       has_room(s, s->text, s->text_bytes, &h->room_text, h->text + len);
}

/* The parent's, and one for each operation of the line. */
uint16_t as_store_depth_after(const struct as_store *s, uint32_t parent, const char *line,
			      size_t len)
{
	unsigned depth = 1;

	if (parent == AS_STORE_NONE)
		return 0;
	for (const char *at = line; (at = memchr(at, '\n', (size_t)(line + len - at))); at++)
		depth++;
	return (uint16_t)(s->state[parent].depth + depth);
}

static uint32_t append(struct as_store *s, struct as_digest digest, uint32_t parent,
		       const char *line)
{
	struct as_store_header *h = s->header;
	size_t len = strlen(line);
	uint32_t id = as_store_n(s);

	s->state[id] = (struct as_store_state){
		.digest = digest,
		.parent = parent,
		.line = h->text,
		.line_bytes = len & (AS_STORE_LINE_MAX - 1),
		.depth = as_store_depth_after(s, parent, line, len),
	};
	memcpy(s->text + h->text, line, len);
	h->text += (uint32_t)len;
	as_store_set_flags(s, id, 0);
	h->n = as_store_twice_of(id + 1);
	return id;
}

/* If a process is killed before this, take_up() does it. */
void as_store_replace(struct as_store *s, uint32_t known, uint32_t by)
{
	if (s->state[known].flags & AS_STATE_DISCARDED && as_store_gaps(s) > 0)
		as_store_gap(s, -1);
	as_store_set_flags(s, known,
			   (s->state[known].flags & ~(unsigned)AS_STATE_DISCARDED) |
				   AS_STATE_REPLACED);
	s->header->replaced++;
	as_table_move(&s->table, s->state[known].digest.lo, known, by);
}

/* Of a state that is known, met again by a shorter trace. */
static enum as_store_added add_shorter(const struct as_store *s, uint32_t known)
{
	unsigned flags = s->state[known].flags;

	if (flags & AS_STATE_WRONG)
		return AS_STORE_KNOWN;
	return flags & (AS_STATE_JUDGED | AS_STATE_STOPPED | AS_STATE_AGAIN) ? AS_STORE_SHORTER
									     : AS_STORE_LATER;
}

enum as_store_added as_store_add(struct as_store *s, struct as_digest digest, uint32_t parent,
				 const char *line, bool shorter, uint32_t *id)
{
	size_t len = strlen(line);
	enum as_store_added added = AS_STORE_NEW;
	uint32_t known;
	bool again;

	lock(s);
	known = *id = as_store_find(s, digest);
	again = known != AS_STORE_NONE && s->state[known].flags & AS_STATE_AGAIN;
	if (known != AS_STORE_NONE)
		added = shorter && s->state[known].depth >
						as_store_depth_after(s, parent, line, len)
				? add_shorter(s, known)
				: AS_STORE_KNOWN;
	if ((added == AS_STORE_NEW || added == AS_STORE_SHORTER) && !can_add(s, len)) {
		added = AS_STORE_FULL;
		again = false;
	}
	if (again) {
		as_store_set_flags(s, known, s->state[known].flags & ~(unsigned)AS_STATE_AGAIN);
		as_store_gap(s, -1);
	}
	if (added == AS_STORE_NEW) {
		*id = append(s, digest, parent, line);
		as_table_add(&s->table, digest.lo, *id);
	} else if (added == AS_STORE_SHORTER) {
		*id = append(s, digest, parent, line);
		as_store_replace(s, known, *id);
	} else if (again) {
		added = AS_STORE_NEW;
	}
	unlock(s);
	return added;
}

uint32_t as_store_n(const struct as_store *s)
{
	return as_store_once(s->header->n);
}

uint32_t as_store_distinct(const struct as_store *s)
{
	return as_store_n(s) - s->header->replaced;
}

size_t as_store_frontier(const struct as_store *s)
{
	return s->n_heap;
}

size_t as_store_in_work(const struct as_store *s)
{
	return s->in_work;
}

struct as_store_state as_store_at(const struct as_store *s, uint32_t id)
{
	as_assert(id < as_store_n(s));
	return s->state[id];
}

void as_store_line(const struct as_store *s, uint32_t id, struct as_buf *out)
{
	as_buf_add(out, s->text + s->state[id].line, s->state[id].line_bytes);
}

void as_store_trace(const struct as_store *s, uint32_t id, struct as_buf *out)
{
	const struct as_store_state *state = &s->state[id];

	if (state->parent != AS_STORE_NONE)
		as_store_trace(s, state->parent, out);
	as_store_line(s, id, out);
	if (state->line_bytes)
		as_buf_addc(out, '\n');
}

uint64_t as_store_bytes(const struct as_store *s)
{
	return sizeof(*s->header) + as_store_n(s) * sizeof(*s->state) + s->header->text +
	       s->n_heap * sizeof(*s->heap) + as_table_bytes(&s->table);
}
