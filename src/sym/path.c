/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * path: see path.h.
 *
 * Method. Nodes are taken over one by one; each is simplified on the way, so that a node of the log
 * may become one that was there before. The log is written by a process that runs a checker on a
 * damaged disk, and that process may have overwritten it: every number in it is compared with what
 * there is, and the graph is evaluated on the bytes that the run had. A value that differs from the
 * log's is counted, and the path is not used then.
 */
#include "sym/path.h"

#include "base/array.h"
#include "sym/vg/log.h"

#include <stdlib.h>
#include <string.h>

#define OBJS_MAX 64u
#define EVENTS_MAX ((size_t)1 << 22)

static const uint8_t op_of[AS_SYM_OP_COUNT] = {
	[AS_SYM_INPUT] = AS_EXPR_INPUT,	    [AS_SYM_CONST] = AS_EXPR_CONST,
	[AS_SYM_ADD] = AS_EXPR_ADD,	    [AS_SYM_SUB] = AS_EXPR_SUB,
	[AS_SYM_MUL] = AS_EXPR_MUL,	    [AS_SYM_UDIV] = AS_EXPR_UDIV,
	[AS_SYM_UREM] = AS_EXPR_UREM,	    [AS_SYM_SDIV] = AS_EXPR_SDIV,
	[AS_SYM_SREM] = AS_EXPR_SREM,	    [AS_SYM_AND] = AS_EXPR_AND,
	[AS_SYM_OR] = AS_EXPR_OR,	    [AS_SYM_XOR] = AS_EXPR_XOR,
	[AS_SYM_NOT] = AS_EXPR_NOT,	    [AS_SYM_NEG] = AS_EXPR_NEG,
	[AS_SYM_SHL] = AS_EXPR_SHL,	    [AS_SYM_LSHR] = AS_EXPR_LSHR,
	[AS_SYM_ASHR] = AS_EXPR_ASHR,	    [AS_SYM_CONCAT] = AS_EXPR_CONCAT,
	[AS_SYM_EXTRACT] = AS_EXPR_EXTRACT, [AS_SYM_ZEXT] = AS_EXPR_ZEXT,
	[AS_SYM_SEXT] = AS_EXPR_SEXT,	    [AS_SYM_EQ] = AS_EXPR_EQ,
	[AS_SYM_ULT] = AS_EXPR_ULT,	    [AS_SYM_ULE] = AS_EXPR_ULE,
	[AS_SYM_SLT] = AS_EXPR_SLT,	    [AS_SYM_SLE] = AS_EXPR_SLE,
	[AS_SYM_ITE] = AS_EXPR_ITE,	    [AS_SYM_CLZ] = AS_EXPR_CLZ,
	[AS_SYM_CTZ] = AS_EXPR_CTZ,	    [AS_SYM_POPCNT] = AS_EXPR_POPCNT,
	[AS_SYM_TABLE] = AS_EXPR_TABLE,
};

struct obj {
	uint64_t bias, text, size;
	uint64_t name; /* hash of the file's name */
};

struct reading {
	const unsigned char *log;
	struct as_symlog_head head;
	struct as_path *path;
	uint32_t *own; /* the node of each node of the log; 0: it cannot be used */
	uint32_t tables[256], n_tables; /* ours, by the log's number; UINT32_MAX: not there */
	struct obj objs[OBJS_MAX];
	unsigned n_objs;
	/* Entries that had another value when they were read than in the log's copy of their
	 * table: the run has overwritten them. Their indexes hold from there on. */
	struct stale {
		uint64_t id; /* of the node in the log */
		uint32_t index; /* ours */
		as_u128 value; /* of the index */
	} * stale;
	size_t n_stale, cap_stale, told;
};

void as_path_free(struct as_path *p)
{
	as_expr_free(p->expr);
	free(p->steps);
	free(p->cover);
	free(p->inputs);
	*p = (struct as_path){ 0 };
}

static bool fits(uint64_t off, uint64_t n, uint64_t item, uint64_t len)
{
	return off <= len && n <= (len - off) / item;
}

static int read_head(struct reading *r, size_t len, struct as_err *err)
{
	struct as_symlog_head *h = &r->head;

	if (len < sizeof(*h))
		return as_fail(err, AS_EIO, "log: it is shorter than its head");
	memcpy(h, r->log, sizeof(*h));
	if (h->magic != AS_SYMLOG_MAGIC || h->version != AS_SYMLOG_VERSION)
		return as_fail(err, AS_EIO, "log: it is none, or of another version");
	if (h->nodes_count > AS_EXPR_NODES_MAX ||
	    !fits(h->nodes_offset, h->nodes_count, sizeof(struct as_symlog_node), len) ||
	    !fits(h->events_offset, h->events_bytes, 1, len))
		return as_fail(err, AS_EIO, "log: it is cut off");
	return 0;
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* The file of code that has the address; NULL: none. */
static const struct obj *obj_of(const struct reading *r, uint64_t addr)
{
	for (unsigned i = 0; i < r->n_objs; i++)
		if (addr - r->objs[i].text < r->objs[i].size)
			return &r->objs[i];
	return NULL;
}

/* Whether an address is in a file of code, the same number in every run. */
static uint64_t site_of(const struct reading *r, uint64_t addr)
{
	const struct obj *o = obj_of(r, addr);

	return o ? as_mix64(o->name) + (addr - o->bias) : addr;
}

static void add_cover(struct reading *r, uint64_t addr, uint32_t bytes)
{
	struct as_path *p = r->path;
	const struct obj *o = obj_of(r, addr);

	AS_ARRAY_ROOM(p->cover, p->n_cover, p->cap_cover);
	p->cover[p->n_cover++] = (struct as_path_cover){ .at = site_of(r, addr),
							 .bytes = bytes,
							 .file = o ? o->name : 0,
							 .off = o ? addr - o->text : 0,
							 .text_bytes = o ? o->size : 0 };
}

static void read_obj(struct reading *r, const unsigned char *at)
{
	struct as_symlog_obj o;
	const char *name;

	memcpy(&o, at, sizeof(o));
	o.path[sizeof(o.path) - 1] = '\0';
	name = strrchr(o.path, '/') ? strrchr(o.path, '/') + 1 : o.path;
	for (unsigned i = 0; i < r->n_objs; i++)
		if (r->objs[i].text == o.text)
			return;
	if (r->n_objs < OBJS_MAX)
		r->objs[r->n_objs++] = (struct obj){ .bias = o.base,
						     .text = o.text,
						     .size = o.text_size,
						     .name = as_hash64(name, strlen(name)) };
}

static void read_table(struct reading *r, const unsigned char *at)
{
	struct as_symlog_table t;

	memcpy(&t, at, sizeof(t));
	if (t.number < sizeof(r->tables) / sizeof(r->tables[0]) &&
	    t.bytes <= AS_EXPR_TABLE_BYTES_MAX)
		r->tables[t.number] = as_expr_add_table(r->path->expr, at + sizeof(t), t.bytes);
}

/* The node that is 1 on this path. */
static uint32_t holds_of(struct as_expr *e, uint32_t node, as_u128 value)
{
	unsigned width = as_expr_at(e, node)->width;

	if (width == 1)
		return value ? node : as_expr_op1(e, AS_EXPR_NOT, 1, node, 0);
	return as_expr_op2(e, AS_EXPR_EQ, node, as_expr_const(e, width, value));
}

static int push_step(struct reading *r, uint32_t own, uint64_t site, as_u128 value,
		     enum as_path_kind kind, struct as_err *err)
{
	struct as_path *p = r->path;
	uint32_t holds = holds_of(p->expr, own, value);

	if (!holds)
		return as_fail(err, AS_EIO, "log: there are too many nodes");
	AS_ARRAY_ROOM(p->steps, p->n, p->cap);
	p->steps[p->n++] = (struct as_path_step){
		.site = site, .node = own, .value = value, .holds = holds, .kind = kind
	};
	return 0;
}

/* What was read from overwritten tables before this node was made. */
static int tell_stale(struct reading *r, uint64_t before, struct as_err *err)
{
	int rc = 0;

	for (; !rc && r->told < r->n_stale && r->stale[r->told].id < before; r->told++)
		rc = push_step(r, r->stale[r->told].index, 0, r->stale[r->told].value,
			       AS_PATH_HOLDS, err);
	return rc;
}

static int add_step(struct reading *r, uint32_t node, uint64_t site, as_u128 value,
		    enum as_path_kind kind, struct as_err *err)
{
	struct as_path *p = r->path;
	uint32_t own;
	int rc;

	if (node >= r->head.nodes_count || !node)
		return as_fail(err, AS_EIO, "log: an event names node %u, which is not there",
			       node);
	own = r->own[node];
	if (!own)
		return as_fail(err, AS_EIO, "log: an event names node %u, which makes no sense",
			       node);
	if (value & ~as_expr_mask(as_expr_at(p->expr, own)->width))
		return as_fail(err, AS_EIO, "log: node %u cannot have the value that it had", node);
	/* What holds for every disk is no condition; expr found that out. */
	if (as_expr_is_const(p->expr, own))
		return 0;
	rc = tell_stale(r, node, err);
	return rc ? rc : push_step(r, own, site_of(r, site), value, kind, err);
}

static int read_event(struct reading *r, const unsigned char *at, struct as_err *err)
{
	struct as_path *p = r->path;
	union {
		struct as_symlog_branch branch;
		struct as_symlog_pin pin;
		struct as_symlog_cover cover;
		struct as_symlog_drop drop;
		struct as_symlog_end end;
	} u;

	switch (*at) {
	case AS_SYMLOG_BRANCH:
		memcpy(&u.branch, at, sizeof(u.branch));
		p->branches++;
		return add_step(
			r, u.branch.node, u.branch.site, u.branch.taken & 1,
			u.branch.flags & AS_SYMLOG_B_CAPPED ? AS_PATH_HOLDS : AS_PATH_BRANCH, err);
	case AS_SYMLOG_SEAL: /* sealing decides it anew */
		p->seals++;
		return 0;
	case AS_SYMLOG_PIN:
		memcpy(&u.pin, at, sizeof(u.pin));
		p->pins++;
		if (u.pin.why == AS_SYMLOG_WHY_OPAQUE)
			return 0;
		/* Another address, target or argument is another path, too. */
		return add_step(
			r, u.pin.node, u.pin.site, (as_u128)u.pin.value[1] << 64 | u.pin.value[0],
			u.pin.why == AS_SYMLOG_WHY_ADDRESS || u.pin.why == AS_SYMLOG_WHY_JUMP ||
					u.pin.why == AS_SYMLOG_WHY_SYSCALL
				? AS_PATH_PLACE
				: AS_PATH_HOLDS,
			err);
	case AS_SYMLOG_COVER:
		memcpy(&u.cover, at, sizeof(u.cover));
		add_cover(r, u.cover.addr, u.cover.size);
		return 0;
	case AS_SYMLOG_DROP:
		memcpy(&u.drop, at, sizeof(u.drop));
		p->drops += u.drop.count;
		return 0;
	case AS_SYMLOG_END:
		memcpy(&u.end, at, sizeof(u.end));
		p->capped = u.end.capped;
		return 0;
	default:
		return 0;
	}
}

/* Pass 0: what nodes and addresses need. Pass 1: the path. */
static int read_events(struct reading *r, int pass, struct as_err *err)
{
	const unsigned char *at = r->log + r->head.events_offset;
	size_t left = r->head.events_bytes, n = 0;
	int rc = 0;

	while (!rc && left) {
		size_t len = as_symlog_event_bytes(at, left);

		if (!len || len > left || n++ > EVENTS_MAX)
			return as_fail(err, AS_EIO, "log: event %zu makes no sense", n);
		if (pass)
			rc = read_event(r, at, err);
		else if (*at == AS_SYMLOG_OBJ)
			read_obj(r, at);
		else if (*at == AS_SYMLOG_TABLE)
			read_table(r, at);
		at += len;
		left -= len;
	}
	return rc;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* Whether an entry is not what was read. Then the index is noted. */
static bool is_stale(struct reading *r, const struct as_symlog_node *n,
		     const struct as_expr_node *x, uint64_t id, as_u128 value)
{
	struct as_symlog_node index;
	as_u128 off;

	memcpy(&index, r->log + r->head.nodes_offset + n->a * sizeof(index), sizeof(index));
	off = ((as_u128)index.value[1] << 64 | index.value[0]) & as_expr_mask(index.width);
	if (as_expr_table_at(r->path->expr, (uint32_t)x->imm, off, n->width) == value ||
	    as_expr_is_const(r->path->expr, x->arg[0]))
		return false;
	AS_ARRAY_ROOM(r->stale, r->n_stale, r->cap_stale);
	r->stale[r->n_stale++] = (struct stale){ id, x->arg[0], off };
	return true;
}

static uint32_t take_node(struct reading *r, const struct as_symlog_node *n, uint64_t id)
{
	struct as_expr_node x = { .width = n->width };
	const uint32_t from[] = { n->a, n->b, n->c };
	as_u128 value = (as_u128)n->value[1] << 64 | n->value[0];
	unsigned args;

	if (n->op <= AS_SYM_NONE || n->op >= AS_SYM_OP_COUNT || !n->width ||
	    n->width > AS_EXPR_WIDTH_MAX)
		return 0;
	/* What came from it decides only what is sealed anew. */
	if (n->op == AS_SYM_OPAQUE)
		return as_expr_const(r->path->expr, n->width, value);
	x.op = op_of[n->op];
	args = as_expr_op_args(x.op);
	for (unsigned i = 0; i < args; i++) {
		if (!from[i] || from[i] >= id || !r->own[from[i]])
			return 0;
		x.arg[i] = r->own[from[i]];
	}
	x.imm = (as_u128)n->imm[1] << 64 | n->imm[0];
	if (x.op == AS_EXPR_TABLE) {
		if (x.imm >= sizeof(r->tables) / sizeof(r->tables[0]) ||
		    r->tables[(size_t)x.imm] == UINT32_MAX)
			return 0;
		x.imm = r->tables[(size_t)x.imm];
		if (is_stale(r, n, &x, id, value))
			return as_expr_const(r->path->expr, n->width, value);
	}
	return as_expr_make(r->path->expr, &x);
}

/* Evaluates everything on the bytes of this run. */
static void compare_values(struct reading *r)
{
	const unsigned char *nodes = r->log + r->head.nodes_offset;
	struct as_path *p = r->path;
	as_u128 *values = as_xcalloc((uint64_t)as_expr_n(p->expr) + 1, sizeof(*values));

	as_expr_eval(p->expr, p->inputs, values);
	for (uint64_t i = 1; i < r->head.nodes_count; i++) {
		struct as_symlog_node n;

		memcpy(&n, nodes + i * sizeof(n), sizeof(n));
		if (r->own[i] && values[r->own[i]] != ((as_u128)n.value[1] << 64 | n.value[0]))
			p->wrong++;
	}
	for (size_t i = 0; i < p->n; i++)
		p->wrong += values[p->steps[i].node] != p->steps[i].value;
	free(values);
}

static void take_nodes(struct reading *r)
{
	struct as_path *p = r->path;
	const unsigned char *at = r->log + r->head.nodes_offset;
	struct as_symlog_node n;
	uint64_t count = r->head.nodes_count;

	r->own = as_xcalloc(count + 1, sizeof(*r->own));
	for (uint64_t i = 1; i < count; i++) {
		memcpy(&n, at + i * sizeof(n), sizeof(n));
		r->own[i] = take_node(r, &n, i);
	}
	p->inputs = as_xcalloc(as_expr_inputs(p->expr) + 1, 1);
	for (uint64_t i = 1; i < count; i++) {
		memcpy(&n, at + i * sizeof(n), sizeof(n));
		if (n.op == AS_SYM_INPUT && r->own[i])
			p->inputs[as_expr_input_of(p->expr, n.imm[0])] = (unsigned char)n.value[0];
	}
}

static struct as_digest digest_of(const struct as_path *p)
{
	uint64_t *words = as_xmalloc((p->n + 1) * 2 * sizeof(*words));
	struct as_digest digest;

	for (size_t i = 0; i < p->n; i++) {
		words[2 * i] = p->steps[i].site;
		words[2 * i + 1] = (uint64_t)p->steps[i].value;
	}
	digest = as_hash(words, p->n * 2 * sizeof(*words));
	free(words);
	return digest;
}

int as_path_read(const void *log, size_t len, struct as_path *p, struct as_err *err)
{
	struct reading r = { .log = log, .path = p };
	int rc;

	*p = (struct as_path){ .expr = as_expr_new() };
	memset(r.tables, 0xff, sizeof(r.tables));
	rc = read_head(&r, len, err);
	if (!rc)
		rc = read_events(&r, 0, err);
	if (!rc) {
		take_nodes(&r);
		rc = read_events(&r, 1, err);
	}
	if (!rc) {
		compare_values(&r);
		p->digest = digest_of(p);
		p->mismatches = r.head.mismatches;
		p->instructions = r.head.instructions;
		p->ended = r.head.flags & AS_SYMLOG_F_ENDED;
		p->full = r.head.flags & AS_SYMLOG_F_FULL;
		p->async = r.head.flags & AS_SYMLOG_F_ASYNC;
		p->threads = r.head.flags & AS_SYMLOG_F_THREADS;
		p->forks = r.head.flags & AS_SYMLOG_F_FORKS;
		p->execs = r.head.flags & AS_SYMLOG_F_EXECS;
	}
	free(r.own);
	free(r.stale);
	if (rc)
		as_path_free(p);
	return rc;
}

void as_path_drops(const void *log, size_t len, struct as_buf *out)
{
	struct reading r = { .log = log };
	struct as_symlog_drop d;
	const unsigned char *at;
	size_t left, bytes;

	if (read_head(&r, len, NULL))
		return;
	at = r.log + r.head.events_offset;
	left = r.head.events_bytes;
	for (; left && (bytes = as_symlog_event_bytes(at, left)) && bytes <= left;
	     left -= bytes, at += bytes)
		if (*at == AS_SYMLOG_DROP) {
			memcpy(&d, at, sizeof(d));
			as_buf_addf(out, "%.*s %u\n", (int)strnlen(d.name, sizeof(d.name)), d.name,
				    d.count);
		}
}
