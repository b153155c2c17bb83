/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_box: a sandbox that answers one request after the other (kernel_inside.c serves it).
 *
 * Method. The files of a request are written to the folder that the box shares with us, a line on
 * its standard input says what to do, and a line comes back when the answer is in the folder. The
 * console is read all the while; what it says belongs to the present request. If the box ends, or
 * gives no answer in time, the disk that it was given did that; the next request starts another
 * one. The time in which the box waited for a processor does not count.
 *
 * A box that served other disks before may suffer from what those did to its kernel, and one that
 * did not come up from what else the machine had to do. So both are tried once more, by a box that
 * is new.
 */
#include "damage/kernel_priv.h"

#include "box/guest_programs.h"
#include "klog/kmsg.h"
#include "os/patience.h"
#include "os/share.h"
#include "target/fstype.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_MS 60000 /* a mount of a small disk takes milliseconds */
#define BOOT_MS 120000
#define ANSWER_MAX ((uint64_t)1 << 30)
#define CONSOLE_MAX ((size_t)64 << 10) /* the last bytes are kept */
#define TAKE_BLOCKS 256 /* of the console, at a time */

struct as_kernel_box {
	struct as_fsck_kernel_setup setup;
	struct as_guest_programs programs;
	struct as_box *box; /* NULL: it is not up */
	bool came_up, answered; /* the last one: its engine began; it answered once */
	int in_fd, out_fd;
	struct as_buf events, console;
};

/* A kernel of its own; without one, the running kernel, if it knows the type and we may mount. */
static int choose_sandbox(struct as_kernel_box *b, const struct as_fstype *type, struct as_err *err)
{
	bool chosen = b->setup.sandbox;
	struct as_buf why = { 0 };
	struct as_err ignored;
	int rc;

	if (!chosen)
		b->setup.sandbox = &as_sandbox_uml;
	rc = b->setup.sandbox->ready(&b->setup.box, err);
	if (rc == AS_ELACK && !chosen && !as_sandbox_host.ready(&b->setup.box, &ignored) &&
	    !as_fstype_lacks_host(type, &why)) {
		b->setup.sandbox = &as_sandbox_host;
		rc = 0;
	}
	as_buf_free(&why);
	return rc;
}

int as_kernel_box_open(const struct as_fsck_kernel_setup *setup, struct as_kernel_box **out,
		       struct as_err *err)
{
	struct as_kernel_box *b = as_xcalloc(1, sizeof(*b));
	const struct as_fstype *type = as_fstype_find(setup->target);
	int rc;

	b->setup = *setup;
	b->in_fd = b->out_fd = -1;
	as_assert(type);
	as_guest_programs_add(&b->programs, type);
	as_guest_programs_set(&b->programs, &b->setup.box);
	rc = choose_sandbox(b, type, err);
	if (rc) {
		as_kernel_box_free(b);
		b = NULL;
	}
	*out = b;
	return rc;
}

static void end(struct as_kernel_box *b)
{
	as_box_free(b->box);
	b->box = NULL;
	if (b->in_fd >= 0)
		close(b->in_fd);
	if (b->out_fd >= 0)
		close(b->out_fd);
	b->in_fd = b->out_fd = -1;
}

void as_kernel_box_free(struct as_kernel_box *b)
{
	if (!b)
		return;
	end(b);
	as_guest_programs_free(&b->programs);
	as_buf_free(&b->events);
	as_buf_free(&b->console);
	free(b);
}

/* The folders must be there before it starts. */
static int fill(void *ctx, struct as_box *box, struct as_err *err)
{
	struct as_kernel_box *b = ctx;

	b->in_fd = as_share_folder(box->share_fd, AS_KERNEL_IN, geteuid());
	b->out_fd = as_share_folder(box->share_fd, AS_KERNEL_OUT,
				    box->jail.layers ? box->jail.uid : geteuid());
	if (b->in_fd < 0 || b->out_fd < 0)
		return as_fail(err, AS_EIO, "cannot make a folder for the sandbox");
	return 0;
}

static int start(struct as_kernel_box *b, struct as_err *err)
{
	const struct as_sandbox_ops *ops = b->setup.sandbox;
	const char *args[] = { AS_FSCK_KERNEL_COMMAND, b->setup.target, ops->share_path, NULL };
	struct as_box_options options = b->setup.box;

	options.fill = fill;
	options.fill_ctx = b;
	options.engine_bytes = 64;
	as_buf_clear(&b->events);
	as_buf_clear(&b->console);
	b->came_up = b->answered = false;
	return as_box_start(ops, &options, args, &b->box, err);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

/* Reads what is there; false: nothing. A log is text, whatever a broken kernel puts into it. */
static bool take_block(int fd, struct as_buf *out)
{
	char block[4096];
	ssize_t n = fd >= 0 ? read(fd, block, sizeof(block)) : -1;

	for (ssize_t i = 0; i < n; i++)
		as_buf_addc(out, block[i] ? block[i] : '?');
	return n > 0;
}

static void keep_end(struct as_buf *out)
{
	if (out->len <= 2 * CONSOLE_MAX)
		return;
	memmove(out->data, out->data + out->len - CONSOLE_MAX, CONSOLE_MAX + 1);
	out->len = CONSOLE_MAX;
}

/* What the kernel says while it boots belongs to no disk. */
static void end_of_boot(struct as_kernel_box *b)
{
	const char *mark = strstr(as_buf_str(&b->console), AS_GUEST_MARK);
	size_t len;

	if (b->came_up || !mark)
		return;
	len = strlen(mark + strlen(AS_GUEST_MARK));
	memmove(b->console.data, mark + strlen(AS_GUEST_MARK), len + 1);
	b->console.len = len;
	b->came_up = true;
}

static void take(struct as_kernel_box *b)
{
	while (take_block(b->box->events_fd, &b->events))
		keep_end(&b->events);
	/* The clock is looked at also when the kernel prints without an end. */
	for (int i = 0; i < TAKE_BLOCKS && take_block(b->box->console_fd, &b->console); i++) {
		end_of_boot(b);
		keep_end(&b->console);
	}
}

enum waited { ANSWERED, FAILED, ENDED, SILENT };

static enum waited wait_for(struct as_kernel_box *b)
{
	struct as_patience patience =
		as_patience_of(b->box->pid, b->answered ? ANSWER_MS : BOOT_MS);

	as_patience_restart(&patience);
	while (as_patience_left(&patience)) {
		struct pollfd fds[] = { { .fd = b->box->events_fd, .events = POLLIN },
					{ .fd = b->box->console_fd, .events = POLLIN },
					{ .fd = b->box->pidfd, .events = POLLIN } };
		const char *line;

		poll(fds, 3, 100);
		/* A pipe whose writer is gone stays ready: do not spin. */
		if (fds[0].revents & POLLHUP || fds[1].revents & POLLHUP)
			poll(NULL, 0, 1);
		take(b);
		line = as_buf_str(&b->events);
		if (strstr(line, "error ") && strchr(strstr(line, "error "), '\n'))
			return FAILED;
		if (strstr(line, "done ") && strchr(strstr(line, "done "), '\n'))
			return ANSWERED;
		if (fds[2].revents)
			return ENDED;
	}
	return SILENT;
}

/* ---- What a dead one left -------------------------------------------------------------------- */

struct gravest {
	enum as_kmsg_class cls;
	struct as_buf title, sign;
};

static void on_report(void *ctx, const struct as_kmsg_report *report)
{
	struct gravest *g = ctx;

	if (report->cls <= g->cls)
		return;
	g->cls = report->cls;
	as_buf_clear(&g->title);
	as_buf_clear(&g->sign);
	as_buf_adds(&g->title, report->title);
	as_buf_adds(&g->sign, report->signature);
}

static void post_mortem(struct as_kernel_box *b, enum waited how, struct as_word *w)
{
	const char *text = as_buf_str(&b->console);
	struct gravest g = { 0 };
	struct as_kmsg_scan *scan = as_kmsg_scan_new(NULL, on_report, &g);

	as_kmsg_scan_console(scan, text, strlen(text));
	as_kmsg_scan_end(scan);
	as_kmsg_scan_free(scan);
	w->end = how == SILENT ? AS_WORD_HUNG : AS_WORD_DIED;
	as_buf_addf(&w->why, "the kernel %s%s%s", how == SILENT ? "gives no answer" : "dies",
		    g.title.len ? ": " : "", as_buf_str(&g.title));
	as_buf_addf(&w->sign, "%s %s", as_word_end_name(w->end), as_buf_str(&g.sign));
	as_buf_adds(&w->log, text);
	as_buf_free(&g.title);
	as_buf_free(&g.sign);
}

static int complain(const struct as_kernel_box *b, enum waited how, struct as_err *err)
{
	const char *said = as_buf_str(&b->events);
	const char *at = strstr(said, "error ");

	if (b->box->state->error[0])
		return as_fail(err, AS_EIO, "sandbox: %.900s", b->box->state->error);
	if (how == FAILED && at)
		return as_fail(err, AS_EIO, "sandbox: %.*s", (int)strcspn(at + 6, "\n"), at + 6);
	return as_fail(err, AS_EIO, "the sandbox did not come up: %.300s", said);
}

/* A kernel that never came up, or an engine that gave up, is our error and not the disk's. On the
 * running kernel, which lives, so is an engine that died. */
static bool is_ours(const struct as_kernel_box *b, enum waited how)
{
	if (!(b->setup.sandbox->caps & AS_SANDBOX_OWN_KERNEL))
		return how != SILENT;
	return how == FAILED || b->box->state->error[0] || !b->came_up ||
	       (how == ENDED && b->box->state->ended);
}

/* An error is ours and not the disk's. */
static int give(struct as_kernel_box *b, const struct as_kernel_request *r, struct as_buf *answer,
		struct as_word *word, struct as_err *err)
{
	struct as_buf line = { 0 };
	enum waited how;
	int rc = b->box ? 0 : start(b, err);

	if (!rc)
		rc = as_share_write(b->in_fd, AS_KERNEL_IMAGE, as_buf_str(r->image), r->image->len,
				    err);
	if (!rc && r->text)
		rc = as_share_write(b->in_fd, AS_KERNEL_TEXT, r->text, strlen(r->text), err);
	if (rc)
		return rc;
	if (b->came_up) {
		take(b);
		as_buf_clear(&b->console);
	}
	as_buf_clear(&b->events);
	as_buf_addf(&line, "%s\n", r->what);
	/* If it is gone, that is seen below. */
	(void)as_box_say(b->box, as_buf_str(&line));
	as_buf_free(&line);
	how = wait_for(b);
	if (how == ANSWERED) {
		b->came_up = b->answered = true;
		return as_share_read(b->out_fd, AS_KERNEL_ANSWER, ANSWER_MAX, answer, err);
	}
	/* After the box has ended, everything that it wrote has arrived. */
	as_box_end(b->box);
	take(b);
	if (is_ours(b, how))
		rc = complain(b, how, err);
	else
		post_mortem(b, how, word);
	end(b);
	return rc;
}

int as_kernel_box_give(struct as_kernel_box *b, const struct as_kernel_request *r,
		       struct as_buf *answer, struct as_word *word, struct as_err *err)
{
	bool fresh = !b->box;
	int rc = give(b, r, answer, word, err);

	if ((!rc && word->end == AS_WORD_FINE) || (rc && rc != AS_EIO) || (fresh && b->came_up))
		return rc;
	end(b);
	as_word_free(word);
	as_buf_clear(answer);
	return give(b, r, answer, word, err);
}
