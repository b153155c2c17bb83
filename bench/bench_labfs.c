/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_labfs: simple operations a second on a disk in memory, without sync; what a mount costs;
 * the price of a path component and of a directory's size.
 */
#include "bench.h"

#include <fcntl.h>
#include <labfs/filebd.h>
#include <labfs/labfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct bench_disk {
	struct as_bd bd;
	uint8_t *data;
};

static int disk_read(struct as_bd *bd, uint64_t off, void *buf, size_t len)
{
	memcpy(buf, ((struct bench_disk *)bd)->data + off, len);
	return 0;
}

static int disk_write(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	memcpy(((struct bench_disk *)bd)->data + off, buf, len);
	return 0;
}

static int disk_flush(struct as_bd *bd)
{
	(void)bd;
	return 0;
}

static int disk_zero(struct as_bd *bd, uint64_t off, uint64_t len)
{
	memset(((struct bench_disk *)bd)->data + off, 0, len);
	return 0;
}

static const struct as_bd_ops disk_ops = {
	.api = AS_TARGET_API,
	.name = "bench",
	.read = disk_read,
	.write = disk_write,
	.flush = disk_flush,
	.discard = disk_zero,
	.zero = disk_zero,
};

static uint64_t host_now(void *ctx)
{
	return ++*(uint64_t *)ctx;
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* A benchmark that goes wrong measures nothing. */
static void must(int64_t rc)
{
	if (rc < 0) {
		fprintf(stderr, "bench_labfs: unexpected answer %ld\n", (long)rc);
		abort();
	}
}

static const struct as_target_ops *const fs_ops = &lab_target;

static void bench_dirs(struct as_fs *fs, as_bench_report report)
{
	double start = seconds();
	unsigned ops = 0;
	char path[32];

	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 500; i++, ops++) {
			snprintf(path, sizeof(path), "/a/d%d", i);
			must(fs_ops->mkdir(fs, path, 0755));
		}
		for (int i = 0; i < 500; i++, ops++) {
			snprintf(path, sizeof(path), "/a/d%d", i);
			must(fs_ops->rmdir(fs, path));
		}
	}
	report("labfs.mkdir_rmdir", ops / (seconds() - start), "ops/s");
}

static void bench_files(struct as_fs *fs, as_bench_report report)
{
	static uint8_t data[4096];
	double start = seconds();
	unsigned ops = 0;
	char path[32];

	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 500; i++, ops += 2) {
			struct as_handle *h;
			uint64_t off = 0;

			snprintf(path, sizeof(path), "/a/f%d", i);
			must(fs_ops->open(fs, path, O_CREAT | O_RDWR, 0644, &h));
			must(fs_ops->write(fs, h, data, sizeof(data), &off));
			must(fs_ops->close(fs, h));
		}
		for (int i = 0; i < 500; i++, ops++) {
			snprintf(path, sizeof(path), "/a/f%d", i);
			must(fs_ops->unlink(fs, path));
		}
	}
	report("labfs.create_pwrite4k_unlink", ops / (seconds() - start), "ops/s");
}

static void bench_walk(struct as_fs *fs, as_bench_report report)
{
	static const char *const paths[2] = { "/a/b/c/d", "/e/b/c/d" };
	struct as_stat st;
	double start;

	for (int k = 0; k < 2; k++) {
		for (int len = 2; len <= 8; len += 2) {
			char path[16];

			snprintf(path, sizeof(path), "%.*s", len, paths[k]);
			if (fs_ops->getattr(fs, path, &st))
				must(fs_ops->mkdir(fs, path, 0755));
		}
	}
	start = seconds();
	for (int i = 0; i < 400000; i++) /* in turn, so that none is where the last one was */
		must(fs_ops->getattr(fs, paths[i % 2], &st));
	report("labfs.walk_component", (seconds() - start) * 1e9 / 400000 / 4, "ns");
}

static void bench_large(struct as_fs *fs, as_bench_report report)
{
	double start = seconds();
	char path[32];

	must(fs_ops->mkdir(fs, "/big", 0755));
	for (int i = 0; i < 3900; i++) {
		snprintf(path, sizeof(path), "/big/entry%d", i);
		must(fs_ops->mkdir(fs, path, 0755));
	}
	report("labfs.mkdir_in_large_directory", 3900 / (seconds() - start), "ops/s");
}

static void bench_sync(struct as_fs *fs, as_bench_report report)
{
	double start = seconds();

	for (int i = 0; i < 5000; i++) {
		struct as_stat st = { .uid = (uint32_t)i };

		must(fs_ops->setattr(fs, "/a", &st, AS_SET_UID));
		must(fs_ops->sync(fs));
	}
	report("labfs.chown_sync", 5000 / (seconds() - start), "ops/s");
}

void bench_labfs(as_bench_report report)
{
	struct bench_disk disk = { .bd = { &disk_ops, LABFS_DEFAULT_BYTES, 512 } };
	uint64_t clock = 1;
	struct lab_filehost file_host;
	struct as_host host;
	struct as_mount_args args = { .host = &host, .bd = &disk.bd, .opts = "" };
	struct as_fs *fs;
	double start;

	/* Its memory, but a clock that costs nothing. */
	lab_filehost_init(&file_host, NULL);
	host = (struct as_host){ .api = AS_TARGET_API,
				 .ctx = &clock,
				 .alloc = file_host.host.alloc,
				 .release = file_host.host.release,
				 .now_ns = host_now };
	disk.data = calloc(1, LABFS_DEFAULT_BYTES);
	if (!disk.data)
		return;
	must(fs_ops->mkfs(&args));
	must(fs_ops->mount(&args, &fs));
	must(fs_ops->mkdir(fs, "/a", 0755));
	bench_dirs(fs, report);
	bench_files(fs, report);
	bench_walk(fs, report);
	bench_sync(fs, report);
	bench_large(fs, report);
	must(fs_ops->unmount(fs));
	start = seconds();
	for (int i = 0; i < 2000; i++) {
		must(fs_ops->mount(&args, &fs));
		must(fs_ops->unmount(fs));
	}
	report("labfs.mount_unmount", (seconds() - start) * 1e6 / 2000, "us");
	free(disk.data);
}
