/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * start: the fork server. The program is loaded, linked and initialised once, and stops where main
 * would begin. For each byte that arrives on the control socket a child is forked that goes on into
 * main with the arguments of the shared head; a run costs a fork instead of an exec. When the child
 * has ended, the rest of its process group is killed, its status is stored, and a byte is sent
 * back. The server ends when the socket is closed.
 */
#include "tool/shim/shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MAX_ARGS 64

typedef int (*main_fn)(int argc, char **argv, char **envp);
typedef int (*start_fn)(main_fn main, int argc, char **argv, void (*init)(void), void (*fini)(void),
			void (*rtld_fini)(void), void *stack_end);

struct shim_next shim_next_table;
static main_fn program_main;
static int control_fd = -1;

static const struct {
	const char *name;
	size_t offset; /* of its pointer in struct shim_next */
} wanted[] = {
#define NEXT(name) { #name, offsetof(struct shim_next, name) },
#include "tool/shim/next.def"
#undef NEXT
};

void shim_resolve(void)
{
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *function = dlsym(RTLD_NEXT, wanted[i].name);

		memcpy((char *)&shim_next_table + wanted[i].offset, &function, sizeof(function));
	}
}

/* "disk,share,control" */
static bool read_numbers(const char *text, int numbers[3])
{
	for (int i = 0; i < 3; i++) {
		char *end;

		numbers[i] = (int)strtol(text, &end, 10);
		if (end == text || *end != (i < 2 ? ',' : '\0'))
			return false;
		text = end + 1;
	}
	return true;
}

__attribute__((constructor)) static void set_up(void)
{
	const char *text = getenv(AS_SHIM_ENV);
	int numbers[3];

	shim_resolve();
	if (!text)
		return;
	if (!strcmp(text, AS_SHIM_CLOCK)) {
		shim_clock_start(AS_SHIM_NOW_S);
	} else if (read_numbers(text, numbers)) {
		shim_disk_setup(numbers[0], numbers[1]);
		shim_next()->close(numbers[1]);
		control_fd = numbers[2];
		/* Before all that the C library and the program register: so it is called last. */
		on_exit(shim_rewind_at_exit, NULL);
	}
	/* The program must not see these, nor pass them on to others. */
	unsetenv(AS_SHIM_ENV);
	unsetenv("LD_PRELOAD");
	unsetenv("LD_BIND_NOW");
}

/* ---- A run ---- */

static int split_args(char **argv)
{
	char *at = shim_head->args, *end = at + sizeof(shim_head->args);
	int n = 0;

	while (n < MAX_ARGS && n < (int)shim_head->argc && at < end) {
		size_t len = strnlen(at, (size_t)(end - at));

		/* It is a copy, because the program may change its arguments. */
		argv[n++] = strndup(at, len);
		at += len + 1;
	}
	argv[n] = NULL;
	return n;
}

/* The word that guards stacks, which the kernel draws for each process: programs that write parts
 * of their stack to the disk (mkfs.gfs2) write this word, too. Functions that are active meanwhile
 * must not look at it. */
__attribute__((noinline)) static uint64_t set_guard(uint64_t guard)
{
	uint64_t was;

	__asm__ volatile("mov %%fs:0x28, %0" : "=r"(was));
	__asm__ volatile("mov %0, %%fs:0x28" : : "r"(guard));
	return was;
}

#define GUARD UINT64_C(0x6173736179fade00)
#define CLEAN_BYTES (256u << 10)
#define PAGE_BYTES 4096u

/*
 * What was on the stack before main is not part of what the program does. Whole pages are given
 * back: they are zeros when they are touched again. To write zeros would cost a page fault for each
 * of them in each run. No function is called here, since its frame would be on these pages.
 */
__attribute__((noinline)) static void clean_stack(void)
{
	char below[PAGE_BYTES];
	uintptr_t sp, page;
	void *at = below;
	size_t n = sizeof(below);
	long ret = SYS_madvise;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(0) : "memory");
	__asm__ volatile("mov %%rsp, %0" : "=r"(sp));
	page = sp & ~(uintptr_t)(PAGE_BYTES - 1);
	at = (void *)page;
	n = sp - page;
	__asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(0) : "memory");
	/* A part of the range may not be there yet: the rest is given back all the same. */
	__asm__ volatile("syscall"
			 : "+a"(ret)
			 : "D"(page - CLEAN_BYTES), "S"((size_t)CLEAN_BYTES), "d"(MADV_DONTNEED)
			 : "rcx", "r11", "memory");
}

/* Runs the program with a stack that is the same every time. */
static int go_clean(int argc, char **argv, char **envp)
{
	uint64_t guard = set_guard(GUARD);
	int status;

	clean_stack();
	status = program_main(argc, argv, envp);
	set_guard(guard);
	return status;
}

/* In the child: what main returns goes to exit() through the C library. */
static int go(char **envp)
{
	static char *argv[MAX_ARGS + 1];
	int argc = split_args(argv);

	if (shim_head->n_stops)
		shim_stop_setup(control_fd);
	else
		shim_next()->close(control_fd);
	shim_next()->lseek(0, 0, SEEK_SET); /* the input is a file that all runs share */
	/* A sanitizer reserves far more than it uses. */
	if (shim_head->memory_bytes && !dlsym(RTLD_DEFAULT, "__asan_init")) {
		rlim_t bytes = shim_head->memory_bytes + shim_disk_mapped();
		struct rlimit limit = { bytes, bytes };

		setrlimit(RLIMIT_AS, &limit);
	}
	shim_clock_start(shim_head->now_s);
	memset(&shim_head->stack, 0, sizeof(shim_head->stack));
	return go_clean(argc, argv, envp);
}

static pid_t real_parent(void)
{
	return (pid_t)syscall(SYS_getppid, NULL);
}

/* A process that the program forks dies with the program, as the program dies with the server and
 * the server with assay: nothing is left when assay is killed. */
SHIM_EXPORT pid_t fork(void)
{
	pid_t parent = shim_real_pid(), pid;

	shim_has_forked = true;
	pid = shim_next()->fork();
	if (!pid && shim_head) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (real_parent() != parent)
			_exit(127);
	}
	return pid;
}
SHIM_ALIAS(vfork, fork);

/* Waits for the end of the child but does not reap it, so that its number is not reused before the
 * group is killed. */
int shim_finish(pid_t pid)
{
	siginfo_t info;
	int status = 0;

	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) && errno == EINTR)
		;
	shim_next()->kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

void shim_begin_run(pid_t server)
{
	syscall(SYS_setpgid, 0L, 0L, shim_head->secret);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (real_parent() != server)
		_exit(127);
	__atomic_store_n(&shim_head->pid, shim_real_pid(), __ATOMIC_RELEASE);
}

static int serve(int argc, char **argv, char **envp)
{
	pid_t server = shim_real_pid();
	char byte;

	(void)argc;
	(void)argv;
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	shim_head->confined = shim_filter_install(shim_head->secret);
	(void)sysconf(_SC_NPROCESSORS_CONF);
	/* These set up the heap, and load the unwinder, once and not in each child. */
	free(malloc(1));
	as_stack_catch(&shim_head->stack);
	if (shim_next()->write(control_fd, "r", 1) != 1)
		_exit(127);
	while (shim_next()->read(control_fd, &byte, 1) == 1) {
		pid_t pid;

		shim_disk_reset();
		pid = shim_next()->fork();
		if (!pid) {
			shim_begin_run(server);
			return go(envp);
		}
		shim_head->status = pid < 0 ? -1 : shim_finish(pid);
		/* These are processes whose parent has died, and they are dying, too. Where the
		 * filter is in place, no process can leave the group that was killed. */
		while (waitpid(-1, NULL, shim_head->confined ? 0 : WNOHANG) > 0)
			;
		if (shim_next()->write(control_fd, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

/* With AS_SHIM_CLOCK: constructors may have asked for the time already. */
static int go_plain(int argc, char **argv, char **envp)
{
	shim_clock_start(AS_SHIM_NOW_S);
	return program_main(argc, argv, envp);
}

SHIM_EXPORT int __libc_start_main(main_fn main, int argc, char **argv, void (*init)(void),
				  void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
SHIM_EXPORT int __libc_start_main(main_fn main, int argc, char **argv, void (*init)(void),
				  void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
	start_fn next = (start_fn)dlsym(RTLD_NEXT, "__libc_start_main");

	program_main = main;
	/* The constructors of shared objects have run by now, so set_up() has decided. */
	if (control_fd >= 0)
		main = serve;
	else if (shim_clock_on)
		main = go_plain;
	return next(main, argc, argv, init, fini, rtld_fini, stack_end);
}
