/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz entry of the file of states that `assay check --resume` goes on with.
 *
 * A sound file of a few states is made, and the input is written over a part of it: its first two
 * bytes say where. The file is refused, or all in it can be used: each state has a trace that ends,
 * each number of the frontier is that of a state, and states can be added.
 */
#include "base/err.h"
#include "check/store.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATES 12u
#define MADE 6u

static struct as_digest digest_of(uint32_t i)
{
	return as_hash(&i, sizeof(i));
}

static void make(int fd)
{
	struct as_store *store = NULL;
	uint32_t id;

	as_assert(!as_store_open(fd, "fuzz", STATES, &store, NULL));
	for (uint32_t i = 0; i < MADE; i++) {
		as_assert(as_store_add(store, digest_of(i), i ? (i - 1) / 2 : AS_STORE_NONE,
				       i == 5 ? "mkdir /a 0755\nsync" : "sync", true,
				       &id) == AS_STORE_NEW);
		if (i % 3)
			as_store_push(store, id, i);
	}
	as_store_stop(store, 3, true);
	as_store_gap(store, 1);
	as_store_close(store);
}

static void use(struct as_store *store)
{
	struct as_buf text = { 0 };
	uint32_t n = as_store_n(store), id;

	as_assert(n <= STATES && as_store_distinct(store) <= n);
	for (uint32_t i = 0; i < n; i++) {
		as_store_trace(store, i, &text);
		as_store_line(store, i, &text);
		as_buf_clear(&text);
	}
	for (unsigned i = 0; as_store_pop(store, &id); i++) {
		as_assert(id < n && i <= n);
		as_store_done(store, id);
	}
	for (uint32_t i = 0; i < 2 * STATES; i++) {
		enum as_store_added added = as_store_add(store, digest_of(i),
							 n ? n - 1 : AS_STORE_NONE, "x", i % 2, &id);

		as_assert(added == AS_STORE_FULL || id < as_store_n(store));
	}
	(void)as_store_bytes(store);
	as_buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct as_store *store = NULL;
	struct stat st;
	size_t at;
	int fd;

	if (len < 2)
		return 0;
	fd = memfd_create("states", MFD_CLOEXEC);
	as_assert(fd >= 0);
	make(fd);
	as_assert(!fstat(fd, &st));
	at = (data[0] | (size_t)data[1] << 8) % (size_t)st.st_size;
	len -= 2;
	if (len > (size_t)st.st_size - at)
		len = (size_t)st.st_size - at;
	as_assert(pwrite(fd, data + 2, len, (off_t)at) == (ssize_t)len);
	if (!as_store_open(fd, "fuzz", STATES, &store, NULL))
		use(store);
	as_store_close(store);
	close(fd);
	return 0;
}
