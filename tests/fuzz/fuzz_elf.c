/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz entry of the reader of ELF files: what it finds lies inside the file. */
#include "os/elf_needs.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct as_elf_needs needs;
	struct as_err err = { 0 };
	char *copy = malloc(len + !len);

	memcpy(copy, data, len);
	if (as_elf_needs(copy, len, "fuzz", &needs, &err)) {
		as_assert(err.code == AS_EUSE && !needs.libs);
	} else {
		size_t total = 0;

		for (size_t i = 0; i < needs.n_libs; i++)
			total += strlen(needs.libs[i]);
		as_assert(total <= len * (needs.n_libs + 1));
		as_assert(!needs.interp || strlen(needs.interp) < len);
		as_assert(!needs.rpath || strlen(needs.rpath) < len);
	}
	as_elf_needs_free(&needs);
	free(copy);
	return 0;
}
