/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bad_plugin: the example plugin, which does something bad at one of several moments: the variable
 * BAD_WHEN of the environment says when (load, second_load, mkfs, mount, mkdir, unmount, unload),
 * BAD_DO what (a row of the table below), BAD_TABLE what is wrong with its table. With -DTABLE=...
 * its symbol is something else. Built by test_plugins.sh, which says what assay must make of it.
 */
#define as_target skeleton_target
#include "../../examples/plugin_skeleton/skeleton.c"
#undef as_target

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- What it does ---------------------------------------------------------------------------- */

static void do_crash(void)
{
	*(volatile int *)8 = 1;
}

static void do_exit(void)
{
	exit(0);
}

static void do_exit_now(void)
{
	_exit(0);
}

static void do_exit_one(void)
{
	_exit(1);
}

static void do_abort(void)
{
	abort();
}

static void do_raise(void)
{
	raise(SIGTERM);
}

static void do_stop(void)
{
	raise(SIGSTOP);
}

static void do_loop(void)
{
	for (volatile int i = 0;; i++)
		;
}

static void do_sleep(void)
{
	for (;;)
		pause();
}

static void do_close(void)
{
	for (int fd = 0; fd < 4096; fd++)
		close(fd);
}

static void do_print(void)
{
	static const char text[] = "\033]0;title\007\033[31mplugin speaks\n";

	(void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
}

/* More than any pipe holds. */
static void do_flood(void)
{
	char block[4096];

	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 4096; i++)
		(void)!write(STDERR_FILENO, block, sizeof(block));
}

static void do_chdir(void)
{
	(void)!chdir("/");
}

static void leave(int signum)
{
	(void)signum;
	_exit(0);
}

/* A crash that its own handler turns into a good end. */
static void do_handler(void)
{
	struct sigaction act = { .sa_handler = leave };

	for (int i = 1; i < 32; i++)
		sigaction(i, &act, NULL);
	do_crash();
}

static void do_ignore(void)
{
	for (int i = 1; i < 32; i++)
		signal(i, SIG_IGN);
	do_sleep();
}

/* BAD_DAEMON is how long it sleeps: the test looks for it by that. */
static void do_daemon(void)
{
	if (fork())
		return;
	setsid();
	if (fork())
		_exit(0);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	execlp("sleep", "sleep", getenv("BAD_DAEMON"), NULL);
	_exit(1);
}

static void do_kill(void)
{
	kill(getppid(), SIGKILL);
}

/* 100 GB, a page of each megabyte touched. */
static void do_memory(void)
{
	for (int i = 0; i < 100; i++) {
		char *block = malloc((size_t)1 << 30);

		if (!block)
			abort();
		for (size_t at = 0; at < (size_t)1 << 30; at += 1 << 20)
			block[at] = 1;
	}
}

static const struct {
	const char *name;
	void (*fn)(void);
} deeds[] = {
	{ "crash", do_crash },	     { "exit", do_exit },	{ "exit_now", do_exit_now },
	{ "exit_one", do_exit_one }, { "abort", do_abort },	{ "raise", do_raise },
	{ "stop", do_stop },	     { "loop", do_loop },	{ "sleep", do_sleep },
	{ "close", do_close },	     { "print", do_print },	{ "flood", do_flood },
	{ "chdir", do_chdir },	     { "handler", do_handler }, { "ignore", do_ignore },
	{ "daemon", do_daemon },     { "memory", do_memory },	{ "kill", do_kill },
};

/* ---- When ------------------------------------------------------------------------------------ */

static bool says(const char *variable, const char *value)
{
	const char *given = getenv(variable);

	return given && !strcmp(given, value);
}

static void at(const char *when)
{
	if (!says("BAD_WHEN", when))
		return;
	for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++)
		if (says("BAD_DO", deeds[i].name))
			deeds[i].fn();
}

static int bad_mkfs(const struct as_mount_args *args)
{
	at("mkfs");
	return fs_mkfs(args);
}

static int bad_mount(const struct as_mount_args *args, struct as_fs **fs)
{
	at("mount");
	return fs_mount(args, fs);
}

/* Text with a terminal's command, the end of a quotation, and a page of HTML. */
static const char hostile[] = "\033]0;t\007 \302\233 31m \233 \342\200\256 \377 \r\177 ```\n"
			      "# heading\n</pre><script>alert(1)</script> ````` ~~~ `";

static int bad_mkdir(struct as_fs *fs, const char *path, uint32_t mode)
{
	at("mkdir");
	if (says("BAD_WHEN", "mkdir") && says("BAD_DO", "log")) {
		fs->host->log(fs->host->ctx, hostile);
		(void)!write(STDERR_FILENO, hostile, sizeof(hostile) - 1);
		return -EDOM;
	}
	return fs_mkdir(fs, path, mode);
}

static int bad_unmount(struct as_fs *fs)
{
	at("unmount");
	return fs_unmount(fs);
}

#ifndef TABLE
__attribute__((visibility("default"))) struct as_target_ops as_target;

static void fill(void)
{
	as_target = skeleton_target;
	as_target.name = "bad";
	as_target.mkfs = bad_mkfs;
	as_target.mount = bad_mount;
	as_target.mkdir = bad_mkdir;
	as_target.unmount = bad_unmount;
	if (says("BAD_TABLE", "name"))
		as_target.name = (const char *)8;
	if (says("BAD_TABLE", "no_name"))
		as_target.name = NULL;
	if (says("BAD_TABLE", "escape"))
		as_target.name = "\033[31mred";
	if (says("BAD_TABLE", "limits"))
		as_target.limits = (const struct as_limits *)8;
	if (says("BAD_TABLE", "caps"))
		as_target.caps = 0xffffffff;
	if (says("BAD_TABLE", "no_mkdir"))
		as_target.mkdir = NULL;
	if (says("BAD_TABLE", "size"))
		as_target.default_bytes = as_target.min_bytes = 0;
}
#else
TABLE
#define fill() (void)0
#endif

__attribute__((destructor)) static void unload(void)
{
	at("unload");
}

/* The first load, which only reads the table, leaves a mark. */
static bool is_second(void)
{
	const char *mark = getenv("BAD_MARK");
	FILE *f;

	if (!mark || !access(mark, F_OK))
		return mark;
	f = fopen(mark, "w");
	if (f)
		fclose(f);
	return false;
}

__attribute__((constructor)) static void load(void)
{
	at("load");
	if (is_second())
		at("second_load");
	fill();
}
