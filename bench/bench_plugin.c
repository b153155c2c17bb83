/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_plugin: what benchmarks do with a plugin themselves, without the rest of assay: they load
 * it, and give it memory and a clock that cost as little as can be. bench_plugin_alone() measures
 * memfs so: hunt.plugin.alone.
 */
#include "bench/plugin.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DISK_BYTES (4u << 20)
#define ROUNDS 50000

bool bench_plugin_path(const char *name, struct as_buf *out)
{
	char self[4096];
	size_t old = out->len;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	while (len > 0 && self[len - 1] != '/')
		len--;
	if (len > 0)
		as_buf_addf(out, "%.*splugins/%s.so", (int)len, self, name);
	return len > 0 && !access(as_buf_str(out) + old, R_OK);
}

const struct as_target_ops *bench_plugin_load(const char *name)
{
	struct as_buf path = { 0 };
	void *so = bench_plugin_path(name, &path) ? dlopen(as_buf_str(&path), RTLD_NOW) : NULL;

	as_buf_free(&path);
	return so ? dlsym(so, "as_target") : NULL;
}

static void *host_alloc(void *ctx, size_t len)
{
	(void)ctx;
	return calloc(1, len);
}

static void host_release(void *ctx, void *ptr)
{
	(void)ctx;
	free(ptr);
}

static uint64_t host_now(void *ctx)
{
	static uint64_t now;

	(void)ctx;
	return ++now;
}

static void host_log(void *ctx, const char *line)
{
	(void)ctx;
	(void)line;
}

const struct as_host bench_plugin_host = {
	.api = AS_TARGET_API,
	.alloc = host_alloc,
	.release = host_release,
	.now_ns = host_now,
	.log = host_log,
};

struct disk {
	struct as_bd bd;
	unsigned char *data;
};

static int disk_read(struct as_bd *bd, uint64_t off, void *buf, size_t len)
{
	memcpy(buf, ((struct disk *)bd)->data + off, len);
	return 0;
}

static int disk_write(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	memcpy(((struct disk *)bd)->data + off, buf, len);
	return 0;
}

static int disk_flush(struct as_bd *bd)
{
	(void)bd;
	return 0;
}

static const struct as_bd_ops disk_ops = { .api = AS_TARGET_API,
					   .name = "bench",
					   .read = disk_read,
					   .write = disk_write,
					   .flush = disk_flush };

/* Eight operations; how many of them failed. */
static unsigned one_round(const struct as_target_ops *ops, struct as_fs *fs, unsigned i)
{
	static unsigned char data[512];
	char from[32], to[32];
	struct as_handle *handle;
	struct as_stat st;
	unsigned failed = 0;
	uint64_t off = 0;

	snprintf(from, sizeof(from), "/d%u/f%u", i % 16, i % 61);
	snprintf(to, sizeof(to), "/d%u/g%u", (i + 1) % 16, i % 61);
	if (ops->open(fs, from, O_RDWR | O_CREAT, 0644, &handle))
		return 8;
	failed += ops->write(fs, handle, data, sizeof(data), &off) != sizeof(data);
	failed += ops->read(fs, handle, data, sizeof(data), 0) != sizeof(data);
	failed += ops->fgetattr(fs, handle, &st) != 0;
	failed += ops->close(fs, handle) != 0;
	failed += ops->getattr(fs, from, &st) != 0;
	failed += ops->rename(fs, from, to, 0) != 0;
	failed += ops->unlink(fs, to) != 0;
	return failed;
}

void bench_plugin_alone(as_bench_report report)
{
	const struct as_target_ops *ops = bench_plugin_load("memfs");
	struct disk disk = { { &disk_ops, DISK_BYTES, 512 }, as_xcalloc(1, DISK_BYTES) };
	struct as_mount_args args = { .host = &bench_plugin_host, .bd = &disk.bd, .opts = "" };
	struct as_fs *fs = NULL;
	unsigned failed = 0;
	int64_t start;

	if (!ops || ops->mkfs(&args) || ops->mount(&args, &fs)) {
		report("hunt.plugin.alone: memfs is not there", 0, "failed");
		free(disk.data);
		return;
	}
	for (unsigned i = 0; i < 16; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/d%u", i);
		failed += ops->mkdir(fs, path, 0755) != 0;
	}
	start = bench_cpu_us();
	for (unsigned i = 0; i < ROUNDS; i++)
		failed += one_round(ops, fs, i);
	start = bench_cpu_us() - start;
	failed += ops->unmount(fs) != 0;
	if (failed)
		report("hunt.plugin.alone: operations failed", failed, "failed");
	else
		report("hunt.plugin.alone", 8.0 * ROUNDS / ((double)start / 1e6), "op/s");
	free(disk.data);
}
