/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandbox: what a box hands over, how it ends, what it can see of the machine. This program is also
 * what runs inside: as the first process of a guest, and as an engine that does as it is told.
 */
#include "tests/lib/skip.h"

#include "base/buf.h"
#include "box/guest_programs.h"
#include "box/sandbox.h"
#include "os/share.h"
#include "os/spawn.h"
#include "os/temp.h"
#include "target/fstype.h"
#include "tests/lib/tmpdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

/* ---- Inside ---------------------------------------------------------------------------------- */

static bool can_read(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool can = fd >= 0 && read(fd, &byte, 1) == 1;

	if (fd >= 0)
		close(fd);
	return can;
}

/* As the guest's root, with all the tricks hostfs knows. */
static int break_out(void)
{
	static const char *const ways[] = { "..", "/..", "/../../../../../..", "../../../etc",
					    "/etc" };
	static const char *const loot[] = { "/canary", "/etc/passwd", "/passwd", "/tmp" };
	char path[256];
	int fd;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (mount("none", "/mnt", "hostfs", 0, ways[i]))
			continue;
		for (size_t j = 0; j < sizeof(loot) / sizeof(loot[0]); j++) {
			snprintf(path, sizeof(path), "/mnt%s", loot[j]);
			if (can_read(path))
				printf("read %s by %s\n", loot[j], ways[i]);
		}
		fd = open("/mnt/planted", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd >= 0)
			printf("wrote by %s\n", ways[i]);
		umount2("/mnt", MNT_DETACH);
	}
	fd = open("/share/allowed", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	printf("%s\n", fd >= 0 && write(fd, "x", 1) == 1 && !close(fd) ? "done" : "no share");
	return 0;
}

static int engine_main(int argc, char **argv)
{
	if (!strcmp(argv[1], "--echo")) {
		for (int i = 2; i < argc; i++)
			printf("[%s]", argv[i]);
		printf("\n");
		return 7;
	}
	if (!strcmp(argv[1], "--break-out"))
		return break_out();
	if (!strcmp(argv[1], "--die")) {
		/* A sanitizer would catch it. */
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
	}
	return 2;
}

/* ---- Outside --------------------------------------------------------------------------------- */

static void need_uml(void)
{
	struct as_box_options o = { .core = AS_CORE_HERE };
	struct as_err err;

	if (as_sandbox_uml.ready(&o, &err))
		skip_because("%s", err.msg);
}

/* Runs it to its end; what it said is in `said`. */
static struct as_box *run_box(const struct as_sandbox_ops *ops, const char *const *args,
			      const char *const *modules, struct as_buf *said)
{
	struct as_box_options o = { .core = AS_CORE_HERE,
				    .modules = modules,
				    .engine_bytes = 4096 };
	struct as_box *box;
	struct as_err err;
	bool ended = false;
	char block[4096];

	if (as_box_start(ops, &o, args, &box, &err))
		fail_msg("%s", err.msg);
	while (!ended) {
		struct pollfd fds[] = { { .fd = box->pidfd, .events = POLLIN },
					{ .fd = box->events_fd, .events = POLLIN } };
		ssize_t n;

		assert_true(poll(fds, 2, 60000) > 0);
		ended = fds[0].revents;
		while ((n = read(box->events_fd, block, sizeof(block))) > 0)
			as_buf_add(said, block, (size_t)n);
		while (box->console_fd >= 0 && read(box->console_fd, block, sizeof(block)) > 0)
			;
	}
	as_box_end(box);
	return box;
}

static void test_table(void **state)
{
	(void)state;
	assert_ptr_equal(as_sandbox_find("host"), &as_sandbox_host);
	assert_ptr_equal(as_sandbox_find("uml"), &as_sandbox_uml);
	assert_null(as_sandbox_find("qemu"));
	for (unsigned i = 0; as_sandbox(i); i++)
		assert_int_equal(as_sandbox(i)->api, AS_SANDBOX_API);
	assert_true(as_sandbox_uml.caps & AS_SANDBOX_OWN_KERNEL);
	assert_false(as_sandbox_host.caps & AS_SANDBOX_OWN_KERNEL);
}

static void test_echo(void **state)
{
	static const char *const args[] = { "--echo", "a b", "", "c\n", NULL };
	static const char *const modules[] = { "fuse", "loop", NULL };
	struct as_buf said = { 0 };
	struct as_box *box;

	(void)state;
	box = run_box(&as_sandbox_host, args, NULL, &said);
	assert_string_equal(as_buf_str(&said), "[a b][][c\n]\n");
	assert_true(WIFEXITED(box->status) && WEXITSTATUS(box->status) == 7);
	as_box_free(box);
	as_buf_free(&said);
	need_uml();
	box = run_box(&as_sandbox_uml, args, modules, &said);
	assert_string_equal(box->state->error, "");
	assert_string_equal(as_buf_str(&said), "[a b][][c\n]\n");
	assert_true(WIFEXITED(box->status) && !WEXITSTATUS(box->status));
	assert_int_equal(box->state->ended, 1);
	assert_true(WIFEXITED(box->state->status) && WEXITSTATUS(box->state->status) == 7);
	as_box_free(box);
	as_buf_free(&said);
}

static void test_death(void **state)
{
	static const char *const args[] = { "--die", NULL };
	struct as_buf said = { 0 };
	struct as_box *box;

	(void)state;
	box = run_box(&as_sandbox_host, args, NULL, &said);
	assert_true(WIFSIGNALED(box->status) && WTERMSIG(box->status) == SIGSEGV);
	as_box_free(box);
	as_buf_free(&said);
	need_uml();
	box = run_box(&as_sandbox_uml, args, NULL, &said);
	assert_true(WIFEXITED(box->status));
	assert_int_equal(box->state->ended, 1);
	assert_true(WIFSIGNALED(box->state->status) && WTERMSIG(box->state->status) == SIGSEGV);
	as_box_free(box);
	as_buf_free(&said);
}

/* As who it runs, what it sees, and what is left of it. */
static void test_walls(void **state)
{
	static const char *const args[] = { "--break-out", NULL };
	const char *folder = t_tmpdir_in("/tmp"); /* where any user could reach it */
	char path[80];
	struct as_buf said = { 0 }, walls = { 0 };
	struct as_box *box;
	struct stat st;
	int fd;

	(void)state;
	need_uml();
	assert_non_null(folder);
	snprintf(path, sizeof(path), "%s/canary", folder);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, "tweet", 5), 5);
	close(fd);
	box = run_box(&as_sandbox_uml, args, NULL, &said);
	as_jail_say(&box->jail, &walls);
	print_message("%s\n", as_buf_str(&walls));
	assert_true(box->jail.layers & AS_JAIL_RIGHTS);
	assert_true(box->jail.layers & (AS_JAIL_SPACES | AS_JAIL_FILES));
	assert_int_not_equal(box->jail.uid, 0);
	assert_string_equal(as_buf_str(&said), "done\n");
	assert_int_equal(fstatat(box->share_fd, "allowed", &st, AT_SYMLINK_NOFOLLOW), 0);
	as_box_free(box);
	assert_int_equal(unlink(path), 0);
	/* And nothing else was left in it. */
	assert_int_equal(rmdir(folder), 0);
	as_buf_free(&said);
	as_buf_free(&walls);
}

static const struct {
	const char *name;
	bool good;
} names[] = {
	{ "ext4-data-386c54dd", true },
	{ "0.cov", true },
	{ "", false },
	{ ".", false },
	{ "..", false },
	{ ".x", false },
	{ "a/b", false },
	{ "../x", false },
	{ "a b", false },
	{ "a\nb", false },
	{ "\033[2J", false },
	{ "\xc3\xa4", false },
};

/* What a share has been filled with by somebody who means no good. */
static void test_share(void **state)
{
	struct as_buf text = { 0 };
	struct as_temp *temp;
	int fd;

	(void)state;
	assert_int_equal(as_temp_new(t_tmpdir(), &temp, NULL), 0);
	fd = open(as_temp_path(temp), O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	assert_int_equal(mkdirat(fd, "d", 0755), 0);
	assert_int_equal(as_share_write(fd, "plain", "1234", 4, NULL), 0);
	assert_int_equal(symlinkat("plain", fd, "link"), 0);
	assert_int_equal(symlinkat("/etc", fd, "up"), 0);
	assert_int_equal(mkfifoat(fd, "pipe", 0644), 0);
	assert_int_equal(as_share_read(fd, "plain", 4, &text, NULL), 0);
	assert_string_equal(as_buf_str(&text), "1234");
	assert_int_equal(as_share_open(fd, "plain", 3), -EFBIG);
	assert_int_equal(as_share_open(fd, "pipe", 100), -EINVAL);
	assert_int_equal(as_share_open(fd, "d", 100), -EINVAL);
	assert_true(as_share_open(fd, "link", 100) < 0);
	assert_true(as_share_open(fd, "up/passwd", 1 << 20) < 0);
	assert_true(as_share_open(fd, "../plain", 100) < 0);
	assert_true(as_share_open(fd, "d/../plain", 3) < 0);
	assert_true(as_share_open(fd, "/etc/passwd", 1 << 20) < 0);
	assert_true(as_share_open(fd, "/proc/self/environ", 1 << 20) < 0);
	assert_true(as_share_folder(fd, "up", geteuid()) < 0);
	/* A link by the name of what is written is replaced, not followed. */
	assert_int_equal(as_share_write(fd, "link", "x", 1, NULL), 0);
	as_buf_clear(&text);
	assert_int_equal(as_share_read(fd, "plain", 4, &text, NULL), 0);
	assert_string_equal(as_buf_str(&text), "1234");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(as_share_is_name(names[i].name), names[i].good);
	close(fd);
	as_temp_free(temp);
	as_buf_free(&text);
}

static void test_refusals(void **state)
{
	static const char *const modules[] = { "no_such_module", NULL };
	const char *args[] = { "x", NULL };
	struct as_box_options o = { .core = AS_CORE_HERE, .modules = modules };
	char *longer = malloc(AS_BOX_ARGS_BYTES + 1);
	struct as_box *box;
	struct as_err err;

	(void)state;
	memset(longer, 'x', AS_BOX_ARGS_BYTES);
	longer[AS_BOX_ARGS_BYTES] = '\0';
	args[0] = longer;
	assert_int_equal(as_box_start(&as_sandbox_host, &o, args, &box, &err), AS_EUSE);
	assert_null(box);
	assert_non_null(strstr(err.msg, "arguments are longer"));
	free(longer);
	need_uml();
	args[0] = "x";
	assert_int_equal(as_box_start(&as_sandbox_uml, &o, args, &box, &err), AS_ELACK);
	assert_non_null(strstr(err.msg, "the kernel has no module no_such_module"));
}

static void test_state(void **state)
{
	char path[PATH_MAX];
	struct as_box_state *mapped;
	struct as_err err;
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/state", t_tmpdir());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(as_box_state_open("/nowhere/x", &mapped, &err), AS_EIO);
	/* Too short to be one; long enough, but something else; said to be longer than it is. */
	assert_int_equal(as_box_state_open(path, &mapped, &err), AS_EUSE);
	assert_int_equal(ftruncate(fd, sizeof(*mapped)), 0);
	assert_int_equal(as_box_state_open(path, &mapped, &err), AS_EUSE);
	assert_null(mapped);
	assert_non_null(strstr(err.msg, "not the state of a box"));
	assert_int_equal(pwrite(fd, (uint64_t[]){ AS_BOX_MAGIC, 1 << 30 }, 16, 0), 16);
	assert_int_equal(as_box_state_open(path, &mapped, &err), AS_EUSE);
	close(fd);
}

/* A guest gets what the type that needs most says, and what the user says before that. */
static void test_memory(void **state)
{
	const struct as_fstype *small = as_fstype_find("ext4"), *large = as_fstype_find("gfs2");
	struct as_box_options options = { 0 }, said = { .mem_bytes = AS_UML_MEM_MIN };
	struct as_guest_programs programs = { 0 };

	(void)state;
	assert_true(large->guest_bytes > AS_UML_MEM_DEFAULT);
	as_guest_programs_add(&programs, small);
	as_guest_programs_set(&programs, &options);
	assert_int_equal(options.mem_bytes, small->guest_bytes);
	as_guest_programs_add(&programs, large);
	as_guest_programs_add(&programs, small);
	as_guest_programs_set(&programs, &options);
	assert_int_equal(options.mem_bytes, large->guest_bytes);
	as_guest_programs_free(&programs);
	as_guest_programs_add(&programs, large);
	as_guest_programs_set(&programs, &said);
	assert_int_equal(said.mem_bytes, AS_UML_MEM_MIN);
	as_guest_programs_free(&programs);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table), cmocka_unit_test(test_echo),
		cmocka_unit_test(test_death), cmocka_unit_test(test_walls),
		cmocka_unit_test(test_share), cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_state), cmocka_unit_test(test_memory),
	};

	if (getpid() == 1 && !strcmp(argv[0], "/init"))
		as_guest_main();
	if (argc > 1 && !strncmp(argv[1], "--", 2))
		return engine_main(argc, argv);
	if (!geteuid() && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
