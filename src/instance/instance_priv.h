/* SPDX-License-Identifier: GPL-2.0-or-later */
/* instance_priv: what the rows of instance/instance.c implement. */
#ifndef AS_INSTANCE_INSTANCE_PRIV_H
#define AS_INSTANCE_INSTANCE_PRIV_H

#include "instance/instance.h"
#include "vfs/bounds.h"

/* A function that a row leaves out is not called, or does nothing. */
struct as_instance_ops {
	const char *name;
	uint32_t caps;
	size_t size_bytes; /* of the struct that begins with struct as_instance */

	/* Of a target without an instance. */
	uint32_t (*lacks)(const struct as_target *target); /* of caps */
	const char *(*place)(const struct as_target *target);
	int (*make_disk)(const struct as_target *target, struct as_medium *disk,
			 struct as_err *err);

	int (*open)(struct as_instance *instance, const struct as_instance_args *args,
		    struct as_err *err);
	void (*close)(struct as_instance *instance); /* also of one that open() left half-way */
	/* A new executor, of one that is not mounted and has none. */
	int (*new_vfs)(struct as_instance *instance, struct as_err *err);

	int (*make)(struct as_instance *instance);
	int (*mount)(struct as_instance *instance);
	int (*unmount)(struct as_instance *instance);
	int (*give_up)(struct as_instance *instance); /* unmounts, no matter what is lost */
	int (*useless)(struct as_instance *instance, int rc, struct as_err *err);

	void (*set_op)(struct as_instance *instance, uint32_t op);
	void (*before_map)(struct as_instance *instance);
	void (*set_caller)(struct as_instance *instance, uint32_t thread);
	void (*answered)(struct as_instance *instance, const struct as_outcome *got);
	/* Calls beside the operations begin or end; may be NULL. */
	void (*aside)(struct as_instance *instance, bool begins);
	void (*flush)(struct as_instance *instance);
	void (*set_delay)(struct as_instance *instance, void (*before)(void *ctx), void *ctx);

	const char *(*trouble)(struct as_instance *instance, enum as_finding_kind *kind);
	void (*trail_tree)(struct as_instance *instance);
	int64_t (*leak_op)(const struct as_instance *instance); /* or -1 */
	const char *(*output)(struct as_instance *instance);
	/* How often its memory gave wrong bytes, besides the plan; NULL: never. */
	uint64_t (*hits)(const struct as_instance *instance);
	const char *(*misuse)(const struct as_instance *instance);
	const char *(*device)(const struct as_instance *instance);

	struct as_medium *(*hold)(struct as_instance *instance);
	void (*release)(struct as_instance *instance);
	int (*restore)(struct as_instance *instance, struct as_disk *disk, struct as_err *err);
	int (*check)(struct as_instance *instance, unsigned deadline_ms,
		     struct as_instance_checked *checked, struct as_err *err);

	/* The row of an instance that visits disks; with AS_INSTANCE_VISIT. Only that one has the
	 * functions below. */
	const struct as_instance_ops *visitor;
	int (*insert)(struct as_instance *instance, struct as_disk *disk, struct as_bd *above,
		      struct as_err *err);
	/* NULL: it makes no difference. */
	void (*read_ahead)(struct as_instance *instance, uint64_t off, uint64_t len);
	int (*eject)(struct as_instance *instance, struct as_err *err);
	int (*mount_writable)(struct as_instance *instance);
	int (*mount_unreplayed)(struct as_instance *instance); /* NULL: it cannot */
	int (*mount_look)(struct as_instance *instance); /* as turn_writable; NULL: it cannot */
	int (*turn_writable)(struct as_instance *instance);
	int (*enter)(struct as_instance *instance, struct as_instance_reader *reader);
	int (*probe)(struct as_instance *instance, const char *directory, const char **doing);
	int (*fsck)(struct as_instance *instance, enum as_check_mode mode);
};

/* Rows embed this as their first member. */
struct as_instance {
	const struct as_instance_ops *ops;
	struct as_instance_args args;
	uint32_t caps;
	struct as_chooser *chooser; /* of as_choose() */
	struct as_chooser *answerer; /* of as_ask(); NULL: none, or args.choice */
	struct as_host_mem *host;
	struct as_vfs *vfs;
	struct as_bounds bounds; /* of a disk that is not ours */
	bool guarded; /* it is mounted read-only: nothing may be written to the disk */
	/* What is read-only may write all the same: what is below it, which is writable; or only
	 * when it is unmounted. */
	bool writes_below, writes_at_umount;
	bool coarse; /* the kernel's stamps are those of its last tick */
	int64_t tick_ns; /* that tick, as read last; 0: not yet since the mount */
};

extern const struct as_instance_ops as_instance_library, as_instance_kernel, as_instance_server,
	as_instance_folder, as_instance_visitor;

/* `path` is on a disk that is not ours: a workload must not fill it. */
void as_instance_bind(struct as_instance *instance, const char *path);

#endif
