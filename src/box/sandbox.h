/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandbox: where an engine runs whose file system under test may crash its kernel. A sandbox starts
 * this program once more in a box and gives us three things that outlive any crash in it: the
 * events of the engine (supervise/wire.h), the console of the kernel, and a piece of shared memory
 * that tells how far the engine had come.
 *
 *	host	another process on the running kernel: needs root, and a panic stops the machine
 *	uml	a User-Mode Linux kernel in an ordinary process of an ordinary user
 */
#ifndef AS_BOX_SANDBOX_H
#define AS_BOX_SANDBOX_H

#include "base/err.h"
#include "box/jail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct as_initramfs_file;

#define AS_SANDBOX_API 2u

enum as_sandbox_cap {
	AS_SANDBOX_OWN_KERNEL = 1, /* it has its own kernel, which may die without the machine's */
	AS_SANDBOX_NEEDS_ROOT = 2,
	AS_SANDBOX_HAS_CONSOLE = 4,
};

#define AS_BOX_ARGS_BYTES 16384u
#define AS_BOX_MAGIC UINT64_C(0x584f425941535341)

/* The beginning of the memory that the box shares with us; the engine's own state stands after
 * it. The layouts agree because both sides are the same program file. */
struct as_box_state {
	uint64_t magic, size_bytes; /* size of all that is shared */
	volatile uint64_t beat; /* the guest counts it up as long as its kernel schedules */
	volatile int64_t job; /* the workload that is running; -1: none yet */
	volatile uint32_t stuck; /* the box saw no progress for longer than stuck_ms */
	uint32_t stuck_ms;
	/* So long has the box waited for a processor of the machine, which its kernel cannot see:
	 * we tell it (supervise/hang.c). */
	volatile int64_t waited_us;
	volatile uint32_t ended; /* the engine came to its end; `status` is as of waitpid() */
	volatile int32_t status;
	/* Odd while the engine makes the disk of a workload fail, or something inside the kernel:
	 * it may then complain. */
	volatile uint64_t faults;
	char error[1024]; /* why the box could not start its engine; "" otherwise */
	uint32_t n_args;
	char args[AS_BOX_ARGS_BYTES]; /* arguments of the engine, each with its NUL */
	/* The engine's own state. It begins with a uint64_t that changes whenever the engine
	 * makes progress. */
	uint8_t engine[] __attribute__((aligned(64)));
};

/* Maps the shared memory from a file ("/dev/mmapper" in a guest). Refuses another layout. */
AS_MUST_CHECK int as_box_state_open(const char *path, struct as_box_state **state,
				    struct as_err *err);
void as_box_state_close(struct as_box_state *state); /* takes NULL */

/* Changes whenever the engine makes progress. */
static inline uint64_t as_box_progress(const struct as_box_state *state)
{
	return *(const volatile uint64_t *)(const void *)state->engine;
}

enum { AS_CORE_HERE = -1, AS_CORE_ANY = -2 };

struct as_box;

struct as_box_options {
	const char *kernel; /* of uml; NULL: `linux` in PATH */
	uint64_t mem_bytes; /* of uml; 0: its default */
	int core; /* the core that it runs on; or AS_CORE_* */
	/* Called before the engine starts, to write files for it into the shared folder. NULL:
	 * there are none. */
	int (*fill)(void *ctx, struct as_box *box, struct as_err *err);
	void *fill_ctx;
	const char *const *programs, *const *optional; /* see box/initramfs.h */
	const char *const *modules;
	const struct as_initramfs_file *files;
	const char *const *extra; /* further words on the kernel's command line; or NULL */
	unsigned stuck_ms; /* without progress; 0: never */
	size_t engine_bytes; /* of as_box_state.engine */
};

/* What the wardens report. The box cannot write to it. */
struct as_box_watch {
	volatile uint32_t ended; /* `status` is that of the box, as of waitpid() */
	volatile int32_t status;
	volatile uint32_t stopped; /* somebody has stopped it (SIGSTOP) and not continued it */
	volatile uint32_t greedy; /* it used more memory than allowed and was killed */
};

struct as_temp;

struct as_box {
	const struct as_sandbox_ops *ops;
	pid_t pid; /* of its warden, which ends as the box does */
	int pidfd, events_fd, console_fd; /* -1: none */
	int input_fd; /* leads to the engine's standard input */
	struct as_box_state *state;
	size_t state_bytes;
	int state_fd;
	int status; /* as of waitpid(), once it has ended */
	bool reaped;
	struct as_box_watch *watch;
	/* The folder that is shared with the box. The box may have written any of its files:
	 * read them as os/share.h does. */
	int share_fd;
	struct as_jail_report jail; /* what confines it; layers 0: nothing does */
	struct as_temp *folder; /* of the box; NULL: it is in the root of its jail */
};

struct as_sandbox_ops {
	uint32_t api, caps;
	const char *name, *help;
	/* Whether it can be used: AS_ELACK with what the machine lacks, or AS_EUSE with what is
	 * wrong with the options. */
	int (*ready)(const struct as_box_options *options, struct as_err *err);
	/* The paths of the shared memory and the shared folder in the box. */
	const char *state_path, *share_path;
	/* Starts the engine with the arguments in box->state, which the caller has set. */
	int (*start)(const struct as_box_options *options, struct as_box *box, struct as_err *err);
};

extern const struct as_sandbox_ops as_sandbox_host, as_sandbox_uml;
/* as_sandbox_uml.ready(), and the folder of its kernel's modules; left empty if it has none. */
AS_MUST_CHECK int as_sandbox_uml_modules(const struct as_box_options *options,
					 struct as_buf *folder, struct as_err *err);

/* Row i of the table; NULL after the last one. */
const struct as_sandbox_ops *as_sandbox(unsigned i);
const struct as_sandbox_ops *as_sandbox_find(const char *name); /* NULL: none of that name */

AS_MUST_CHECK int as_box_start(const struct as_sandbox_ops *ops,
			       const struct as_box_options *options, const char *const *args,
			       struct as_box **box, struct as_err *err);
/* Writes to the engine's standard input; false: it is gone. */
bool as_box_say(struct as_box *box, const char *text);
/* Writes one byte to its standard input, unless there is no room: it is a sign to look, and nothing
 * else. False: it is gone. */
bool as_box_wake(struct as_box *box);
#define AS_BOX_WAKE '.'
/* Kills it if it runs and waits for it. Then box->status says how it ended. */
void as_box_end(struct as_box *box);
void as_box_free(struct as_box *box); /* ends it first; takes NULL */

/* Tries the sandbox: starts an engine that only prints its version. The error says why it does
 * not work. */
AS_MUST_CHECK int as_sandbox_try(const struct as_sandbox_ops *ops,
				 const struct as_box_options *options, unsigned deadline_ms,
				 struct as_jail_report *jail, struct as_err *err);

/*
 * For implementations: a process in a group of its own that dies with us. Its descriptors: 0 is the
 * other end of box->input_fd, 3 that of box->events_fd, 4 the shared memory, 5 and 6 are those of
 * `fds`; 1 and 2 are the console or, without one, the same as 3.
 */
struct as_box_program {
	const char *path;
	char *const *argv, *const *envp;
	int core; /* AS_CORE_* */
	bool console;
	int fds[2]; /* 0: none */
	const struct as_jail *jail; /* NULL: no walls */
	int (*fill)(void *ctx, struct as_box *box, struct as_err *err);
	void *fill_ctx;
};

/* AS_ELACK: namespaces were asked for and cannot be made; box->jail says what failed. */
AS_MUST_CHECK int as_box_spawn(struct as_box *box, const struct as_box_program *program,
			       struct as_err *err);

/*
 * This program once more, confined like a guest, with these arguments. It sees `fd` as its
 * descriptor 5, libraries, and the programs that are named by their paths; what it writes to
 * descriptor 3 comes to box->events_fd. AS_ELACK: the machine has no namespaces for it.
 */
AS_MUST_CHECK int as_box_start_confined(const char *const *args, const char *const *programs,
					int fd, struct as_box **box, struct as_err *err);

/* A box in which nothing runs yet. */
struct as_box *as_box_new(void);
/* Reads the console until the box ends (true) or the time is up. The last `max` bytes are kept. */
bool as_box_listen(struct as_box *box, unsigned deadline_ms, size_t max, struct as_buf *said);
/* Makes a folder in `place` (NULL: as_temp_place()) for a box that has no root of its own. */
AS_MUST_CHECK int as_box_open_folder(struct as_box *box, const char *place, struct as_err *err);
/* Ends the process that was spawned, so that another one can be. */
void as_box_undo(struct as_box *box);

/* The guest's first process: `assay` started as /init. Does not return. */
_Noreturn void as_guest_main(void);

/* A line on the console of a guest: everything before it belongs to the boot. */
#define AS_GUEST_MARK "assay: the engine begins\n"
#define AS_UML_MEM_DEFAULT ((uint64_t)512 << 20) /* only pages that are used take memory */
#define AS_UML_MEM_MIN ((uint64_t)64 << 20)
#define AS_UML_MEM_MAX ((uint64_t)64 << 30)
/* On the command line of its kernel, followed by the id of the process that started it. */
#define AS_UML_OWNER_WORD "assay.of="
#define AS_UML_PACKAGE "user-mode-linux"

#endif
