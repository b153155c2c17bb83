/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Preloaded into the checker by Valgrind (vgpreload_assaysym). The C library's functions for blocks
 * of memory have no names of their own once the best of several has been chosen; these have, and
 * pass on to them. The tool knows them by name (lengths.c). */
#include <dlfcn.h>
#include <stddef.h>

typedef void *move_fn(void *, const void *, size_t);
typedef void *set_fn(void *, int, size_t);

static move_fn *real_memcpy, *real_memmove, *real_mempcpy;
static set_fn *real_memset;

void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *mempcpy(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);

__attribute__((constructor)) static void start(void)
{
	real_memcpy = (move_fn *)dlsym(RTLD_NEXT, "memcpy");
	real_memmove = (move_fn *)dlsym(RTLD_NEXT, "memmove");
	real_mempcpy = (move_fn *)dlsym(RTLD_NEXT, "mempcpy");
	real_memset = (set_fn *)dlsym(RTLD_NEXT, "memset");
}

/* For those who call before we have started. */
static void *move_bytes(void *to, const void *from, size_t bytes)
{
	volatile unsigned char *t = to;
	const unsigned char *f = from;

	if ((size_t)((unsigned char *)to - f) >= bytes)
		for (size_t i = 0; i < bytes; i++)
			t[i] = f[i];
	else
		for (size_t i = bytes; i-- > 0;)
			t[i] = f[i];
	return to;
}

void *memcpy(void *to, const void *from, size_t bytes)
{
	return real_memcpy ? real_memcpy(to, from, bytes) : move_bytes(to, from, bytes);
}

void *memmove(void *to, const void *from, size_t bytes)
{
	return real_memmove ? real_memmove(to, from, bytes) : move_bytes(to, from, bytes);
}

void *mempcpy(void *to, const void *from, size_t bytes)
{
	if (real_mempcpy)
		return real_mempcpy(to, from, bytes);
	move_bytes(to, from, bytes);
	return (unsigned char *)to + bytes;
}

void *memset(void *to, int byte, size_t bytes)
{
	volatile unsigned char *t = to;

	if (real_memset)
		return real_memset(to, byte, bytes);
	for (size_t i = 0; i < bytes; i++)
		t[i] = (unsigned char)byte;
	return to;
}
