/* SPDX-License-Identifier: GPL-2.0-or-later */
/* target: the table of ways to name a target, and what they have in common. */
#include "target/target.h"

#include "disk/flash_wear.h"
#include "host/usage.h"
#include "target/facts.h"
#include "target/kinds_priv.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SECTOR_BYTES 512u
#define SECTOR_KERNEL_BYTES 4096u
#define SMALL_BYTES ((uint64_t)1 << 20)
#define SIZE_MAX_BYTES (UINT64_C(1) << 40)

/* A kind of target is one row. */
static const struct as_target_kind kinds[] = {
	{ "lab", "lab[:OPTIONS]", "labfs, linked in; OPTIONS such as bug=3 break it on purpose",
	  NULL, as_target_open_lab, NULL },
	{ "plugin", "plugin:PATH.so[:OPTIONS]", "a library file system in a shared object",
	  "load and run the plugin", as_target_open_plugin, NULL },
	{ "dir", "dir:PATH", "a directory of a file system that is mounted already",
	  "make and remove files in the directory", as_target_open_dir, NULL },
	{ "fuse", "fuse:COMMAND", "a FUSE server in the foreground, with {mnt} and {disk} or {src}",
	  "start the command", as_target_open_fuse, as_target_fuse_lacks },
};

#define NKINDS (sizeof(kinds) / sizeof(kinds[0]))

const struct as_target_kind *as_target_kind(unsigned i)
{
	return i < NKINDS ? &kinds[i] : NULL;
}

static int unknown(const char *spec, struct as_err *err)
{
	struct as_buf known = { 0 };
	int rc;

	for (size_t i = 0; i < NKINDS; i++)
		as_buf_addf(&known, "%s%s", i ? ", " : "", kinds[i].usage);
	for (unsigned i = 0; as_fstype_at(i); i++)
		as_buf_addf(&known, ", %s", as_fstype_at(i)->name);
	rc = as_fail(err, AS_EUSE, "unknown target '%s'; known are %s", spec, as_buf_str(&known));
	as_buf_free(&known);
	return rc;
}

static int open_fstype(struct as_target *t, const struct as_fstype *type, const char *rest,
		       struct as_err *err)
{
	struct as_buf command = { 0 };
	char *names = NULL;
	int rc;

	if (type->impossible)
		return as_fail(err, AS_ELACK, "target %s: %s", type->name, type->impossible);
	rc = as_variants_split(rest, &names, &t->opts, err);
	if (!rc && names)
		rc = as_variants_parse(type, names, &t->variants, err);
	t->fstype = type;
	if (!rc && names) {
		t->own = as_variants_apply(&t->variants, type, &command);
		t->commands = command.data;
		t->row = type;
		t->fstype = &t->own;
	}
	t->name = as_xstrdup(type->name);
	t->block_bytes = t->fstype->block_bytes;
	free(names);
	return rc;
}

/* Opens a target that has a row in one of the two tables. */
static int open_row(struct as_target *t, const char *name, const char *rest, struct as_err *err)
{
	const struct as_fstype *type = as_fstype_find(name);

	for (size_t i = 0; i < NKINDS; i++)
		if (!strcmp(kinds[i].name, name)) {
			t->kind = &kinds[i];
			return kinds[i].open(t, rest, err);
		}
	return type ? open_fstype(t, type, rest, err) : unknown(t->spec, err);
}

int as_target_open_type(const struct as_fstype *type, const char *opts, struct as_target **out,
			struct as_err *err)
{
	struct as_target *t = as_xcalloc(1, sizeof(*t));
	int rc = open_fstype(t, type, opts, err);

	t->spec = as_xstrdup(type->name);
	if (rc) {
		as_target_free(t);
		t = NULL;
	}
	*out = t;
	return rc;
}

int as_target_open(const char *spec, struct as_target **out, struct as_err *err)
{
	size_t len = strcspn(spec, ":");
	struct as_target *t = as_xcalloc(1, sizeof(*t));
	char *name = as_xstrdup(spec);
	int rc;

	name[len] = '\0';
	t->spec = as_xstrdup(spec);
	rc = open_row(t, name, spec[len] ? spec + len + 1 : "", err);
	free(name);
	if (!rc && as_target_library(t))
		t->usage = as_usage_new();
	if (!rc && t->flash.show)
		t->wear = as_wear_new();
	if (rc) {
		as_target_free(t);
		t = NULL;
	}
	*out = t;
	return rc;
}

void as_target_free(struct as_target *t)
{
	if (!t)
		return;
	as_plugin_free(t->plugin);
	as_usage_free(t->usage);
	as_wear_free(t->wear);
	free(t->spec);
	free(t->name);
	free(t->opts);
	free(t->dir);
	free(t->commands);
	free(t);
}

struct as_usage *as_target_usage(const struct as_target *t)
{
	return t->usage;
}

struct as_wear *as_target_wear(const struct as_target *t)
{
	return t->wear;
}

void as_target_set_trail(struct as_target *t, struct as_trail *trail)
{
	t->trail = trail;
}

struct as_trail *as_target_trail(const struct as_target *t)
{
	return t->trail;
}

const char *as_target_spec(const struct as_target *t)
{
	return t->spec;
}

const char *as_target_name(const struct as_target *t)
{
	return t->name;
}

const char *as_target_opts(const struct as_target *t)
{
	return t->opts ? t->opts : "";
}

const struct as_target_ops *as_target_library(const struct as_target *t)
{
	return t->plugin ? as_plugin_ops(t->plugin) : t->ops;
}

bool as_target_is_foreign(const struct as_target *t)
{
	return t->plugin;
}

struct as_target_place as_target_place(const struct as_target *t)
{
	return t->place;
}

const char *as_target_dir(const struct as_target *t)
{
	return t->dir;
}

const struct as_fstype *as_target_fstype(const struct as_target *t)
{
	return t->fstype;
}

const struct as_fstype *as_target_row(const struct as_target *t)
{
	return t->row ? t->row : t->fstype;
}

struct as_variants as_target_variants(const struct as_target *t)
{
	return t->variants;
}

struct as_limits as_target_limits(const struct as_target *t)
{
	return t->limits;
}

uint32_t as_target_block_bytes(const struct as_target *t)
{
	return t->block_bytes;
}

int as_target_disk_bytes(const struct as_target *t, uint64_t asked, uint64_t *size_bytes,
			 struct as_err *err)
{
	const struct as_target_ops *ops = as_target_library(t);
	uint64_t min = ops ? ops->min_bytes : t->fstype->min_bytes;
	uint64_t size = ops ? ops->default_bytes : t->fstype->default_bytes;

	if (asked)
		size = asked;
	if (size < min)
		return as_fail(err, AS_EUSE,
			       "target %s: a disk of %llu bytes is too small, it needs %llu",
			       t->spec, (unsigned long long)size, (unsigned long long)min);
	if (!size || size % SECTOR_BYTES || size > SIZE_MAX_BYTES)
		return as_fail(
			err, AS_EUSE,
			"target %s: a disk of %llu bytes is not a multiple of %u up to 1 TiB",
			t->spec, (unsigned long long)size, SECTOR_BYTES);
	*size_bytes = size;
	return as_target_flash(t) ? as_flash_setup_vet(&t->flash, size, err) : 0;
}

uint64_t as_target_small_bytes(const struct as_target *t)
{
	const struct as_target_ops *ops = as_target_library(t);
	uint64_t bytes;

	if (!ops)
		return t->fstype ? t->fstype->min_bytes : 0;
	if (as_target_flash(t))
		return ops->default_bytes;
	bytes = ops->min_bytes * 4 > SMALL_BYTES ? ops->min_bytes * 4 : SMALL_BYTES;
	return bytes < ops->default_bytes ? bytes : ops->default_bytes;
}

uint64_t as_target_full_bytes(const struct as_target *t)
{
	const struct as_target_ops *ops = as_target_library(t);

	/* The least size of a plugin may leave hardly any room. */
	if (!ops || t->plugin || ops->min_bytes * 2 >= ops->default_bytes)
		return 0;
	return ops->min_bytes * 2;
}

/* File systems of the kernel are made for the disks of today: ext4, for example, relies on its
 * superblock of 1 KiB to be written as a whole. */
uint32_t as_target_sector_bytes(const struct as_target *t)
{
	return t->fstype ? SECTOR_KERNEL_BYTES : SECTOR_BYTES;
}

/* ---- The operations table -------------------------------------------------------------------- */

#define REQUIRED(fn)
#define NEEDS(flag, fn)
#define CAP(flag, name) name,
static const char *const cap_names[] = {
#include "target/seam.def"
};
#undef REQUIRED
#undef NEEDS
#undef CAP

/* The functions that a table must have. */
#define FN(fn, cap, claim) { offsetof(struct as_target_ops, fn), cap, #fn, claim },
#define REQUIRED(fn) FN(fn, 0, NULL)
#define NEEDS(flag, fn) FN(fn, AS_CAP_##flag, "AS_CAP_" #flag)
#define CAP(flag, name)
static const struct {
	size_t offset;
	uint32_t cap; /* the capability that needs it; 0: it is always needed */
	const char *name, *claim;
} functions[] = {
#include "target/seam.def"
};
#undef FN
#undef REQUIRED
#undef NEEDS
#undef CAP

const char *as_target_cap_name(unsigned i)
{
	return i < sizeof(cap_names) / sizeof(cap_names[0]) ? cap_names[i] : NULL;
}

static bool has_function(const struct as_target_ops *ops, size_t offset)
{
	void (*function)(void);

	memcpy(&function, (const char *)ops + offset, sizeof(function));
	return function;
}

bool as_target_knows(uint32_t api)
{
	return api >= 1 && api <= AS_TARGET_API;
}

/* What a newer header may have, or what contradicts itself. */
static int vet_contract(const struct as_target_ops *ops, const char *who, struct as_err *err)
{
	const struct as_contract *c = ops->contract;
	const uint32_t all = (AS_PROMISE_MAKES_FOUND << 1) - 1;
	const uint32_t means = (AS_MEANS_FLAT << 1) - 1;

	if (!c)
		return 0;
	if ((unsigned)c->after_cut > AS_CUT_REPAIR || c->promises & ~all || c->semantics & ~means)
		return as_fail(err, AS_EUSE,
			       "%s: its contract has what this assay does not know (%u, 0x%x, "
			       "0x%x)",
			       who, (unsigned)c->after_cut, c->promises, c->semantics);
	if (c->busy_errno < 0 || c->busy_errno > 4095)
		return as_fail(err, AS_EUSE,
			       "%s: busy_errno of its contract is %d: a positive errno, or 0", who,
			       c->busy_errno);
	if (c->semantics & (AS_MEANS_NLINK_ANY | AS_MEANS_INO_ANY) && ops->caps & AS_CAP_HARDLINK)
		return as_fail(err, AS_EUSE,
			       "%s: claims AS_CAP_HARDLINK, but link counts or inode numbers say "
			       "nothing: hard links could not be told from files",
			       who);
	return 0;
}

int as_target_vet(const struct as_target_ops *ops, const char *who, struct as_err *err)
{
	if (!as_target_knows(ops->api))
		return as_fail(
			err, AS_EUSE,
			"%s: built for version %u of the plugin interface, this assay has %u", who,
			ops->api, AS_TARGET_API);
	if (!ops->name || !*ops->name)
		return as_fail(err, AS_EUSE, "%s: its table has no name", who);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		uint32_t cap = functions[i].cap;

		if ((cap && !(ops->caps & cap)) || has_function(ops, functions[i].offset))
			continue;
		if (!cap)
			return as_fail(err, AS_EUSE, "%s: lacks the required function '%s'", who,
				       functions[i].name);
		return as_fail(err, AS_EUSE, "%s: claims %s but lacks the function '%s'", who,
			       functions[i].claim, functions[i].name);
	}
	if (ops->caps >> (sizeof(cap_names) / sizeof(cap_names[0])))
		return as_fail(err, AS_EUSE,
			       "%s: claims capabilities this assay does not know (0x%x)", who,
			       ops->caps);
	if (ops->api < AS_TARGET_CONTRACT)
		return 0;
	/* Otherwise it would get a block device, and nobody would know why. */
	if (ops->flash && !ops->flash->erase_bytes)
		return as_fail(err, AS_EUSE, "%s: its flash has erase blocks of 0 bytes", who);
	return vet_contract(ops, who, err);
}

struct as_contract as_target_contract_of(const struct as_target_ops *ops)
{
	if (ops->api >= AS_TARGET_CONTRACT && ops->contract)
		return *ops->contract;
	return (struct as_contract){ .after_cut = AS_CUT_PREFIX,
				     .promises = AS_PROMISE_FSYNC_NAMES | AS_PROMISE_FSYNC_TIMES |
						 AS_PROMISE_FSYNC_BLOCKS,
				     .semantics = AS_MEANS_FAILED_READ_ONLY };
}

size_t as_target_ops_bytes(uint32_t api)
{
	return api >= AS_TARGET_CONTRACT ? sizeof(struct as_target_ops)
					 : offsetof(struct as_target_ops, contract);
}

/* ---- @target --------------------------------------------------------------------------------- */

int as_target_parse_size(const char *text, uint64_t *size_bytes, struct as_err *err)
{
	static const char units[] = "KMGT";
	char *end;
	const char *unit;
	unsigned long long n;
	unsigned shift = 0;

	errno = 0;
	n = strtoull(text, &end, 10);
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit) {
		shift = 10 * (unsigned)(unit - units + 1);
		end++;
	}
	if (!isdigit((unsigned char)*text) || *end || errno || n << shift >> shift != n || !n)
		return as_fail(err, AS_EUSE, "'%s' is not a size: expected a number such as 16M",
			       text);
	*size_bytes = n << shift;
	return 0;
}

void as_target_join_opts(struct as_buf *spec, const char *opts)
{
	const char *text = as_buf_str(spec), *rest = text;
	bool has;

	/* The path of a plugin comes after a colon, too. */
	if (!strncmp(text, "plugin:", 7))
		rest += 7 + as_plugin_path_len(text + 7);
	has = strchr(rest, ':');
	as_buf_addf(spec, "%s%s", !*opts ? "" : has ? "," : ":", opts);
}

int as_target_parse_meta(const char *value, struct as_buf *spec, uint64_t *size_bytes,
			 struct as_err *err)
{
	char *copy = as_xstrdup(value), *save = NULL, *word;
	int rc = 0;

	as_buf_clear(spec);
	*size_bytes = 0;
	word = strtok_r(copy, " \t", &save);
	if (!word) {
		rc = as_fail(err, AS_EUSE, "@target names no target");
		goto out;
	}
	as_buf_adds(spec, word);
	while (!rc && (word = strtok_r(NULL, " \t", &save))) {
		if (!strncmp(word, "size=", 5))
			rc = as_target_parse_size(word + 5, size_bytes, err);
		else if (!strncmp(word, "opts=", 5))
			as_target_join_opts(spec, word + 5);
		else
			rc = as_fail(err, AS_EUSE, "@target: '%s' is neither size=N nor opts=TEXT",
				     word);
	}
out:
	free(copy);
	return rc;
}
