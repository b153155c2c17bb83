/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf: a program or a library as a file of 64 bits, mapped. The file may be anything: whatever is
 * asked for is within it, or NULL.
 */
#ifndef AS_OS_ELF_H
#define AS_OS_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct as_elf {
	const unsigned char *data;
	size_t len;
};

/* False: it cannot be read, or is no such file. */
bool as_elf_open(const char *path, struct as_elf *out);
void as_elf_close(struct as_elf *elf);

const void *as_elf_part(const struct as_elf *elf, uint64_t off, uint64_t len);
const Elf64_Shdr *as_elf_section(const struct as_elf *elf, uint32_t index); /* NULL: no more */

#endif
