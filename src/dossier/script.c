/* SPDX-License-Identifier: GPL-2.0-or-later */
/* script: see script.h. */
#include "dossier/script.h"

#include "base/embed.h"
#include "base/show.h"
#include "dossier/letter/letter.h"
#include "dossier/page.h"
#include "target/fresh.h"

#include <stdlib.h>
#include <string.h>

#define PROGRAM_MAX_BYTES ((size_t)64 << 20)

AS_EMBED(as_script_body, "dossier/emitted/repro.sh");
AS_EMBED(as_script_look, "dossier/emitted/look.c");

/* ---- How it is reproduced -------------------------------------------------------------------- */

static bool is_of(const struct as_letter *l, enum as_recipe_means means)
{
	return as_recipe_is(l->f->target, means);
}

static bool is_library(const struct as_letter *l)
{
	return as_recipe_is_library(l->f->target);
}

static bool has_word(const struct as_letter *l, const char *word)
{
	return l->f->options && strstr(l->f->options, word);
}

static bool is_power(const struct as_letter *l)
{
	return as_stored_is_power(l->f);
}

/* What takes assay, and why; the first row that holds counts. */
static const struct {
	const char *option; /* words of the options; NULL: see kind */
	int kind;
	const char *why;
} assay_rows[] = {
	{ "fault=", -1, "calls of the file system to its disk or its allocator fail" },
	{ "scenario=race", -1, "several threads make the calls, with delays" },
	{ "scenario=diff", -1, "the answers of several file systems are compared" },
	{ "corrupt", -1, "the disk is damaged between mounts" },
	{ "hold=", -1, "writes are held in flight" },
	{ "early=", -1, "the cache is written back at chosen moments" },
	{ NULL, AS_FIND_RACE, "several threads make the calls, with delays" },
	{ NULL, AS_FIND_DIFF, "the answers of several file systems are compared" },
};

/* Its repro.c is linked with the library and shows the finding; others make the calls only. */
static bool has_own_program(const struct as_letter *l)
{
	struct as_buf text = { 0 };
	bool has = as_dir_has(l->folder, AS_PROGRAM_NAME) &&
		   !as_dir_read(l->folder, AS_PROGRAM_NAME, PROGRAM_MAX_BYTES, &text, NULL) &&
		   strstr(as_buf_str(&text), "assay/solo.h");

	as_buf_free(&text);
	return has;
}

/* What decides when the finding is stored; its program comes later. */
static const char *needs_assay(const struct as_letter *l)
{
	bool library = is_library(l);

	for (size_t i = 0; i < sizeof(assay_rows) / sizeof(assay_rows[0]); i++)
		if (assay_rows[i].option ? has_word(l, assay_rows[i].option) && !library
					 : (int)l->f->kind == assay_rows[i].kind)
			return assay_rows[i].why;
	if (l->recipe.type && l->recipe.type->journal_bytes)
		return "its journal is on a second disk";
	if (is_power(l) && !l->stored.finding.has_disk && !library)
		return "no disk was kept";
	if (has_word(l, "scenario=crash") && !is_power(l) && !library)
		return "it shows while the power is cut";
	return NULL;
}

const char *as_script_needs_assay(const struct as_letter *l)
{
	const char *why = as_letter_is_fsck(l) ? NULL : needs_assay(l);

	if (as_letter_is_fsck(l) || why || !is_library(l) || has_own_program(l))
		return why;
	return l->f->kind == AS_FIND_LIMIT  ? "the stack of the calls is measured"
	       : l->f->kind == AS_FIND_LOCK ? "the locks of the file system are watched"
					    : "a program alone does not show it";
}

/* What the plain way does not see. */
static const char *sees_more(const struct as_letter *l)
{
	if (is_power(l))
		return "which trees a power cut may leave is a matter of rules (see report.txt)";
	/* What a call hands over is compared by repro.c, but for these. */
	if (l->f->kind == AS_FIND_DATA)
		return "times, locks and what shows after a remount are compared";
	if (l->f->kind == AS_FIND_SILENT)
		return "the bytes and attributes that calls return are compared";
	if (l->f->kind == AS_FIND_TREE)
		return "times, holes and access control lists are compared";
	return NULL;
}

/* ---- The head -------------------------------------------------------------------------------- */

static void put_value(struct as_buf *out, const char *name, const char *value)
{
	as_buf_addf(out, "%s=", name);
	as_buf_add_word(out, value);
	as_buf_addc(out, '\n');
}

/* A comment: one line, whatever the text is. */
static void put_comment(struct as_buf *out, const char *text)
{
	as_buf_adds(out, "# ");
	as_show(out, text);
	as_buf_addc(out, '\n');
}

/* A word of a command, in which places stand for what the script knows. */
static void put_word(struct as_buf *out, const char *word)
{
	static const char *const places[][2] = { { "{disk}", "\"$disk\"" },
						 { "{size}", "\"$size\"" },
						 { "{mnt}", "\"$mnt\"" },
						 { "{src}", "\"$work/src\"" } };
	char *part;

	while (*word) {
		const char *at = NULL, *first = word + strlen(word);
		size_t which = 0;

		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
			if ((at = strstr(word, places[i][0])) && at < first) {
				first = at;
				which = i;
			}
		if (first > word) {
			part = as_xstrndup(word, (size_t)(first - word));
			as_buf_add_word(out, part);
			free(part);
		}
		if (*first)
			as_buf_adds(out, places[which][1]);
		word = *first ? first + strlen(places[which][0]) : first;
	}
}

/* What mkfs finds on a disk that was used before (AS_FRESH_OLD). */
#define FILL_USED "head -c \"$size\" /dev/zero | LC_ALL=C tr '\\0' '\\327' >\"$disk\"\n\t"
_Static_assert(AS_FRESH_OLD == 0327, "as tr is told");

/* "make_fs() { env A=1 mke2fs -q "$disk"; }" */
static void put_function(struct as_buf *out, const char *name, const char *env, const char *command,
			 const char *before)
{
	char *words = as_xstrdup(command), *save = NULL;

	as_buf_addf(out, "%s() {\n\t%s%s%s%s", name, before, env ? "env " : "", env ? env : "",
		    env ? " " : "");
	for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		put_word(out, word);
		as_buf_addc(out, ' ');
	}
	out->data[out->len - 1] = '\n';
	as_buf_adds(out, "}\n");
	free(words);
}

static void put_good(struct as_buf *out, const struct as_fstype *type, enum as_check_mode mode,
		     bool power)
{
	const struct as_checker *checker = as_fstype_checker(type);
	bool looks = checker->ways[mode].looks;
	/* The script looks at the status alone. */
	const char *said = checker->done ? checker->done : "";

	as_buf_adds(out, "good='");
	for (int status = 0; status < 16; status++) {
		enum as_check_answer answer = as_checker_answer(checker, looks, status, said, NULL);

		/* After a power cut a repair is no mistake. */
		if (answer == AS_CHECK_CLEAN || (power && answer == AS_CHECK_REPAIRED))
			as_buf_addf(out, "%d ", status);
	}
	as_buf_adds(out, "'\n");
}

/* Repairs of what was not wrong, a line each; those that depend on others are left out. */
static void put_harmless(struct as_buf *out, const struct as_checker *checker)
{
	struct as_buf lines = { 0 };

	for (const struct as_checker_line *row = checker->lines; row && row->text; row++)
		if (row->meaning == AS_LINE_HARMLESS && !strpbrk(row->text, "<>")) {
			as_buf_adds(&lines, lines.len ? "\n" : "");
			as_buf_adds(&lines, row->text);
		}
	if (lines.len)
		put_value(out, "harmless", as_buf_str(&lines));
	as_buf_free(&lines);
}

static uint64_t size_of(const struct as_letter *l)
{
	struct as_buf text = { 0 };
	uint64_t size = l->recipe.type->default_bytes;

	if (as_letter_option(l, "size", &text))
		size = strtoull(as_buf_str(&text), NULL, 10);
	as_buf_free(&text);
	return size;
}

static void put_type(const struct as_letter *l)
{
	const struct as_fstype *type = l->recipe.type;
	enum as_check_mode mode = as_fstype_strictest(type);
	const struct as_checker_way *way = as_fstype_check(type, mode);
	const char *quick = as_fstype_check(type, AS_CHECK_QUICK)->command;
	struct as_buf text = { 0 };

	put_value(l->out, "type", type->type ? type->type : "");
	put_value(l->out, "over", type->over ? type->over : "");
	put_value(l->out, "modules", type->modules ? type->modules : "");
	as_buf_addf(&text, "%s%s%s", type->mount ? type->mount : "",
		    type->mount && *type->mount && l->recipe.mount && *l->recipe.mount ? "," : "",
		    l->recipe.mount ? l->recipe.mount : "");
	put_value(l->out, "options", as_buf_str(&text));
	as_buf_clear(&text);
	as_buf_addf(&text, "%llu", (unsigned long long)size_of(l));
	put_value(l->out, "size", type->mkfs ? as_buf_str(&text) : "");
	if (type->mkfs)
		put_function(l->out, "make_fs", type->env, type->mkfs, type->used ? FILL_USED : "");
	if (way->command && !way->input) {
		put_good(l->out, type, mode, is_power(l));
		put_harmless(l->out, as_fstype_checker(type));
		put_function(l->out, "check_fs", NULL, way->command, "timeout -k 5 120 ");
	}
	/* Its log is replayed by the checker, not by the kernel. */
	if (is_power(l) && type->replayed_by_checker && quick)
		put_function(l->out, "replay_fs", NULL, quick, "timeout -k 5 120 ");
	put_value(l->out, "replay", is_power(l) && type->replayed_by_checker && quick ? "yes" : "");
	put_value(l->out, "server", type->server ? "yes" : "");
	if (type->server)
		put_function(l->out, "serve", NULL, type->server, "exec ");
	as_buf_free(&text);
}

/* "plugin:PATH.so:OPTIONS" */
static void put_library(const struct as_letter *l)
{
	size_t len = 0;
	const char *path = as_target_object(l->f->target, &len);
	char *object = path ? as_xstrndup(path, len) : NULL;

	put_value(l->out, "sources", is_of(l, AS_RECIPE_LAB) ? "labfs" : "");
	put_value(l->out, "object", object ? object : "");
	free(object);
}

/* "fuse:COMMAND": as `sh -c` would, a person has given it. */
static void put_server(const struct as_letter *l)
{
	put_value(l->out, "server", "yes");
	put_function(l->out, "serve", NULL, l->f->target + strlen("fuse:"), "exec ");
}

static void put_head(const struct as_letter *l, const char *how, const char *why)
{
	char kernel[AS_KERNEL_NAME_MAX];
	bool own_code =
		is_of(l, AS_RECIPE_PLUGIN) || is_of(l, AS_RECIPE_FUSE) || is_of(l, AS_RECIPE_DIR);

	as_buf_adds(l->out, "#!/bin/sh\n");
	put_comment(l->out, l->stored.finding.id);
	put_comment(l->out, l->f->summary ? l->f->summary : "");
	as_buf_adds(l->out,
		    "# It says REPRODUCED, with exit status 0, or NOT REPRODUCED, with 1, or NEEDS "
		    "ASSAY, with\n# 125; 2: it cannot be run here. `./repro.sh --help` lists what "
		    "it takes.\n");
	put_value(l->out, "how", how);
	put_value(l->out, "why", why ? why : "");
	put_value(l->out, "found_in", as_finding_is_on_host(l->f) ? "host" : "sandbox");
	as_finding_kernel(l->f, kernel);
	put_value(l->out, "kernel", kernel);
	put_value(l->out, "trust", own_code ? "--trust" : "");
	as_buf_adds(
		l->out,
		"type= modules= options= size= good= harmless= replay= server= sources= object=\n");
}

void as_script_print(const struct as_letter *l)
{
	const char *why = needs_assay(l);

	if (why) {
		put_head(l, "assay", why);
	} else if (is_library(l)) {
		put_head(l, "library", NULL);
		put_library(l);
	} else if (is_of(l, AS_RECIPE_DIR)) {
		put_head(l, "dir", NULL);
	} else if (is_of(l, AS_RECIPE_FUSE)) {
		put_head(l, "plain", sees_more(l));
		put_server(l);
	} else if (l->recipe.type) {
		put_head(l, is_power(l) ? "crash" : "plain", sees_more(l));
		put_type(l);
	} else {
		put_head(l, "assay", "the target is not one that a script can make");
	}
	as_buf_addc(l->out, '\n');
	as_buf_adds(l->out, as_script_body_first);
}

int as_script_write_look(const struct as_dir *folder, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc;

	as_buf_adds(&text, as_script_look_first);
	rc = as_dir_write(folder, AS_SCRIPT_LOOK, &text, err);
	as_buf_free(&text);
	return rc;
}
