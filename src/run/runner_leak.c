/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runner_leak: memory of the kernel that nobody frees, by its own kmemleak.
 *
 * Method. kmemleak looks for allocations to which nothing in memory points any more. What there was
 * before a workload is forgotten. After it, its process has ended and the file system is unmounted.
 * kmemleak tells only of what is older than five seconds, so that is waited for, and for a grace
 * period, at whose end the kernel frees what it freed "later". Then memory is scanned again and
 * again: a scan may meet an old pointer on some stack, so nothing is lost only after SCANS of them;
 * and something may be on its way to be freed, so it is lost only if two scans say so. A finding
 * is known by the function that allocated, where the kernel records stacks (they need frame
 * pointers in User-Mode Linux), and by the size otherwise.
 */
#include "run/runner_priv.h"

#include "os/spawn.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEBUGFS "/sys/kernel/debug"
#define LEAKS DEBUGFS "/kmemleak"
#define AGE_MS 5200
#define STEP_MS 100
#define SCANS 4
#define BETWEEN_MS 300
#define TEXT_MAX_BYTES 16384

static bool put(const char *command)
{
	int fd = open(LEAKS, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, command, strlen(command)) == (ssize_t)strlen(command);

	if (fd >= 0)
		close(fd);
	return ok;
}

int as_runner_leak_begin(struct as_runner *r, struct as_err *err)
{
	if (!r->options.kmemleak)
		return 0;
	if (access(LEAKS, F_OK))
		(void)!mount("debugfs", DEBUGFS, "debugfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	if (put("scan=off") && put("clear"))
		return 0;
	return as_fail(err, AS_ELACK,
		       "this kernel does not look for memory that nobody frees (no " LEAKS
		       "): `assay kernel build debug` builds one that does, and --kernel debug "
		       "uses it");
}

/* Adds the name of the function that allocated: the first that is no allocator. */
static void add_function(const char *text, struct as_buf *out)
{
	static const char *const allocators[] = {
		"kmem",	   "__kmem",	"kmalloc", "__kmalloc", "kvmalloc", "__kvmalloc",
		"vmalloc", "__vmalloc", "kstrdup", "kzalloc",	"slab_",    "alloc_pages"
	};

	for (const char *at = text; (at = strstr(at, "[<")); at++) {
		const char *name = strstr(at, ">] ");
		bool is_one = false;

		if (!name)
			return;
		name += 3;
		for (size_t i = 0; i < sizeof(allocators) / sizeof(allocators[0]); i++)
			is_one |= !strncmp(name, allocators[i], strlen(allocators[i]));
		if (!is_one) {
			as_buf_addf(out, "%.*s", (int)strcspn(name, "+ \n"), name);
			return;
		}
	}
}

static void found(struct as_runner *r, const char *text)
{
	const char *size = strstr(text, "(size ");
	struct as_child_shared *sh = r->shared;
	struct as_buf who = { 0 };

	add_function(text, &who);
	if (!who.len && size)
		as_buf_addf(&who, "size %.*s", (int)strspn(size + 6, "0123456789"), size + 6);
	as_notice_begin(&sh->notice, AS_FIND_KERNEL, -1);
	AS_NOTICE_SETF(&sh->notice, summary,
		       "after the workload: the kernel has lost memory that it allocated (%.100s)",
		       as_buf_str(&who));
	AS_NOTICE_SETF(&sh->notice, signature, "warning: leak: %.100s", as_buf_str(&who));
	as_host_log_add(&sh->log, text);
	as_notice_close(&sh->notice);
	as_buf_free(&who);
}

/* Who watches us sees that we live. */
static void wait_ms(struct as_runner *r, int64_t ms)
{
	int64_t until_us = as_now_us() + ms * 1000;

	for (; as_now_us() < until_us; r->shared->alive++)
		poll(NULL, 0, STEP_MS);
}

/* Scans, and reads what is lost; false: nothing is. */
static bool scan(char text[TEXT_MAX_BYTES])
{
	ssize_t n = 0;
	int fd = -1;

	if (put("scan"))
		fd = open(LEAKS, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		n = read(fd, text, TEXT_MAX_BYTES - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return strstr(text, "unreferenced object");
}

void as_runner_leak_look(struct as_runner *r)
{
	char text[TEXT_MAX_BYTES];
	unsigned said = 0;

	if (!r->options.kmemleak || r->shared->notice.is)
		return;
	wait_ms(r, AGE_MS);
	/* The kernel answers it after a grace period; one that has not got it says ENOSYS. */
	(void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	for (unsigned i = 0; i < SCANS && said < 2; i++) {
		if (i)
			wait_ms(r, BETWEEN_MS);
		said += scan(text);
	}
	if (said > 1)
		found(r, text);
}
