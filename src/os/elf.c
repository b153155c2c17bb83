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

const Elf64_Shdr *as_elf_section(const struct as_elf *elf, uint32_t index)
{
	const Elf64_Ehdr *head = as_elf_part(elf, 0, sizeof(*head));

	if (!head || head->e_shentsize != sizeof(Elf64_Shdr) || index >= head->e_shnum ||
	    head->e_shoff % _Alignof(Elf64_Shdr) || head->e_shoff > elf->len)
		return NULL;
	return as_elf_part(elf, head->e_shoff + (uint64_t)index * sizeof(Elf64_Shdr),
			   sizeof(Elf64_Shdr));
}
