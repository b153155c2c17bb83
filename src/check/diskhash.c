/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diskhash: what is on the disk in a state, as a digest (--hash disk): the bytes that are stable,
 * and the writes since, in their order.
 *
 * Method. The trace is recorded with a clock that stands still: else no two traces of different
 * lengths would leave the same times. What else tells them apart is what the file system has put
 * there: which blocks and inodes it took, the numbers of its transactions, what is left of files
 * that were removed. FiSC calls making these things equal canonicalization (section 3.3), and
 * leaves it to the author of the file system; so do we.
 */
#include "check/cuts.h"

#include "disk/log.h"
#include "recording/record.h"

/* Up to and with the last flush. A FUA write after it counts as pending: that may tell states apart
 * that are one, but never the other way round. */
static size_t stable_end(const struct as_reclog *log)
{
	size_t n = as_reclog_len(log);

	while (n && as_reclog_at(log, n - 1)->kind != AS_CALL_FLUSH)
		n--;
	return n;
}

static struct as_digest digest_of(const struct as_recording *rec)
{
	size_t stable = stable_end(rec->log), n = as_reclog_len(rec->log);
	struct as_disk *disk = as_disk_snapshot(rec->start);
	struct as_digest digest;

	for (size_t i = 0; i < stable; i++)
		as_assert(!as_log_entry_apply(as_reclog_at(rec->log, i), as_disk_bd(disk)));
	digest = as_disk_digest(disk);
	for (size_t i = stable; i < n; i++) {
		const struct as_log_entry *e = as_reclog_at(rec->log, i);

		if (e->kind == AS_CALL_READ)
			continue;
		digest = as_digest_bind(digest, e->off ^ e->len << 40 ^ (uint64_t)e->kind << 60);
		if (e->data)
			digest = as_digest_add(digest, as_hash(e->data, e->len));
	}
	as_disk_free(disk);
	return digest;
}

bool as_worker_disk_changed(const struct as_expander *w, const struct as_op *op,
			    const struct as_outcome *got)
{
	return w->c->options->hash == AS_CHECK_HASH_DISK && got->ret >= 0 &&
	       as_era_makes_stable(op);
}

int as_worker_disk_key(struct as_expander *w, const struct as_op *op, struct as_digest *key,
		       struct as_err *err)
{
	struct as_recording rec = { 0 };
	struct as_seq *seq;
	int rc;

	if (w->c->options->hash != AS_CHECK_HASH_DISK)
		return 0;
	seq = as_seq_copy(w->seq);
	as_seq_add(seq, op);
	rc = as_crashes_record_still(w->crashes, seq, &rec, err);
	if (!rc && rec.history)
		*key = as_digest_add(*key, as_digest_bind(digest_of(&rec), 41));
	as_recording_free(&rec);
	as_seq_free(seq);
	return rc;
}
