/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel: see kernel.h. Words are kept by the digest of their disk. */
#include "damage/kernel_priv.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/table.h"
#include "damage/disk_host.h"
#include "os/spawn.h"
#include "target/fstype.h"
#include "work/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KNOWN_MAX 4096u
#define CHILD_MS 30000u
#define UNASKED_MAX 3u /* in a row */

struct known_word {
	struct as_digest digest;
	struct as_word word;
};

struct as_fsck_kernel {
	char *target;
	struct as_kernel_box *box; /* NULL: it is a library */
	struct known_word *known;
	size_t n, cap;
	struct as_table table;
	bool heard; /* it has answered */
	unsigned failed; /* times in a row */
	struct as_word unasked; /* why the last one failed */
};

int as_fsck_kernel_open(const struct as_fsck_kernel_setup *setup, struct as_fsck_kernel **out,
			struct as_err *err)
{
	const struct as_fstype *type = as_fstype_find(setup->target);
	struct as_fsck_kernel *k = as_xcalloc(1, sizeof(*k));
	struct as_fsck_kernel_setup own = *setup;
	int rc = 0;

	k->target = as_xstrdup(setup->target);
	own.target = k->target;
	if (type && type->impossible)
		rc = as_fail(err, AS_ELACK, "%s: %s", setup->target, type->impossible);
	else if (type)
		rc = as_kernel_box_open(&own, &k->box, err);
	else if (strncmp(setup->target, "lab", 3))
		rc = as_fail(err, AS_EUSE, "%s: nobody can mount it", setup->target);
	if (rc) {
		as_fsck_kernel_free(k);
		k = NULL;
	}
	*out = k;
	return rc;
}

static void forget(struct as_fsck_kernel *k)
{
	for (size_t i = 0; i < k->n; i++)
		as_word_free(&k->known[i].word);
	k->n = 0;
	as_table_clear(&k->table);
}

void as_fsck_kernel_free(struct as_fsck_kernel *k)
{
	if (!k)
		return;
	forget(k);
	as_word_free(&k->unasked);
	as_table_free(&k->table);
	free(k->known);
	as_kernel_box_free(k->box);
	free(k->target);
	free(k);
}

/* ---- A library ------------------------------------------------------------------------------- */

struct word_child {
	const char *target;
	struct as_disk *disk; /* of "ask" */
	const struct as_buf *image; /* of "make" */
	const char *text;
	int fd; /* gets the answer */
	struct as_err *err; /* shared */
};

static int put(int fd, const struct as_buf *data, struct as_err *err)
{
	for (size_t done = 0; done < data->len;) {
		ssize_t n = write(fd, data->data + done, data->len - done);

		if (n < 0)
			return as_fail_errno(err, errno, "cannot write an answer");
		done += (size_t)n;
	}
	return 0;
}

static int in_child(void *ctx)
{
	const struct word_child *c = ctx;
	struct as_disk_host *host = NULL;
	struct as_word word = { 0 };
	struct as_buf answer = { 0 };
	int rc;

	if (c->text) {
		rc = as_disk_host_make(c->target, as_buf_str(c->image), c->image->len, c->text,
				       &answer, c->err);
	} else {
		rc = as_disk_host_open(c->target, &host, c->err);
		if (!rc)
			rc = as_disk_host_ask(host, c->disk, &word, c->err);
		if (!rc)
			as_word_print(&word, &answer);
	}
	return rc || put(c->fd, &answer, c->err) ? 1 : 0;
}

static int read_all(int fd, struct as_buf *out, struct as_err *err)
{
	char block[65536];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, block, sizeof(block), at)) > 0) {
		as_buf_add(out, block, (size_t)n);
		at += n;
	}
	return n < 0 ? as_fail_errno(err, errno, "cannot read an answer") : 0;
}

/* What dies or hangs in it is its own word. */
static int by_child(struct word_child *c, struct as_buf *answer, struct as_word *word,
		    struct as_err *err)
{
	struct as_ended ended;
	int rc;

	c->fd = memfd_create("answer", MFD_CLOEXEC);
	c->err = as_shared_alloc(sizeof(*c->err));
	rc = c->fd < 0 ? as_fail_errno(err, errno, "cannot make a file in memory")
		       : as_spawn_fork(in_child, c, CHILD_MS, NULL, &ended, err);
	if (!rc && ended.how == AS_END_EXIT && ended.status)
		rc = as_fail(err, AS_EIO, "%s", c->err->msg);
	if (!rc && ended.how != AS_END_EXIT) {
		word->end = ended.how == AS_END_SIGNAL ? AS_WORD_DIED : AS_WORD_HUNG;
		as_buf_adds(&word->why, "the file system ");
		as_buf_adds(&word->why, word->end == AS_WORD_DIED ? "dies of " : "gives no answer");
		if (word->end == AS_WORD_DIED)
			as_buf_adds(&word->why, as_signal_name(ended.status));
		as_buf_adds(&word->sign, as_buf_str(&word->why));
	} else if (!rc) {
		rc = read_all(c->fd, answer, err);
	}
	if (c->fd >= 0)
		close(c->fd);
	as_shared_free(c->err, sizeof(*c->err));
	return rc;
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static int ask(struct as_fsck_kernel *k, struct as_disk *disk, struct as_word *word,
	       struct as_err *err)
{
	struct as_buf image = { 0 }, answer = { 0 };
	int rc;

	if (k->box) {
		rc = as_image_encode(disk, &image, err);
		if (!rc)
			rc = as_kernel_box_give(k->box,
						&(struct as_boxed_question){
							.request = AS_WIRE_MOUNT, .image = &image },
						&answer, word, err);
	} else {
		struct word_child c = { .target = k->target, .disk = as_disk_snapshot(disk) };

		rc = by_child(&c, &answer, word, err);
		as_disk_free(c.disk);
	}
	if (!rc && word->end == AS_WORD_FINE)
		rc = as_word_parse(as_buf_str(&answer), answer.len, word, err);
	as_buf_free(&image);
	as_buf_free(&answer);
	return rc;
}

struct wanted_word {
	const struct as_fsck_kernel *k;
	struct as_digest digest;
};

static bool is_wanted(const void *ctx, size_t i)
{
	const struct wanted_word *w = ctx;

	return as_digest_eq(w->k->known[i].digest, w->digest);
}

/* One failure is no reason to throw away a session of hours. */
static bool go_on(struct as_fsck_kernel *k, const struct as_word **word, const struct as_err *err)
{
	if (!k->heard || ++k->failed >= UNASKED_MAX)
		return false;
	as_word_free(&k->unasked);
	k->unasked.end = AS_WORD_UNASKED;
	as_buf_addf(&k->unasked.why, "%s", err->msg);
	*word = &k->unasked;
	return true;
}

int as_fsck_kernel_ask(struct as_fsck_kernel *k, struct as_disk *disk, const struct as_word **word,
		       struct as_err *err)
{
	struct wanted_word w = { k, as_disk_digest(disk) };
	size_t i = as_table_find(&k->table, w.digest.lo, is_wanted, &w);
	struct as_word got = { 0 };
	int rc;

	if (i == AS_TABLE_NONE) {
		if (k->n >= KNOWN_MAX)
			forget(k);
		rc = ask(k, disk, &got, err);
		if (rc) {
			as_word_free(&got);
			return go_on(k, word, err) ? 0 : as_fail_in(err, "%s", k->target);
		}
		k->heard = true;
		k->failed = 0;
		AS_ARRAY_ROOM(k->known, k->n, k->cap);
		i = k->n++;
		k->known[i] = (struct known_word){ w.digest, got };
		as_table_add(&k->table, w.digest.lo, i);
	}
	*word = &k->known[i].word;
	return 0;
}

static int make_boxed(struct as_kernel_box *box, const struct as_buf *image, const char *workload,
		      struct as_buf *answer, struct as_word *word, struct as_err *err)
{
	struct as_boxed_question question = { .request = AS_WIRE_MAKE, .image = image };
	struct as_seq *seq = NULL;
	int rc = as_parse_text("generic", workload, strlen(workload), &seq, err);

	question.seq = seq;
	if (!rc)
		rc = as_kernel_box_give(box, &question, answer, word, err);
	as_seq_free(seq);
	return rc;
}

int as_fsck_kernel_make(struct as_fsck_kernel *k, struct as_disk *fresh, const char *workload,
			struct as_chunks *store, struct as_disk **made, struct as_err *err)
{
	struct as_buf image = { 0 }, answer = { 0 };
	struct as_word word = { 0 };
	int rc = as_image_encode(fresh, &image, err);

	*made = NULL;
	if (!rc && k->box) {
		rc = make_boxed(k->box, &image, workload, &answer, &word, err);
	} else if (!rc) {
		struct word_child c = { .target = k->target, .image = &image, .text = workload };

		rc = by_child(&c, &answer, &word, err);
	}
	if (!rc && word.end != AS_WORD_FINE)
		rc = as_fail(err, AS_EIO, "%s: %s", k->target, as_buf_str(&word.why));
	if (!rc)
		rc = as_image_decode(store, as_buf_str(&answer), answer.len, made, err);
	as_word_free(&word);
	as_buf_free(&image);
	as_buf_free(&answer);
	return rc;
}
