/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recipe: see recipe.h. A finding may come from somebody else, so that its mount options are quoted
 * for a shell, and control characters are shown. */
#include "report/recipe.h"

#include "base/show.h"
#include "os/spawn.h"
#include "report/page.h"
#include "target/variant.h"

#include <stdlib.h>
#include <string.h>

#define VERSION_DEADLINE_MS 3000
#define VERSION_COLUMNS 100
#define MARGIN "    "

void as_recipe_open(const char *target, struct as_recipe *recipe)
{
	const char *colon = strchr(target, ':');
	char *name = as_xstrndup(target, strcspn(target, ":")), *names = NULL;
	struct as_variants variants = { 0 };

	*recipe = (struct as_recipe){ .type = as_fstype_find(name) };
	if (recipe->type && as_variants_split(colon ? colon + 1 : "", &names, &recipe->mount, NULL))
		recipe->type = NULL;
	if (recipe->type && names && as_variants_parse(recipe->type, names, &variants, NULL))
		recipe->type = NULL;
	if (recipe->type && names) {
		recipe->own = as_variants_apply(&variants, recipe->type, &recipe->commands);
		recipe->type = &recipe->own;
	}
	free(name);
	free(names);
}

void as_recipe_close(struct as_recipe *recipe)
{
	as_buf_free(&recipe->commands);
	free(recipe->mount);
	*recipe = (struct as_recipe){ 0 };
}

/* The first line that is not empty. */
static void first_line(const char *text, struct as_buf *out)
{
	size_t len;

	text += strspn(text, " \t\r\n");
	len = strcspn(text, "\r\n");
	as_shown(out, text, len < VERSION_COLUMNS ? len : VERSION_COLUMNS);
}

void as_recipe_version(const struct as_recipe *recipe, struct as_buf *out)
{
	char *program, *argv[3], dash_v[] = "-V";
	struct as_buf said = { 0 };
	struct as_ended ended;
	struct as_spawn spawn = { .argv = argv,
				  .deadline_ms = VERSION_DEADLINE_MS,
				  .output = &said };

	if (!recipe->type || !recipe->type->mkfs)
		return;
	program = as_xstrndup(recipe->type->mkfs, strcspn(recipe->type->mkfs, " "));
	argv[0] = program;
	argv[1] = dash_v;
	argv[2] = NULL;
	if (!as_spawn_run(&spawn, &ended, NULL) && ended.how == AS_END_EXIT && !ended.status &&
	    strpbrk(as_buf_str(&said), "0123456789"))
		first_line(as_buf_str(&said), out);
	as_buf_free(&said);
	free(program);
}

/* "size=1048576" among the options; else what the type says. */
static uint64_t size_of(const struct as_fstype *type, const char *options)
{
	const char *at = options;

	while (at && (at = strstr(at, "size="))) {
		if (at == options || at[-1] == ' ')
			return strtoull(at + 5, NULL, 10);
		at += 5;
	}
	return type->default_bytes;
}

static void put_command(const char *command, const char *env, uint64_t size, struct as_buf *out)
{
	struct as_fstype_disks disks = { .disk = "disk.img",
					 .journal = "journal.img",
					 .size_bytes = size };
	char **words = as_fstype_argv(command, &disks);

	as_buf_adds(out, MARGIN);
	if (env)
		as_buf_addf(out, "%s ", env);
	for (size_t i = 0; words[i]; i++)
		as_buf_addf(out, "%s%s", i ? " " : "", words[i]);
	as_buf_addc(out, '\n');
	as_fstype_free_words(words);
}

static void put_mount(const struct as_recipe *recipe, struct as_buf *out)
{
	const struct as_fstype *type = recipe->type;
	struct as_buf opts = { 0 }, word = { 0 };

	if (type->server) {
		as_buf_addf(out, MARGIN "%s\n", type->server);
		return;
	}
	if (type->over) {
		as_buf_addf(out, MARGIN "mkdir base\n" MARGIN "mount -t %s -o loop disk.img base\n",
			    type->over);
		as_buf_adds(out, MARGIN "mkdir -p base/upper base/work base/lower/low/d\n" MARGIN
					"touch base/lower/low/f base/lower/low/g "
					"base/lower/low/d/h\n");
		as_buf_adds(&opts, "lowerdir=base/lower,upperdir=base/upper,workdir=base/work");
	} else {
		as_buf_adds(&opts, "loop");
	}
	if (type->mount && *type->mount)
		as_buf_addf(&opts, ",%s", type->mount);
	if (recipe->mount && *recipe->mount)
		as_buf_addf(&opts, ",%s", recipe->mount);
	if (type->journal_bytes && type->journal_mount)
		as_buf_addf(&opts, ",%s", type->journal_mount);
	as_buf_add_word(&word, as_buf_str(&opts));
	as_buf_addf(out, MARGIN "mount -t %s -o ", type->type);
	as_show(out, as_buf_str(&word));
	as_buf_addf(out, " %s mnt\n", type->over ? "overlay" : "disk.img");
	if (type->journal_bytes && type->journal_mount)
		as_buf_adds(out, MARGIN "# {journal}, {number}: the loop device of journal.img\n");
	as_buf_free(&opts);
	as_buf_free(&word);
}

void as_recipe_commands(const struct as_recipe *recipe, const struct as_finding *f,
			struct as_buf *out)
{
	const struct as_fstype *type = recipe->type;
	uint64_t size = size_of(type, f->options);

	if (type->journal_bytes && size > type->journal_bytes) {
		size -= type->journal_bytes;
		as_buf_addf(out, MARGIN "truncate -s %llu journal.img\n",
			    (unsigned long long)type->journal_bytes);
	}
	as_buf_addf(out, MARGIN "truncate -s %llu disk.img\n", (unsigned long long)size);
	if (type->journal_bytes && type->journal_mkfs)
		put_command(type->journal_mkfs, type->env, size, out);
	if (type->mkfs)
		put_command(type->mkfs, type->env, size, out);
	as_buf_adds(out, MARGIN "mkdir mnt\n");
	put_mount(recipe, out);
}

void as_recipe_kept(const struct as_recipe *recipe, struct as_buf *out)
{
	const struct as_fstype *type = recipe->type;

	as_buf_adds(out, MARGIN "zstd -d disk.img.zst\n" MARGIN "mkdir mnt\n");
	put_mount(recipe, out);
	if (as_fstype_check(type, AS_CHECK_FULL)->command) {
		as_buf_adds(out, MARGIN "umount mnt\n");
		put_command(as_fstype_check(type, AS_CHECK_FULL)->command, NULL, 0, out);
	}
}

const char *as_recipe_words(const char *target)
{
	static const struct {
		const char *name, *words;
	} rows[] = {
		{ "lab", "labfs, a small journalling file system that comes with assay and has "
			 "seeded bugs; it is linked in as a library" },
		{ "plugin", "a library file system in a shared object" },
		{ "fuse", "a FUSE server, started by the command" },
		{ "dir", "a directory of a file system that was mounted already" },
	};
	size_t len = strcspn(target, ":");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strlen(rows[i].name) == len && !memcmp(rows[i].name, target, len))
			return rows[i].words;
	return "a file system";
}
