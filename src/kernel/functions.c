/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * functions: the functions that a kernel with kcov can tell of, as a text for cover/code.h: a line
 * for each, with its address, its size, its source file, its name.
 *
 * Method. Functions come from the kernel's table of symbols. Which of them are instrumented, and
 * which file they come from, say the object files below fs/ that it was linked from: one that needs
 * __sanitizer_cov_trace_pc, and defines a function of the same name and size. Of several, the one
 * that a function next to it comes from is taken, because the linker puts those of an object next
 * to each other. Code that only runs while the kernel starts is left out: no workload can reach it.
 *
 *  1. The kernel and its objects are files of a build, and may be anything: nothing outside of
 *     them is read.
 *  2. A kernel without instrumented objects has no functions file.
 *
 * How many places a function has is not known: the code calls the instrumentation through
 * registers.
 */
#include "base/array.h"
#include "kernel/kernel_priv.h"
#include "os/elf.h"
#include "os/out.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRACE "__sanitizer_cov_trace_pc"
#define DEPTH_MAX 8 /* folders below fs/ */
#define NEAR 64 /* functions around one */

struct function {
	const char *name; /* in the kernel */
	uint64_t at, size;
};

struct origin {
	char *name;
	uint64_t size;
	const char *file;
};

struct functions {
	struct as_elf kernel;
	struct function *all;
	size_t n, cap;
	uint32_t text; /* the section of its code; 0: there is none */
	struct origin *origins;
	size_t n_origins, cap_origins;
	char **files;
	size_t n_files, cap_files;
};

/* ---- Symbols --------------------------------------------------------------------------------- */

/* Calls fn for each symbol of the file. */
static void each_symbol(const struct as_elf *elf, void *ctx,
			void (*fn)(void *ctx, const char *name, const Elf64_Sym *sym))
{
	const Elf64_Shdr *table, *names;

	for (uint32_t i = 0; (table = as_elf_section(elf, i)); i++) {
		const Elf64_Sym *syms = as_elf_part(elf, table->sh_offset, table->sh_size);
		const char *text;

		names = as_elf_section(elf, table->sh_link);
		if (table->sh_type != SHT_SYMTAB || !names || !syms ||
		    table->sh_offset % _Alignof(Elf64_Sym))
			continue;
		text = as_elf_part(elf, names->sh_offset, names->sh_size);
		if (!text || !names->sh_size || text[names->sh_size - 1])
			continue;
		for (size_t k = 0; k < table->sh_size / sizeof(*syms); k++)
			if (syms[k].st_name < names->sh_size)
				fn(ctx, text + syms[k].st_name, &syms[k]);
	}
}

static bool is_function(const Elf64_Sym *sym)
{
	return ELF64_ST_TYPE(sym->st_info) == STT_FUNC && sym->st_shndx != SHN_UNDEF &&
	       sym->st_size;
}

/* The section called .text; 0: there is none. */
static uint32_t find_text(const struct as_elf *elf)
{
	const Elf64_Ehdr *head = as_elf_part(elf, 0, sizeof(*head));
	const Elf64_Shdr *names = head ? as_elf_section(elf, head->e_shstrndx) : NULL, *section;

	for (uint32_t i = 1; names && (section = as_elf_section(elf, i)); i++) {
		const char *name = as_elf_part(elf, names->sh_offset + section->sh_name, 6);

		if (name && !memcmp(name, ".text", 6))
			return i;
	}
	return 0;
}

static void take_function(void *ctx, const char *name, const Elf64_Sym *sym)
{
	struct functions *f = ctx;

	/* KASAN adds a constructor and a destructor to each object. */
	if (!is_function(sym) || sym->st_shndx != f->text || strpbrk(name, " \n") ||
	    !strncmp(name, "_sub_", 5))
		return;
	AS_ARRAY_ROOM(f->all, f->n, f->cap);
	f->all[f->n++] = (struct function){ name, sym->st_value, sym->st_size };
}

static int by_address(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : strcmp(x->name, y->name);
}

/* ---- Where they come from -------------------------------------------------------------------- */

static void look_for_trace(void *ctx, const char *name, const Elf64_Sym *sym)
{
	bool *needs = ctx;

	*needs = *needs || (sym->st_shndx == SHN_UNDEF && !strcmp(name, TRACE));
}

static void take_origin(void *ctx, const char *name, const Elf64_Sym *sym)
{
	struct functions *f = ctx;

	if (!is_function(sym))
		return;
	AS_ARRAY_ROOM(f->origins, f->n_origins, f->cap_origins);
	f->origins[f->n_origins++] =
		(struct origin){ as_xstrdup(name), sym->st_size, f->files[f->n_files - 1] };
}

/* An object of one source file; "fs/ext4/inode.o" is of "fs/ext4/inode.c". */
static void take_object(struct functions *f, const struct as_kernel_job *job, const char *path)
{
	struct as_buf source = { 0 }, object = { 0 }, file = { 0 };
	struct as_elf elf;
	bool needs = false;

	as_buf_addf(&file, "%.*sc", (int)strlen(path) - 1, path);
	as_buf_addf(&source, "%s/%s", as_buf_str(&job->src), as_buf_str(&file));
	as_buf_addf(&object, "%s/%s", as_buf_str(&job->obj), path);
	if (!access(as_buf_str(&source), F_OK) && as_elf_open(as_buf_str(&object), &elf)) {
		each_symbol(&elf, &needs, look_for_trace);
		AS_ARRAY_ROOM(f->files, f->n_files, f->cap_files);
		f->files[f->n_files++] = as_xstrdup(as_buf_str(&file));
		if (needs)
			each_symbol(&elf, f, take_origin);
		as_elf_close(&elf);
	}
	as_buf_free(&source);
	as_buf_free(&object);
	as_buf_free(&file);
}

static void walk(struct functions *f, const struct as_kernel_job *job, const char *below,
		 unsigned depth)
{
	struct as_buf path = { 0 };
	const struct dirent *entry;
	DIR *dir;

	as_buf_addf(&path, "%s/%s", as_buf_str(&job->obj), below);
	dir = opendir(as_buf_str(&path));
	while (dir && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);

		if (entry->d_name[0] == '.' || strpbrk(entry->d_name, " \n"))
			continue;
		as_buf_clear(&path);
		as_buf_addf(&path, "%s/%s", below, entry->d_name);
		if (entry->d_type == DT_DIR && depth < DEPTH_MAX)
			walk(f, job, as_buf_str(&path), depth + 1);
		else if (len > 2 && !strcmp(entry->d_name + len - 2, ".o"))
			take_object(f, job, as_buf_str(&path));
	}
	if (dir)
		closedir(dir);
	as_buf_free(&path);
}

static int by_name(const void *a, const void *b)
{
	const struct origin *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->file, y->file);
}

/* Whether an object of this file has the function; file NULL: of any. *only: the file, if there is
 * no other. */
static bool comes_from(const struct functions *f, const struct function *function, const char *file,
		       const char **only)
{
	size_t low = 0, high = f->n_origins;
	bool found = false;
	unsigned n = 0;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(f->origins[mid].name, function->name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*only = NULL;
	for (; low < f->n_origins && !strcmp(f->origins[low].name, function->name); low++) {
		const struct origin *o = &f->origins[low];

		if (o->size != function->size)
			continue;
		found = found || !file || o->file == file;
		*only = n++ && *only != o->file ? NULL : o->file;
	}
	return found;
}

/* Of a function that several files have, the file is that of the next one around it that only one
 * of these has. */
static const char *origin_of(const struct functions *f, size_t i)
{
	const char *only, *near;

	if (!comes_from(f, &f->all[i], NULL, &only) || only)
		return only;
	for (size_t d = 1; d < NEAR; d++)
		for (unsigned side = 0; side < 2; side++) {
			size_t k = side ? i + d : i - d;

			if (k < f->n && comes_from(f, &f->all[k], NULL, &near) && near &&
			    comes_from(f, &f->all[i], near, &only))
				return near;
		}
	return "?";
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void print(const struct functions *f, struct as_buf *out)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct function *function = &f->all[i];
		const char *file;

		/* Of two names of one place, the first is taken. */
		if (i && function->at == function[-1].at)
			continue;
		file = origin_of(f, i);
		if (file)
			as_buf_addf(out, "%llx %llu %s %s\n", (unsigned long long)function->at,
				    (unsigned long long)function->size, file, function->name);
	}
}

static void free_functions(struct functions *f)
{
	for (size_t i = 0; i < f->n_origins; i++)
		free(f->origins[i].name);
	for (size_t i = 0; i < f->n_files; i++)
		free(f->files[i]);
	free(f->origins);
	free(f->files);
	free(f->all);
	as_elf_close(&f->kernel);
}

void as_kernel_functions(const struct as_kernel_job *job, struct as_buf *out)
{
	struct functions f = { .n = 0 };
	struct as_buf path = { 0 };

	as_buf_addf(&path, "%s/linux", as_buf_str(&job->obj));
	if (as_elf_open(as_buf_str(&path), &f.kernel)) {
		f.text = find_text(&f.kernel);
		each_symbol(&f.kernel, &f, take_function);
	}
	if (f.n)
		qsort(f.all, f.n, sizeof(*f.all), by_address);
	walk(&f, job, "fs", 0);
	if (f.n_origins)
		qsort(f.origins, f.n_origins, sizeof(*f.origins), by_name);
	print(&f, out);
	as_buf_free(&path);
	free_functions(&f);
}
