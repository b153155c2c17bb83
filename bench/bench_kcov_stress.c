/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_kcov_stress: the code that stress-ng's file workloads reach, for kcov.versus.
 *
 * Method. A guest is started whose engine is this program once more, as `bench kcov.inside.TYPE`.
 * In the guest, a disk of that type is made and mounted, and stress-ng runs its class "filesystem"
 * there, one stressor after the other, the time being shared out evenly. stress-ng forks, and KCOV
 * records one task only: the kernel of `assay kernel` has kcov_inherit for that
 * (kernels/kcov.patch). This process is not recorded itself; it empties the buffer while the others
 * run, and keeps what was reached in the shared folder, for the case that the kernel dies.
 */
#include "base/buf.h"
#include "bench/bench.h"
#include "bench/bench_kcov.h"
#include "box/initramfs.h"
#include "box/sandbox.h"
#include "cover/code.h"
#include "disk/loop.h"
#include "kernel/kernel.h"
#include "os/out.h"
#include "os/share.h"
#include "os/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEBUGFS "/sys/kernel/debug"
#define KCOV_INIT _IOR('c', 1, unsigned long) /* as of <linux/kcov.h> */
#define KCOV_ON _IO('c', 100)
#define WORDS ((size_t)1 << 21)
#define EMPTY_MS 5
#define KEEP_US 5000000
#define MEM_BYTES ((uint64_t)1 << 30)
#define DISK_BYTES ((off_t)256 << 20)
#define DISK "/tmp/disk"
#define PLACE "/mnt"
#define CODE "code.kcov"
#define CODE_MAX_BYTES ((uint64_t)64 << 20)
#define MARGIN_S 300 /* for the boot, the mkfs, and what stress-ng takes longer */
/* They never touch the disk, and what they read of /proc User-Mode Linux cannot answer: KASAN
 * reports the stack walk of wchan. */
#define NOT_FILES "procfs,sysfs,dev"
#define STRESSORS 50 /* of the class, about */

static const struct {
	const char *type;
	char *mkfs[8];
} disks[] = {
	{ "ext4", { "mke2fs", "-q", "-F", "-t", "ext4", "-b", "1024", DISK } },
	{ "f2fs", { "mkfs.f2fs", "-q", "-f", DISK } },
};

/* ---- In the guest ---------------------------------------------------------------------------- */

struct buffer {
	int fd;
	unsigned long *words;
	struct as_codeset *all;
};

static bool open_buffer(struct buffer *b)
{
	(void)!mount("debugfs", DEBUGFS, "debugfs", 0, NULL);
	b->all = as_shared_alloc(sizeof(*b->all));
	b->fd = open(DEBUGFS "/kcov", O_RDWR | O_CLOEXEC);
	if (b->fd < 0 || ioctl(b->fd, KCOV_INIT, WORDS))
		return false;
	b->words =
		mmap(NULL, WORDS * sizeof(*b->words), PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
	return b->words != MAP_FAILED;
}

static void empty(struct buffer *b)
{
	unsigned long n = __atomic_load_n(&b->words[0], __ATOMIC_RELAXED);

	for (unsigned long i = 1; i <= n && i < WORDS; i++)
		as_codeset_add(b->all, b->words[i]);
	__atomic_store_n(&b->words[0], 0, __ATOMIC_RELAXED);
}

static bool make_disk(const char *type, struct as_loop **loop)
{
	struct as_buf said = { 0 };
	struct as_ended ended;
	int fd = open(DISK, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	bool ok = fd >= 0 && !ftruncate(fd, DISK_BYTES);
	struct as_err err = { 0 };

	for (size_t i = 0; ok && i < sizeof(disks) / sizeof(disks[0]); i++) {
		char *argv[9] = { NULL };
		struct as_spawn mkfs = { .argv = argv, .deadline_ms = 120000, .output = &said };

		if (strcmp(disks[i].type, type) != 0)
			continue;
		memcpy(argv, disks[i].mkfs, sizeof(disks[i].mkfs));
		ok = !as_spawn_run(&mkfs, &ended, &err) && ended.how == AS_END_EXIT &&
		     !ended.status;
	}
	ok = ok && !as_loop_new(DISK, 0, loop, &err) &&
	     !mount(as_loop_path(*loop), PLACE, type, 0, NULL) && !chmod(PLACE, 0777);
	if (!ok)
		fprintf(stderr, "%s: %s %s %m\n", type, err.msg, as_buf_str(&said));
	if (fd >= 0)
		close(fd);
	as_buf_free(&said);
	return ok;
}

_Noreturn static void become_stress(const struct buffer *b, unsigned each_s)
{
	char time[16];
	char *const argv[] = { "stress-ng", "--class",	      "filesystem", "--sequential",
			       "1",	    "--timeout",      time,	    "--temp-path",
			       PLACE,	    "--no-rand-seed", "--oomable",  "--quiet",
			       "--exclude", NOT_FILES,	      NULL };

	snprintf(time, sizeof(time), "%us", each_s);
	if (ioctl(b->fd, KCOV_ON, 0))
		_exit(126);
	execvp(argv[0], argv);
	_exit(127);
}

static void save(const struct as_codeset *set, const struct as_code_of *of)
{
	struct as_buf text = { 0 };

	as_code_print(set, of, &text);
	(void)!as_out_save(AS_GUEST_SHARE "/" CODE, &text, NULL);
	as_buf_free(&text);
}

/* The report goes into a file of the shared folder: nobody reads what is printed here. */
void bench_kcov_inside(const char *type)
{
	unsigned seconds = (unsigned)as_bench_how()->seconds;
	int64_t start_us = as_now_us(), kept_us = start_us;
	struct buffer b = { .fd = -1 };
	const struct as_code_of of = { .kernel = "debug" };
	struct as_loop *loop = NULL;
	int status = 0;
	pid_t pid;

	if (!open_buffer(&b) || !make_disk(type, &loop))
		return;
	pid = fork();
	if (!pid)
		become_stress(&b, seconds / STRESSORS ? seconds / STRESSORS : 1);
	while (pid > 0 && waitpid(pid, &status, WNOHANG) != pid) {
		poll(NULL, 0, EMPTY_MS);
		empty(&b);
		if (as_now_us() - kept_us > KEEP_US) {
			kept_us = as_now_us();
			save(b.all, &of);
		}
	}
	empty(&b);
	save(b.all, &of);
	fprintf(stderr, "stress-ng: wait status %d, %.1f s\n", status,
		(double)(as_now_us() - start_us) / 1e6);
}

/* ---- Outside --------------------------------------------------------------------------------- */

static int take_code(const struct as_box *box, const char *code, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = as_share_read(box->share_fd, CODE, CODE_MAX_BYTES, &text, err);
	FILE *file = rc ? NULL : fopen(code, "we");

	if (!rc && (!file || fwrite(text.data, 1, text.len, file) != text.len))
		rc = as_fail(err, AS_EIO, "%s cannot be written", code);
	if (file)
		fclose(file);
	as_buf_free(&text);
	return rc;
}

int bench_kcov_stress(const char *type, unsigned seconds, const char *code)
{
	static const char *const programs[] = { "stress-ng", NULL };
	static const char *const optional[] = { "mke2fs", "mkfs.f2fs", NULL };
	static const char *const extra[] = { "kcov_inherit=1", NULL };
	struct as_box_options options = { .mem_bytes = MEM_BYTES,
					  .core = AS_CORE_HERE,
					  .programs = programs,
					  .optional = optional,
					  .extra = extra };
	char name[32], time[16];
	const char *const args[] = { "bench", name, "--seconds", time, NULL };
	struct as_kernel kernel = { 0 };
	struct as_buf said = { 0 };
	struct as_box *box = NULL;
	struct as_err err = { 0 };
	int rc = as_kernel_find("debug", &kernel, &err);

	snprintf(name, sizeof(name), AS_BENCH_INSIDE "%s", type);
	snprintf(time, sizeof(time), "%u", seconds);
	options.kernel = kernel.path;
	if (!rc)
		rc = as_sandbox_uml.ready(&options, &err);
	if (!rc)
		rc = as_box_start(&as_sandbox_uml, &options, args, &box, &err);
	if (!rc) {
		if (!as_box_listen(box, (seconds + MARGIN_S) * 1000, 4000, &said))
			fprintf(stderr, "stress-ng: stopped after its time\n");
		as_box_end(box);
		rc = take_code(box, code, &err);
	}
	if (rc || !box->state->ended)
		fprintf(stderr, "stress-ng: %s; the console: %s\n", err.msg, as_buf_str(&said));
	as_box_free(box);
	as_kernel_free(&kernel);
	as_buf_free(&said);
	return rc ? -1 : 0;
}
