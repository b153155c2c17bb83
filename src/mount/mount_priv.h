/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mount_priv: what the files of a mount share (mount/mount*.c). */
#ifndef AS_MOUNT_MOUNT_PRIV_H
#define AS_MOUNT_MOUNT_PRIV_H

#include "disk/window.h"
#include "mount/mount.h"

#include <sys/types.h>

struct as_mount {
	const struct as_fstype *type;
	struct as_medium *medium;
	struct as_serve *serve;
	struct as_loop *loop; /* NULL: a FUSE server needs none */
	struct as_server *server; /* the last one started; NULL: none, or the kernel */
	unsigned server_ms;
	char *program; /* the server's; NULL: it was not found */
	char trouble[128]; /* of servers that are gone */
	bool hung; /* one of them had to be ended */
	char refusal[96]; /* why the last one could not be started */
	struct as_buf output;
	char base[40]; /* where our tmpfs is */
	char fs[48], disk[56], disk_folder[48], copy[48], src[48];
	char journal[56], journal_copy[56];
	struct as_window windows[2]; /* if the journal has a disk of its own: both disks */
	int root_fd; /* of the machine */
	int cwd_fd; /* where we were when it was made */
	int home_fd; /* the mount namespace we come from */
	ino_t own_namespace; /* the one that was made for it; 0: none was */
	bool mounted, inside;
	void (*delay)(void *ctx); /* before each request; NULL: none */
	void *delay_ctx;
	struct as_medium_mark *cut; /* the moment of a power cut that is under way */
};

/* ---- mount_options.c ---- */

/* Adds options of mount(8) to the flags of mount(2); those of the file system itself go to data. */
void as_mount_sort_options(const char *text, unsigned long *flags, struct as_buf *data);

/* ---- mount_over.c ---- */

/* Mounts a type that stands on folders of another one. 0, or a negative errno. */
AS_MUST_CHECK int as_mount_over(struct as_mount *m, const char *device, unsigned long flags,
				struct as_buf *data);

/* ---- mount_server.c ---- */

/* Before anything is mounted or entered: where the server's program is. */
void as_mount_find_program(struct as_mount *m);
/* 0, or a negative errno, and then no server is there. */
AS_MUST_CHECK int as_mount_start_server(struct as_mount *m, const char *base, const char *opts);
/* To be called when the server has ended: keeps what it printed, and frees the rest. */
void as_mount_bury(struct as_mount *m);

/* ---- mount_disk.c ---- */

/* Nobody else calls the disk in between, and the medium is up to date (of a file in memory: if
 * nothing is mounted). */
void as_mount_lock(struct as_mount *m);
void as_mount_unlock(struct as_mount *m);

#endif
