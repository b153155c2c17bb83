/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boxes: see boxes.h. What a box has to bring along is said by the row of the file system type. */
#include "cli/boxes.h"

#include "crash/boxed.h"
#include "target/cache.h"
#include "target/fresh.h"
#include "target/fstype.h"
#include "target/medium.h"
#include "target/target.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 512

const struct as_fstype *as_cli_fstype(const char *spec)
{
	char name[64];
	size_t len = strcspn(spec, ":");

	if (len >= sizeof(name))
		return NULL;
	memcpy(name, spec, len);
	name[len] = '\0';
	return as_fstype_find(name);
}

bool as_cli_wants_box(const struct as_args *args, const char *spec)
{
	const char *asked = as_args_text(args, "sandbox", NULL);

	const struct as_fstype *type = as_cli_fstype(spec);

	/* A server that dies takes no kernel with it. */
	return asked ? !strcmp(asked, "uml") : type && !type->server;
}

static int read_core(const char *text, int *core, struct as_err *err)
{
	char *end;
	unsigned long n;

	*core = AS_CORE_HERE;
	if (!text)
		return 0;
	if (!strcmp(text, "any")) {
		*core = AS_CORE_ANY;
		return 0;
	}
	n = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || *end || n > 65535)
		return as_fail(err, AS_EUSE, "--uml-core: '%s' is not the number of a core", text);
	*core = (int)n;
	return 0;
}

static int read_options(const struct as_args *args, struct as_box_options *o, struct as_err *err)
{
	o->kernel = as_args_text(args, "uml", NULL);
	o->mem_bytes = as_args_number(args, "uml-mem", 0);
	return read_core(as_args_text(args, "uml-core", NULL), &o->core, err);
}

int as_cli_check_box(const struct as_args *args, const char *spec, struct as_err *err)
{
	static const char *const only[] = { "uml", "uml-mem", "uml-core" };
	const char *asked = as_args_text(args, "sandbox", NULL);
	struct as_box_options o = { 0 };
	const struct as_fstype *type = as_cli_fstype(spec);
	int rc;

	if (as_cli_wants_box(args, spec)) {
		if ((type && type->server) || !strncmp(spec, "fuse:", 5))
			return as_fail(err, AS_EUSE,
				       "target %s: a FUSE server is a process of its own and runs "
				       "here: leave out --sandbox uml",
				       spec);
		if (!strncmp(spec, "plugin:", 7))
			return as_fail(
				err, AS_EUSE,
				"target %s: a plugin has a process of its own and no use for a "
				"kernel's sandbox",
				spec);
		rc = read_options(args, &o, err);
		return rc ? rc : as_sandbox_uml.ready(&o, err);
	}
	for (size_t i = 0; i < sizeof(only) / sizeof(only[0]); i++)
		if (as_args_has(args, only[i]))
			return as_fail(err, AS_EUSE, "--%s is of use with --sandbox uml only",
				       only[i]);
	return asked && as_cli_fstype(spec) ? as_sandbox_host.ready(&o, err) : 0;
}

/* ---- What it brings along -------------------------------------------------------------------- */

static const char *keep(struct as_cli_box *box, const char *text, size_t len)
{
	char *word = as_xstrndup(text, len);

	as_assert(box->n_words < WORDS_MAX);
	return box->words[box->n_words++] = word;
}

static void add(struct as_cli_box *box, const char **list, const char *text)
{
	size_t n = 0, len = strcspn(text, " ");

	for (; list[n]; n++)
		if (strlen(list[n]) == len && !strncmp(list[n], text, len))
			return;
	list[n] = keep(box, text, len);
}

static void bring(struct as_cli_box *box, const struct as_fstype *type)
{
	add(box, box->modules, "fuse");
	add(box, box->modules, "loop");
	for (const char *s = type->modules ? type->modules : ""; *s; s += strspn(s, " ")) {
		add(box, box->modules, s);
		s += strcspn(s, " ");
	}
	if (type->mkfs)
		add(box, box->programs, type->mkfs);
	for (int i = 0; i < AS_CHECK_MODES; i++)
		if (type->check[i].command)
			add(box, box->optional, type->check[i].command);
}

/* Makes the disk out here, once for all guests; they find it where they keep theirs. */
static int make_fresh(const struct as_fstype *type, const char *spec, uint64_t size_bytes,
		      struct as_cli_box *box, struct as_medium **fresh, struct as_err *err)
{
	struct as_buf folder = { 0 }, path = { 0 }, to = { 0 }, image = { 0 }, why = { 0 };
	struct as_target *target = NULL;
	struct as_medium *medium = NULL;
	int rc = as_target_open(spec, &target, err);

	if (!rc)
		rc = as_target_disk_bytes(target, size_bytes, &size_bytes, err);
	if (!rc)
		rc = as_cache_folder("images", &folder, err);
	if (!rc && as_cache_refused(&why))
		fprintf(stderr, "assay: %s: the cache is in %s instead\n", as_buf_str(&why),
			as_buf_str(&folder));
	if (!rc)
		rc = as_medium_new(size_bytes, &medium, err);
	if (!rc)
		rc = as_fresh_disk(type, as_buf_str(&folder), medium, NULL, err);
	if (!rc)
		rc = as_fresh_path(type, as_buf_str(&folder), size_bytes, &path, err);
	/* From memory, not from the cache: nobody can have changed it meanwhile. */
	if (!rc)
		rc = as_medium_encode(medium, &image, err);
	if (!rc) {
		as_buf_addf(&to, "var/tmp/assay-0/images%s", strrchr(as_buf_str(&path), '/'));
		as_assert(box->n_files < AS_CLI_BOX_TARGETS);
		box->images[box->n_files] = image;
		box->files[box->n_files++] =
			(struct as_initramfs_file){ keep(box, as_buf_str(&to), to.len), image.data,
						    image.len };
		box->boxed.box.files = box->files;
	} else {
		as_buf_free(&image);
	}
	*fresh = medium;
	as_target_free(target);
	as_buf_free(&folder);
	as_buf_free(&path);
	as_buf_free(&to);
	as_buf_free(&why);
	return rc;
}

int as_cli_box_open(const struct as_args *args, const char *spec, uint64_t size_bytes,
		    struct as_cli_box *box, struct as_err *err)
{
	const struct as_fstype *type = as_cli_fstype(spec);
	struct as_buf why = { 0 };
	int rc = 0;

	*box = (struct as_cli_box){
		.boxed = { .sandbox = &as_sandbox_uml, .target = spec, .where = as_crash_where }
	};
	box->words = as_xcalloc(WORDS_MAX, sizeof(*box->words));
	box->programs = as_xcalloc(WORDS_MAX, sizeof(*box->programs));
	box->optional = as_xcalloc(WORDS_MAX, sizeof(*box->optional));
	box->modules = as_xcalloc(WORDS_MAX, sizeof(*box->modules));
	if (type && as_fstype_lacks_tools(type, &why))
		rc = as_fail(err, AS_ELACK, "target %s: %s", spec, as_buf_str(&why));
	if (!rc)
		rc = read_options(args, &box->boxed.box, err);
	if (type && !rc)
		rc = make_fresh(type, spec, size_bytes, box, &box->fresh, err);
	box->boxed.fresh = box->fresh;
	if (type)
		bring(box, type);
	box->boxed.box.programs = box->programs;
	box->boxed.box.optional = box->optional;
	box->boxed.box.modules = box->modules;
	as_buf_free(&why);
	if (rc)
		as_cli_box_close(box);
	return rc;
}

int as_cli_box_add(struct as_cli_box *box, const char *spec, uint64_t size_bytes,
		   struct as_err *err)
{
	const struct as_fstype *type = as_cli_fstype(spec);
	struct as_medium *fresh = NULL;
	struct as_buf why = { 0 };
	int rc = 0;

	if (type && as_fstype_lacks_tools(type, &why))
		rc = as_fail(err, AS_ELACK, "target %s: %s", spec, as_buf_str(&why));
	if (type && !rc)
		rc = make_fresh(type, spec, size_bytes, box, &fresh, err);
	if (type)
		bring(box, type);
	/* A box that dies leaves one disk behind: whose, it cannot say. */
	as_medium_free(box->fresh);
	box->fresh = box->boxed.fresh = NULL;
	as_medium_free(fresh);
	as_buf_free(&why);
	return rc;
}

void as_cli_box_close(struct as_cli_box *box)
{
	for (size_t i = 0; i < box->n_words; i++)
		free(box->words[i]);
	free(box->words);
	for (size_t i = 0; i < box->n_files; i++)
		as_buf_free(&box->images[i]);
	as_medium_free(box->fresh);
	free((void *)box->programs);
	free((void *)box->optional);
	free((void *)box->modules);
	*box = (struct as_cli_box){ 0 };
}
