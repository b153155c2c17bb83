/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_needs: see elf_needs.h.
 *
 * Method. Program headers lead to the dynamic section; addresses in it are turned into offsets
 * through the PT_LOAD segments. Every offset is checked against the file before it is used: a file
 * that is cut or forged gives an error.
 */
#include "os/elf_needs.h"

#include <elf.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONF "/etc/ld.so.conf"
#define CONF_MAX_BYTES ((size_t)1 << 20)
#define CONF_DEPTH_MAX 4
#define LIBS_MAX 512

/* ---- The file -------------------------------------------------------------------------------- */

struct elf {
	const char *data;
	size_t len;
	const char *name;
	Elf64_Ehdr head;
};

static bool inside(const struct elf *elf, uint64_t at, uint64_t len)
{
	return at <= elf->len && len <= elf->len - at;
}

/* A string that ends inside the file, or NULL. */
static const char *string_at(const struct elf *elf, uint64_t at)
{
	if (at >= elf->len || !memchr(elf->data + at, '\0', elf->len - at))
		return NULL;
	return elf->data + at;
}

static int broken(const struct elf *elf, const char *what, struct as_err *err)
{
	return as_fail(err, AS_EUSE, "%s: not a whole ELF file: %s", elf->name, what);
}

static bool segment(const struct elf *elf, unsigned i, Elf64_Phdr *ph)
{
	uint64_t at = elf->head.e_phoff + (uint64_t)i * sizeof(*ph);

	/* e_phoff may be anything: the sum must not wrap. */
	if (elf->head.e_phoff > elf->len || !inside(elf, at, sizeof(*ph)))
		return false;
	memcpy(ph, elf->data + at, sizeof(*ph));
	return true;
}

/* The offset of an address, or UINT64_MAX. */
static uint64_t offset_of(const struct elf *elf, uint64_t addr)
{
	Elf64_Phdr ph;

	for (unsigned i = 0; i < elf->head.e_phnum && segment(elf, i, &ph); i++)
		if (ph.p_type == PT_LOAD && addr >= ph.p_vaddr && addr - ph.p_vaddr < ph.p_filesz &&
		    ph.p_offset <= elf->len)
			return ph.p_offset + (addr - ph.p_vaddr);
	return UINT64_MAX;
}

static int read_dynamic(const struct elf *elf, const Elf64_Phdr *ph, struct as_elf_needs *needs,
			struct as_err *err)
{
	uint64_t n = ph->p_filesz / sizeof(Elf64_Dyn), strings = UINT64_MAX;
	Elf64_Dyn dyn;

	if (!inside(elf, ph->p_offset, ph->p_filesz))
		return broken(elf, "its dynamic section is outside", err);
	for (uint64_t i = 0; i < n; i++) {
		memcpy(&dyn, elf->data + ph->p_offset + i * sizeof(dyn), sizeof(dyn));
		if (dyn.d_tag == DT_STRTAB)
			strings = offset_of(elf, dyn.d_un.d_ptr);
	}
	for (uint64_t i = 0; i < n; i++) {
		const char *s;

		memcpy(&dyn, elf->data + ph->p_offset + i * sizeof(dyn), sizeof(dyn));
		if (dyn.d_tag == DT_NULL)
			break;
		if (dyn.d_tag != DT_NEEDED && dyn.d_tag != DT_RUNPATH && dyn.d_tag != DT_RPATH)
			continue;
		if (strings == UINT64_MAX || dyn.d_un.d_val > elf->len ||
		    !(s = string_at(elf, strings + dyn.d_un.d_val)))
			return broken(elf, "a name is outside", err);
		if (dyn.d_tag == DT_NEEDED && needs->n_libs == LIBS_MAX)
			return broken(elf, "it needs too many libraries", err);
		if (dyn.d_tag == DT_NEEDED)
			needs->libs[needs->n_libs++] = s;
		else if (dyn.d_tag == DT_RUNPATH || !needs->rpath)
			needs->rpath = s;
	}
	return 0;
}

int as_elf_needs(const void *file, size_t len, const char *name, struct as_elf_needs *needs,
		 struct as_err *err)
{
	struct elf elf = { .data = file, .len = len, .name = name };
	Elf64_Phdr ph;
	int rc = 0;

	*needs = (struct as_elf_needs){ 0 };
	if (len < sizeof(elf.head) || memcmp(file, ELFMAG, SELFMAG))
		return as_fail(err, AS_EUSE, "%s: not an ELF program", name);
	memcpy(&elf.head, file, sizeof(elf.head));
	if (elf.head.e_ident[EI_CLASS] != ELFCLASS64 || elf.head.e_ident[EI_DATA] != ELFDATA2LSB ||
	    elf.head.e_machine != EM_X86_64)
		return as_fail(err, AS_EUSE, "%s: not a program for x86-64", name);
	if (elf.head.e_phentsize != sizeof(ph))
		return broken(&elf, "strange program headers", err);
	needs->libs = as_xcalloc(LIBS_MAX, sizeof(*needs->libs));
	for (unsigned i = 0; i < elf.head.e_phnum && !rc; i++) {
		if (!segment(&elf, i, &ph))
			rc = broken(&elf, "program headers are outside", err);
		else if (ph.p_type == PT_INTERP && !(needs->interp = string_at(&elf, ph.p_offset)))
			rc = broken(&elf, "the interpreter's name is outside", err);
		else if (ph.p_type == PT_DYNAMIC)
			rc = read_dynamic(&elf, &ph, needs, err);
	}
	if (rc)
		as_elf_needs_free(needs);
	return rc;
}

void as_elf_needs_free(struct as_elf_needs *needs)
{
	free(needs->libs);
	*needs = (struct as_elf_needs){ 0 };
}

/* ---- Where libraries are --------------------------------------------------------------------- */

static void read_conf(const char *path, int depth, struct as_buf *folders);

static void include(const char *pattern, int depth, struct as_buf *folders)
{
	glob_t found;

	if (depth < CONF_DEPTH_MAX && !glob(pattern, 0, NULL, &found)) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			read_conf(found.gl_pathv[i], depth + 1, folders);
		globfree(&found);
	}
}

static void read_conf(const char *path, int depth, struct as_buf *folders)
{
	struct as_buf text = { 0 };
	char *line, *save = NULL;

	/* A machine without this file has no further folders. */
	if (as_buf_read_file(&text, path, CONF_MAX_BYTES, NULL))
		as_buf_clear(&text);
	for (line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		line[strcspn(line, "#")] = '\0';
		line += strspn(line, " \t");
		for (size_t len = strlen(line); len && strchr(" \t\r", line[len - 1]); len--)
			line[len - 1] = '\0';
		if (!strncmp(line, "include", 7) && strchr(" \t", line[7]) && line[7])
			include(line + 7 + strspn(line + 7, " \t"), depth, folders);
		else if (line[0] == '/')
			as_buf_addf(folders, "%s\n", line);
	}
	as_buf_free(&text);
}

void as_elf_lib_folders(struct as_buf *folders)
{
	read_conf(CONF, 0, folders);
	as_buf_adds(folders, "/lib/x86_64-linux-gnu\n/usr/lib/x86_64-linux-gnu\n"
			     "/lib64\n/usr/lib64\n/lib\n/usr/lib\n");
}

static bool try_folder(const char *folder, size_t folder_len, const char *origin, const char *lib,
		       struct as_buf *path)
{
	static const char *const origins[] = { "$ORIGIN", "${ORIGIN}" };
	const char *slash = strrchr(origin, '/');
	struct stat st;

	as_buf_clear(path);
	for (int i = 0; i < 2; i++) {
		size_t n = strlen(origins[i]);

		if (folder_len >= n && !strncmp(folder, origins[i], n)) {
			as_buf_add(path, origin, slash ? (size_t)(slash - origin) : 0);
			folder += n;
			folder_len -= n;
			break;
		}
	}
	as_buf_add(path, folder, folder_len);
	as_buf_addf(path, "/%s", lib);
	return !stat(as_buf_str(path), &st) && S_ISREG(st.st_mode) &&
	       !access(as_buf_str(path), R_OK);
}

int as_elf_find_lib(const char *lib, const char *rpath, const char *origin,
		    const struct as_buf *folders, struct as_buf *path, struct as_err *err)
{
	const char *lists[] = { rpath ? rpath : "", as_buf_str(folders) };

	if (strchr(lib, '/')) {
		as_buf_clear(path);
		as_buf_adds(path, lib);
		if (!access(lib, R_OK))
			return 0;
	}
	for (int i = 0; i < 2; i++)
		for (const char *s = lists[i]; *s; s += strcspn(s, ":\n"), s += *s != '\0')
			if (strcspn(s, ":\n") &&
			    try_folder(s, strcspn(s, ":\n"), origin, lib, path))
				return 0;
	return as_fail(err, AS_ELACK, "%s: the library %s is not on this machine", origin, lib);
}
