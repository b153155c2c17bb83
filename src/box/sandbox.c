/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sandbox: the table of sandboxes, and what all boxes share: their memory, their end. */
#include "box/sandbox.h"

#include "base/buf.h"
#include "os/dir.h"
#include "os/spawn.h"
#include "os/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LISTEN_BYTES ((size_t)65536)

static const struct as_sandbox_ops *const sandboxes[] = { &as_sandbox_host, &as_sandbox_uml };

const struct as_sandbox_ops *as_sandbox(unsigned i)
{
	return i < sizeof(sandboxes) / sizeof(sandboxes[0]) ? sandboxes[i] : NULL;
}

const struct as_sandbox_ops *as_sandbox_find(const char *name)
{
	for (unsigned i = 0; as_sandbox(i); i++)
		if (!strcmp(as_sandbox(i)->name, name))
			return as_sandbox(i);
	return NULL;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- Shared memory --------------------------------------------------------------------------- */

int as_box_state_open(const char *path, struct as_box_state **out, struct as_err *err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct as_box_state *head = MAP_FAILED;
	void *all = MAP_FAILED;
	size_t size = 0;
	struct stat st;
	int rc = 0;

	*out = NULL;
	if (fd < 0)
		return as_fail_errno(err, errno, "%s", path);
	/* Memory after the end of a file must not be touched. A device has no end. */
	if (fstat(fd, &st) ||
	    (S_ISREG(st.st_mode) && (uint64_t)st.st_size < sizeof(struct as_box_state))) {
		close(fd);
		return as_fail(err, AS_EUSE, "%s: not the state of a box of this program", path);
	}
	/* Its beginning says how large it is. */
	head = mmap(NULL, sizeof(*head), PROT_READ, MAP_SHARED, fd, 0);
	if (head == MAP_FAILED)
		rc = as_fail_errno(err, errno, "%s: cannot be mapped", path);
	else if (head->magic != AS_BOX_MAGIC || head->size_bytes < sizeof(*head) ||
		 (S_ISREG(st.st_mode) && head->size_bytes > (uint64_t)st.st_size))
		rc = as_fail(err, AS_EUSE, "%s: not the state of a box of this program", path);
	else
		size = head->size_bytes;
	if (head != MAP_FAILED)
		munmap(head, sizeof(*head));
	if (!rc)
		all = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!rc && all == MAP_FAILED)
		rc = as_fail_errno(err, errno, "%s: cannot be mapped", path);
	if (!rc)
		*out = all;
	close(fd);
	return rc;
}

void as_box_state_close(struct as_box_state *state)
{
	if (state)
		munmap(state, state->size_bytes);
}

/* Puts the arguments into the shared memory. */
static int put_args(const char *const *args, struct as_box_state *state, struct as_err *err)
{
	size_t used = 0;

	for (uint32_t i = 0; args[i]; i++, state->n_args = i) {
		size_t len = strlen(args[i]) + 1;

		if (len > sizeof(state->args) - used)
			return as_fail(err, AS_EUSE, "the arguments are longer than %zu bytes",
				       sizeof(state->args));
		memcpy(state->args + used, args[i], len);
		used += len;
	}
	return 0;
}

/* ---- Starting -------------------------------------------------------------------------------- */

struct as_box *as_box_new(void)
{
	struct as_box *box = as_xcalloc(1, sizeof(*box));

	*box = (struct as_box){ .pidfd = -1,
				.events_fd = -1,
				.console_fd = -1,
				.input_fd = -1,
				.share_fd = -1,
				.state_fd = -1,
				.watch = as_shared_alloc(sizeof(*box->watch)) };
	return box;
}

int as_box_start(const struct as_sandbox_ops *ops, const struct as_box_options *options,
		 const char *const *args, struct as_box **out, struct as_err *err)
{
	size_t size = (sizeof(struct as_box_state) + options->engine_bytes + 4095) / 4096 * 4096;
	struct as_box *box = as_box_new();
	void *map = MAP_FAILED;
	int rc = 0;

	as_assert(ops->api == AS_SANDBOX_API);
	box->ops = ops;
	box->state_fd = memfd_create("assay-box", MFD_CLOEXEC);
	if (box->state_fd >= 0 && !ftruncate(box->state_fd, (off_t)size))
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, box->state_fd, 0);
	if (map == MAP_FAILED) {
		rc = as_fail_errno(err, errno, "cannot make memory to share with a sandbox");
	} else {
		box->state = map;
		box->state->magic = AS_BOX_MAGIC;
		box->state->size_bytes = size;
		box->state->job = -1;
		box->state->stuck_ms = options->stuck_ms;
		box->state_bytes = size;
		rc = put_args(args, box->state, err);
	}
	if (!rc)
		rc = ops->start(options, box, err);
	if (rc) {
		as_box_free(box);
		box = NULL;
	}
	*out = box;
	return rc;
}

bool as_box_say(struct as_box *box, const char *text)
{
	size_t len = strlen(text);

	while (len) {
		ssize_t n = send(box->input_fd, text, len, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return false;
		text += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

bool as_box_wake(struct as_box *box)
{
	const char wake = AS_BOX_WAKE;

	return send(box->input_fd, &wake, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 || errno == EAGAIN;
}

/* ---- Ending ---------------------------------------------------------------------------------- */

void as_box_end(struct as_box *box)
{
	pid_t got;

	if (box->reaped || !box->pid)
		return;
	kill(box->pid, SIGTERM);
	do {
		got = waitpid(box->pid, &box->status, 0);
	} while (got < 0 && errno == EINTR);
	as_assert(got == box->pid);
	box->reaped = true;
}

void as_box_undo(struct as_box *box)
{
	as_box_end(box);
	close_fd(&box->pidfd);
	close_fd(&box->events_fd);
	close_fd(&box->console_fd);
	close_fd(&box->input_fd);
	close_fd(&box->share_fd);
	box->pid = 0;
	box->reaped = false;
	*box->watch = (struct as_box_watch){ 0 };
}

void as_box_free(struct as_box *box)
{
	if (!box)
		return;
	as_box_undo(box);
	if (box->state)
		munmap(box->state, box->state_bytes);
	close_fd(&box->state_fd);
	as_temp_free(box->folder);
	as_shared_free(box->watch, sizeof(*box->watch));
	free(box);
}

int as_box_open_folder(struct as_box *box, const char *place, struct as_err *err)
{
	static const char *const own[] = { AS_JAIL_HOME, AS_JAIL_SHARE };
	struct as_buf path = { 0 };
	int rc = as_temp_new(place, &box->folder, err);

	for (size_t i = 0; i < 2 && !rc; i++) {
		as_buf_clear(&path);
		as_buf_addf(&path, "%s%s", as_temp_path(box->folder), own[i]);
		if (mkdir(as_buf_str(&path), 0700))
			rc = as_fail_errno(err, errno, "%s", as_buf_str(&path));
	}
	if (!rc) {
		box->share_fd = open(as_buf_str(&path), O_DIRECTORY | O_RDONLY | O_CLOEXEC);
		if (box->share_fd < 0)
			rc = as_fail_errno(err, errno, "%s", as_buf_str(&path));
	}
	as_buf_free(&path);
	return rc;
}

/* ---- Trying ---------------------------------------------------------------------------------- */

static void drop_head(struct as_buf *buf, size_t len)
{
	memmove(buf->data, buf->data + len, buf->len - len + 1);
	buf->len -= len;
}

bool as_box_listen(struct as_box *box, unsigned deadline_ms, size_t max, struct as_buf *said)
{
	int64_t end_us = as_now_us() + (int64_t)deadline_ms * 1000;
	char block[4096];

	while (as_now_us() < end_us) {
		struct pollfd fds[] = { { .fd = box->pidfd, .events = POLLIN },
					{ .fd = box->console_fd, .events = POLLIN } };
		size_t some = 0;
		ssize_t n;

		poll(fds, 2, 100);
		/* The clock is looked at also when the box prints without end. */
		while (box->console_fd >= 0 && some < LISTEN_BYTES &&
		       (n = read(box->console_fd, block, sizeof(block))) > 0) {
			as_buf_add(said, block, (size_t)n);
			some += (size_t)n;
		}
		if (said->len > max)
			drop_head(said, said->len - max);
		if (fds[0].revents)
			return true;
	}
	return false;
}

int as_sandbox_try(const struct as_sandbox_ops *ops, const struct as_box_options *options,
		   unsigned deadline_ms, struct as_jail_report *jail, struct as_err *err)
{
	static const char *const args[] = { "--version", NULL };
	struct as_buf said = { 0 };
	struct as_box *box = NULL;
	int rc = ops->ready(options, err);

	if (!rc)
		rc = as_box_start(ops, options, args, &box, err);
	if (!rc) {
		bool ended = as_box_listen(box, deadline_ms, LISTEN_BYTES, &said);
		size_t skip = said.len > 200 ? said.len - 200 : 0;

		as_box_end(box);
		*jail = box->jail;
		if (box->state->error[0])
			rc = as_fail(err, AS_EIO, "%.900s", box->state->error);
		else if (!ended || !box->state->ended || box->state->status)
			rc = as_fail(err, AS_EIO, "%s; its console ends: %s",
				     ended ? "it did not come up" : "it did not end in time",
				     as_buf_str(&said) + skip);
	}
	as_box_free(box);
	as_buf_free(&said);
	return rc;
}
