/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lab_cut: see lab_cut.h. */
#include "tests/lib/lab_cut.h"

/* Applies the writes of an epoch that `keep` has the bits of; each as two sectors when torn. */
static void apply_some(struct crashlab *lab, uint8_t *disk, size_t from, size_t to,
		       const uint8_t *keep, bool torn)
{
	for (size_t i = from; i < to; i++) {
		struct mem_write w = lab->r.disk.log[i];

		if (w.off == UINT64_MAX)
			continue;
		if (!torn) {
			if (keep[i - from])
				t_mem_apply(disk, &w);
			continue;
		}
		for (uint32_t at = 0; at < w.len; at += 512) {
			if (t_crash_rnd(lab, 8) < (keep[i - from] ? 7u : 1u))
				memcpy(disk + w.off + at, w.data + at, 512);
		}
	}
}

/* Which subset: all small ones, or none, all, single ones left out, single ones kept, random. */
static bool choose_subset(struct crashlab *lab, size_t n, unsigned trial, uint8_t *keep)
{
	if (n <= 5) {
		for (size_t i = 0; i < n; i++)
			keep[i] = trial >> i & 1;
		return trial < 1u << n;
	}
	if (n <= lab->singles) { /* each one left out */
		memset(keep, 1, n);
		if (trial < n) {
			keep[trial] = 0;
			return true;
		}
		trial -= (unsigned)n;
	}
	if (trial < 2) {
		memset(keep, (int)trial, n);
	} else if (trial < 6) {
		memset(keep, (int)trial & 1, n);
		keep[t_crash_rnd(lab, (uint32_t)n)] ^= 1;
	} else {
		for (size_t i = 0; i < n; i++)
			keep[i] = (uint8_t)t_crash_rnd(lab, 2);
	}
	return trial < lab->trials;
}

/* Power cuts when the log was at `end`, its last flush at `start`. */
static void judge_epoch(struct crashlab *lab, const uint8_t *stable, size_t start, size_t end)
{
	size_t size = lab->r.disk.bd.size_bytes, n = end - start;
	uint8_t *disk = malloc(size), *keep = malloc(n + 1);
	uint32_t lo = 0, hi = lab->nshots - 1;

	for (uint32_t i = 0; i < lab->nshots; i++) {
		if (lab->is_sync[i] && lab->synced_at[i] <= end)
			lo = i;
	}
	if (end < lab->r.disk.nlog && lab->r.disk.log[end].mark < hi)
		hi = lab->r.disk.log[end].mark;
	for (unsigned trial = 0; choose_subset(lab, n, trial, keep); trial++) {
		memcpy(disk, stable, size);
		apply_some(lab, disk, start, end, keep, n > 1 && trial % 3 == 2);
		t_judge_disk(lab, disk, lo, hi, t_crash_rnd(lab, lab->recovery_odds) == 0);
	}
	free(disk);
	free(keep);
}

/* A sync ended when the log was at `pos`, with writes after the last flush. */
static bool is_sync_end(const struct crashlab *lab, size_t pos)
{
	for (uint32_t i = 0; i < lab->nshots; i++) {
		if (lab->is_sync[i] && lab->synced_at[i] == pos)
			return true;
	}
	return false;
}

void t_crash_judge(struct crashlab *lab)
{
	struct membd *m = &lab->r.disk;
	size_t size = m->bd.size_bytes, start = 0;
	uint8_t *stable = malloc(size);

	memcpy(stable, m->base, size);
	m->recording = false;
	for (size_t end = 0; end <= m->nlog && !lab->verdict[0]; end++) {
		bool flush = end == m->nlog || m->log[end].off == UINT64_MAX;

		if (flush || is_sync_end(lab, end))
			judge_epoch(lab, stable, start, end);
		if (!flush)
			continue;
		for (size_t i = start; i < end; i++)
			t_mem_apply(stable, &m->log[i]);
		start = end;
	}
	free(stable);
}
