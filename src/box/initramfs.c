/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * initramfs: see initramfs.h.
 *
 * Method. The whole archive is built in memory at each start: 10 to 20 MB in a few milliseconds. So
 * it always holds the present version of our program, the libraries, the checkers and the modules,
 * and there is no file of it that could be damaged or replaced while a guest starts.
 *
 * All libraries are in /lib. The other folders in which a dynamic linker looks are links to it.
 */
#include "box/initramfs.h"

#include "box/cpio.h"
#include "box/kmodule.h"
#include "os/elf_needs.h"
#include "os/spawn.h"

#include <string.h>
#include <unistd.h>

#define FILE_MAX_BYTES ((size_t)256 << 20)

static const char *const folders[] = {
	"bin", "lib", "usr",  "dev", "proc", "sys",   "tmp",
	"run", "etc", "root", "mnt", "work", "share", &AS_GUEST_MODULES[1],
	NULL
};

static const struct {
	const char *name, *to;
} links[] = {
	{ "init", AS_GUEST_PROGRAM }, { "sbin", "bin" },
	{ "lib64", "lib" },	      { "usr/bin", "../bin" },
	{ "usr/sbin", "../bin" },     { "usr/lib", "../lib" },
	{ "usr/lib64", "../lib" },    { "etc/mtab", "/proc/mounts" },
};

/* Settings that change what the programs do. */
static const char *const settings[] = { "/etc/mke2fs.conf", NULL };

struct build {
	struct as_cpio cpio;
	struct as_buf lib_folders;
	struct as_buf done; /* names in the guest, one a line */
};

static bool mark(struct build *b, const char *name)
{
	struct as_buf line = { 0 };
	bool is_new;

	as_buf_addf(&line, "\n%s\n", name);
	is_new = !b->done.len || !strstr(as_buf_str(&b->done), as_buf_str(&line));
	if (is_new)
		as_buf_adds(&b->done, as_buf_str(&line));
	as_buf_free(&line);
	return is_new;
}

/* Puts an ELF file there with all it needs. */
static int add_elf(struct build *b, const char *path, const char *guest, struct as_err *err)
{
	struct as_elf_needs needs = { 0 };
	struct as_buf file = { 0 }, lib = { 0 }, name = { 0 };
	int rc;

	if (!mark(b, guest))
		return 0;
	rc = as_buf_read_file(&file, path, FILE_MAX_BYTES, err);
	if (!rc)
		rc = as_elf_needs(file.data, file.len, path, &needs, err);
	if (!rc)
		as_cpio_file(&b->cpio, guest, 0755, file.data, file.len);
	for (size_t i = 0; i <= needs.n_libs && !rc; i++) {
		const char *want = i < needs.n_libs ? needs.libs[i] : needs.interp;
		const char *slash = want ? strrchr(want, '/') : NULL;

		if (!want)
			break;
		rc = as_elf_find_lib(want, needs.rpath, path, &b->lib_folders, &lib, err);
		as_buf_clear(&name);
		as_buf_addf(&name, "lib/%s", slash ? slash + 1 : want);
		if (!rc)
			rc = add_elf(b, as_buf_str(&lib), as_buf_str(&name), err);
	}
	as_elf_needs_free(&needs);
	as_buf_free(&file);
	as_buf_free(&lib);
	as_buf_free(&name);
	return rc;
}

static int add_program(struct build *b, const char *program, bool optional, struct as_err *err)
{
	const char *slash = strrchr(program, '/');
	struct as_buf guest = { 0 };
	char path[4096];
	int rc;

	if (!as_spawn_which(program, path, sizeof(path)))
		return optional ? 0
				: as_fail(err, AS_ELACK, "%s: no such program on this machine",
					  program);
	as_buf_addf(&guest, "bin/%s", slash ? slash + 1 : program);
	rc = add_elf(b, path, as_buf_str(&guest), err);
	/* Some "programs" are shell scripts, and a guest has no shell. */
	if (rc == AS_EUSE && optional)
		rc = 0;
	as_buf_free(&guest);
	return rc;
}

static int add_modules(struct build *b, const struct as_initramfs *what, struct as_err *err)
{
	struct as_buf order = { 0 }, path = { 0 }, guest = { 0 }, list = { 0 };
	int rc = as_kmodule_order(what->modules_folder, what->modules, &order, err);
	const char *s = as_buf_str(&order);

	while (*s && !rc) {
		size_t len = strcspn(s, "\n");
		struct as_buf file = { 0 };
		const char *base;

		as_buf_clear(&path);
		as_buf_clear(&guest);
		as_buf_addf(&path, "%s/%.*s", what->modules_folder, (int)len, s);
		base = strrchr(as_buf_str(&path), '/') + 1;
		as_buf_addf(&guest, "%s/%s", &AS_GUEST_MODULES[1], base);
		rc = as_buf_read_file(&file, as_buf_str(&path), FILE_MAX_BYTES, err);
		if (!rc)
			as_cpio_file(&b->cpio, as_buf_str(&guest), 0644, file.data, file.len);
		as_buf_addf(&list, "%s\n", base);
		as_buf_free(&file);
		s += len + 1;
	}
	as_cpio_file(&b->cpio, &AS_GUEST_MODULES "/order"[1], 0644, as_buf_str(&list), list.len);
	as_buf_free(&order);
	as_buf_free(&path);
	as_buf_free(&guest);
	as_buf_free(&list);
	return rc;
}

static void add_file(struct build *b, const struct as_initramfs_file *file)
{
	struct as_buf folder = { 0 };

	for (const char *s = file->to; (s = strchr(s, '/')); s++) {
		as_buf_clear(&folder);
		as_buf_add(&folder, file->to, (size_t)(s - file->to));
		if (mark(b, as_buf_str(&folder)))
			as_cpio_folder(&b->cpio, as_buf_str(&folder), 0700);
	}
	as_cpio_file(&b->cpio, file->to, 0600, file->data, file->len);
	as_buf_free(&folder);
}

static void add_bones(struct build *b)
{
	for (int i = 0; folders[i]; i++)
		as_cpio_folder(&b->cpio, folders[i], 0755);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		as_cpio_link(&b->cpio, links[i].name, links[i].to);
	/* The kernel opens the console before /init can mount a devtmpfs. */
	as_cpio_char_device(&b->cpio, "dev/console", 0600, 5, 1);
	as_cpio_char_device(&b->cpio, "dev/null", 0666, 1, 3);
	for (int i = 0; settings[i]; i++) {
		struct as_buf text = { 0 };

		if (!as_buf_read_file(&text, settings[i], FILE_MAX_BYTES, NULL))
			as_cpio_file(&b->cpio, settings[i] + 1, 0644, as_buf_str(&text), text.len);
		as_buf_free(&text);
	}
}

int as_initramfs_build(const struct as_initramfs *what, struct as_buf *archive, struct as_err *err)
{
	struct build b = { 0 };
	int rc;

	as_elf_lib_folders(&b.lib_folders);
	add_bones(&b);
	rc = add_elf(&b, what->self, &AS_GUEST_PROGRAM[1], err);
	for (int i = 0; what->programs && what->programs[i] && !rc; i++)
		rc = add_program(&b, what->programs[i], false, err);
	for (int i = 0; what->optional && what->optional[i] && !rc; i++)
		rc = add_program(&b, what->optional[i], true, err);
	for (int i = 0; what->files && what->files[i].to && !rc; i++)
		add_file(&b, &what->files[i]);
	if (!rc && what->modules_folder && what->modules)
		rc = add_modules(&b, what, err);
	as_cpio_finish(&b.cpio);
	as_buf_free(&b.lib_folders);
	as_buf_free(&b.done);
	if (rc)
		as_buf_free(&b.cpio.out);
	else
		*archive = b.cpio.out;
	return rc;
}
