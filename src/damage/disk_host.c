/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * disk_host: see disk_host.h. One instance (instance/instance.h) visits one disk after the other.
 *
 * What a file system does wrong is a word; only what we cannot do is an error.
 */
#include "damage/disk_host.h"

#include "disk/image.h"
#include "host/medium.h"
#include "instance/instance.h"
#include "klog/kwatch.h"
#include "snapshot/tree.h"
#include "target/target.h"
#include "work/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_MAX_DEFAULT 255u

struct as_disk_host {
	struct as_target *target;
	struct as_host_log log;
	struct as_instance *instance;
	struct as_kwatch *watch; /* what is wrong in the kernel's log; NULL: nobody may read it */
	struct as_kmsg *kmsg; /* all of it */
};

static struct as_instance_args args_of(struct as_disk_host *h, struct as_medium *disk)
{
	uint32_t name_max = as_target_limits(h->target).name_max;

	return (struct as_instance_args){ .target = h->target,
					  .disk = disk,
					  .log = &h->log,
					  .name_max = name_max ? name_max : NAME_MAX_DEFAULT,
					  .visits = !disk };
}

static int open_host(const char *target, struct as_medium *disk, struct as_disk_host **out,
		     struct as_err *err)
{
	struct as_disk_host *h = as_xcalloc(1, sizeof(*h));
	int rc = as_target_open(target, &h->target, err);

	if (!rc)
		rc = as_target_load(h->target, err);
	if (!rc) {
		struct as_instance_args args = args_of(h, disk);

		rc = as_instance_open(&args, &h->instance, err);
	}
	*out = h;
	if (rc) {
		as_disk_host_free(h);
		*out = NULL;
	}
	return rc;
}

int as_disk_host_open(const char *target, struct as_disk_host **host, struct as_err *err)
{
	return open_host(target, NULL, host, err);
}

void as_disk_host_free(struct as_disk_host *h)
{
	if (!h)
		return;
	as_instance_close(h->instance);
	as_kwatch_free(h->watch);
	as_kmsg_close(h->kmsg);
	as_target_free(h->target);
	free(h);
}

/* ---- One disk -------------------------------------------------------------------------------- */

/* The first reason is kept. `about` has names and numbers, `doing` has none. */
static bool wrong(struct as_word *w, enum as_word_end end, const char *doing, int rc,
		  const char *about)
{
	if (w->end != AS_WORD_FINE)
		return false;
	w->end = end;
	as_buf_addf(&w->why, "%s answers %s%s%s", doing, as_errno_name(-rc), *about ? ": " : "",
		    about);
	as_buf_addf(&w->sign, "%s %s", doing, as_errno_name(-rc));
	return false;
}

/* "/a/f: reading at 4096 gives EIO" without the name and the number. */
static void sign_reading(const char *why, struct as_buf *sign)
{
	const char *at = strstr(why, ": "), *errno_at = strrchr(why, ' ');

	as_buf_adds(sign, "reading the tree");
	if (at && errno_at)
		as_buf_adds(sign, errno_at);
}

static bool read_tree(struct as_disk_host *h, struct as_word *w)
{
	struct as_instance_reader reader;
	struct as_buf why = { 0 };
	int rc = as_instance_enter(h->instance, &reader);

	if (rc)
		return wrong(w, AS_WORD_UNREADABLE, "entering the root", rc, "");
	rc = as_tree_capture(reader.ops, reader.ctx, &w->tree, &why);
	if (rc && w->end == AS_WORD_FINE) {
		w->end = AS_WORD_UNREADABLE;
		as_buf_addf(&w->why, "the tree cannot be read: %s", as_buf_str(&why));
		sign_reading(as_buf_str(&why), &w->sign);
	}
	as_buf_free(&why);
	return !rc;
}

static bool probe_all(struct as_disk_host *h, struct as_word *w)
{
	struct as_buf path = { 0 };
	const char *doing = "";
	int rc = 0;

	for (uint32_t i = 0; i < as_tree_len(w->tree) && !rc; i++) {
		if (!S_ISDIR(as_tree_at(w->tree, i)->mode))
			continue;
		as_buf_clear(&path);
		as_tree_path(w->tree, i, &path);
		rc = as_instance_probe(h->instance, as_buf_str(&path), &doing);
	}
	/* A disk may say that it is only to be read. A kernel that has decided so itself has told
	 * its log. */
	if (rc == -EROFS)
		rc = 0;
	if (rc)
		(void)wrong(w, AS_WORD_COMPLAINED, doing, rc, as_buf_str(&path));
	as_buf_free(&path);
	return !rc;
}

static void visit(struct as_disk_host *h, struct as_word *w)
{
	enum as_finding_kind kind;
	const char *trouble;
	int rc = as_instance_mount_writable(h->instance);

	if (rc) {
		(void)wrong(w, AS_WORD_REFUSED, "the mount", rc, "");
		return;
	}
	if (!read_tree(h, w) || !probe_all(h, w)) {
		(void)!as_instance_give_up(h->instance);
		return;
	}
	rc = as_instance_unmount(h->instance);
	trouble = as_instance_trouble(h->instance, &kind);
	if (rc) {
		(void)wrong(w, AS_WORD_COMPLAINED, "the unmount", rc, "");
	} else if (trouble) {
		w->end = AS_WORD_COMPLAINED;
		as_buf_adds(&w->why, trouble);
		as_buf_adds(&w->sign, "trouble");
	}
}

static void begin_listening(struct as_disk_host *h)
{
	const char *device = as_instance_device(h->instance);
	struct as_err ignored;

	if (!as_instance_can(h->instance, AS_INSTANCE_KERNEL))
		return;
	if (!h->watch)
		h->watch = as_kwatch_new(device);
	as_kwatch_move(h->watch, device);
	if (!h->kmsg && as_kmsg_open(&h->kmsg, &ignored))
		h->kmsg = NULL;
}

/* What names another device is not ours. */
static void add_log(const struct as_disk_host *h, const char *all, struct as_buf *out)
{
	const char *device = as_instance_device(h->instance);

	while (*all) {
		size_t len = strcspn(all, "\n");
		char *line = as_xstrndup(all, len);

		if (!strstr(line, "loop") || strstr(line, device))
			as_buf_addf(out, "%s\n", line);
		free(line);
		all += len + (all[len] == '\n');
	}
}

static void listen(struct as_disk_host *h, struct as_word *w)
{
	struct as_kwatch_news news;
	struct as_buf all = { 0 };

	if (h->kmsg) {
		as_kmsg_poll(h->kmsg, NULL, &all);
		add_log(h, as_buf_str(&all), &w->log);
	}
	as_buf_free(&all);
	if (!as_kwatch_look(h->watch, false, &news))
		return;
	if (w->end == AS_WORD_FINE)
		w->end = AS_WORD_COMPLAINED;
	as_buf_addf(&w->why, "%sthe kernel says: %s", w->why.len ? "; " : "", news.title);
	as_buf_addf(&w->sign, "%s%s", w->sign.len ? "; " : "", news.signature);
}

int as_disk_host_ask(struct as_disk_host *h, struct as_disk *disk, struct as_word *w,
		     struct as_err *err)
{
	int rc = as_instance_insert(h->instance, disk, NULL, err);

	if (rc)
		return rc;
	begin_listening(h);
	visit(h, w);
	listen(h, w);
	rc = as_instance_eject(h->instance, err);
	if (rc != -EBUSY)
		return rc;
	/* Its device is gone. */
	as_kwatch_free(h->watch);
	h->watch = NULL;
	(void)wrong(w, AS_WORD_COMPLAINED, "the unmount", rc, "");
	return 0;
}

/* ---- A workload ------------------------------------------------------------------------------ */

/* What some types cannot represent. */
static bool is_unknown(int e)
{
	return e == EPERM || e == EOPNOTSUPP || e == ENOSYS || e == EINVAL || e == ENOTTY ||
	       e == EMLINK;
}

static int do_all(struct as_disk_host *h, const struct as_seq *seq, struct as_err *err)
{
	struct as_outcome got;
	int rc = as_instance_mount(h->instance);

	if (rc)
		return as_fail(err, AS_EIO, "cannot mount the fresh disk: %s", as_errno_name(-rc));
	for (uint32_t i = 0; i < seq->n; i++) {
		as_instance_do(h->instance, i, &seq->ops[i], &got);
		if (got.err && !is_unknown(got.err))
			return as_fail(err, AS_EIO, "operation %u of the workload failed: %s",
				       i + 1, as_outcome_err_name(got.err));
	}
	rc = as_instance_unmount(h->instance);
	return rc ? as_fail(err, AS_EIO, "cannot unmount: %s", as_errno_name(-rc)) : 0;
}

int as_disk_host_make(const char *target, const void *fresh, size_t len, const char *workload,
		      struct as_buf *image, struct as_err *err)
{
	struct as_chunks *store = as_chunks_new();
	struct as_disk_host *h = NULL;
	struct as_medium *medium = NULL;
	struct as_disk *disk = NULL;
	struct as_seq *seq = NULL;
	int fd = memfd_create("fresh", MFD_CLOEXEC);
	int rc = as_image_decode(store, fresh, len, &disk, err);

	if (!rc && fd < 0)
		rc = as_fail_errno(err, errno, "cannot make a file in memory");
	if (!rc) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		rc = as_image_export_raw(disk, path, err);
	}
	if (!rc)
		rc = as_medium_new(as_disk_size(disk), &medium, err);
	if (!rc)
		rc = as_medium_import(medium, fd, err);
	if (!rc)
		rc = as_parse_text("generic", workload, strlen(workload), &seq, err);
	if (!rc)
		rc = open_host(target, medium, &h, err);
	if (!rc)
		rc = do_all(h, seq, err);
	as_disk_host_free(h);
	if (!rc)
		rc = as_medium_encode(medium, image, err);
	if (fd >= 0)
		close(fd);
	as_medium_free(medium);
	as_disk_free(disk);
	as_chunks_free(store);
	as_seq_free(seq);
	return rc;
}
