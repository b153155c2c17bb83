/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * board: see board.h. Places are counted from the beginning and never fall; a notice stands at its
 * place modulo the size of the ring, and does not go over the end of it.
 *
 * Invariant. Notices from `tail` to `head` are whole: `head` moves on after a notice was written,
 * and `tail` before. So a process that is killed while it writes leaves nothing behind.
 */
#include "crash/board.h"

#include "base/err.h"
#include "os/shlock.h"
#include "os/spawn.h"

#include <string.h>
#include <unistd.h>

#define ALIGN 16u

struct notice {
	uint64_t len; /* of the data after it */
	int64_t pid; /* who has posted it; 0: nothing stands here, up to the end of the ring */
};

struct as_board {
	struct as_shlock lock;
	uint64_t head, tail;
	unsigned char ring[AS_BOARD_BYTES];
};

struct as_board *as_board_new(void)
{
	struct as_board *board = as_shared_alloc(sizeof(*board));

	as_shlock_init(&board->lock);
	return board;
}

void as_board_free(struct as_board *board)
{
	if (board)
		as_shared_free(board, sizeof(*board));
}

static uint64_t room_of(uint64_t len)
{
	return (sizeof(struct notice) + len + ALIGN - 1) / ALIGN * ALIGN;
}

/* Takes the oldest notices down until there is room. */
static void make_room(struct as_board *b, uint64_t room)
{
	while (b->head + room - b->tail > AS_BOARD_BYTES) {
		struct notice old;

		memcpy(&old, b->ring + b->tail % AS_BOARD_BYTES, sizeof(old));
		__atomic_store_n(&b->tail, b->tail + room_of(old.len), __ATOMIC_RELAXED);
	}
	/* Who is killed after this has taken them down: the compiler keeps the order, too. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void put(struct as_board *b, int64_t pid, const void *data, uint64_t len)
{
	struct notice notice = { len, pid };
	unsigned char *to = b->ring + b->head % AS_BOARD_BYTES;

	make_room(b, room_of(len));
	memcpy(to, &notice, sizeof(notice));
	if (data)
		memcpy(to + sizeof(notice), data, len);
	__atomic_store_n(&b->head, b->head + room_of(len), __ATOMIC_RELEASE);
}

void as_board_post(struct as_board *b, const void *data, size_t len)
{
	uint64_t left;

	if (len > AS_BOARD_BYTES / 4)
		return;
	as_shlock_take(&b->lock);
	left = AS_BOARD_BYTES - b->head % AS_BOARD_BYTES;
	if (left < room_of(len))
		put(b, 0, NULL, left - sizeof(struct notice));
	put(b, getpid(), data, len);
	as_shlock_give(&b->lock);
}

bool as_board_next(struct as_board *b, uint64_t *at, struct as_buf *out)
{
	bool found = false;

	if (__atomic_load_n(&b->head, __ATOMIC_ACQUIRE) == *at)
		return false;
	as_shlock_take(&b->lock);
	if (*at < b->tail)
		*at = b->tail;
	while (!found && *at < b->head) {
		const unsigned char *from = b->ring + *at % AS_BOARD_BYTES;
		struct notice notice;

		memcpy(&notice, from, sizeof(notice));
		found = notice.pid && notice.pid != getpid();
		if (found) {
			as_buf_clear(out);
			as_buf_add(out, from + sizeof(notice), notice.len);
		}
		*at += room_of(notice.len);
	}
	as_shlock_give(&b->lock);
	return found;
}
