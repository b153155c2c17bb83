/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_disk: what a copy of a disk costs. The disk is 40 MiB, 10,240 chunks, all of them different
 * and none zero; between two snapshots 8 chunks anywhere on it change, which is about what one
 * operation on a small journaling file system does.
 *
 *	disk.snapshot		one snapshot, with 8 chunks written since the last; all are kept
 *	disk.snapshot_bytes	memory the allocator handed out for one more of them, all told
 *	disk.write4k		writes of a chunk over a disk that shares everything with a snapshot
 *	disk.rewrite4k		the same where the chunk is already the disk's own
 *	disk.write512		single sectors, as rewrite4k
 *	disk.digest		the digest with 8 chunks written since the last
 *	disk.step		all of it: 8 chunks written, digest, snapshot kept
 */
#include "base/prng.h"
#include "disk/cow.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_CHUNKS 10240u
#define N_CHANGED 8u
#define N_SNAPSHOTS 1000u

typedef void (*report_fn)(const char *name, double value, const char *unit);
void bench_disk(report_fn report);

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* A chunk that no other call gives. */
static void write_chunk(struct as_disk *disk, uint64_t index, uint64_t *stamp)
{
	unsigned char buf[AS_CHUNK_BYTES];

	memset(buf, 0x5a, sizeof(buf));
	++*stamp;
	memcpy(buf, stamp, sizeof(*stamp));
	as_assert(!as_bd_write(as_disk_bd(disk), index * AS_CHUNK_BYTES, buf, sizeof(buf)));
}

static void change_some(struct as_disk *disk, struct as_prng *prng, uint64_t *stamp)
{
	for (unsigned i = 0; i < N_CHANGED; i++)
		write_chunk(disk, as_prng_below(prng, N_CHUNKS), stamp);
}

static struct as_disk *full_disk(struct as_chunks *store, uint64_t *stamp)
{
	struct as_disk *disk;

	as_assert(!as_disk_new(store, (uint64_t)N_CHUNKS * AS_CHUNK_BYTES, &disk, NULL));
	for (unsigned i = 0; i < N_CHUNKS; i++)
		write_chunk(disk, i, stamp);
	as_disk_digest(disk);
	return disk;
}

static void bench_snapshot(report_fn report, struct as_disk *disk, uint64_t *stamp)
{
	struct as_prng prng = as_prng_seed(1);
	struct as_disk **kept = as_xcalloc(N_SNAPSHOTS, sizeof(*kept));
	size_t before = mallinfo2().uordblks;
	double spent_us = 0;

	for (unsigned n = 0; n < N_SNAPSHOTS; n++) {
		double start;

		change_some(disk, &prng, stamp);
		start = now_us();
		kept[n] = as_disk_snapshot(disk);
		spent_us += now_us() - start;
	}
	report("disk.snapshot", spent_us / N_SNAPSHOTS, "us");
	report("disk.snapshot_bytes", (double)(mallinfo2().uordblks - before) / N_SNAPSHOTS,
	       "bytes");
	for (unsigned n = 0; n < N_SNAPSHOTS; n++)
		as_disk_free(kept[n]);
	free(kept);
}

static void bench_digest(report_fn report, struct as_disk *disk, uint64_t *stamp)
{
	struct as_prng prng = as_prng_seed(2);
	double spent_us = 0;

	for (unsigned n = 0; n < N_SNAPSHOTS; n++) {
		double start;

		change_some(disk, &prng, stamp);
		start = now_us();
		as_disk_digest(disk);
		spent_us += now_us() - start;
	}
	report("disk.digest", spent_us / N_SNAPSHOTS, "us");
}

static void bench_step(report_fn report, struct as_disk *disk, uint64_t *stamp)
{
	struct as_prng prng = as_prng_seed(3);
	struct as_disk **kept = as_xcalloc(N_SNAPSHOTS, sizeof(*kept));
	double start = now_us();

	for (unsigned n = 0; n < N_SNAPSHOTS; n++) {
		change_some(disk, &prng, stamp);
		as_disk_digest(disk);
		kept[n] = as_disk_snapshot(disk);
	}
	report("disk.step", (now_us() - start) / N_SNAPSHOTS, "us");
	for (unsigned n = 0; n < N_SNAPSHOTS; n++)
		as_disk_free(kept[n]);
	free(kept);
}

static void bench_write(report_fn report, struct as_disk *disk, const char *name, size_t len,
			bool shared)
{
	enum { PASSES = 8 };
	unsigned char buf[AS_CHUNK_BYTES];
	double spent_us = 0;

	for (unsigned pass = 0; pass < PASSES; pass++) {
		struct as_disk *snapshot = shared ? as_disk_snapshot(disk) : NULL;
		double start = now_us();

		memset(buf, (int)pass + 1, sizeof(buf));
		for (uint64_t off = 0; off < as_disk_size(disk); off += len)
			as_assert(!as_bd_write(as_disk_bd(disk), off, buf, len));
		spent_us += now_us() - start;
		as_disk_free(snapshot);
	}
	report(name, (double)as_disk_size(disk) * PASSES / spent_us, "MB/s");
}

void bench_disk(report_fn report)
{
	struct as_chunks *store = as_chunks_new();
	uint64_t stamp = 0;
	struct as_disk *disk = full_disk(store, &stamp);

	bench_snapshot(report, disk, &stamp);
	bench_digest(report, disk, &stamp);
	bench_step(report, disk, &stamp);
	bench_write(report, disk, "disk.write4k", AS_CHUNK_BYTES, true);
	bench_write(report, disk, "disk.rewrite4k", AS_CHUNK_BYTES, false);
	bench_write(report, disk, "disk.write512", 512, false);
	as_disk_free(disk);
	as_chunks_free(store);
}
