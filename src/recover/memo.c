/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memo: see memo.h. A trie of questions and values.
 *
 * Method. A step is turned into a sequence of questions, "what stands in sectors a..b of the
 * disk?": its reads, without sectors that it has read before (the answer is known) or written
 * before (the answer is its own data). A node of the trie is a step that has come so far. It holds
 * the question that comes next, and for each value met so far the node that follows. To look up a
 * disk, we ask it those questions until a node has the answer, or a value was never met. Values are
 * 128-bit digests. All nodes are found through one hash table by (question they follow, value), so
 * that a node with thousands of values costs no more than one with two.
 *
 * Most steps differ from all others early, and then go on for hundreds of questions that nobody
 * else has come to. So an answer stands at the first node that is its own, with the rest of its
 * questions as a list (tail). When another step comes to that node, the answer moves down by one
 * question, as long as both agree.
 *
 * A kernel reads with many threads: the same step may ask its questions in another order. A node
 * may therefore hold a few questions, each with values of its own; a lookup tries them one after
 * the other. That is sound: an answer is right whenever all values on the path to it are right, in
 * whatever order they were asked for.
 *
 * A step that reads a disk from end to end would make a node for each block of it. So a window
 * (16 chunks, aligned) that it reads from its beginning to its end is one question. Its value is
 * made of those of its chunks, which are kept.
 *
 * Invariants
 *   1. Every node except the roots is in the table, and is counted by the question it follows.
 *      Every question has at least one value, and every node has a question or an answer (a root
 *      may have neither). So an answer that is evicted takes with it all that led only to it.
 *   2. On the path from a root to an answer, its tail included, no sector is asked for twice.
 *   3. bytes is the sum of what nodes, questions and answers take; it exceeds the limit only while
 *      as_memo_add() runs. The table comes on top, and counts against the limit.
 */
#include "recover/memo_priv.h"

#include "base/array.h"
#include "recover/redo.h"
#include "snapshot/tree.h"

#include <stdlib.h>
#include <string.h>

/* ---- The table ------------------------------------------------------------------------------- */

struct memo_key {
	const struct question *follows;
	struct as_digest value;
};

static uint64_t hash_of(const struct question *q, struct as_digest value)
{
	return as_mix64((uint64_t)(uintptr_t)q ^ value.lo) ^ value.hi;
}

static bool is_node(const void *ctx, size_t item)
{
	const struct memo_node *n = as_table_ptr(item);
	const struct memo_key *key = ctx;

	return n->follows == key->follows && as_digest_eq(n->value, key->value);
}

static struct memo_node *find_node(const struct as_memo *m, struct question *q,
				   struct as_digest value)
{
	struct memo_node *n = q->likely;

	if (n && as_digest_eq(n->value, value))
		return n;
	n = as_table_ptr(as_table_find(&m->nodes, hash_of(q, value), is_node,
				       &(struct memo_key){ q, value }));
	if (n)
		q->likely = n;
	return n;
}

static struct memo_node *add_node(struct as_memo *m, struct question *q, struct as_digest value)
{
	struct memo_node *n = as_xcalloc(1, sizeof(*n));

	n->follows = q;
	n->value = value;
	as_table_add_ptr(&m->nodes, hash_of(q, value), n);
	q->values++;
	q->likely = n;
	m->bytes += sizeof(*n);
	return n;
}

static void remove_node(struct as_memo *m, struct memo_node *n)
{
	as_table_remove_ptr(&m->nodes, hash_of(n->follows, n->value), n);
	if (n->follows->likely == n)
		n->follows->likely = NULL;
	n->follows->values--;
	m->bytes -= sizeof(*n);
	free(n);
}

static uint64_t memory_of(const struct as_memo *m)
{
	return m->bytes + as_table_bytes(&m->nodes);
}

static void remove_question(struct as_memo *m, struct question *q)
{
	struct question **at = &q->node->ask;

	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	m->bytes -= sizeof(*q);
	free(q);
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void unlink_answer(struct as_memo *m, struct memo_answer *a)
{
	*(a->newer ? &a->newer->older : &m->newest) = a->older;
	*(a->older ? &a->older->newer : &m->oldest) = a->newer;
}

static void link_answer(struct as_memo *m, struct memo_answer *a)
{
	a->newer = NULL;
	a->older = m->newest;
	*(m->newest ? &m->newest->newer : &m->oldest) = a;
	m->newest = a;
}

static void free_answer(struct memo_answer *a)
{
	as_tree_put(a->said.tree);
	free(a->tail);
	free(a->changes);
	free(a->data);
	free(a);
}

/* Removes a node that leads to nothing, and all that led only to it. */
static void prune(struct as_memo *m, struct memo_node *n)
{
	while (!n->answer && !n->ask && n->follows) {
		struct question *q = n->follows;

		remove_node(m, n);
		if (q->values)
			return;
		n = q->node;
		remove_question(m, q);
	}
}

static void evict(struct as_memo *m, struct memo_answer *a)
{
	struct memo_node *n = a->node;

	unlink_answer(m, a);
	if (m->last == a)
		m->last = NULL;
	m->bytes -= a->bytes;
	m->tails -= a->n_tail - a->tail_at;
	m->stats.kept--;
	n->answer = NULL;
	free_answer(a);
	prune(m, n);
}

static struct memo_answer *make_answer(const struct as_reclog *log,
				       const struct as_memo_answer *said)
{
	size_t why_len = strlen(said->why) + 1, len = as_reclog_len(log), data = 0;
	struct memo_answer *a = as_xcalloc(1, sizeof(*a) + why_len);

	memcpy(a->why, said->why, why_len);
	a->said = *said;
	a->said.why = a->why;
	a->said.told = false;
	a->said.tree = said->tree ? as_tree_get(said->tree) : NULL;
	a->changes = as_xmalloc((len + 1) * sizeof(*a->changes));
	for (size_t i = 0; i < len; i++) {
		const struct as_log_entry *e = as_reclog_at(log, i);

		a->changes[a->n_changes++] = (struct memo_change){ e->off, e->len, data, e->kind };
		data += e->kind == AS_CALL_WRITE ? e->len : 0;
	}
	a->data = as_xmalloc(data + 1);
	for (size_t i = 0; i < len; i++) {
		const struct as_log_entry *e = as_reclog_at(log, i);

		if (e->kind == AS_CALL_WRITE)
			memcpy(a->data + a->changes[i].data, e->data, e->len);
	}
	a->bytes = sizeof(*a) + why_len + (len + 1) * sizeof(*a->changes) + data + 1 +
		   (a->said.tree ? as_tree_memory(a->said.tree) : 0);
	return a;
}

/* ---- Looking up ------------------------------------------------------------------------------ */

struct memo_node *as_memo_root(struct as_memo *m, uint32_t kind, uint64_t size_bytes)
{
	struct root *root;

	for (size_t i = 0; i < m->n_roots; i++)
		if (m->roots[i]->kind == kind && m->roots[i]->size_bytes == size_bytes)
			return &m->roots[i]->node;
	root = as_xcalloc(1, sizeof(*root));
	root->kind = kind;
	root->size_bytes = size_bytes;
	AS_ARRAY_ROOM(m->roots, m->n_roots, m->roots_cap);
	m->roots[m->n_roots++] = root;
	return &root->node;
}

static struct as_digest hash_at(struct as_memo *m, struct as_disk *disk, uint64_t off, size_t len)
{
	AS_ARRAY_ROOM_FOR(m->buf, 0, len, m->buf_cap);
	as_assert(!as_bd_read(as_disk_bd(disk), off, m->buf, len));
	return as_hash(m->buf, len);
}

/* Crash states share most of their chunks, and are asked the same: so the answers are kept. */
static struct as_digest part_at(struct as_memo *m, struct as_disk *disk, uint64_t off, size_t len)
{
	struct memo_value value = { .at = (uint32_t)(off % AS_CHUNK_BYTES), .len = (uint32_t)len };
	struct memo_value *known;

	if (value.at + len > AS_CHUNK_BYTES || !as_disk_chunk_digest(disk, off, &value.chunk))
		return hash_at(m, disk, off, len);
	known = &m->values[as_mix64(value.chunk.lo + ((uint64_t)value.at << 32) + len) % VALUES];
	if (known->len != len || known->at != value.at ||
	    !as_digest_eq(known->chunk, value.chunk)) {
		value.value = hash_at(m, disk, off, len);
		*known = value;
	}
	return known->value;
}

static struct as_digest value_at(struct as_memo *m, struct as_disk *disk, uint64_t off, size_t len)
{
	struct as_digest parts[WINDOW_CHUNKS];

	if (off % WINDOW || len != WINDOW)
		return part_at(m, disk, off, len);
	for (unsigned i = 0; i < WINDOW_CHUNKS; i++)
		parts[i] = part_at(m, disk, off + i * AS_CHUNK_BYTES, AS_CHUNK_BYTES);
	return as_hash(parts, sizeof(parts));
}

static bool tail_holds(struct as_memo *m, const struct memo_answer *a, struct as_disk *disk)
{
	for (size_t i = a->tail_at; i < a->n_tail; i++)
		if (!as_digest_eq(value_at(m, disk, a->tail[i].off, a->tail[i].len),
				  a->tail[i].value))
			return false;
	return true;
}

static struct memo_answer *look(struct as_memo *m, struct memo_node *n, struct as_disk *disk)
{
	while (n && !n->answer) {
		struct question *q = n->ask;

		for (; q && q->next; q = q->next) {
			struct memo_node *child =
				find_node(m, q, value_at(m, disk, q->off, q->len));
			struct memo_answer *a = child ? look(m, child, disk) : NULL;

			if (a)
				return a;
		}
		n = q ? find_node(m, q, value_at(m, disk, q->off, q->len)) : NULL;
	}
	return n && tail_holds(m, n->answer, disk) ? n->answer : NULL;
}

const struct as_memo_answer *as_memo_find(struct as_memo *m, uint32_t kind, struct as_disk *disk)
{
	struct memo_answer *a = look(m, as_memo_root(m, kind, as_disk_size(disk)), disk);

	m->stats.asked++;
	m->last = a;
	if (!a)
		return NULL;
	m->stats.hits++;
	unlink_answer(m, a);
	link_answer(m, a);
	return &a->said;
}

void as_memo_redo(const struct as_memo *m, struct as_bd *bd, bool log)
{
	const struct memo_answer *a = m->last;
	struct as_buf scratch = { 0 };

	as_assert(a);
	for (size_t i = 0; i < a->n_changes; i++) {
		const struct memo_change *c = &a->changes[i];
		struct as_log_entry e = {
			.off = c->off, .len = c->len, .data = a->data + c->data, .kind = c->kind
		};

		if (log || (c->kind != AS_CALL_READ && c->kind != AS_CALL_FLUSH))
			as_redo(&e, bd, &scratch);
	}
	as_buf_free(&scratch);
}

void as_memo_reads(const struct as_memo *m, struct as_disk_reads *reads)
{
	const struct memo_answer *a = m->last;

	as_assert(a);
	for (size_t i = 0; i < a->n_changes; i++)
		as_disk_reads_call(reads, a->changes[i].kind, a->changes[i].off, a->changes[i].len);
}

/* ---- Adding ---------------------------------------------------------------------------------- */

static bool is_known(const struct as_memo *m, uint64_t sector)
{
	return m->known[sector / 8] & 1u << sector % 8;
}

static void set_known(struct as_memo *m, uint64_t first, uint64_t end)
{
	for (; first < end && first % 8; first++)
		m->known[first / 8] |= (unsigned char)(1u << first % 8);
	for (; end - first >= 8 && first < end; first += 8)
		m->known[first / 8] = 0xff;
	for (; first < end; first++)
		m->known[first / 8] |= (unsigned char)(1u << first % 8);
}

static struct question *question_at(struct as_memo *m, struct memo_node *n, uint64_t off,
				    uint32_t len)
{
	struct question **at = &n->ask;
	int others = 0;

	for (; *at; at = &(*at)->next) {
		if ((*at)->off == off && (*at)->len == len)
			return *at;
		others += ((*at)->len == WINDOW) == (len == WINDOW);
	}
	if (others == QUESTIONS_MAX)
		return NULL;
	*at = as_xcalloc(1, sizeof(**at));
	**at = (struct question){ .off = off, .len = len, .node = n };
	m->bytes += sizeof(**at);
	return *at;
}

/* Along one question with this value to the next node, which may be new. NULL: there is no room. */
static struct memo_node *follow(struct as_memo *m, struct memo_node *n, const struct memo_ask *ask)
{
	struct question *q = question_at(m, n, ask->off, ask->len);
	struct memo_node *child = q ? find_node(m, q, ask->value) : NULL;

	return child || !q ? child : add_node(m, q, ask->value);
}

/* The answer of a node moves down by one question. */
static void move_down(struct as_memo *m, struct memo_node *n)
{
	struct memo_answer *a = n->answer;

	n->answer = NULL;
	m->tails--;
	a->node = follow(m, n, &a->tail[a->tail_at++]);
	a->node->answer = a;
}

/* The first node from `n` on that only the questions of m->asks lead to; *used of them do. NULL:
 * there is none, or no room. */
static struct memo_node *place(struct as_memo *m, struct memo_node *n, size_t *used)
{
	for (*used = 0; n && (n->answer || n->ask); (*used)++) {
		if (n->answer && n->answer->tail_at == n->answer->n_tail)
			return NULL;
		if (*used == m->n_asks)
			return NULL;
		if (n->answer)
			move_down(m, n);
		n = follow(m, n, &m->asks[*used]);
	}
	return n;
}

static void step(struct as_memo *m, struct as_disk *disk, uint64_t off, uint32_t len)
{
	AS_ARRAY_ROOM(m->asks, m->n_asks, m->asks_cap);
	m->asks[m->n_asks++] = (struct memo_ask){ off, len, value_at(m, disk, off, len) };
}

/* Asks for those parts of a read that are not known yet. */
static void ask(struct as_memo *m, struct as_disk *disk, const struct as_log_entry *e)
{
	uint64_t at = e->off / SECTOR, end = (e->off + e->len) / SECTOR, stop;

	/* Most reads of flash are this. */
	if (e->len == SECTOR) {
		if (!is_known(m, at)) {
			AS_ARRAY_ROOM(m->asks, m->n_asks, m->asks_cap);
			m->asks[m->n_asks++] =
				(struct memo_ask){ e->off, SECTOR,
						   part_at(m, disk, e->off, SECTOR) };
		}
		m->known[at / 8] |= (unsigned char)(1u << at % 8);
		return;
	}
	for (; at < end; at = stop) {
		bool known = is_known(m, at);

		for (stop = at; stop < end && is_known(m, stop) == known;)
			stop++;
		if (!known)
			step(m, disk, at * SECTOR, (uint32_t)((stop - at) * SECTOR));
	}
	set_known(m, e->off / SECTOR, end);
}

/* How many entries from the i-th on read a window from its beginning to its end, none of which is
 * known; 0: they do not. */
static size_t window_at(const struct as_memo *m, const struct as_reclog *log, size_t i)
{
	uint64_t off = as_reclog_at(log, i)->off, at = off;
	size_t n = 0;

	if (off % WINDOW)
		return 0;
	for (; at < off + WINDOW && i + n < as_reclog_len(log); n++) {
		const struct as_log_entry *e = as_reclog_at(log, i + n);

		if (e->kind != AS_CALL_READ || e->off != at)
			return 0;
		at += e->len;
	}
	if (at != off + WINDOW)
		return 0;
	for (uint64_t byte = off / SECTOR / 8; byte < (off + WINDOW) / SECTOR / 8; byte++)
		if (m->known[byte])
			return 0;
	return n;
}

/* The sectors that the hint rests on are asked for first: only then may `unseen` be left out. */
static void take_hint(struct as_memo *m, struct as_disk *disk, const struct as_memo_hint *hint)
{
	for (size_t i = 0; i < hint->n_why; i++) {
		struct as_log_entry e = { .off = hint->why[i].off, .len = hint->why[i].len };

		ask(m, disk, &e);
	}
	for (size_t i = 0; i < hint->n_unseen; i++)
		set_known(m, hint->unseen[i].off / SECTOR,
			  (hint->unseen[i].off + hint->unseen[i].len) / SECTOR);
}

/* All questions of a step, with their values: m->asks. */
static void ask_all(struct as_memo *m, struct as_disk *disk, const struct as_reclog *log,
		    const struct as_memo_hint *hint)
{
	size_t len = as_disk_size(disk) / SECTOR / 8 + 1, n = as_reclog_len(log);

	m->n_asks = 0;
	AS_ARRAY_ROOM_FOR(m->known, 0, len, m->known_cap);
	memset(m->known, 0, len);
	if (hint)
		take_hint(m, disk, hint);
	for (size_t i = 0, n_read; i < n; i += n_read ? n_read : 1) {
		const struct as_log_entry *e = as_reclog_at(log, i);

		n_read = e->kind == AS_CALL_READ && e->off % WINDOW == 0 ? window_at(m, log, i) : 0;
		if (n_read)
			step(m, disk, e->off, WINDOW);
		else if (e->kind == AS_CALL_READ)
			ask(m, disk, e);
		if (n_read)
			set_known(m, e->off / SECTOR, (e->off + WINDOW) / SECTOR);
		if (e->kind != AS_CALL_READ && e->kind != AS_CALL_FLUSH)
			set_known(m, e->off / SECTOR, (e->off + e->len) / SECTOR);
	}
}

bool as_memo_keep(struct as_memo *m, struct memo_node *root, struct memo_answer *a)
{
	size_t used;

	m->last = NULL;
	a->node = place(m, root, &used);
	if (!a->node) {
		m->stats.refused++;
		free_answer(a);
		return false;
	}
	a->node->answer = a;
	a->n_tail = m->n_asks - used;
	a->tail = as_xmalloc((a->n_tail + 1) * sizeof(*a->tail));
	if (a->n_tail)
		memcpy(a->tail, m->asks + used, a->n_tail * sizeof(*a->tail));
	a->bytes += (a->n_tail + 1) * sizeof(*a->tail);
	m->tails += a->n_tail;
	link_answer(m, a);
	m->bytes += a->bytes;
	m->stats.kept++;
	while (memory_of(m) > m->limit_bytes && m->oldest) {
		m->stats.evicted++;
		evict(m, m->oldest);
	}
	return m->newest; /* NULL: it was too large itself */
}

bool as_memo_add(struct as_memo *m, uint32_t kind, struct as_disk *disk,
		 const struct as_reclog *log, const struct as_memo_hint *hint,
		 const struct as_memo_answer *said)
{
	m->last = NULL;
	if (!as_disk_reads_is_whole(log)) {
		m->stats.refused++;
		return false;
	}
	ask_all(m, disk, log, hint);
	return as_memo_keep(m, as_memo_root(m, kind, as_disk_size(disk)), make_answer(log, said));
}

/* ---- As a whole ------------------------------------------------------------------------------ */

struct as_memo *as_memo_new(uint64_t limit_bytes)
{
	struct as_memo *m = as_xcalloc(1, sizeof(*m));

	m->limit_bytes = limit_bytes ? limit_bytes : AS_MEMO_LIMIT_BYTES;
	return m;
}

void as_memo_free(struct as_memo *m)
{
	if (!m)
		return;
	while (m->oldest)
		evict(m, m->oldest);
	as_assert(!m->nodes.n && !m->tails);
	for (size_t i = 0; i < m->n_roots; i++)
		free(m->roots[i]);
	free(m->roots);
	as_table_free(&m->nodes);
	free(m->buf);
	free(m->known);
	free(m->asks);
	free(m);
}

struct as_memo_stats as_memo_stats(const struct as_memo *m)
{
	struct as_memo_stats stats = m->stats;

	stats.questions = m->nodes.n + m->tails;
	stats.memory_bytes = memory_of(m);
	return stats;
}
