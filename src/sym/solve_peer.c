/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * solve_peer: the process of Z3, as its user sees it. It is forked when it is first needed. It gets
 * one question at a time; if there is no answer in time, or if it dies, it is killed, the question
 * has no answer, and the next question gets a new process. Its time is that of the processor, so
 * that a busy machine answers what an idle one does; by the clock, it may take many times as long.
 *
 * The process keeps the nodes of earlier questions, and what Z3 learnt from them: the questions of
 * a path have most of their conditions in common, and so have the paths of a place. Nodes are known
 * by their digests, which are the same on every path; only those that the process does not have
 * are sent. It forgets all of them when a question has no condition that was in one before, or
 * when they have become many, since each one that is kept makes all questions slower.
 */
#include "sym/solve_priv.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/table.h"
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BUSY 40 /* times the deadline, by the clock */
#define SLICE_MS 20 /* after which the time is looked at */
#define KEPT_NODES 4000u /* then all are forgotten */
#define KEPT_QUESTIONS 200u

struct solve_peer {
	uint64_t memory_bytes, deaths, used_us;
	pid_t pid;
	int fd;
	/* Of the question. */
	int64_t until_us, until_used_us; /* by the clock, and by what the process has used */
	bool late;
	struct as_buf text, tables;
	uint32_t *number; /* that each node of the graph has in the process */
	size_t cap;
	/* What the process has. */
	bool fresh;
	struct as_table known;
	struct as_digest *digests; /* of nodes, from 1 on */
	size_t n, cap_digests;
	unsigned n_tables, questions;
};

struct solve_peer *as_solve_peer_new(uint64_t memory_bytes, bool fresh)
{
	struct solve_peer *p = as_xcalloc(1, sizeof(*p));

	p->memory_bytes = memory_bytes;
	p->fd = -1;
	p->fresh = fresh;
	return p;
}

static void forget(struct solve_peer *p)
{
	as_table_clear(&p->known);
	p->n = 0;
	p->n_tables = p->questions = 0;
}

static void stop(struct solve_peer *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	if (p->pid > 0) {
		kill(p->pid, SIGKILL);
		while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	p->pid = 0;
	forget(p);
}

void as_solve_peer_free(struct solve_peer *p)
{
	if (!p)
		return;
	stop(p);
	as_buf_free(&p->text);
	as_buf_free(&p->tables);
	as_table_free(&p->known);
	free(p->digests);
	free(p->number);
	free(p);
}

int as_solve_peer_pid(const struct solve_peer *p)
{
	return p->pid;
}

uint64_t as_solve_peer_deaths(const struct solve_peer *p)
{
	return p->deaths;
}

uint64_t as_solve_peer_used_us(const struct solve_peer *p)
{
	return p->used_us;
}

/* How much address space there is now, from /proc/self/statm; 0: unknown. */
static uint64_t space_bytes(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void serve(struct solve_peer *p, int fd)
{
	static const int deadly[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
	uint64_t most = space_bytes() + p->memory_bytes;
	struct rlimit limit = { most, most };

	/* It dies of what it dies of; nobody here catches that. */
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		signal(deadly[i], SIG_DFL);
	(void)setrlimit(RLIMIT_AS, &limit);
	limit = (struct rlimit){ 0, 0 };
	(void)setrlimit(RLIMIT_CORE, &limit);
#ifdef AS_HAVE_z3
	as_z3_serve(fd);
#else
	(void)fd;
	_exit(1);
#endif
}

static bool start(struct solve_peer *p)
{
	int pair[2];

	if (p->pid > 0)
		return true;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return false;
	p->pid = as_spawn_child(AS_BIRTH_DEAF);
	if (!p->pid) {
		close(pair[0]);
		serve(p, pair[1]);
	}
	close(pair[1]);
	p->fd = pair[0];
	(void)fcntl(p->fd, F_SETFL, O_NONBLOCK);
	if (p->pid < 0)
		stop(p);
	return p->pid > 0;
}

/* Processor time that the process has used. */
static int64_t used_us(const struct solve_peer *p)
{
	struct timespec t = { 0 };
	clockid_t clock;

	if (clock_getcpuclockid(p->pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* All of `len` bytes, in time. */
static bool transfer(struct solve_peer *p, void *data, size_t len, bool send_it)
{
	size_t done = 0;

	while (done < len) {
		struct pollfd fd = { .fd = p->fd, .events = send_it ? POLLOUT : POLLIN };
		ssize_t n;

		if (as_now_us() >= p->until_us || used_us(p) >= p->until_used_us) {
			p->late = true;
			return false;
		}
		if (poll(&fd, 1, SLICE_MS) < 0 && errno != EINTR)
			return false;
		if (!fd.revents)
			continue;
		n = send_it ? send(p->fd, (char *)data + done, len - done, MSG_NOSIGNAL)
			    : recv(p->fd, (char *)data + done, len - done, 0);
		if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* ---- A question as bytes --------------------------------------------------------------------- */

struct peer_key {
	const struct solve_peer *p;
	struct as_digest digest;
};

static bool is_known(const void *ctx, size_t i)
{
	const struct peer_key *k = ctx;

	return as_digest_eq(k->p->digests[i - 1], k->digest);
}

/* The number of a node in the process; 0: it does not have it. */
static uint32_t known(const struct solve_peer *p, const struct as_expr *e, uint32_t node)
{
	struct peer_key key = { p, as_expr_digest(e, node) };
	size_t i = as_table_find(&p->known, key.digest.lo, is_known, &key);

	return i == AS_TABLE_NONE ? 0 : (uint32_t)i;
}

static void add_table(struct solve_peer *p, const struct as_expr *e, uint32_t table)
{
	uint32_t bytes = as_expr_table_bytes(e, table);

	as_buf_add(&p->tables, &bytes, sizeof(bytes));
	for (uint32_t k = 0; k < bytes; k++)
		as_buf_addc(&p->tables, (char)as_expr_table_at(e, table, k, 8));
}

/* Sets the node's number; sends it, if it is a new one. */
static void add_node(struct solve_peer *p, const struct as_expr *e, uint32_t node,
		     struct solve_wire *w)
{
	const struct as_expr_node *at = as_expr_at(e, node);
	struct as_expr_node x;

	p->number[node] = known(p, e, node);
	if (p->number[node])
		return;
	memset(&x, 0, sizeof(x));
	x.op = at->op;
	x.width = at->width;
	x.imm = at->imm;
	for (unsigned i = 0; i < as_expr_op_args(at->op); i++)
		x.arg[i] = p->number[at->arg[i]];
	if (x.op == AS_EXPR_TABLE) {
		add_table(p, e, (uint32_t)at->imm);
		x.imm = p->n_tables++;
		w->tables++;
	}
	as_buf_add(&p->text, &x, sizeof(x));
	w->nodes++;
	AS_ARRAY_ROOM(p->digests, p->n, p->cap_digests);
	p->digests[p->n++] = as_expr_digest(e, node);
	as_table_add(&p->known, as_expr_digest(e, node).lo, p->n);
	p->number[node] = (uint32_t)p->n;
}

/* Whether what the process has is of no use. The target is new in most questions. */
static bool is_stale(const struct solve_peer *p, const struct solve_slice *s)
{
	if (p->fresh || p->n > KEPT_NODES || p->questions >= KEPT_QUESTIONS)
		return true;
	for (size_t i = 0; i < s->n; i++)
		if (known(p, s->expr, s->terms[i]))
			return false;
	return true;
}

static void add_inputs(struct solve_peer *p, const struct solve_slice *s, const bool *fixed)
{
	for (uint32_t k = 0; k < s->n_inputs; k++) {
		uint32_t node = as_expr_input(s->expr, as_expr_input_off(s->expr, s->inputs[k]));
		struct solve_wire_input in = { p->number[node],
					       fixed && fixed[k] ? 256u + s->hint[s->inputs[k]]
								 : 0 };

		as_buf_add(&p->text, &in, sizeof(in));
	}
}

/* False: it is too large. */
static bool write_question(struct solve_peer *p, const struct solve_slice *s, const bool *fixed)
{
	struct solve_wire w = { .inputs = s->n_inputs,
				.terms = (uint32_t)s->n,
				.flags = p->fresh || fixed ? SOLVE_WIRE_FRESH : 0 };

	if (s->nodes.n > SOLVE_WIRE_NODES_MAX)
		return false;
	if (p->cap < (size_t)as_expr_n(s->expr) + 1) {
		p->cap = (size_t)as_expr_n(s->expr) + 1;
		p->number = as_xrealloc(p->number, p->cap * sizeof(*p->number));
	}
	if (is_stale(p, s)) {
		forget(p);
		w.flags |= SOLVE_WIRE_RESET;
	}
	p->questions++;
	p->number[0] = 0;
	as_buf_clear(&p->text);
	as_buf_clear(&p->tables);
	as_buf_add(&p->text, &w, sizeof(w));
	for (size_t i = 0; i < s->nodes.n; i++)
		add_node(p, s->expr, s->nodes.nodes[i], &w);
	as_buf_add(&p->text, p->tables.data, p->tables.len);
	add_inputs(p, s, fixed);
	for (size_t i = 0; i < s->n; i++)
		as_buf_add(&p->text, &p->number[s->terms[i]], sizeof(p->number[0]));
	memcpy(p->text.data, &w, sizeof(w));
	return true;
}

/* ---- The answer ------------------------------------------------------------------------------ */

/* The terms at these places; the last one is the target. False: that makes no sense. */
static bool set_core(struct solve_slice *s, const uint32_t *places, uint32_t n)
{
	free(s->core);
	s->core = as_xmalloc(((uint64_t)n + 1) * sizeof(*s->core));
	s->n_core = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (places[i] >= s->n)
			return false;
		s->core[s->n_core++] = s->terms[places[i]];
	}
	return true;
}

static bool read_core(struct solve_peer *p, struct solve_slice *s, uint32_t n)
{
	uint32_t *places = as_xmalloc(((uint64_t)n + 1) * sizeof(*places));
	bool ok = transfer(p, places, n * sizeof(*places), false) && set_core(s, places, n);

	if (!ok) {
		free(s->core);
		s->core = NULL;
	}
	free(places);
	return ok;
}

enum as_solved as_solve_peer_ask(struct solve_peer *p, struct solve_slice *s, const bool *fixed,
				 unsigned deadline_ms, unsigned char *bytes)
{
	unsigned char *answer = as_xmalloc(s->n_inputs + 1);
	enum as_solved solved = AS_SOLVED_LATE;
	struct solve_reply r = { 0 };
	int64_t before;
	bool ok;

	memcpy(bytes, s->hint, as_expr_inputs(s->expr));
	if (!write_question(p, s, fixed) || !start(p)) {
		free(answer);
		return AS_SOLVED_LATE;
	}
	p->late = false;
	p->until_us = as_now_us() + (int64_t)deadline_ms * 1000 * BUSY;
	before = used_us(p);
	p->until_used_us = before + (int64_t)deadline_ms * 1000;
	ok = transfer(p, p->text.data, p->text.len, true) && transfer(p, &r, sizeof(r), false) &&
	     r.bytes <= s->n_inputs && r.core <= s->n && transfer(p, answer, r.bytes, false) &&
	     (!r.core || read_core(p, s, r.core));
	p->used_us += (uint64_t)(used_us(p) - before);
	if (!ok) {
		p->deaths += !p->late;
		stop(p);
	} else if (r.solved == AS_SOLVED && r.bytes == s->n_inputs) {
		for (uint32_t k = 0; k < s->n_inputs; k++)
			bytes[s->inputs[k]] = answer[k];
		solved = AS_SOLVED;
	} else if (r.solved == AS_SOLVED_NONE) {
		/* With bytes that keep their values, it only says that these do not help. */
		solved = AS_SOLVED_NONE;
	}
	free(answer);
	return solved;
}
