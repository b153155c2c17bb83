/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_open: making a store, and taking up the one that a file has: see store.c. */
#include "check/search.h"
#include "check/store_priv.h"
#include "os/memory.h"
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "assay-check-4\n"
/* Room for lines, a state on average; it is used up only as lines are added. Offsets have 32
 * bits. */
#define LINE_BYTES 160u
#define LINES_MAX_BYTES ((size_t)UINT32_MAX)
#define SLOTS_MIN 1024u

static int not_ours(struct as_err *err)
{
	return as_fail(err, AS_EUSE, "this is no file of states of this version");
}

/* A file that has something in it must be ours, for as many states, and whole. */
static int look_at_file(const struct as_store *s, off_t size, uint32_t max, struct as_err *err)
{
	struct as_store_header h;

	if (s->fd < 0 || !size)
		return 0;
	if (pread(s->fd, &h, sizeof(h), 0) != sizeof(h))
		return not_ours(err);
	if (h.magic[0] && memcmp(h.magic, MAGIC, sizeof(MAGIC)))
		return not_ours(err);
	if (h.magic[0] && h.max != max)
		return as_fail(err, AS_EUSE, "it was made with other settings: --max-states %u",
			       h.max);
	if ((size_t)size != s->file_bytes)
		return as_fail(err, AS_EUSE, "it has %lld bytes, and not %zu: it is damaged",
			       (long long)size, s->file_bytes);
	return 0;
}

static int map_all(struct as_store *s, int fd, off_t file_size, uint32_t max, struct as_err *err)
{
	int rc;

	s->text_bytes = (size_t)max * LINE_BYTES;
	if (s->text_bytes > LINES_MAX_BYTES)
		s->text_bytes = LINES_MAX_BYTES;
	s->file_bytes = sizeof(*s->header) + max * sizeof(*s->state) + s->text_bytes;
	s->heap_bytes = (size_t)max * sizeof(*s->heap);
	s->slot_bytes = SLOTS_MIN * sizeof(*s->slots);
	while (s->slot_bytes / sizeof(*s->slots) / 2 < max)
		s->slot_bytes *= 2;
	s->fd = fd;
	rc = look_at_file(s, file_size, max, err);
	if (rc)
		return rc;
	if (fd >= 0 && (ftruncate(fd, (off_t)s->file_bytes) ||
			(errno = posix_fallocate(fd, 0, sizeof(*s->header)))))
		return as_fail_errno(err, errno, "cannot keep states in a file");
	s->header = as_memory_reserve(s->file_bytes, fd);
	s->heap = as_memory_reserve(s->heap_bytes, -1);
	s->slots = as_memory_reserve(s->slot_bytes, -1);
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
	const struct as_store_header *h = s->header;

	return (i ? state->parent < i : state->parent == AS_STORE_NONE) && state->line <= h->text &&
	       state->line_bytes <= h->text - state->line && state->sum == as_store_sum(s, state) &&
	       state->depth == as_store_depth_after(s, state->parent, s->text + state->line,
						    state->line_bytes);
}

/* Of states with the same digest, each has a shorter trace than the one before it. */
static bool index_state(struct as_store *s, uint32_t i)
{
	uint32_t known = as_store_find(s, s->state[i].digest);

	if (known == AS_STORE_NONE)
		as_table_add(&s->table, s->state[i].digest.lo, i);
	else if (s->state[known].depth > s->state[i].depth)
		as_store_replace(s, known, i);
	else
		return false;
	as_store_set_flags(s, i, s->state[i].flags & ~(unsigned)AS_STATE_REPLACED);
	return true;
}

/* What else was known of a state is not kept. */
static void push_again(struct as_store *s, uint32_t id)
{
	struct as_search_of of = { .id = id, .depth = s->state[id].depth };

	as_store_put_back(s, id, as_search_rank(AS_SEARCH_bfs, &of));
}

static bool is_sound(as_store_twice twice)
{
	return twice == as_store_twice_of(as_store_once(twice));
}

/* The settings are separated by commas and blanks. */
static size_t setting_len(const char *text)
{
	const char *end = strstr(text, ", ");

	return end ? (size_t)(end - text) : strlen(text);
}

static const char *next_setting(const char *text)
{
	text += setting_len(text);
	return *text ? text + 2 : text;
}

/* Says which setting is another one. */
static int made_otherwise(const char *was, const char *is, struct as_err *err)
{
	size_t n, m;

	while (*was && setting_len(was) == setting_len(is) && !strncmp(was, is, setting_len(was))) {
		was = next_setting(was);
		is = next_setting(is);
	}
	n = setting_len(was);
	m = setting_len(is);
	return as_fail(err, AS_EUSE, "it was made with other settings: `%.*s`, and not `%.*s`",
		       (int)n, was, (int)m, is);
}

/* What is to be expanded is in the frontier again. */
static void take_up_state(struct as_store *s, uint32_t i)
{
	unsigned flags = s->state[i].flags;

	if (flags & AS_STATE_DISCARDED && as_store_gaps(s) > 0) {
		flags &= ~(unsigned)(AS_STATE_DISCARDED | AS_STATE_STOPPED);
		as_store_set_flags(s, i, flags);
		as_store_gap(s, -1);
	}
	if (flags & (AS_STATE_EXPANDED | AS_STATE_STOPPED | AS_STATE_REPLACED))
		return;
	if (flags & AS_STATE_JUDGED) {
		push_again(s, i);
	} else if (!(flags & AS_STATE_AGAIN)) {
		as_store_set_flags(s, i, flags | AS_STATE_AGAIN);
		as_store_gap(s, 1);
	}
}

/* A file may be anything: what cannot be right is refused. What can be counted is counted. */
static int take_up(struct as_store *s, const char *ident, uint32_t max, struct as_err *err)
{
	struct as_store_header *h = s->header;
	uint32_t n = as_store_n(s), text = 0;

	if (!memchr(h->ident, '\0', AS_STORE_IDENT_MAX))
		return not_ours(err);
	if (strcmp(h->ident, ident))
		return made_otherwise(h->ident, ident, err);
	if (!is_sound(h->n) || !is_sound(h->gaps) || n > max || as_store_gaps(s) < 0 ||
	    h->text > s->text_bytes)
		return as_fail(err, AS_EUSE, "its beginning is damaged");
	h->replaced = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!is_whole(s, i) || !index_state(s, i))
			return as_fail(err, AS_EUSE, "state %u of %u is damaged", i, n);
		if (s->state[i].line + s->state[i].line_bytes > text)
			text = s->state[i].line + (uint32_t)s->state[i].line_bytes;
	}
	h->text = text;
	h->room_state = n * sizeof(*s->state);
	h->room_text = text;
	for (uint32_t i = 0; i < n; i++)
		take_up_state(s, i);
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
	if (strlen(ident) >= AS_STORE_IDENT_MAX)
		rc = as_fail(err, AS_EUSE, "the settings of the check take more than %u bytes",
			     AS_STORE_IDENT_MAX);
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
		s->header->n = s->header->gaps = as_store_twice_of(0);
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
	as_memory_give_back(s->header, s->file_bytes);
	as_memory_give_back(s->heap, s->heap_bytes);
	as_memory_give_back(s->slots, s->slot_bytes);
	as_shared_free(s, sizeof(*s));
}
