/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandbox_uml: a User-Mode Linux kernel in an ordinary process.
 *
 * Method. The kernel is booted with an initramfs made here (target/initramfs.h) whose /init is this
 * program (target/guest.c). It gets:
 *   - the console on its standard output, with warnings, and panics for everything worse;
 *   - a serial line for what the engine says;
 *   - "iomem", a file mapped as device memory, for the state shared with us;
 *   - hostfs, which shows the one folder it is given.
 * Warnings and oopses are made panics: the box then stops in the very operation that caused them,
 * and its end (SIGABRT) is seen at once.
 *
 * Traps. Without uml_dir= it wants a HOME that exists. Its memory is a file in TMPDIR that it maps
 * executable: it must lie on a tmpfs that is not mounted noexec. uml_dir holds a socket, whose path
 * must be short. A kernel that moves between cores is up to four times slower.
 */
#include "target/sandbox.h"

#include "base/buf.h"
#include "base/spawn.h"
#include "target/confine.h"
#include "target/initramfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define MODULES_ROOT "/usr/lib/uml/modules"
#define FOLDER_PREFIX "assay-uml-"
#define VERSION_DEADLINE_MS 5000
#define WORDS_MAX 64

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
	/* They measure for a second which of several routines is the fastest. */
	"initcall_blacklist=raid6_select_algo,calibrate_xor_blocks",
	"random.trust_cpu=on",
};

/* See shim_uml/ptrace.c. */
__asm__(".section .rodata\n"
	".balign 8\n"
	".global as_shim_uml\n"
	"as_shim_uml:\n"
	".incbin \"shim_uml.so\"\n"
	".global as_shim_uml_end\n"
	"as_shim_uml_end:\n"
	".previous\n");
extern const char as_shim_uml[], as_shim_uml_end[];

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

/* The kernel's version: it says it without booting. */
static int ask_version(const char *path, char *version, size_t cap, struct as_err *err)
{
	struct as_buf output = { 0 };
	struct as_ended ended;
	char *argv[] = { (char *)path, (char *)"--version", NULL };
	struct as_spawn spawn = { .argv = argv,
				  .deadline_ms = VERSION_DEADLINE_MS,
				  .output = &output,
				  .output_max = 4096 };
	int rc = as_spawn_run(&spawn, &ended, err);
	const char *text = as_buf_str(&output);
	size_t len = strcspn(text, " \r\n");

	if (!rc && (ended.how != AS_END_EXIT || ended.status || !len || len >= cap ||
		    !strchr("123456789", text[0])))
		rc = as_fail(err, AS_EUSE, "%s: not a User-Mode Linux kernel", path);
	if (!rc)
		snprintf(version, cap, "%.*s", (int)len, text);
	as_buf_free(&output);
	return rc;
}

/* The folder of its modules: beside a kernel built by oneself (`make modules_install
 * INSTALL_MOD_PATH=...` beside it), or the package's. "": none. */
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
		return as_fail(err, AS_EUSE, "--uml-core: there is no core %d for us", o->core);
	return 0;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

/* Whether this very program can run in a guest. */
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

static int ready(const struct as_box_options *o, struct as_err *err)
{
	char path[4096], version[128];
	int rc = check_memory(o, err);

	if (!rc)
		rc = check_core(o, err);
	if (!rc)
		rc = find_kernel(o, path, sizeof(path), err);
	if (!rc)
		rc = ask_version(path, version, sizeof(version), err);
	return rc ? rc : check_self(err);
}

/* ---- A folder of its own --------------------------------------------------------------------- */

/* Whether a kernel's memory can lie there. */
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
	const char *const places[] = { "/dev/shm", own, "/tmp", "/var/tmp" };

	snprintf(own, cap, "/run/user/%u", (unsigned)geteuid());
	/* A tmpfs first; on a disk the guest's memory is written back all the time. */
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
			if ((pass || is_tmpfs(places[i])) && can_execute(places[i]))
				return places[i];
	return NULL;
}

/* Folders whose owner was killed: nobody holds their lock. */
static void collect_folders(const char *tmp)
{
	DIR *dir = opendir(tmp);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		struct stat st;
		int fd;

		if (strncmp(entry->d_name, FOLDER_PREFIX, strlen(FOLDER_PREFIX)))
			continue;
		fd = openat(dirfd(dir), entry->d_name,
			    O_DIRECTORY | O_NOFOLLOW | O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!fstat(fd, &st) && st.st_uid == geteuid() && !flock(fd, LOCK_EX | LOCK_NB)) {
			as_box_empty_folder(fd);
			unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
		}
		close(fd);
	}
	if (dir)
		closedir(dir);
}

static int make_folder(struct as_box *box, char *tmp, size_t cap, struct as_err *err)
{
	const char *place = find_tmp(tmp, cap);
	struct as_buf path = { 0 };

	if (!place)
		return as_fail(err, AS_ELACK,
			       "uml needs a folder for its memory from which programs may be run: "
			       "/dev/shm, /run/user/%u, /tmp and /var/tmp are all mounted noexec",
			       (unsigned)geteuid());
	if (place != tmp)
		snprintf(tmp, cap, "%s", place);
	collect_folders(tmp);
	as_buf_addf(&path, "%s/" FOLDER_PREFIX "XXXXXX", tmp);
	if (!mkdtemp(path.data)) {
		as_fail_errno(err, errno, "cannot make a folder in %s", tmp);
		as_buf_free(&path);
		return AS_EIO;
	}
	box->folder = path.data;
	box->folder_fd = open(box->folder, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (box->folder_fd < 0 || flock(box->folder_fd, LOCK_EX | LOCK_NB))
		return as_fail_errno(err, errno, "%s", box->folder);
	return 0;
}

/* Beside the kernel's memory, from where code may be run. */
static int write_shim(const struct as_box *box, struct as_buf *preload, struct as_err *err)
{
	struct as_buf shim = { 0 };
	int rc;

	as_buf_addf(preload, "LD_PRELOAD=%s/shim.so", box->folder);
	as_buf_add(&shim, as_shim_uml, (size_t)(as_shim_uml_end - as_shim_uml));
	rc = as_buf_write_file(&shim, strchr(as_buf_str(preload), '=') + 1, err);
	as_buf_free(&shim);
	return rc;
}

/* ---- Booting --------------------------------------------------------------------------------- */

static const char *share(const struct as_box_options *options)
{
	(void)options;
	return AS_GUEST_SHARE;
}

static int make_initramfs(const struct as_box_options *o, const char *kernel, struct as_buf *path,
			  struct as_err *err)
{
	struct as_buf modules = { 0 };
	struct as_initramfs what = { .self = "/proc/self/exe",
				     .programs = o->programs,
				     .optional = o->optional,
				     .files = o->files,
				     .modules = o->modules };
	char version[128];
	int rc = ask_version(kernel, version, sizeof(version), err);

	if (!rc) {
		find_modules(kernel, version, &modules);
		what.modules_folder = modules.len ? as_buf_str(&modules) : NULL;
		rc = as_initramfs_file(&what, path, err);
	}
	as_buf_free(&modules);
	return rc;
}

/* The shared folder is named on the command line, where a blank ends a word. */
static int check_share(const char *share, struct as_err *err)
{
	if (strpbrk(share, " \t\n,\""))
		return as_fail(err, AS_EUSE,
			       "%s: a folder with blanks, commas or quotes in its path cannot be "
			       "shared with uml; choose another with -o",
			       share);
	return 0;
}

static int start(const struct as_box_options *o, struct as_box *box, struct as_err *err)
{
	struct as_buf initrd = { 0 }, line[4] = { 0 }, tmpdir = { 0 }, preload = { 0 };
	char kernel[4096], tmp[64], *argv[WORDS_MAX];
	char env_path[] = "PATH=/usr/bin:/bin";
	uint64_t mem = o->mem_bytes ? o->mem_bytes : AS_UML_MEM_DEFAULT;
	size_t n = 0;
	int rc = check_share(o->share, err);

	if (!rc)
		rc = find_kernel(o, kernel, sizeof(kernel), err);
	if (!rc)
		rc = make_initramfs(o, kernel, &initrd, err);
	if (!rc)
		rc = make_folder(box, tmp, sizeof(tmp), err);
	if (!rc)
		rc = write_shim(box, &preload, err);
	if (rc)
		goto out;
	as_buf_addf(&line[0], "mem=%lluM", (unsigned long long)mem >> 20);
	as_buf_addf(&line[1], "uml_dir=%s/", box->folder);
	as_buf_addf(&line[2], "initrd=%s", as_buf_str(&initrd));
	as_buf_addf(&line[3], "hostfs=%s", o->share);
	as_buf_addf(&tmpdir, "TMPDIR=%s", box->folder);
	argv[n++] = kernel;
	for (size_t i = 0; i < 4; i++)
		argv[n++] = line[i].data;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		argv[n++] = (char *)words[i];
	for (size_t i = 0; o->extra && o->extra[i] && n < WORDS_MAX - 1; i++)
		argv[n++] = (char *)o->extra[i];
	argv[n] = NULL;
	{
		char *const envp[] = { env_path, tmpdir.data, preload.data, NULL };
		const struct as_confine_path files[] = {
			{ kernel, AS_CONFINE_RUN },
			{ "/lib", AS_CONFINE_RUN },
			{ "/lib64", AS_CONFINE_RUN },
			{ "/usr/lib", AS_CONFINE_RUN },
			{ "/usr/lib64", AS_CONFINE_RUN },
			{ "/etc/ld.so.cache", AS_CONFINE_READ },
			{ "/proc", AS_CONFINE_READ },
			{ "/dev/null", AS_CONFINE_WRITE },
			{ as_buf_str(&initrd), AS_CONFINE_READ },
			{ box->folder, AS_CONFINE_RUN | AS_CONFINE_WRITE },
			{ o->share, AS_CONFINE_WRITE },
			{ NULL, 0 },
		};
		const struct as_box_program program = { .path = kernel,
							.argv = argv,
							.envp = envp,
							.core = o->core,
							.console = true,
							.files = files };

		rc = as_box_spawn(box, &program, err);
	}
out:
	for (size_t i = 0; i < 4; i++)
		as_buf_free(&line[i]);
	as_buf_free(&initrd);
	as_buf_free(&tmpdir);
	as_buf_free(&preload);
	return rc;
}

const struct as_sandbox_ops as_sandbox_uml = {
	.api = AS_SANDBOX_API,
	.caps = AS_SANDBOX_OWN_KERNEL | AS_SANDBOX_HAS_CONSOLE,
	.name = "uml",
	.help = "a kernel of its own (User-Mode Linux), as an ordinary user",
	.ready = ready,
	.share = share,
	.state_path = "/dev/mmapper",
	.start = start,
};
