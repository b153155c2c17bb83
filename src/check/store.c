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
 *   7. The table has the state with the shortest trace of each digest. The others stay where they
 *      are: the traces of their successors begin with theirs, and names may differ.
 */
#include "check/store.h"

#include "check/search.h"

#include "base/choice.h"
#include "base/table.h"
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "assay-check-3\n"
#define IDENT_MAX 4000u
/* Room for lines, a state on average; it is used up only as lines are added. Offsets have 32
 * bits. */
#define LINE_BYTES 160u
#define LINES_MAX_BYTES ((size_t)UINT32_MAX)
#define SLOTS_MIN 1024u
#define GROW_BYTES ((size_t)1 << 20) /* by which the parts of a file grow */
#define FEW_BYTES 4096u

struct header {
	char magic[16], ident[IDENT_MAX];
	volatile uint32_t n;
	uint32_t max;
	uint32_t text; /* bytes of lines */
	uint32_t replaced; /* states */
	int64_t gaps;
	size_t room_state, room_text; /* bytes of the parts that have blocks */
};

struct store_place {
	uint64_t rank;
	uint32_t id;
};

struct as_store {
	/* Shared: */
	pthread_mutex_t lock;
	struct as_table table;
	volatile size_t n_heap, in_work;
	uint64_t choices; /* that were made */
	/* The same in all processes: */
	struct header *header;
	struct as_store_state *state;
	char *text;
	struct store_place *heap;
	struct as_table_slot *slots;
	size_t file_bytes, heap_bytes, slot_bytes, text_bytes;
	int fd; /* -1: no file */
	size_t most; /* states in the frontier; 0: any number */
	uint64_t seed;
};

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

static uint32_t find(const struct as_store *s, struct as_digest digest)
{
	struct state_key key = { s, digest };
	size_t i = as_table_find(&s->table, digest.lo, is_state, &key);

	return i == AS_TABLE_NONE ? AS_STORE_NONE : (uint32_t)i;
}

/* ---- The frontier ---------------------------------------------------------------------------- */

static void rise(struct as_store *s, size_t i, struct store_place place)
{
	for (; i && s->heap[(i - 1) / 2].rank < place.rank; i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = place;
}

static void push(struct as_store *s, uint32_t id, uint64_t rank)
{
	rise(s, s->n_heap++, (struct store_place){ rank, id });
}

/* Takes the one at place i. The last one takes its place, and sinks or rises from there. */
static uint32_t take_out(struct as_store *s, size_t i)
{
	uint32_t id = s->heap[i].id;
	struct store_place last = s->heap[--s->n_heap];
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
		struct as_store_state *state = &s->state[take_out(s, choose_place(s))];

		if (state->flags & AS_STATE_REPLACED)
			continue;
		state->flags |= AS_STATE_STOPPED | AS_STATE_DISCARDED;
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
	s->state[id].flags |= AS_STATE_JUDGED;
	push(s, id, rank);
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
	s->state[id].flags |= (uint16_t)flag;
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
	s->state[id].flags |= AS_STATE_STOPPED | (wrong ? AS_STATE_WRONG : 0);
	unlock(s);
}

void as_store_gap(struct as_store *s, int more)
{
	__atomic_fetch_add(&s->header->gaps, more, __ATOMIC_RELAXED);
}

int64_t as_store_gaps(const struct as_store *s)
{
	return __atomic_load_n(&s->header->gaps, __ATOMIC_RELAXED);
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
	struct header *h = s->header;

	return h->n < h->max && h->text + len <= s->text_bytes &&
	       has_room(s, s->state, h->max * sizeof(*s->state), &h->room_state,
			(h->n + 1) * sizeof(*s->state)) &&
	       has_room(s, s->text, s->text_bytes, &h->room_text, h->text + len);
}

/* The parent's, and one for each operation of the line. */
static uint16_t depth_after(const struct as_store *s, uint32_t parent, const char *line, size_t len)
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
	struct header *h = s->header;
	size_t len = strlen(line);
	uint32_t id = h->n;

	s->state[id] = (struct as_store_state){
		.digest = digest,
		.parent = parent,
		.line = h->text,
		.line_bytes = (uint32_t)len,
		.depth = depth_after(s, parent, line, len),
	};
	memcpy(s->text + h->text, line, len);
	h->text += (uint32_t)len;
	h->n++;
	return id;
}

/* If a process is killed before this, take_up() does it. */
static void replace(struct as_store *s, uint32_t known, uint32_t by)
{
	if (s->state[known].flags & AS_STATE_DISCARDED && s->header->gaps > 0)
		as_store_gap(s, -1);
	s->state[known].flags &= (uint16_t)~AS_STATE_DISCARDED;
	s->state[known].flags |= AS_STATE_REPLACED;
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
	known = *id = find(s, digest);
	again = known != AS_STORE_NONE && s->state[known].flags & AS_STATE_AGAIN;
	if (known != AS_STORE_NONE)
		added = shorter && s->state[known].depth > depth_after(s, parent, line, len)
				? add_shorter(s, known)
				: AS_STORE_KNOWN;
	if ((added == AS_STORE_NEW || added == AS_STORE_SHORTER) && !can_add(s, len)) {
		added = AS_STORE_FULL;
		again = false;
	}
	if (again) {
		s->state[known].flags &= (uint16_t)~AS_STATE_AGAIN;
		as_store_gap(s, -1);
	}
	if (added == AS_STORE_NEW) {
		*id = append(s, digest, parent, line);
		as_table_add(&s->table, digest.lo, *id);
	} else if (added == AS_STORE_SHORTER) {
		*id = append(s, digest, parent, line);
		replace(s, known, *id);
	} else if (again) {
		added = AS_STORE_NEW;
	}
	unlock(s);
	return added;
}

uint32_t as_store_n(const struct as_store *s)
{
	return s->header->n;
}

uint32_t as_store_distinct(const struct as_store *s)
{
	return s->header->n - s->header->replaced;
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
	as_assert(id < s->header->n);
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
	return sizeof(*s->header) + s->header->n * sizeof(*s->state) + s->header->text +
	       s->n_heap * sizeof(*s->heap) + as_table_bytes(&s->table);
}

/* ---- Opening --------------------------------------------------------------------------------- */

static void *map(size_t bytes, int fd)
{
	int how = fd < 0 ? MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, how, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

static int not_ours(struct as_err *err)
{
	return as_fail(err, AS_EUSE,
		       "this is no file of states of this version, or it was made for another "
		       "number of states");
}

static int map_all(struct as_store *s, int fd, off_t file_size, uint32_t max, struct as_err *err)
{
	s->text_bytes = (size_t)max * LINE_BYTES;
	if (s->text_bytes > LINES_MAX_BYTES)
		s->text_bytes = LINES_MAX_BYTES;
	s->file_bytes = sizeof(*s->header) + max * sizeof(*s->state) + s->text_bytes;
	s->heap_bytes = (size_t)max * sizeof(*s->heap);
	s->slot_bytes = SLOTS_MIN * sizeof(*s->slots);
	while (s->slot_bytes / sizeof(*s->slots) / 2 < max)
		s->slot_bytes *= 2;
	s->fd = fd;
	if (fd >= 0 && file_size && (size_t)file_size != s->file_bytes)
		return not_ours(err);
	if (fd >= 0 && (ftruncate(fd, (off_t)s->file_bytes) ||
			(errno = posix_fallocate(fd, 0, sizeof(*s->header)))))
		return as_fail_errno(err, errno, "cannot keep states in a file");
	s->header = map(s->file_bytes, fd);
	s->heap = map(s->heap_bytes, -1);
	s->slots = map(s->slot_bytes, -1);
	if (!s->header || !s->heap || !s->slots)
		return as_fail_errno(err, errno, "cannot map memory for %u states", max);
	s->state = (struct as_store_state *)(void *)(s->header + 1);
	s->text = (char *)(s->state + max);
	as_table_place(&s->table, s->slots, s->slot_bytes);
	return 0;
}

static void make_lock(struct as_store *s)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&s->lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

static bool is_whole(const struct as_store *s, uint32_t i)
{
	const struct as_store_state *state = &s->state[i];
	const struct header *h = s->header;

	return (i ? state->parent < i : state->parent == AS_STORE_NONE) && state->line <= h->text &&
	       state->line_bytes <= h->text - state->line &&
	       state->depth ==
		       depth_after(s, state->parent, s->text + state->line, state->line_bytes);
}

/* Of states with the same digest, each has a shorter trace than the one before it. */
static bool index_state(struct as_store *s, uint32_t i)
{
	uint32_t known = find(s, s->state[i].digest);

	if (known == AS_STORE_NONE)
		as_table_add(&s->table, s->state[i].digest.lo, i);
	else if (s->state[known].depth > s->state[i].depth)
		replace(s, known, i);
	else
		return false;
	s->state[i].flags &= (uint16_t)~AS_STATE_REPLACED;
	return true;
}

/* What else was known of a state is not kept. */
static void push_again(struct as_store *s, uint32_t id)
{
	struct as_search_of of = { .id = id, .depth = s->state[id].depth };

	push(s, id, as_search_rank(AS_SEARCH_bfs, &of));
}

/* A file may be anything: what cannot be right is refused. */
static int take_up(struct as_store *s, const char *ident, uint32_t max, struct as_err *err)
{
	struct header *h = s->header;

	if (memcmp(h->magic, MAGIC, sizeof(MAGIC)) || !memchr(h->ident, '\0', IDENT_MAX) ||
	    h->max != max || h->n > max || h->gaps < 0 || h->text > s->text_bytes ||
	    h->room_state < h->n * sizeof(*s->state) || h->room_text < h->text)
		return not_ours(err);
	if (strcmp(h->ident, ident))
		return as_fail(err, AS_EUSE, "it was made with other settings: %s", h->ident);
	h->replaced = 0;
	for (uint32_t i = 0; i < h->n; i++)
		if (!is_whole(s, i) || !index_state(s, i))
			return as_fail(err, AS_EUSE, "state %u of %u is damaged", i, h->n);
	for (uint32_t i = 0; i < h->n; i++) {
		struct as_store_state *state = &s->state[i];

		if (state->flags & AS_STATE_DISCARDED && h->gaps > 0) {
			state->flags &= (uint16_t) ~(AS_STATE_DISCARDED | AS_STATE_STOPPED);
			as_store_gap(s, -1);
		}
		if (state->flags & (AS_STATE_EXPANDED | AS_STATE_STOPPED | AS_STATE_REPLACED))
			continue;
		if (state->flags & AS_STATE_JUDGED) {
			push_again(s, i);
		} else if (!(state->flags & AS_STATE_AGAIN)) {
			state->flags |= AS_STATE_AGAIN;
			as_store_gap(s, 1);
		}
	}
	return 0;
}

int as_store_open(int fd, const char *ident, uint32_t max, struct as_store **out,
		  struct as_err *err)
{
	struct as_store *s = as_shared_alloc(sizeof(*s));
	struct stat st = { 0 };
	int rc = 0;

	*out = NULL;
	make_lock(s);
	if (strlen(ident) >= IDENT_MAX)
		rc = as_fail(err, AS_EUSE, "the settings of the check take more than %u bytes",
			     IDENT_MAX);
	else if (fd >= 0 && fstat(fd, &st))
		rc = as_fail_errno(err, errno, "cannot look at the file of states");
	if (!rc)
		rc = map_all(s, fd, st.st_size, max, err);
	/* A process that was killed before it had begun leaves nothing but zeros. */
	if (!rc && s->header->magic[0]) {
		rc = take_up(s, ident, max, err);
	} else if (!rc) {
		memcpy(s->header->ident, ident, strlen(ident) + 1);
		s->header->max = max;
		memcpy(s->header->magic, MAGIC, sizeof(MAGIC));
	}
	if (rc) {
		as_store_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

void as_store_close(struct as_store *s)
{
	if (!s)
		return;
	if (s->header)
		munmap(s->header, s->file_bytes);
	if (s->heap)
		munmap(s->heap, s->heap_bytes);
	if (s->slots)
		munmap(s->slots, s->slot_bytes);
	as_shared_free(s, sizeof(*s));
}
