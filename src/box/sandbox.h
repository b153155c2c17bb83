/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandbox: where an engine runs whose file system under test may take the kernel with it. A sandbox
 * starts this program once more in a place of its own (a box) and hands over three things that
 * outlive whatever happens in there: what the engine says (JSON lines), what the kernel says (the
 * console), and a piece of shared memory that tells how far it had come.
 *
 *	host	another process on the running kernel: root only, and a panic is everyone's
 *	uml	a User-Mode Linux kernel in an ordinary process of an ordinary user
 */
#ifndef AS_BOX_SANDBOX_H
#define AS_BOX_SANDBOX_H

#include "base/err.h"
#include "box/cell.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct as_initramfs_file;

#define AS_SANDBOX_API 2u

enum as_sandbox_cap {
	AS_SANDBOX_OWN_KERNEL = 1, /* its kernel may die: the machine's does not */
	AS_SANDBOX_NEEDS_ROOT = 2,
	AS_SANDBOX_HAS_CONSOLE = 4,
};

#define AS_BOX_ARGS_BYTES 16384u
#define AS_BOX_MAGIC UINT64_C(0x584f425941535341)

/* Shared between the box and us at the beginning of the shared memory; the engine's own state
 * stands behind it. Layouts agree because both sides are the same file. */
struct as_box_state {
	uint64_t magic, size_bytes; /* of all that is shared */
	volatile uint64_t beat; /* raised by the box as long as its kernel schedules */
	volatile int64_t job; /* which workload is in flight; -1: none yet */
	volatile uint32_t stuck; /* the box saw no progress for longer than stuck_ms */
	uint32_t stuck_ms;
	volatile uint32_t ended; /* the engine came to its end; `status` is as of waitpid() */
	volatile int32_t status;
	char error[1024]; /* why the box could not start its engine; "" otherwise */
	uint32_t n_args;
	char args[AS_BOX_ARGS_BYTES]; /* of the engine, each with its NUL */
	/* The engine's own; it begins with a uint64_t that changes whenever the engine moves. */
	uint8_t engine[] __attribute__((aligned(64)));
};

/* Maps what stands in a file ("/dev/mmapper" in a guest). Refuses what has another layout. */
AS_MUST_CHECK int as_box_state_open(const char *path, struct as_box_state **state,
				    struct as_err *err);
void as_box_state_close(struct as_box_state *state); /* takes NULL */

/* Changes whenever the engine moves. */
static inline uint64_t as_box_progress(const struct as_box_state *state)
{
	return *(const volatile uint64_t *)(const void *)state->engine;
}

enum { AS_CORE_HERE = -1, AS_CORE_ANY = -2 };

struct as_box;

struct as_box_options {
	const char *kernel; /* of uml; NULL: `linux` in PATH */
	uint64_t mem_bytes; /* of uml; 0: its default */
	int core; /* to stay on; AS_CORE_* */
	/* Called before the engine starts: puts what it is to read into the folder that is shared
	 * with it. NULL: nothing. */
	int (*fill)(void *ctx, struct as_box *box, struct as_err *err);
	void *fill_ctx;
	const char *const *programs, *const *optional; /* see box/initramfs.h */
	const char *const *modules;
	const struct as_initramfs_file *files;
	const char *const *extra; /* further words on the kernel's command line; or NULL */
	unsigned stuck_ms; /* without progress; 0: never */
	size_t engine_bytes; /* of as_box_state.engine */
};

/* What the wardens say; nobody else can write to it. */
struct as_box_watch {
	volatile uint32_t ended; /* `status` is that of the box, as of waitpid() */
	volatile int32_t status;
	volatile uint32_t stopped; /* somebody has stopped it (SIGSTOP), and not let it go on */
	volatile uint32_t greedy; /* it took more memory than it may, and was killed */
};

struct as_temp;

struct as_box {
	const struct as_sandbox_ops *ops;
	pid_t pid; /* of its warden, which ends as the box does */
	int pidfd, events_fd, console_fd; /* -1: none */
	int input_fd; /* what is written to it the engine reads on its standard input */
	struct as_box_state *state;
	size_t state_bytes;
	int state_fd;
	int status; /* as of waitpid(), once it has ended */
	bool reaped;
	struct as_box_watch *watch;
	/* The folder that is shared with it. What lies there it may have written: see
	 * os/share.h. */
	int share_fd;
	struct as_cell_report cell; /* what confines it; layers 0: nothing does */
	struct as_temp *folder; /* of its own; NULL: it has one in a root of its own */
};

struct as_sandbox_ops {
	uint32_t api, caps;
	const char *name, *help;
	/* What the machine lacks for it (AS_ELACK), or what is wrong with the options (AS_EUSE). */
	int (*ready)(const struct as_box_options *options, struct as_err *err);
	/* What the shared memory and the shared folder are called inside. */
	const char *state_path, *share_path;
	/* Starts the engine with the arguments in box->state, which is set before. */
	int (*start)(const struct as_box_options *options, struct as_box *box, struct as_err *err);
};

extern const struct as_sandbox_ops as_sandbox_host, as_sandbox_uml;

/* Row i of the table, or NULL behind the last. */
const struct as_sandbox_ops *as_sandbox(unsigned i);
const struct as_sandbox_ops *as_sandbox_find(const char *name); /* NULL: none of that name */

AS_MUST_CHECK int as_box_start(const struct as_sandbox_ops *ops,
			       const struct as_box_options *options, const char *const *args,
			       struct as_box **box, struct as_err *err);
/* Gives the engine something to read; false: it is gone. */
bool as_box_say(struct as_box *box, const char *text);
/* Kills what is left of it and waits; box->status then says how it ended. */
void as_box_end(struct as_box *box);
void as_box_free(struct as_box *box); /* ends it first; takes NULL */

/* Starts an engine that only says its version: whether the sandbox works here, or why not. */
AS_MUST_CHECK int as_sandbox_try(const struct as_sandbox_ops *ops,
				 const struct as_box_options *options, unsigned deadline_ms,
				 struct as_cell_report *cell, struct as_err *err);

/*
 * For implementations: a process in a group of its own that dies with us. Its descriptors: 0 is the
 * other end of box->input_fd, 3 of box->events_fd, 4 the shared memory, 5 and 6 what is given; 1
 * and 2 are a console of their own or, without one, the same as 3.
 */
struct as_box_program {
	const char *path;
	char *const *argv, *const *envp;
	int core; /* AS_CORE_* */
	bool console;
	int fds[2]; /* 0: none */
	const struct as_cell *cell; /* NULL: no walls */
	int (*fill)(void *ctx, struct as_box *box, struct as_err *err);
	void *fill_ctx;
};

/* AS_ELACK: there are no namespaces for the cell, though they were asked for; box->cell says what
 * failed. */
AS_MUST_CHECK int as_box_spawn(struct as_box *box, const struct as_box_program *program,
			       struct as_err *err);

/* One that nothing runs in yet. */
struct as_box *as_box_new(void);
/* Reads its console until it ends (true) or the time is up; of what it says the last `max` bytes
 * are kept. */
bool as_box_listen(struct as_box *box, unsigned deadline_ms, size_t max, struct as_buf *said);
/* A folder in `place` for a box without a root of its own. */
AS_MUST_CHECK int as_box_open_folder(struct as_box *box, const char *place, struct as_err *err);
/* Ends what was spawned, so that another can be. */
void as_box_undo(struct as_box *box);

/* The guest's first process: `assay` started as /init. Does not return. */
_Noreturn void as_guest_main(void);

/* A line on the console of a guest: what stands before it is the boot's. */
#define AS_GUEST_MARK "assay: the engine begins\n"
#define AS_UML_MEM_DEFAULT ((uint64_t)512 << 20) /* the machine gives what is used */
#define AS_UML_MEM_MIN ((uint64_t)64 << 20)
#define AS_UML_MEM_MAX ((uint64_t)64 << 30)
/* On the command line of its kernel, with the number of the process that started it. */
#define AS_UML_OWNER_WORD "assay.of="
#define AS_UML_PACKAGE "user-mode-linux"

#endif
