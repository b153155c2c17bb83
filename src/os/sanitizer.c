/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sanitizer: see sanitizer.h. The file that is looked at may be anything: all is bounded. */
#include "os/sanitizer.h"

#include "base/buf.h"
#include "os/elf.h"
#include "os/elf_needs.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AGAIN "ASSAY_SANITIZER" /* set while the program is executed again: what LD_PRELOAD was */
#define PRELOAD "LD_PRELOAD"
#define ARGS_MAX 4096

/* Libraries: the beginnings of their names, and whether they must be the first of a process. */
static const struct {
	const char *name;
	bool first;
} runtimes[] = { { "libasan.so", true }, { "libubsan.so", false } };

#define N_RUNTIMES (sizeof(runtimes) / sizeof(runtimes[0]))

/* A mistake is a death by a signal, and what was not freed is looked for by us. */
static const struct {
	const char *name, *value;
} options[] = {
	{ "ASAN_OPTIONS", "abort_on_error=1:halt_on_error=1:detect_leaks=0:handle_segv=0:"
			  "handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0:"
			  "allocator_may_return_null=1" },
	{ "UBSAN_OPTIONS", "abort_on_error=1:halt_on_error=1:print_stacktrace=1:handle_segv=0:"
			   "handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0" },
};

bool as_sanitizer_is(void)
{
	return dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init") ||
	       dlsym(RTLD_DEFAULT, "__msan_init");
}

/* ---- What a file needs ----------------------------------------------------------------------- */

static void note_needed(const char *name, struct as_buf *needed, bool *first)
{
	for (size_t i = 0; i < N_RUNTIMES; i++)
		if (!strncmp(name, runtimes[i].name, strlen(runtimes[i].name))) {
			as_buf_addf(needed, "%s%s", needed->len ? ":" : "", name);
			*first |= runtimes[i].first;
		}
}

/* Names of libraries of sanitizers, with colons. *first: one of them must be the first. */
static void read_needed(const char *path, struct as_buf *needed, bool *first)
{
	struct as_elf_needs needs = { 0 };
	struct as_elf e;
	struct as_err err;

	if (!as_elf_open(path, &e))
		return;
	if (!as_elf_needs(e.data, e.len, path, &needs, &err))
		for (size_t i = 0; i < needs.n_libs; i++)
			note_needed(needs.libs[i], needed, first);
	as_elf_needs_free(&needs);
	as_elf_close(&e);
}

/* ---- Once more ------------------------------------------------------------------------------- */

/* The last one of an option counts: those of the user stay, but for these. */
static void set_options(void)
{
	struct as_buf value = { 0 };

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		const char *own = getenv(options[i].name);

		as_buf_clear(&value);
		as_buf_addf(&value, "%s%s%s", own ? own : "", own ? ":" : "", options[i].value);
		setenv(options[i].name, as_buf_str(&value), 1);
	}
	as_buf_free(&value);
}

static void restore(const char *preload)
{
	if (*preload)
		setenv(PRELOAD, preload, 1);
	else
		unsetenv(PRELOAD);
	unsetenv(AGAIN);
}

static void run_again(const char *libraries)
{
	const char *own = getenv(PRELOAD);
	struct as_buf args = { 0 }, preload = { 0 };
	char *argv[ARGS_MAX + 1] = { NULL };
	unsigned n = 0;

	if (as_buf_read_file(&args, "/proc/self/cmdline", 16u << 20, NULL))
		return;
	for (size_t at = 0; at < args.len && n < ARGS_MAX; at += strlen(args.data + at) + 1)
		argv[n++] = args.data + at;
	as_buf_addf(&preload, "%s%s%s", libraries, own ? ":" : "", own ? own : "");
	setenv(AGAIN, own ? own : "", 1);
	setenv(PRELOAD, as_buf_str(&preload), 1);
	set_options();
	if (n && n < ARGS_MAX)
		execv("/proc/self/exe", argv);
	restore(own ? own : "");
	as_buf_free(&args);
	as_buf_free(&preload);
}

void as_sanitizer_exec(const char *path)
{
	static bool done;
	const char *again = getenv(AGAIN);
	struct as_buf needed = { 0 };
	bool first = false;

	if (again)
		restore(again);
	if (done || again) {
		done = true;
		return;
	}
	read_needed(path, &needed, &first);
	if (needed.len && !(first && as_sanitizer_is()))
		run_again(as_buf_str(&needed));
	as_buf_free(&needed);
}

/* ---- What it reports ------------------------------------------------------------------------- */

static char *report_to;
static size_t report_size;

static void on_report(const char *text)
{
	size_t len = strnlen(text, report_size - 1);

	memcpy(report_to, text, len);
	report_to[len] = '\0';
}

void as_sanitizer_tell(char *said, size_t size)
{
	void *callback = dlsym(RTLD_DEFAULT, "__asan_set_error_report_callback");
	void *fd = dlsym(RTLD_DEFAULT, "__sanitizer_set_report_fd");
	void (*set_callback)(void (*)(const char *));
	void (*set_fd)(void *);
	int nowhere;

	if (!callback || !fd)
		return;
	memcpy(&set_callback, &callback, sizeof(set_callback));
	memcpy(&set_fd, &fd, sizeof(set_fd));
	report_to = said;
	report_size = size;
	set_callback(on_report);
	/* It would print it, too. */
	nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (nowhere >= 0)
		set_fd((void *)(intptr_t)nowhere);
}
