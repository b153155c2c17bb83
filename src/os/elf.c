/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elf: see elf.h. */
#include "os/elf.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool as_elf_open(const char *path, struct as_elf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const Elf64_Ehdr *head;
	struct stat st;
	void *data;

	*out = (struct as_elf){ 0 };
	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (data != MAP_FAILED)
			*out = (struct as_elf){ data, (size_t)st.st_size };
	}
	close(fd);
	head = as_elf_part(out, 0, sizeof(*head));
	if (head && !memcmp(head->e_ident, ELFMAG, SELFMAG) &&
	    head->e_ident[EI_CLASS] == ELFCLASS64)
		return true;
	as_elf_close(out);
	return false;
}

void as_elf_close(struct as_elf *elf)
{
	if (elf->data)
		munmap((void *)(uintptr_t)elf->data, elf->len);
	*elf = (struct as_elf){ 0 };
}

const void *as_elf_part(const struct as_elf *elf, uint64_t off, uint64_t len)
{
	return elf->data && off <= elf->len && len <= elf->len - off ? elf->data + off : NULL;
}

/* An entry of a table in the file: `size` is what an entry must have. */
static const void *entry(const struct as_elf *elf, uint64_t table, uint32_t i, uint32_t n,
			 uint64_t entry_size, uint64_t size)
{
	if (i >= n || entry_size != size || table % _Alignof(Elf64_Shdr) || table > elf->len)
		return NULL;
	return as_elf_part(elf, table + i * size, size);
}

const Elf64_Shdr *as_elf_section(const struct as_elf *elf, uint32_t index)
{
	const Elf64_Ehdr *head = as_elf_part(elf, 0, sizeof(*head));

	return head ? entry(elf, head->e_shoff, index, head->e_shnum, head->e_shentsize,
			    sizeof(Elf64_Shdr))
		    : NULL;
}

const Elf64_Phdr *as_elf_segment(const struct as_elf *elf, uint32_t index)
{
	const Elf64_Ehdr *head = as_elf_part(elf, 0, sizeof(*head));

	return head ? entry(elf, head->e_phoff, index, head->e_phnum, head->e_phentsize,
			    sizeof(Elf64_Phdr))
		    : NULL;
}
