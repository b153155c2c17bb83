/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin: a file system in a shared object, which is somebody else's code and may be broken.
 *
 * Method. It is never loaded into the main process: as_target_open() loads it in a child, which
 * copies what there is to know of its table (name, capabilities, sizes, limits) into shared memory
 * and ends. The main process keeps that as a table without functions. Each child that calls the
 * functions loads it first, by as_target_load(), and then has the real table.
 *
 * Invariants:
 *   1. No code of a plugin, constructors included, runs in a process that has not been forked for
 *      it by as_guard_fork().
 *   2. A child that does not report that it has finished has failed, whatever its exit status is.
 *   3. A child has loaded the plugin that the main process knows: a plugin that was replaced
 *      meanwhile by one with another table is refused.
 */
#include "target/kinds_priv.h"

#include "base/hash.h"
#include "base/show.h"
#include "crew/ended.h"
#include "os/guard.h"
#include "os/sanitizer.h"
#include "os/shield.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOAD_SECONDS "10"
#define LOAD_DEADLINE_MS 10000
#define NAME_BYTES 64
#define FILE_MAX_BYTES ((size_t)1 << 30)
#define SAID_BYTES 200 /* how much of its output an error shows */
#define MEMORY_MAX_BYTES ((uint64_t)4 << 30) /* on top of what its process has at first */

/* What the main process is told of a table. */
struct card {
	bool done, remounts;
	int rc;
	struct as_err err;
	uint32_t api, caps;
	uint64_t min_bytes, default_bytes;
	struct as_limits limits;
	struct as_contract contract;
	struct as_flash_geometry flash; /* erase_bytes 0: none */
	char name[NAME_BYTES], version[NAME_BYTES];
};

struct as_plugin {
	char *path; /* as it is named, with a slash in it */
	struct card card;
	struct as_target_ops facts; /* the card as a table: all functions NULL */
	/* Of this process, as long as ours are, whatever the version; NULL: not loaded here. */
	struct as_target_ops *ops;
};

/* The path ends after the first ".so" that is followed by a colon or by the end of the text. So a
 * path may hold colons, and options may hold ".so". */
size_t as_plugin_path_len(const char *rest)
{
	for (const char *s = strstr(rest, ".so"); s; s = strstr(s + 1, ".so"))
		if (!s[3] || s[3] == ':')
			return (size_t)(s + 3 - rest);
	return strlen(rest);
}

const char *as_target_object(const char *spec, size_t *len)
{
	const char *path;

	if (strncmp(spec, "plugin:", strlen("plugin:")))
		return NULL;
	path = spec + strlen("plugin:");
	*len = as_plugin_path_len(path);
	return *len > 3 && !strncmp(path + *len - 3, ".so", 3) ? path : NULL;
}

/* ---- In the child ---------------------------------------------------------------------------- */

/* A sanitizer's shadow memory is larger than any limit. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BOUND_MEMORY 0
#elif defined(__has_feature)
#define BOUND_MEMORY (!__has_feature(address_sanitizer) && !__has_feature(memory_sanitizer))
#else
#define BOUND_MEMORY 1
#endif

/* Limits the memory that it gets from the system and not from the host. */
static void bound_memory(void)
{
	struct as_buf text = { 0 };
	struct rlimit as;
	uint64_t most;

	if (!BOUND_MEMORY || as_sanitizer_is() ||
	    as_buf_read_file(&text, "/proc/self/statm", 4096, NULL) || getrlimit(RLIMIT_AS, &as))
		goto out;
	most = strtoull(as_buf_str(&text), NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) +
	       MEMORY_MAX_BYTES;
	if (as.rlim_cur == RLIM_INFINITY || as.rlim_cur > most) {
		as.rlim_cur = most;
		setrlimit(RLIMIT_AS, &as);
	}
out:
	as_buf_free(&text);
}

/* The message of dlopen() without the path, which it repeats. */
static const char *why_not(const char *path)
{
	const char *why = dlerror();

	if (why && !strncmp(why, path, strlen(path)) && why[strlen(path)] == ':')
		why += strlen(path) + 2;
	return why ? why : "?";
}

/* `as_target` must be data, and large enough to be the table. */
static int vet_symbol(const char *path, const void *symbol, struct as_err *err)
{
	const ElfW(Sym) *entry = NULL;
	Dl_info info;
	uint32_t api;

	if (!symbol)
		return as_fail(
			err, AS_EUSE,
			"plugin %s: exports no symbol 'as_target' (a const struct as_target_ops)",
			path);
	if (!dladdr1(symbol, &info, (void **)&entry, RTLD_DL_SYMENT) || !entry ||
	    ELF64_ST_TYPE(entry->st_info) != STT_OBJECT)
		return as_fail(err, AS_EUSE,
			       "plugin %s: 'as_target' is not data: it must be a const struct "
			       "as_target_ops",
			       path);
	if ((uintptr_t)symbol % _Alignof(struct as_target_ops))
		return as_fail(err, AS_EUSE, "plugin %s: 'as_target' is not aligned", path);
	if (entry->st_size < sizeof(uint32_t))
		return as_fail(err, AS_EUSE,
			       "plugin %s: 'as_target' has %llu bytes: it is no table", path,
			       (unsigned long long)entry->st_size);
	api = *(const uint32_t *)symbol;
	/* A table of an unknown version may be shorter: as_target_vet() reports that. */
	if (as_target_knows(api) && entry->st_size < as_target_ops_bytes(api))
		return as_fail(err, AS_EUSE,
			       "plugin %s: 'as_target' has %llu bytes, a table of version %u has "
			       "%zu: was it built with another target.h?",
			       path, (unsigned long long)entry->st_size, api,
			       as_target_ops_bytes(api));
	return 0;
}

static int load(struct as_plugin *plugin, struct as_err *err)
{
	const char *path = plugin->path;
	struct as_buf who = { 0 };
	const void *symbol;
	void *dl;
	int rc;

	bound_memory();
	as_shield_ancestors();
	dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!dl)
		return as_fail(err, AS_EUSE, "plugin %s: cannot be loaded: %s", path,
			       why_not(path));
	symbol = dlsym(dl, "as_target");
	rc = vet_symbol(path, symbol, err);
	if (rc)
		return rc;
	as_buf_addf(&who, "plugin %s", path);
	rc = as_target_vet(symbol, as_buf_str(&who), err);
	as_buf_free(&who);
	if (!rc) {
		uint32_t api = *(const uint32_t *)symbol;

		plugin->ops = as_xcalloc(1, sizeof(*plugin->ops));
		memcpy(plugin->ops, symbol, as_target_ops_bytes(api));
	}
	return rc;
}

static void copy_text(char to[NAME_BYTES], const char *from)
{
	if (from)
		memcpy(to, from, strnlen(from, NAME_BYTES - 1));
}

static void fill(struct card *card, const struct as_target_ops *ops)
{
	card->api = ops->api;
	card->caps = ops->caps;
	card->min_bytes = ops->min_bytes;
	card->default_bytes = ops->default_bytes;
	copy_text(card->name, ops->name);
	copy_text(card->version, ops->version);
	if (ops->limits)
		card->limits = *ops->limits;
	card->remounts = ops->remount;
	card->contract = as_target_contract_of(ops);
	if (ops->flash)
		card->flash = *ops->flash;
}

struct probing {
	struct as_plugin plugin;
	struct card *card;
};

static int probe(void *ctx)
{
	static const int deadly[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP };
	struct rlimit none = { 0, 0 };
	struct probing *p = ctx;

	/* There is no core, and no sanitizer may turn the signal into an exit status. */
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		signal(deadly[i], SIG_DFL);
	setrlimit(RLIMIT_CORE, &none);
	p->card->rc = load(&p->plugin, &p->card->err);
	if (!p->card->rc)
		fill(p->card, p->plugin.ops);
	p->card->done = true;
	return 0;
}

static bool same_words(const struct card *a, const struct card *b)
{
	const struct as_contract *x = &a->contract, *y = &b->contract;
	const struct as_flash_geometry *f = &a->flash, *g = &b->flash;

	return x->after_cut == y->after_cut && x->promises == y->promises &&
	       x->semantics == y->semantics && x->busy_errno == y->busy_errno &&
	       f->erase_bytes == g->erase_bytes && f->program_bytes == g->program_bytes &&
	       f->read_bytes == g->read_bytes && f->erased == g->erased && f->flags == g->flags;
}

static bool same(const struct card *a, const struct card *b)
{
	const struct as_limits *x = &a->limits, *y = &b->limits;

	return a->api == b->api && a->caps == b->caps && a->min_bytes == b->min_bytes &&
	       a->default_bytes == b->default_bytes && !strcmp(a->name, b->name) &&
	       x->name_max == y->name_max && x->link_max == y->link_max &&
	       x->dir_link_max == y->dir_link_max && x->symlink_max == y->symlink_max &&
	       x->xattr_bytes == y->xattr_bytes && x->file_bytes == y->file_bytes &&
	       same_words(a, b);
}

int as_target_load(const struct as_target *t, struct as_err *err)
{
	struct as_plugin *plugin = t->plugin;
	struct card now = { 0 };
	int rc;

	if (!plugin || plugin->ops)
		return 0;
	rc = load(plugin, err);
	if (rc)
		return rc;
	fill(&now, plugin->ops);
	if (same(&now, &plugin->card))
		return 0;
	free(plugin->ops);
	plugin->ops = NULL;
	return as_fail(err, AS_EUSE, "plugin %s: it changed while it was in use", plugin->path);
}

/* ---- In the leader --------------------------------------------------------------------------- */

uint64_t as_target_build(const struct as_target *t)
{
	struct as_buf file = { 0 };
	uint64_t build = 0;

	if (t->plugin && !as_buf_read_file(&file, t->plugin->path, FILE_MAX_BYTES, NULL))
		build = as_hash64(file.data, file.len);
	as_buf_free(&file);
	return build;
}

static int loaded_badly(const char *path, const struct as_ended *ended, const struct as_buf *output,
			struct as_err *err)
{
	const struct as_ended_say say = { .status = true,
					  .late = "did not come back within " LOAD_SECONDS " s" };
	struct as_buf said = { 0 }, how = { 0 };
	int rc;

	as_ended_words(ended, &say, &how);
	as_shown(&said, as_buf_str(output), output->len < SAID_BYTES ? output->len : SAID_BYTES);
	rc = as_fail(err, AS_EUSE, "plugin %s: it %s while it was loaded%s%s", path,
		     as_buf_str(&how), said.len ? "; it printed: " : "", as_buf_str(&said));
	as_buf_free(&said);
	as_buf_free(&how);
	return rc;
}

static int learn(struct as_plugin *plugin, struct as_err *err)
{
	struct as_spawn_limits limits = { .deadline_ms = LOAD_DEADLINE_MS };
	struct probing p = { .plugin = { .path = plugin->path } };
	struct as_buf output = { 0 };
	struct as_ended ended;
	struct stat st;
	int rc;

	if (stat(plugin->path, &st))
		return as_fail(err, AS_EUSE, "plugin %s: no such file", plugin->path);
	if (!S_ISREG(st.st_mode))
		return as_fail(err, AS_EUSE, "plugin %s: not a regular file", plugin->path);
	as_sanitizer_exec(plugin->path);
	p.card = as_shared_alloc(sizeof(*p.card));
	rc = as_guard_fork(probe, &p, &limits, &output, &ended, err);
	plugin->card = *p.card;
	as_shared_free(p.card, sizeof(*p.card));
	plugin->card.name[NAME_BYTES - 1] = plugin->card.version[NAME_BYTES - 1] = '\0';
	if (!rc && (ended.how != AS_END_EXIT || !plugin->card.done))
		rc = loaded_badly(plugin->path, &ended, &output, err);
	else if (!rc && plugin->card.rc)
		rc = as_fail(err, plugin->card.rc, "%s", plugin->card.err.msg);
	as_buf_free(&output);
	return rc;
}

#define FLASH_OPTION "flash."

/* Takes the options of the flash out of those of the plugin. */
static int take_flash(struct as_target *t, const struct card *card, struct as_err *err)
{
	struct as_buf rest = { 0 };
	char *save = NULL, *word;
	int rc = 0;

	t->flash.geometry = card->flash;
	if (!card->flash.erase_bytes && !strstr(t->opts, FLASH_OPTION))
		return 0;
	for (word = strtok_r(t->opts, ",", &save); word && !rc; word = strtok_r(NULL, ",", &save)) {
		if (strncmp(word, FLASH_OPTION, strlen(FLASH_OPTION)))
			as_buf_addf(&rest, "%s%s", rest.len ? "," : "", word);
		else if (!card->flash.erase_bytes)
			rc = as_fail(err, AS_EUSE, "target %s: '%s': it does not work on flash",
				     t->spec, word);
		else
			rc = as_flash_setup_word(&t->flash, word + strlen(FLASH_OPTION), err);
	}
	free(t->opts);
	t->opts = as_xstrdup(as_buf_str(&rest));
	as_buf_free(&rest);
	if (!rc && card->flash.erase_bytes)
		rc = as_flash_setup_vet(&t->flash, t->flash.geometry.erase_bytes, err);
	return rc;
}

int as_target_open_plugin(struct as_target *t, const char *rest, struct as_err *err)
{
	size_t len = as_plugin_path_len(rest);
	struct as_plugin *plugin;
	struct as_buf path = { 0 }, name = { 0 };
	int rc;

	if (!len)
		return as_fail(err, AS_EUSE, "target plugin: expected plugin:PATH.so[:OPTIONS]");
	/* Without a slash, dlopen() would search the system's folders. */
	as_buf_addf(&path, "%s%.*s", memchr(rest, '/', len) ? "" : "./", (int)len, rest);
	t->opts = as_xstrdup(rest[len] ? rest + len + 1 : "");
	t->plugin = plugin = as_xcalloc(1, sizeof(*plugin));
	plugin->path = path.data;
	rc = learn(plugin, err);
	if (rc)
		return rc;
	plugin->facts = (struct as_target_ops){ .api = plugin->card.api,
						.caps = plugin->card.caps,
						.name = plugin->card.name,
						.version = plugin->card.version,
						.min_bytes = plugin->card.min_bytes,
						.default_bytes = plugin->card.default_bytes,
						.limits = &plugin->card.limits,
						.contract = &plugin->card.contract };
	/* The name goes into messages and ids. */
	as_show(&name, plugin->card.name);
	t->name = name.data;
	t->limits = plugin->card.limits;
	t->contract = plugin->card.contract;
	t->remounts = plugin->card.remounts;
	return take_flash(t, &plugin->card, err);
}

const struct as_target_ops *as_plugin_ops(const struct as_plugin *plugin)
{
	return plugin->ops ? plugin->ops : &plugin->facts;
}

void as_plugin_free(struct as_plugin *plugin)
{
	if (plugin) {
		free(plugin->path);
		free(plugin->ops);
	}
	free(plugin);
}
