/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * solve_peer: the process of Z3, as its user sees it. It is forked when it is first needed. It gets
 * one question at a time; if there is no answer in time, or if it dies, it is killed, the question
 * has no answer, and the next question gets a new process. Its time is that of the processor, so
 * that a busy machine answers what an idle one does; by the clock, it may take many times as long.
 */
#include "sym/solve_priv.h"

#include "base/buf.h"
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BUSY 40 /* times the deadline, by the clock */
#define SLICE_MS 20 /* after which the time is looked at */

struct solve_peer {
	unsigned deadline_ms;
	uint64_t memory_bytes, deaths;
	pid_t pid;
	int fd;
	/* Of the question. */
	int64_t until_us, until_used_us; /* by the clock, and by what the process has used */
	bool late;
	struct as_buf text;
	uint32_t *number; /* of each node in the question */
	size_t cap;
};

struct solve_peer *as_solve_peer_new(unsigned deadline_ms, uint64_t memory_bytes)
{
	struct solve_peer *p = as_xcalloc(1, sizeof(*p));

	p->deadline_ms = deadline_ms;
	p->memory_bytes = memory_bytes;
	p->fd = -1;
	return p;
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
}

void as_solve_peer_free(struct solve_peer *p)
{
	if (!p)
		return;
	stop(p);
	as_buf_free(&p->text);
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

static void serve(struct solve_peer *p, int fd, pid_t parent)
{
	static const int deadly[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM };
	uint64_t most = space_bytes() + p->memory_bytes;
	struct rlimit limit = { most, most };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	signal(SIGINT, SIG_IGN);
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
	pid_t parent = getpid();
	int pair[2];

	if (p->pid > 0)
		return true;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return false;
	p->pid = fork();
	if (!p->pid) {
		close(pair[0]);
		serve(p, pair[1], parent);
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

static void add_node(struct solve_peer *p, const struct solve_slice *s, uint32_t node, as_u128 imm,
		     uint32_t number)
{
	struct as_expr_node x;

	memset(&x, 0, sizeof(x));
	x.op = as_expr_at(s->expr, node)->op;
	x.width = as_expr_at(s->expr, node)->width;
	x.imm = imm;
	for (unsigned i = 0; i < 3; i++)
		x.arg[i] = p->number[as_expr_at(s->expr, node)->arg[i]];
	p->number[node] = number;
	as_buf_add(&p->text, &x, sizeof(x));
}

static void add_tables(struct solve_peer *p, const struct solve_slice *s, struct solve_wire *w)
{
	for (size_t i = 0; i < s->nodes.n; i++) {
		const struct as_expr_node *x = as_expr_at(s->expr, s->nodes.nodes[i]);
		uint32_t bytes;

		if (x->op != AS_EXPR_TABLE)
			continue;
		bytes = as_expr_table_bytes(s->expr, (uint32_t)x->imm);
		as_buf_add(&p->text, &bytes, sizeof(bytes));
		for (uint32_t k = 0; k < bytes; k++)
			as_buf_addc(&p->text,
				    (char)as_expr_table_at(s->expr, (uint32_t)x->imm, k, 8));
		w->tables++;
	}
}

/* False: it is too large. */
static bool write_question(struct solve_peer *p, const struct solve_slice *s, const bool *fixed)
{
	struct solve_wire w = { 0 };
	uint32_t tables = 0;

	if (s->nodes.n > SOLVE_WIRE_NODES_MAX)
		return false;
	if (p->cap < (size_t)as_expr_n(s->expr) + 1) {
		p->cap = (size_t)as_expr_n(s->expr) + 1;
		p->number = as_xrealloc(p->number, p->cap * sizeof(*p->number));
	}
	p->number[0] = 0;
	as_buf_clear(&p->text);
	as_buf_add(&p->text, &w, sizeof(w));
	for (uint32_t k = 0; k < s->n_inputs; k++) {
		uint32_t node = as_expr_input(s->expr, as_expr_input_off(s->expr, s->inputs[k]));

		add_node(p, s, node, fixed && fixed[k] ? 256u + s->hint[s->inputs[k]] : 0,
			 ++w.nodes);
	}
	w.inputs = w.nodes;
	for (size_t i = 0; i < s->nodes.n; i++) {
		const struct as_expr_node *x = as_expr_at(s->expr, s->nodes.nodes[i]);

		if (x->op == AS_EXPR_INPUT)
			continue;
		add_node(p, s, s->nodes.nodes[i], x->op == AS_EXPR_TABLE ? tables++ : x->imm,
			 ++w.nodes);
	}
	add_tables(p, s, &w);
	w.terms = (uint32_t)s->n;
	for (size_t i = 0; i < s->n; i++)
		as_buf_add(&p->text, &p->number[s->terms[i]], sizeof(p->number[0]));
	memcpy(p->text.data, &w, sizeof(w));
	return true;
}

enum as_solved as_solve_peer_ask(struct solve_peer *p, const struct solve_slice *s,
				 const bool *fixed, unsigned char *bytes)
{
	unsigned char *answer = as_xmalloc(s->n_inputs + 1);
	enum as_solved solved = AS_SOLVED_LATE;
	struct solve_reply r = { 0 };
	bool ok;

	memcpy(bytes, s->hint, as_expr_inputs(s->expr));
	if (!write_question(p, s, fixed) || !start(p)) {
		free(answer);
		return AS_SOLVED_LATE;
	}
	p->late = false;
	p->until_us = as_now_us() + (int64_t)p->deadline_ms * 1000 * BUSY;
	p->until_used_us = used_us(p) + (int64_t)p->deadline_ms * 1000;
	ok = transfer(p, p->text.data, p->text.len, true) && transfer(p, &r, sizeof(r), false) &&
	     r.bytes <= s->n_inputs && transfer(p, answer, r.bytes, false);
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
