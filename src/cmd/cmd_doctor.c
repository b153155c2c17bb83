/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_doctor: what this machine has, and which packages have what is missing. */
#include "base/buf.h"
#include "base/json.h"
#include "box/sandbox.h"
#include "cli/cli.h"
#include "os/spawn.h"
#include "target/cache.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pwd.h>
#include <sched.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#define VERSION_DEADLINE_MS 5000
#define BOOT_DEADLINE_MS 20000

struct diagnosis {
	const char *group, *name;
	bool ok;
	char text[256]; /* version, or what is wrong */
	const char *package, *what_for;
};

static const struct {
	const char *group, *program, *version_opt, *package, *what_for;
} tools[] = {
#define TOOL(group, program, version_opt, package, what_for) \
	{ group, program, version_opt, package, what_for },
#include "cmd/doctor.def"
#undef TOOL
};

#define NTOOLS (sizeof(tools) / sizeof(tools[0]))

/* ---- The machine ----------------------------------------------------------------------------- */

static void look_kernel(struct diagnosis *f)
{
	struct utsname u;

	f->ok = !uname(&u);
	if (f->ok)
		snprintf(f->text, sizeof(f->text), "%.64s %.64s %.64s", u.sysname, u.release,
			 u.machine);
}

static void look_user(struct diagnosis *f)
{
	const struct passwd *pw = getpwuid(geteuid());

	f->ok = true;
	snprintf(f->text, sizeof(f->text), "%s (uid %u)", pw ? pw->pw_name : "?", geteuid());
}

static void look_device(struct diagnosis *f, const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	f->ok = fd >= 0;
	snprintf(f->text, sizeof(f->text), "%s%s%s", path, f->ok ? "" : ": ",
		 f->ok ? "" : strerror(errno));
	if (fd >= 0)
		close(fd);
}

static void look_fuse(struct diagnosis *f)
{
	look_device(f, "/dev/fuse");
}

static void look_loop(struct diagnosis *f)
{
	look_device(f, "/dev/loop-control");
}

static int try_userns(void *ctx)
{
	(void)ctx;
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) ? 1 : 0;
}

static void look_userns(struct diagnosis *f)
{
	struct as_ended ended = { 0 };

	f->ok = !as_spawn_fork(try_userns, NULL, VERSION_DEADLINE_MS, NULL, &ended, NULL) &&
		ended.how == AS_END_EXIT && !ended.status;
	snprintf(f->text, sizeof(f->text), "%s",
		 f->ok ? "can be made" : "not allowed (sysctl kernel.unprivileged_userns_clone=1)");
}

static void look_tmpfs(struct diagnosis *f)
{
	struct statfs sfs;

	f->ok = !statfs("/dev/shm", &sfs) && sfs.f_type == TMPFS_MAGIC;
	if (f->ok)
		snprintf(f->text, sizeof(f->text), "/dev/shm, %llu MiB free",
			 (unsigned long long)sfs.f_bavail * (unsigned long long)sfs.f_bsize >> 20);
	else
		snprintf(f->text, sizeof(f->text), "/dev/shm is not one");
}

static void look_cache(struct diagnosis *f)
{
	struct as_buf folder = { 0 }, why = { 0 };
	struct as_err err = { 0 };

	f->ok = !as_cache_folder("images", &folder, &err);
	if (f->ok && as_cache_refused(&why))
		snprintf(f->text, sizeof(f->text), "%.150s (%.90s)", as_buf_str(&folder),
			 as_buf_str(&why));
	else
		snprintf(f->text, sizeof(f->text), "%.250s", f->ok ? as_buf_str(&folder) : err.msg);
	as_buf_free(&folder);
	as_buf_free(&why);
}

static struct as_jail_report walls; /* of the kernel that was booted */

/* It is booted, because an installed kernel may still not work. */
static void look_uml(struct diagnosis *f)
{
	struct as_box_options options = { .core = AS_CORE_HERE };
	int64_t start_us = as_now_us();
	struct as_err err = { 0 };

	f->ok = !as_sandbox_try(&as_sandbox_uml, &options, BOOT_DEADLINE_MS, &walls, &err);
	if (f->ok)
		snprintf(f->text, sizeof(f->text), "boots and ends in %.1f s",
			 (double)(as_now_us() - start_us) / 1e6);
	else
		snprintf(f->text, sizeof(f->text), "%.250s", err.msg);
	for (char *s = f->text; *s; s++)
		if (*s == '\n' || *s == '\r')
			*s = ' ';
}

/* Which layers confined that kernel. */
static void look_walls(struct diagnosis *f)
{
	const unsigned all = AS_JAIL_RIGHTS | AS_JAIL_SPACES | AS_JAIL_FILES | AS_JAIL_CALLS;
	struct as_buf text = { 0 };

	as_jail_say(&walls, &text);
	f->ok = (walls.layers & all) == all;
	snprintf(f->text, sizeof(f->text), "%s",
		 walls.layers ? as_buf_str(&text) : "not known: it did not start");
	as_buf_free(&text);
}

static const struct {
	const char *name, *what_for;
	void (*look)(struct diagnosis *f);
} looks[] = {
	{ "kernel", "", look_kernel },
	{ "user", "", look_user },
	{ "FUSE", "disks served to a kernel", look_fuse },
	{ "loop", "disks under a kernel's block layer", look_loop },
	{ "userns", "testing a directory without root", look_userns },
	{ "tmpfs", "quick scratch space", look_tmpfs },
	{ "cache", "fresh disks, made once", look_cache },
	{ "uml", "file systems of a kernel without root", look_uml },
	{ "walls", "what confines that kernel", look_walls },
};

#define NLOOKS (sizeof(looks) / sizeof(looks[0]))

/* ---- Programs -------------------------------------------------------------------------------- */

/* The first line with a number such as 1.47 holds the version, whatever is around it. */
static void version_line(const char *text, char *line, size_t cap)
{
	line[0] = '\0';
	while (*text) {
		size_t len = strcspn(text, "\n");
		bool number = false;

		for (size_t i = 0; i + 2 < len; i++)
			number = number || (isdigit((unsigned char)text[i]) && text[i + 1] == '.' &&
					    isdigit((unsigned char)text[i + 2]));
		if (number) {
			snprintf(line, cap, "%.*s", (int)(len < 100 ? len : 100), text);
			return;
		}
		text += len + (text[len] == '\n');
	}
}

static void look_tool(size_t i, struct diagnosis *f)
{
	struct as_buf output = { 0 };
	struct as_ended ended;
	char path[4096];
	char *argv[] = { (char *)tools[i].program, (char *)tools[i].version_opt, NULL };
	struct as_spawn spawn = { .argv = argv,
				  .deadline_ms = VERSION_DEADLINE_MS,
				  .output = &output };

	f->ok = as_spawn_which(tools[i].program, path, sizeof(path)) &&
		!as_spawn_run(&spawn, &ended, NULL);
	if (f->ok)
		version_line(as_buf_str(&output), f->text, sizeof(f->text));
	if (f->ok && !f->text[0])
		snprintf(f->text, sizeof(f->text), "%.200s", path);
	if (!f->ok)
		snprintf(f->text, sizeof(f->text), "missing");
	as_buf_free(&output);
}

static void print_one(const struct diagnosis *f, bool json_lines)
{
	struct as_buf line = { 0 };
	struct as_json json = as_json_on(&line);

	if (json_lines) {
		as_json_object(&json);
		as_json_kstr(&json, "group", f->group);
		as_json_kstr(&json, "name", f->name);
		as_json_kbool(&json, "ok", f->ok);
		as_json_kstr(&json, "text", f->text);
		as_json_kstr(&json, "package", f->package);
		as_json_kstr(&json, "what_for", f->what_for);
		as_json_end(&json);
		printf("%s\n", as_buf_str(&line));
	} else {
		printf("%-4s %-9s %-12s %s", f->ok ? "ok" : "--", f->group, f->name, f->text);
		if (!f->ok && f->package)
			printf(" (%s: package %s)", f->what_for, f->package);
		else if (!f->ok)
			printf(" (%s)", f->what_for);
		printf("\n");
	}
	as_buf_free(&line);
}

static int run(const struct as_args *args, struct as_err *err)
{
	bool json = as_args_has(args, "json");
	struct as_buf missing = { 0 };

	(void)err;
	for (size_t i = 0; i < NLOOKS; i++) {
		struct diagnosis f = { .group = "machine",
				       .name = looks[i].name,
				       .what_for = looks[i].what_for };

		looks[i].look(&f);
		print_one(&f, json);
	}
	for (size_t i = 0; i < NTOOLS; i++) {
		struct diagnosis f = { .group = tools[i].group,
				       .name = tools[i].program,
				       .package = tools[i].package,
				       .what_for = tools[i].what_for };

		look_tool(i, &f);
		print_one(&f, json);
		if (!f.ok)
			as_buf_addf(&missing, " %s", tools[i].package);
	}
	if (missing.len && !json)
		printf("\nto have it all: apt install%s\n", as_buf_str(&missing));
	as_buf_free(&missing);
	return AS_EXIT_CLEAN;
}

static const struct as_opt opts[] = {
	{ .name = "json", .help = "print JSON lines" },
	{ 0 },
};

const struct as_command as_cmd_doctor = {
	.name = "doctor",
	.operands = "",
	.summary = "list what this machine has, and which packages have what is missing",
	.opts = opts,
	.run = run,
};
