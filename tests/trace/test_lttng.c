/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LTTng's events as babeltrace prints them. The ground truth: fifty processes whose calls are
 * interleaved event by event, with the same descriptor numbers for other files in each, are counted
 * exactly as they were made.
 */
#include "tests/lib/counted.h"

#include "base/prng.h"

#include <stdlib.h>

static const struct {
	const char *name, *text, *family, *arg, *part;
	unsigned want;
} rows[] = {
	{ "as in the field notes",
	  "[13:53:21.899920952] (+0.002925575) host syscall_entry_openat: { cpu_id = 3 }, { dfd "
	  "= -100, filename = \"/mnt/test/a\", flags = 577, mode = 438 }\n"
	  "[13:53:21.899930952] (+0.000010000) host syscall_exit_openat: { cpu_id = 3 }, { ret = 5 "
	  "}\n",
	  "open", "flags", "O_TRUNC", 1 },
	{ "moved to another processor in between",
	  "[1] (+1) host syscall_entry_close: { cpu_id = 0 }, { fd = 3 }\n"
	  "[1] (+1) host syscall_exit_close: { cpu_id = 2 }, { ret = 0 }\n",
	  "close", NULL, "OK", 1 },
	{ "with contexts, and no delta",
	  "[1] host syscall_entry_read: { cpu_id = 0 }, { procname = \"a }, { b\", pid = 7, tid "
	  "= 8 }, { fd = 3, count = 4096 }\n"
	  "[1] host syscall_exit_read: { cpu_id = 1 }, { procname = \"x\", pid = 7, tid = 8 }, { "
	  "ret = 100, buf = 0x7FFE }\n",
	  "read", NULL, "OK=2^6", 1 },
	{ "errors",
	  "[1] (+1) host syscall_entry_mkdir: { cpu_id = 0 }, { tid = 8 }, { pathname = \"/a\", "
	  "mode = 511 }\n"
	  "[1] (+1) host syscall_exit_mkdir: { cpu_id = 0 }, { tid = 8 }, { ret = -17 }\n",
	  "mkdir", NULL, "EEXIST", 1 },
	{ "enumerations",
	  "[1] (+1) host syscall_entry_open: { cpu_id = 0 }, { tid = 8 }, { filename = \"/a\", "
	  "flags = ( \"O_RDWR\" | \"O_CREAT\" : container = 66 ), mode = 438 }\n"
	  "[1] (+1) host syscall_exit_open: { cpu_id = 0 }, { tid = 8 }, { ret = 3 }\n",
	  "open", "flags", "O_CREAT", 1 },
	{ "names of old kernels",
	  "[1] (+1) host syscall_entry_newfstat: { cpu_id = 0 }, { tid = 8 }, { fd = 3 }\n"
	  "[1] (+1) host syscall_exit_newfstat: { cpu_id = 0 }, { tid = 8 }, { ret = 0, statbuf = "
	  "140 }\n",
	  "stat", NULL, "OK", 1 },
	{ "names of an old LTTng",
	  "[1] (+1) host sys_close: { cpu_id = 0 }, { fd = 3 }\n"
	  "[1] (+1) host exit_syscall: { cpu_id = 0 }, { ret = 0 }\n",
	  "close", NULL, "OK", 1 },
	{ "what is behind pointers is not shown",
	  "[1] (+1) host syscall_entry_writev: { cpu_id = 0 }, { tid = 8 }, { fd = 3, vec = "
	  "0x7FFE, vlen = 2 }\n"
	  "[1] (+1) host syscall_exit_writev: { cpu_id = 0 }, { tid = 8 }, { ret = 9 }\n",
	  "write", "count", "(not-shown)", 1 },
	{ "unless there is nothing",
	  "[1] (+1) host syscall_entry_utimensat: { cpu_id = 0 }, { tid = 8 }, { dfd = 3, filename "
	  "= \"x\", utimes = 0x0, flags = 0 }\n"
	  "[1] (+1) host syscall_exit_utimensat: { cpu_id = 0 }, { tid = 8 }, { ret = 0 }\n",
	  "utimens", "mtime", "null", 1 },
	{ "an exit without its entry",
	  "[1] (+1) host syscall_exit_close: { cpu_id = 0 }, { tid = 8 }, { ret = 0 }\n", "close",
	  NULL, "OK", 0 },
	{ "negative numbers of 32 bits",
	  "[1] (+1) host syscall_entry_close: { cpu_id = 0 }, { tid = 8 }, { fd = 4294967295 }\n"
	  "[1] (+1) host syscall_exit_close: { cpu_id = 0 }, { tid = 8 }, { ret = -9 }\n",
	  "close", "fd", "negative", 1 },
	{ "a pipe",
	  "[1] (+1) host syscall_entry_pipe2: { cpu_id = 0 }, { tid = 8 }, { flags = 0 }\n"
	  "[1] (+1) host syscall_exit_pipe2: { cpu_id = 0 }, { tid = 8 }, { ret = 0, fildes = [ "
	  "[0] = 3, [1] = 4 ] }\n"
	  "[1] (+1) host syscall_entry_close: { cpu_id = 0 }, { tid = 8 }, { fd = 4 }\n"
	  "[1] (+1) host syscall_exit_close: { cpu_id = 0 }, { tid = 8 }, { ret = 0 }\n",
	  "close", "fd", "other", 1 },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_counts *c = t_read_text(&as_source_babeltrace, NULL, NULL, rows[i].text);

		if (as_counts_noted(c, AS_NOTE_NOT_UNDERSTOOD))
			fail_msg("%s: not understood: %s", rows[i].name,
				 as_counts_example_at(c, 0));
		if (t_count(c, rows[i].family, rows[i].arg, rows[i].part) != rows[i].want)
			fail_msg("%s: not %s %s", rows[i].name, rows[i].family, rows[i].part);
		as_counts_free(c);
	}
}

static void test_notes(void **state)
{
	static const char text[] =
		"[1] (+1) host sched_switch: { cpu_id = 0 }, { prev_comm = \"x\", prev_tid = 1 }\n"
		"[1] (+1) host compat_syscall_entry_open: { cpu_id = 0 }, { filename = \"/a\" }\n"
		"[1] (+1) host compat_syscall_exit_open: { cpu_id = 0 }, { ret = 3 }\n"
		"[1] (+1) host syscall_entry_brk: { cpu_id = 0 }, { brk = 0x0 }\n"
		"[1] (+1) host syscall_exit_brk: { cpu_id = 0 }, { ret = 94 }\n"
		"[warning] Tracer discarded 120 events between [1] and [2]\n"
		"[1] (+1) host syscall_entry_read: { cpu_id = 0 }, { fd = \n"
		"\x01\x02 noise\n";
	struct as_counts *c = t_read_text(&as_source_babeltrace, NULL, NULL, text);
	uint64_t n;

	(void)state;
	assert_int_equal(as_counts_noted(c, AS_NOTE_OTHER_ARCH), 1);
	assert_int_equal(as_counts_noted(c, AS_NOTE_LOST), 120);
	assert_int_equal(as_counts_noted(c, AS_NOTE_NOT_UNDERSTOOD), 2);
	assert_int_equal(as_counts_noted(c, AS_NOTE_UNKNOWN_CALLS), 1);
	assert_string_equal(as_counts_unknown_at(c, 0, &n), "brk");
	assert_string_equal(as_counts_example_at(c, 1), ".. noise");
	assert_non_null(as_counts_is_partial(c));
	as_counts_free(c);
}

/* ---- Fifty processes ------------------------------------------------------------------------- */

#define PROCESSES 50
#define STEPS 40000

enum step { OPEN, WRITE, CLOSE, FORK, N_STEPS };

struct process {
	bool alive, inside; /* inside: between an entry and its exit */
	enum step step;
	bool open, under; /* descriptor 3, and whether it is a file asked for */
	unsigned flags, size;
	bool will_be_under;
};

struct truth {
	uint64_t opens, writes, closes, rdwr, creat, sizes[20], outside;
};

static void say(struct as_buf *out, unsigned tid, const char *what, const char *call,
		const char *fields)
{
	as_buf_addf(out,
		    "[10:00:00.000000001] (+0.000000001) host syscall_%s_%s: { cpu_id = %u }, { "
		    "procname = \"p%u\", pid = %u, tid = %u }, { %s }\n",
		    what, call, tid % 3, tid, tid, tid, fields);
}

static void enter(struct as_prng *prng, struct process *p, unsigned tid, struct as_buf *out)
{
	char fields[200];

	p->inside = true;
	if (p->step == OPEN) {
		p->flags = as_prng_below(prng, 2) ? 02 : 0101; /* O_RDWR, O_WRONLY|O_CREAT */
		p->will_be_under = as_prng_below(prng, 3) != 0;
		snprintf(fields, sizeof(fields),
			 "dfd = -100, filename = \"/mnt/%s/f%u\", flags = %u, mode = 420",
			 p->will_be_under ? "test" : "else", (unsigned)as_prng_below(prng, 1000),
			 p->flags);
		say(out, tid, "entry", "openat", fields);
	} else if (p->step == WRITE) {
		p->size = (unsigned)as_prng_below(prng, 20);
		snprintf(fields, sizeof(fields), "fd = 3, buf = 0x7F00, count = %u", 1u << p->size);
		say(out, tid, "entry", "write", fields);
	} else if (p->step == CLOSE) {
		say(out, tid, "entry", "close", "fd = 3");
	} else {
		say(out, tid, "entry", "fork", "");
	}
}

static void leave(struct process *all, unsigned i, struct as_buf *out, struct truth *truth)
{
	struct process *p = &all[i];
	unsigned tid = 100 + i, child;
	char fields[50];

	p->inside = false;
	switch (p->step) {
	case OPEN:
		say(out, tid, "exit", "openat", "ret = 3");
		p->open = true;
		p->under = p->will_be_under;
		truth->opens += p->under;
		truth->rdwr += p->under && p->flags == 02;
		truth->creat += p->under && p->flags != 02;
		break;
	case WRITE:
		snprintf(fields, sizeof(fields), "ret = %u", 1u << p->size);
		say(out, tid, "exit", "write", fields);
		truth->writes += p->under;
		truth->sizes[p->size] += p->under;
		break;
	case CLOSE:
		say(out, tid, "exit", "close", "ret = 0");
		truth->closes += p->under;
		p->open = false;
		break;
	default:
		for (child = 0; child < PROCESSES && all[child].alive; child++)
			;
		snprintf(fields, sizeof(fields), "ret = %u", 100 + child);
		say(out, tid, "exit", "fork", fields);
		say(out, 100 + child, "exit", "fork", "ret = 0");
		all[child] = *p;
		all[child].alive = true;
		return;
	}
	truth->outside += !p->under;
}

static enum step next_step(struct as_prng *prng, const struct process *p, bool may_fork)
{
	if (may_fork && !as_prng_below(prng, 4))
		return FORK;
	if (!p->open)
		return OPEN;
	return as_prng_below(prng, 4) ? WRITE : CLOSE;
}

static void make_trace(struct as_buf *out, struct truth *truth)
{
	static struct process all[PROCESSES];
	struct as_prng prng = as_prng_seed(42);
	unsigned alive = 1;

	memset(all, 0, sizeof(all));
	all[0].alive = true;
	for (unsigned n = 0; n < STEPS; n++) {
		unsigned i = (unsigned)as_prng_below(&prng, PROCESSES);
		struct process *p = &all[i];

		if (!p->alive)
			continue;
		if (p->inside) {
			leave(all, i, out, truth);
			continue;
		}
		p->step = next_step(&prng, p, alive < PROCESSES);
		alive += p->step == FORK;
		enter(&prng, p, 100 + i, out);
	}
	for (unsigned i = 0; i < PROCESSES; i++)
		if (all[i].alive && all[i].inside)
			leave(all, i, out, truth);
	assert_int_equal(alive, PROCESSES);
}

static void test_fifty(void **state)
{
	struct as_buf text = { 0 };
	struct truth truth = { 0 };
	struct as_counts *c;

	(void)state;
	make_trace(&text, &truth);
	c = t_read_with(&as_source_babeltrace,
			&(struct as_world_options){ .under_regex = "/mnt/(test|scratch)" },
			as_buf_str(&text));
	assert_true(truth.opens > 1000 && truth.writes > 3000 && truth.outside > 1000);
	assert_int_equal(as_counts_noted(c, AS_NOTE_NOT_UNDERSTOOD), 0);
	assert_int_equal(as_counts_noted(c, AS_NOTE_UNATTRIBUTED), 0);
	assert_int_equal(as_counts_noted(c, AS_NOTE_UNFINISHED), 0);
	assert_int_equal(as_counts_noted(c, AS_NOTE_OUTSIDE), truth.outside);
	assert_int_equal(t_calls(c, "openat"), truth.opens);
	assert_int_equal(t_calls(c, "write"), truth.writes);
	assert_int_equal(t_calls(c, "close"), truth.closes);
	assert_int_equal(t_count(c, "open", "flags", "O_RDWR"), truth.rdwr);
	assert_int_equal(t_count(c, "open", "flags", "O_RDONLY"), 0);
	assert_int_equal(t_count(c, "open", "flags", "O_CREAT"), truth.creat);
	assert_int_equal(t_count(c, "open", "mode", "S_IRUSR"), truth.creat);
	for (unsigned i = 0; i < 20; i++) {
		char part[20];

		snprintf(part, sizeof(part), "2^%u", i);
		assert_int_equal(t_count(c, "write", "count", part), truth.sizes[i]);
		snprintf(part, sizeof(part), "OK=2^%u", i);
		assert_int_equal(t_count(c, "write", NULL, part), truth.sizes[i]);
	}
	as_counts_free(c);
	as_buf_free(&text);
}

#define FILE_A "dfd = -100, filename = \"/m/a\", flags = 2, mode = 0"
#define FILE_B "dfd = -100, filename = \"/o/b\", flags = 2, mode = 0"

/* Beginnings and ends are told of: threads that share descriptors, and calls that signals
 * interrupt, are counted as they are elsewhere. */
static void test_threads_and_signals(void **state)
{
	static const struct {
		unsigned tid;
		const char *name, *fields;
	} events[] = {
		{ 7, "entry_openat", FILE_A },
		{ 7, "exit_openat", "ret = 3" },
		{ 7, "entry_clone", "clone_flags = 0x10700" },
		{ 7, "exit_clone", "ret = 8" },
		{ 7, "entry_close", "fd = 3" },
		{ 8, "entry_openat", FILE_B },
		{ 8, "exit_openat", "ret = 3" },
		{ 8, "entry_close", "fd = 3" },
		{ 7, "exit_close", "ret = 0" },
		{ 8, "exit_close", "ret = 0" },
		{ 7, "entry_openat", FILE_A },
		{ 7, "exit_openat", "ret = 3" },
		{ 7, "entry_read", "fd = 3, count = 9" },
		{ 7, "exit_read", "ret = -512, buf = 0" },
		{ 7, "entry_rt_sigreturn", "" },
		{ 7, "exit_rt_sigreturn", "ret = -4" },
		{ 7, "entry_read", "fd = 3, count = 9" },
		{ 7, "exit_read", "ret = -512, buf = 0" },
		{ 7, "entry_rt_sigreturn", "" },
		{ 7, "exit_unknown", "id = -1, ret = -4" },
		{ 7, "entry_read", "fd = 3, count = 9" },
		{ 7, "exit_read", "ret = -513, buf = 0" },
		{ 7, "entry_read", "fd = 3, count = 9" },
		{ 7, "exit_read", "ret = 4, buf = 0" },
	};
	struct as_buf text = { 0 };
	struct as_counts *c;

	(void)state;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		as_buf_addf(&text,
			    "[1] (+0.1) h syscall_%s: { cpu_id = 1 }, { tid = %u }, { %s }\n",
			    events[i].name, events[i].tid, events[i].fields);
	c = t_read_text(&as_source_babeltrace, "/m", NULL, as_buf_str(&text));
	if (as_counts_noted(c, AS_NOTE_NOT_UNDERSTOOD))
		fail_msg("%s", as_counts_example_at(c, 0));
	assert_int_equal(as_counts_noted(c, AS_NOTE_OUTSIDE), 2);
	assert_int_equal(t_calls(c, "close"), 1);
	assert_int_equal(t_calls(c, "read"), 3);
	assert_int_equal(t_count(c, "read", NULL, "EINTR"), 2);
	assert_int_equal(as_counts_noted(c, AS_NOTE_UNFINISHED), 0);
	as_counts_free(c);
	as_buf_free(&text);
}

/* A call that is kept until it comes back says nothing that it did not say, whatever was in the
 * memory before: a split looks at the arguments of each exec. */
static void test_kept(void **state)
{
	struct as_syscall call = { .spec = as_spec_find(t_spec, "execve", 6) };
	struct as_syscall *copy;

	(void)state;
	call.args = "sh";
	call.args_len = 3;
	copy = malloc(as_syscall_bytes(&call));
	assert_non_null(copy);
	memset(copy, 0xbe, as_syscall_bytes(&call));
	as_syscall_keep(&call, copy);
	assert_null(copy->args);
	assert_int_equal(copy->args_len, 0);
	assert_false(copy->args_cut);
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),  cmocka_unit_test(test_notes),
		cmocka_unit_test(test_fifty), cmocka_unit_test(test_threads_and_signals),
		cmocka_unit_test(test_kept),
	};

	return cmocka_run_group_tests(tests, t_spec_setup, t_spec_teardown);
}
