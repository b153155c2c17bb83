/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * serve_pipe: requests and answers of /dev/fuse through a pipe.
 *
 * A read or write of /dev/fuse looks up the pages of its buffer. User-Mode Linux cannot do that
 * without the lock of the process' memory. A thread that is in mmap(2) of a file under test has
 * this lock, and may wait for the disk that we serve: ext4_file_mmap() sets the atime. splice(2)
 * needs no lock, and neither does a copy to pages that are there. Whatever the server touches must
 * be there as well: a page that it shares with the parent, code that it has not run yet, what it
 * allocates.
 */
#ifndef AS_DISK_SERVE_PIPE_H
#define AS_DISK_SERVE_PIPE_H

#include "base/err.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/uio.h>

/* The most data of a message: half of the largest pipe that an ordinary user may have, since a part
 * of a page takes as much room there as a page. */
#define AS_SERVE_PIECE_BYTES (1u << 19)

/* The first member of struct as_serve: as_serve_settle() is here. All pages of the process,
 * but for reserved ones (os/memory.h), are brought into memory before its first mmap(2), with some
 * more that malloc can hand out. */
struct as_serve_pipe {
	bool used;
	int fd[2];
	pthread_mutex_t settling;
	bool settled;
};

bool as_serve_pipe_needed(void);
/* *buffer: for libfuse's requests; free() it. */
int as_serve_pipe_open(struct as_serve_pipe *pipe, void **buffer, struct as_err *err);
/* For struct fuse_custom_io; ctx is a struct as_serve_pipe. */
ssize_t as_serve_pipe_take(int fd, void *buf, size_t len, void *ctx);
ssize_t as_serve_pipe_send(int fd, struct iovec *iov, int count, void *ctx);

#endif
