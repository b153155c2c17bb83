/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cpio: see cpio.h; the format is in the kernel's Documentation/driver-api/early-userspace/
 * buffer-format.rst. Headers are made of 8-digit hexadecimal fields; names and contents end on
 * multiples of four. */
#include "box/cpio.h"

#include <string.h>
#include <sys/stat.h>

static void pad(struct as_cpio *cpio)
{
	while (cpio->out.len % 4)
		as_buf_addc(&cpio->out, '\0');
}

struct cpio_entry {
	const char *name;
	uint32_t mode, major, minor;
	const void *data;
	size_t len;
};

static void add(struct as_cpio *cpio, const struct cpio_entry *e)
{
	size_t name_len = strlen(e->name) + 1;

	as_assert(e->len <= UINT32_MAX);
	/* ino mode uid gid nlink mtime size devmajor devminor rdevmajor rdevminor namesize check */
	as_buf_addf(&cpio->out, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
		    ++cpio->entries, e->mode, 0u, 0u, S_ISDIR(e->mode) ? 2u : 1u, 0u,
		    (unsigned)e->len, 0u, 0u, e->major, e->minor, (unsigned)name_len, 0u);
	as_buf_add(&cpio->out, e->name, name_len);
	pad(cpio);
	as_buf_add(&cpio->out, e->data, e->len);
	pad(cpio);
}

void as_cpio_folder(struct as_cpio *cpio, const char *name, uint32_t perm)
{
	add(cpio, &(struct cpio_entry){ .name = name, .mode = S_IFDIR | perm, .data = "" });
}

void as_cpio_file(struct as_cpio *cpio, const char *name, uint32_t perm, const void *data,
		  size_t len)
{
	add(cpio,
	    &(struct cpio_entry){ .name = name, .mode = S_IFREG | perm, .data = data, .len = len });
}

void as_cpio_link(struct as_cpio *cpio, const char *name, const char *to)
{
	add(cpio, &(struct cpio_entry){
			  .name = name, .mode = S_IFLNK | 0777, .data = to, .len = strlen(to) });
}

void as_cpio_char_device(struct as_cpio *cpio, const char *name, uint32_t perm, uint32_t major,
			 uint32_t minor)
{
	add(cpio, &(struct cpio_entry){ .name = name,
					.mode = S_IFCHR | perm,
					.major = major,
					.minor = minor,
					.data = "" });
}

void as_cpio_finish(struct as_cpio *cpio)
{
	add(cpio, &(struct cpio_entry){ .name = "TRAILER!!!", .data = "" });
	/* The kernel is given whole blocks. */
	while (cpio->out.len % 512)
		as_buf_addc(&cpio->out, '\0');
}
