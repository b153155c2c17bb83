/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandbox_uml: a User-Mode Linux kernel in an ordinary process.
 *
 * Method. The kernel is booted with an initramfs made here (box/initramfs.h) whose /init is this
 * program (box/guest.c). It gets:
 *   - the console on its standard output, with warnings, and panics for everything worse;
 *   - a serial line for what the engine says;
 *   - "iomem", a file mapped as device memory, for the state shared with us;
 *   - hostfs, which shows the one folder it is given.
 * The initramfs and the library that is preloaded are sealed files in memory: nobody can change or
 * replace them before they are read.
 * Warnings and oopses are turned into panics: then the box stops in the operation that caused them,
 * and its end (SIGABRT) is seen at once.
 *
 * Traps. Without uml_dir= the kernel needs a HOME that exists. Its memory is a file in TMPDIR that
 * it maps executable: this must be a tmpfs that is not mounted noexec. uml_dir holds a socket,
 * whose path must be short. A kernel that moves between cores is up to four times slower.
 */
#include "base/embed.h"
#include "box/sandbox.h"

#include "base/buf.h"
#include "box/initramfs.h"
#include "box/jail.h"
#include "os/spawn.h"
#include "os/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODULES_ROOT "/usr/lib/uml/modules"
#define VERSION_DEADLINE_MS 5000
#define VERSION_ATTEMPTS 3
#define WORDS_MAX 64
#define VERSION_MAX_BYTES 4096
#define VERSION_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+~"
#define BESIDES_BYTES ((uint64_t)1 << 30) /* limit of its files, in addition to its memory */
#define PRIVATE_BYTES ((uint64_t)256 << 20) /* limit of memory in no file, in addition to that */

/* Always on the command line. */
static const char *const words[] = {
	"con0=null,fd:1",
	"ssl0=fd:0,fd:3",
	"con=null",
	"ssl=null",
	"iomem=mmapper,/proc/self/fd/4",
	"loglevel=5",
	"oops=panic",
	"panic_on_warn=1",
	"selinux=0",
	"apparmor=0",
	"cryptomgr.notests",
	/* Without this, btrfs and others measure for a second which routine is the fastest. */
	"initcall_blacklist=raid6_select_algo,calibrate_xor_blocks",
	"random.trust_cpu=on",
	/* For each of 512 terminals that nobody uses, the kernel would start a program that is not
	 * there. */
	"pty.legacy_count=0",
};

/* See shim_uml/ptrace.c. */
AS_EMBED(as_shim_uml, "shim_uml.so");

/* ---- What there is --------------------------------------------------------------------------- */

static int find_kernel(const struct as_box_options *o, char *path, size_t cap, struct as_err *err)
{
	struct stat st;

	if (!o->kernel) {
		if (as_spawn_which("linux", path, cap))
			return 0;
		return as_fail(err, AS_ELACK,
			       "no `linux` (a User-Mode Linux kernel) on this machine: package %s",
			       AS_UML_PACKAGE);
	}
	if (stat(o->kernel, &st) || access(o->kernel, R_OK)) {
		as_fail_errno(err, errno, "--uml %s", o->kernel);
		return AS_EUSE;
	}
	if (!S_ISREG(st.st_mode) || access(o->kernel, X_OK))
		return as_fail(err, AS_EUSE, "--uml %s: not a program", o->kernel);
	if ((size_t)snprintf(path, cap, "%s", o->kernel) >= cap)
		return as_fail(err, AS_EUSE, "--uml: the path is too long");
	return 0;
}

/* The folder of its modules: next to a kernel that the user built (`make modules_install
 * INSTALL_MOD_PATH=...`), or that of the package. "": none. */
static void find_modules(const char *kernel, const char *version, struct as_buf *folder)
{
	const char *slash = strrchr(kernel, '/');

	as_buf_addf(folder, "%.*s/lib/modules/%s/modules.dep", slash ? (int)(slash - kernel) : 0,
		    kernel, version);
	if (access(as_buf_str(folder), R_OK)) {
		as_buf_clear(folder);
		as_buf_addf(folder, MODULES_ROOT "/%s/modules.dep", version);
	}
	if (access(as_buf_str(folder), R_OK))
		as_buf_clear(folder);
	else
		folder->data[folder->len -= strlen("/modules.dep")] = '\0';
}

static int check_memory(const struct as_box_options *o, struct as_err *err)
{
	struct sysinfo info;

	if (!o->mem_bytes)
		return 0;
	if (o->mem_bytes < AS_UML_MEM_MIN || o->mem_bytes > AS_UML_MEM_MAX)
		return as_fail(err, AS_EUSE, "--uml-mem: expected %llu to %llu MiB",
			       (unsigned long long)AS_UML_MEM_MIN >> 20,
			       (unsigned long long)AS_UML_MEM_MAX >> 20);
	if (!sysinfo(&info) && o->mem_bytes > (uint64_t)info.totalram * info.mem_unit)
		return as_fail(err, AS_EUSE, "--uml-mem: this machine has %llu MiB",
			       (unsigned long long)info.totalram * info.mem_unit >> 20);
	return 0;
}

static int check_core(const struct as_box_options *o, struct as_err *err)
{
	cpu_set_t set;

	if (o->core < 0 || sched_getaffinity(0, sizeof(set), &set))
		return 0;
	if (o->core >= CPU_SETSIZE || !CPU_ISSET((unsigned)o->core, &set))
		return as_fail(err, AS_EUSE, "--uml-core: core %d is not available", o->core);
	return 0;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

/* Whether this program itself can run in a guest. */
static int check_self(struct as_err *err)
{
#ifdef __SANITIZE_ADDRESS__
	return as_fail(err, AS_ELACK,
		       "this assay was built with the address sanitizer, whose "
		       "memory does not fit into a guest of uml");
#else
	(void)err;
	return 0;
#endif
}

/* ---- A folder of its own --------------------------------------------------------------------- */

/* Whether the file of a kernel's memory can be there. */
static bool can_execute(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0700);
	void *map = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, 4096))
		map = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED)
		munmap(map, 4096);
	if (fd >= 0)
		close(fd);
	return map != MAP_FAILED;
}

static bool is_tmpfs(const char *folder)
{
	struct statfs sfs;

	return !statfs(folder, &sfs) && sfs.f_type == TMPFS_MAGIC;
}

static const char *find_tmp(char *own, size_t cap)
{
	const char *const places[] = { "/dev/shm", own, as_temp_place(), "/var/tmp" };

	snprintf(own, cap, "/run/user/%u", (unsigned)geteuid());
	/* A tmpfs comes first: on a disk, the guest's memory would be written back all the time. */
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
			if ((pass || is_tmpfs(places[i])) && can_execute(places[i]))
				return places[i];
	return NULL;
}

/* Makes a file in memory that has no name and cannot be changed. *fd < 0: the machine has no
 * such files. */
static int in_memory(const char *name, const void *data, size_t len, int *fd, struct as_err *err)
{
	const char *at = data;

	*fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	while (*fd >= 0 && len) {
		ssize_t n = write(*fd, at, len);

		if (n < 0 && errno != EINTR)
			break;
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	if (*fd < 0 || len ||
	    fcntl(*fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE))
		return as_fail_errno(err, errno, "cannot keep %s in memory", name);
	return 0;
}

/* ---- Booting --------------------------------------------------------------------------------- */

/* The files of the machine that it may see, besides its own program. */
static const struct as_confine_path files[] = {
	{ "/lib", AS_CONFINE_RUN },
	{ "/lib64", AS_CONFINE_RUN },
	{ "/usr/lib", AS_CONFINE_RUN },
	{ "/usr/lib64", AS_CONFINE_RUN },
	{ "/etc/ld.so.cache", AS_CONFINE_READ },
	{ "/dev/null", AS_CONFINE_WRITE },
	{ NULL, 0 },
};

struct boot {
	const struct as_box_options *options;
	char kernel[4096];
	int initramfs_fd, shim_fd; /* -1: none */
	uint64_t mem_bytes;
	bool version; /* start it only to ask for its version */
};

static void add_words(const struct boot *b, const char *home, char **argv, struct as_buf *text)
{
	const struct as_box_options *o = b->options;
	size_t n = 0, at = 0;

	as_buf_addf(text, "mem=%lluM%c", (unsigned long long)b->mem_bytes >> 20, 0);
	as_buf_addf(text, "uml_dir=%s" AS_JAIL_HOME "/%c", home, 0);
	as_buf_addf(text, "hostfs=%s" AS_JAIL_SHARE "%c", home, 0);
	as_buf_addf(text, "initrd=/proc/self/fd/5%c", 0);
	/* Says in the list of processes who started it. */
	as_buf_addf(text, AS_UML_OWNER_WORD "%d%c", (int)getpid(), 0);
	argv[n++] = (char *)b->kernel;
	if (b->version)
		argv[n++] = (char *)"--version";
	for (; !b->version && at < text->len; at += strlen(text->data + at) + 1)
		argv[n++] = text->data + at;
	for (size_t i = 0; !b->version && i < sizeof(words) / sizeof(words[0]); i++)
		argv[n++] = (char *)words[i];
	for (size_t i = 0; o->extra && o->extra[i] && n < WORDS_MAX - 1; i++)
		argv[n++] = (char *)o->extra[i];
	argv[n] = NULL;
}

/* `home` is where the folders of its jail are; "" if the jail has a root of its own. */
static int boot_at(const struct boot *b, struct as_box *box, const char *home, struct as_err *err)
{
	const struct as_box_options *o = b->options;
	struct as_buf text = { 0 }, tmpdir = { 0 };
	char env_path[] = "PATH=/usr/bin:/bin", preload[] = "LD_PRELOAD=/proc/self/fd/6",
	     *argv[WORDS_MAX];
	const struct as_jail jail = { .program = b->kernel,
				      .files = files,
				      .quota_bytes = b->mem_bytes + BESIDES_BYTES,
				      .file_bytes = b->mem_bytes + BESIDES_BYTES,
				      .memory_bytes = b->mem_bytes + PRIVATE_BYTES,
				      .spaces = !*home,
				      .folder = home };
	int rc;

	add_words(b, home, argv, &text);
	as_buf_addf(&tmpdir, "TMPDIR=%s" AS_JAIL_HOME, home);
	{
		char *const envp[] = { env_path, tmpdir.data, b->version ? NULL : preload, NULL };
		const struct as_box_program program = { .path = b->kernel,
							.argv = argv,
							.envp = envp,
							.core = o->core,
							.console = true,
							.fds = { b->initramfs_fd, b->shim_fd },
							.jail = &jail,
							.fill = b->version ? NULL : o->fill,
							.fill_ctx = o->fill_ctx };

		rc = as_box_spawn(box, &program, err);
	}
	as_buf_free(&text);
	as_buf_free(&tmpdir);
	return rc;
}

/* Without namespaces, its files are in a folder of the machine. */
static int boot_in_folder(const struct boot *b, struct as_box *box, struct as_err *err)
{
	char own[64];
	const char *place = find_tmp(own, sizeof(own));
	int rc;

	if (!place)
		return as_fail(err, AS_ELACK,
			       "uml needs a folder for its memory from which programs may be run: "
			       "/dev/shm, /run/user/%u, /tmp and /var/tmp are all mounted noexec",
			       (unsigned)geteuid());
	as_box_undo(box);
	rc = as_box_open_folder(box, place, err);
	return rc ? rc : boot_at(b, box, as_temp_path(box->folder), err);
}

static int boot(const struct boot *b, struct as_box *box, struct as_err *err)
{
	int rc = boot_at(b, box, "", err);

	return rc == AS_ELACK && box->jail.error ? boot_in_folder(b, box, err) : rc;
}

/* The kernel's version. It prints it without booting, and is confined like one that boots.
 * AS_EUSE: it did not. */
static int ask_version_once(const struct boot *for_boot, char *version, size_t cap,
			    struct as_err *err)
{
	struct boot b = *for_boot;
	struct as_box *box = as_box_new();
	struct as_buf output = { 0 };
	const char *text;
	size_t len;
	int rc;

	b.version = true;
	rc = boot(&b, box, err);
	if (!rc) {
		as_box_listen(box, VERSION_DEADLINE_MS, VERSION_MAX_BYTES, &output);
		as_box_end(box);
	}
	text = as_buf_str(&output);
	len = strcspn(text, " \r\n");
	if (!rc && (!WIFEXITED(box->status) || WEXITSTATUS(box->status) || !len || len >= cap ||
		    !strchr("123456789", text[0]) || strspn(text, VERSION_CHARACTERS) < len))
		rc = as_fail(err, AS_EUSE, "%s: not a User-Mode Linux kernel", b.kernel);
	if (!rc)
		snprintf(version, cap, "%.*s", (int)len, text);
	as_buf_free(&output);
	as_box_free(box);
	return rc;
}

/* A machine that is very busy may not let it come to its end in time. */
static int ask_version(const struct boot *b, char *version, size_t cap, struct as_err *err)
{
	int rc = AS_EUSE;

	for (int i = 0; i < VERSION_ATTEMPTS && rc == AS_EUSE; i++)
		rc = ask_version_once(b, version, cap, err);
	return rc;
}

static int make_initramfs(struct boot *b, struct as_err *err)
{
	const struct as_box_options *o = b->options;
	struct as_buf archive = { 0 }, modules = { 0 };
	struct as_initramfs what = { .self = "/proc/self/exe",
				     .programs = o->programs,
				     .optional = o->optional,
				     .files = o->files,
				     .modules = o->modules };
	char version[128];
	int rc = ask_version(b, version, sizeof(version), err);

	if (!rc) {
		find_modules(b->kernel, version, &modules);
		what.modules_folder = modules.len ? as_buf_str(&modules) : NULL;
		rc = as_initramfs_build(&what, &archive, err);
	}
	if (!rc)
		rc = in_memory("initramfs", archive.data, archive.len, &b->initramfs_fd, err);
	as_buf_free(&archive);
	as_buf_free(&modules);
	return rc;
}

int as_sandbox_uml_modules(const struct as_box_options *o, struct as_buf *folder,
			   struct as_err *err)
{
	struct boot b = { .options = o, .initramfs_fd = -1, .shim_fd = -1 };
	char version[128];
	int rc = check_memory(o, err);

	if (!rc)
		rc = check_core(o, err);
	if (!rc)
		rc = find_kernel(o, b.kernel, sizeof(b.kernel), err);
	if (!rc)
		rc = ask_version(&b, version, sizeof(version), err);
	if (!rc)
		rc = check_self(err);
	if (!rc)
		find_modules(b.kernel, version, folder);
	return rc;
}

static int ready(const struct as_box_options *o, struct as_err *err)
{
	struct as_buf folder = { 0 };
	int rc = as_sandbox_uml_modules(o, &folder, err);

	as_buf_free(&folder);
	return rc;
}

static int start(const struct as_box_options *o, struct as_box *box, struct as_err *err)
{
	struct boot b = { .options = o,
			  .initramfs_fd = -1,
			  .shim_fd = -1,
			  .mem_bytes = o->mem_bytes ? o->mem_bytes : AS_UML_MEM_DEFAULT };
	int rc = find_kernel(o, b.kernel, sizeof(b.kernel), err);

	if (!rc)
		rc = make_initramfs(&b, err);
	if (!rc)
		rc = in_memory("shim", as_shim_uml_first,
			       (size_t)(as_shim_uml_end - as_shim_uml_first), &b.shim_fd, err);
	if (!rc)
		rc = boot(&b, box, err);
	if (b.initramfs_fd >= 0)
		close(b.initramfs_fd);
	if (b.shim_fd >= 0)
		close(b.shim_fd);
	return rc;
}

const struct as_sandbox_ops as_sandbox_uml = {
	.api = AS_SANDBOX_API,
	.caps = AS_SANDBOX_OWN_KERNEL | AS_SANDBOX_HAS_CONSOLE,
	.name = "uml",
	.help = "a kernel of its own (User-Mode Linux), as an ordinary user",
	.ready = ready,
	.state_path = "/dev/mmapper",
	.share_path = AS_GUEST_SHARE,
	.start = start,
};
