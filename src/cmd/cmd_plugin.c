/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_plugin: for authors of plugins: a start that compiles, and what assay makes of one.
 */
#include "base/advise.h"
#include "base/buf.h"
#include "base/embed.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/rows.h"
#include "cli/runs.h"
#include "cli/stopping.h"
#include "cli/trust.h"
#include "disk/flash.h"
#include "os/spawn.h"
#include "target/facts.h"
#include "work/parse.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

AS_EMBED(as_plugin_skeleton, "examples/plugin_skeleton/skeleton.c");
AS_EMBED(as_plugin_smoke, "src/cmd/plugin/smoke.txt");
AS_EMBED(as_plugin_smoke_flat, "src/cmd/plugin/smoke_flat.txt");
AS_EMBED(as_plugin_makefile, "src/cmd/plugin/plugin.mk");
AS_EMBED(as_plugin_ci, "src/cmd/plugin/ci.yml");
AS_EMBED(as_plugin_accepted, "src/cmd/plugin/accepted.txt");
AS_EMBED(as_header_license, "include/assay/LICENSE");
AS_EMBED(as_header_bd, "include/assay/bd.h");
AS_EMBED(as_header_choice, "include/assay/choice.h");
AS_EMBED(as_header_flash, "include/assay/flash.h");
AS_EMBED(as_header_host, "include/assay/host.h");
AS_EMBED(as_header_solo, "include/assay/solo.h");
AS_EMBED(as_header_solo_end, "include/assay/solo_end.h");
AS_EMBED(as_header_solo_host, "include/assay/solo_host.h");
AS_EMBED(as_header_solo_look, "include/assay/solo_look.h");
AS_EMBED(as_header_target, "include/assay/target.h");

/* ---- check ----------------------------------------------------------------------------------- */

typedef const char *(*name_fn)(unsigned i);

/* The names of bits that are set, or of those that are not. */
static void list_bits(const char *title, uint32_t bits, bool set, name_fn name, struct as_buf *out)
{
	unsigned n = 0;

	as_buf_addf(out, "%-10s ", title);
	for (unsigned i = 0; name(i); i++)
		if ((bits >> i & 1) == set)
			as_buf_addf(out, "%s%s", n++ ? ", " : "", name(i));
	as_buf_adds(out, n ? "\n" : "-\n");
}

static void say_limits(const struct as_limits *l, struct as_buf *out)
{
	const struct {
		const char *what;
		uint64_t limit;
	} rows[] = {
		{ "bytes of a name", l->name_max },	     { "links of a file", l->link_max },
		{ "links of a directory", l->dir_link_max }, { "bytes of a link", l->symlink_max },
		{ "bytes of attributes", l->xattr_bytes },   { "bytes of a file", l->file_bytes },
	};
	unsigned n = 0;

	as_buf_adds(out, "limits     ");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].limit)
			as_buf_addf(out, "%s%llu %s", n++ ? ", " : "",
				    (unsigned long long)rows[i].limit, rows[i].what);
	as_buf_adds(out, n ? "\n" : "-\n");
}

static void say_memory(const struct as_target *target, struct as_buf *out)
{
	const struct as_flash_setup *flash = as_target_flash(target);
	const struct as_flash_geometry *g = flash ? &flash->geometry : NULL;

	if (g)
		as_buf_addf(out,
			    "memory     raw flash: erase blocks of %u bytes, program units of %u, "
			    "read units of %u, erased is %u%s\n",
			    g->erase_bytes, g->program_bytes, g->read_bytes, g->erased,
			    g->flags & AS_FLASH_OVERWRITE ? ", may be programmed over" : "");
	else
		as_buf_adds(out, "memory     a block device with sectors of 512 bytes\n");
}

static int describe(const struct as_target *target, struct as_buf *out, struct as_err *err)
{
	static const char *const cuts[] = { "prefix", "object", "repair" };
	struct as_contract said = as_target_contract(target);
	struct as_limits limits = as_target_limits(target);
	uint32_t caps = as_target_traits(target).caps;
	uint64_t size;
	int rc = as_target_disk_bytes(target, 0, &size, err);

	if (rc)
		return rc;
	as_buf_addf(out, "name       %s\n", as_target_name(target));
	as_buf_addf(out, "interface  version %u; this assay has %u\n", as_target_api(target),
		    AS_TARGET_API);
	say_memory(target, out);
	as_buf_addf(out, "size       %llu bytes\n", (unsigned long long)size);
	list_bits("can", caps, true, as_target_cap_name, out);
	list_bits("cannot", caps, false, as_target_cap_name, out);
	as_buf_addf(out, "after cuts %s\n", cuts[said.after_cut]);
	list_bits("promises", said.promises, true, as_target_promise_name, out);
	list_bits("means", said.semantics, true, as_target_means_name, out);
	say_limits(&limits, out);
	return 0;
}

static void say_smoke(const char *name, const struct as_run_result *result)
{
	printf("smoke      %s: %llu operations in %llu run%s, %llu finding%s\n", name,
	       (unsigned long long)result->ops, (unsigned long long)result->runs,
	       result->runs == 1 ? "" : "s", (unsigned long long)result->findings,
	       result->findings == 1 ? "" : "s");
}

/* One workload of a few operations, once as it is and once with power cuts. No fault is drawn: one
 * that hits the mount would leave nothing to be tried. */
static int smoke(const struct as_args *args, const char *spec, bool flat, struct as_err *err)
{
	static const struct {
		const char *name, *scenario;
	} rows[] = { { "sequential", "sequential" }, { "crash", "crash:record=sound" } };
	const char *name = "smoke";
	struct as_seq *seq = NULL;
	struct as_run_result stats = { 0 };
	struct as_cli_output out;
	int64_t start_us = as_now_us();
	const char *first = flat ? as_plugin_smoke_flat_first : as_plugin_smoke_first;
	const char *end = flat ? as_plugin_smoke_flat_end : as_plugin_smoke_end;
	int rc = as_parse_text("smoke", first, (size_t)(end - first), &seq, err);

	if (rc)
		return rc;
	rc = as_cli_output_open(args, &out, err);
	if (rc)
		goto out;
	for (size_t i = 0; i < 2 && !rc; i++) {
		struct as_series runs = { .leaves = as_cli_runs_say, .sinks = out.chain };
		const struct as_seq *const seqs[] = { seq };
		const struct as_work work = { seqs, &name, 1, NULL };
		struct as_run_result result = { 0 };

		rc = as_cli_run_options(args, &runs.options, err);
		runs.options.stop = as_cli_stop_catch();
		if (!rc)
			rc = as_scenario_find(rows[i].scenario, &runs.scenario, &runs.params, err);
		if (!rc)
			rc = as_series_run(&runs, spec, 0, &work, &result, err);
		if (!rc)
			say_smoke(rows[i].name, &result);
		as_run_result_add(&stats, &result);
		as_series_close(&runs);
	}
	stats.wall_us = as_now_us() - start_us;
	rc = as_cli_output_close(&out, &stats, rc, err);
out:
	as_seq_free(seq);
	return rc;
}

static int check(const struct as_args *args, const char *path, struct as_err *err)
{
	struct as_target *target = NULL;
	struct as_buf spec = { 0 }, text = { 0 };
	bool flat;
	int rc;

	as_buf_addf(&spec, "plugin:%s", path);
	as_cli_typed(args, as_buf_str(&spec));
	rc = as_target_open(as_buf_str(&spec), &target, err);
	if (!rc)
		rc = describe(target, &text, err);
	flat = !rc && as_target_contract(target).semantics & AS_MEANS_FLAT;
	as_target_free(target);
	if (!rc) {
		fwrite(as_buf_str(&text), 1, text.len, stdout);
		fflush(stdout);
		rc = smoke(args, as_buf_str(&spec), flat, err);
	}
	as_buf_free(&spec);
	as_buf_free(&text);
	return rc;
}

/* ---- new ------------------------------------------------------------------------------------- */

static bool is_name(const char *name)
{
	if (!islower((unsigned char)*name) || strlen(name) > 32)
		return false;
	return name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

/* The text with NAME for @NAME@ and for the name of the skeleton. */
static void fill_in(const char *first, const char *end, const char *name, struct as_buf *out)
{
	static const char *const words[] = { "@NAME@", "skeleton" };

	while (first < end) {
		size_t len = 0;

		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && !len; i++)
			if ((size_t)(end - first) >= strlen(words[i]) &&
			    !strncmp(first, words[i], strlen(words[i])))
				len = strlen(words[i]);
		if (len)
			as_buf_adds(out, name);
		else
			as_buf_addc(out, *first);
		first += len ? len : 1;
	}
}

static int write_new(int dir, const char *name, const struct as_buf *text, struct as_err *err)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644), rc = 0;
	size_t done = 0;

	while (fd >= 0 && !rc && done < text->len) {
		ssize_t n = write(fd, text->data + done, text->len - done);

		if (n > 0)
			done += (size_t)n;
		else if (errno != EINTR)
			rc = -1;
	}
	if (fd < 0 || rc || close(fd))
		return as_fail_errno(err, errno, "cannot write %s", name);
	return 0;
}

struct new_file {
	const char *name, *first, *end;
};

#define HEADER(id)                                                                      \
	{                                                                               \
		"include/assay/" #id ".h", as_header_##id##_first, as_header_##id##_end \
	}

/* What a plugin is compiled with, and what the program of a finding is (solo.h). */
static const struct new_file headers[] = {
	{ "include/assay/LICENSE", as_header_license_first, as_header_license_end },
	HEADER(bd),
	HEADER(choice),
	HEADER(flash),
	HEADER(host),
	HEADER(target),
	HEADER(solo),
	HEADER(solo_end),
	HEADER(solo_host),
	HEADER(solo_look),
};

static int write_headers(int dir, struct as_err *err)
{
	int rc = 0;

	if (mkdirat(dir, "include", 0777) || mkdirat(dir, "include/assay", 0777))
		return as_fail_errno(err, errno, "cannot make the folder include/assay");
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]) && !rc; i++) {
		struct as_buf text = { 0 };

		as_buf_add(&text, headers[i].first, (size_t)(headers[i].end - headers[i].first));
		rc = write_new(dir, headers[i].name, &text, err);
		as_buf_free(&text);
	}
	return rc;
}

static int write_start(int dir, const char *name, struct as_err *err)
{
	const struct new_file files[] = {
		{ NULL, as_plugin_skeleton_first, as_plugin_skeleton_end },
		{ "Makefile", as_plugin_makefile_first, as_plugin_makefile_end },
		{ "first.txt", as_plugin_smoke_first, as_plugin_smoke_end },
		{ "accepted.txt", as_plugin_accepted_first, as_plugin_accepted_end },
		{ "ci.yml", as_plugin_ci_first, as_plugin_ci_end },
	};
	struct as_buf source = { 0 };
	int rc = 0;

	as_buf_addf(&source, "%s.c", name);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !rc; i++) {
		struct as_buf text = { 0 };

		fill_in(files[i].first, files[i].end, name, &text);
		rc = write_new(dir, files[i].name ? files[i].name : as_buf_str(&source), &text,
			       err);
		as_buf_free(&text);
	}
	as_buf_free(&source);
	return rc;
}

static int make_new(const char *name, struct as_err *err)
{
	int dir, rc;

	if (!is_name(name))
		return as_fail(err, AS_EUSE,
			       "'%.40s' is no name of a plugin: a small letter, then small "
			       "letters, digits and _, up to 32",
			       name);
	if (mkdir(name, 0777)) {
		as_fail_errno(err, errno, "cannot make the folder %s", name);
		return as_fail_advise(err, "it is made in the current folder, so choose another "
					   "name, or go to another folder");
	}
	dir = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return as_fail_errno(err, errno, "cannot open the folder %s", name);
	rc = write_start(dir, name, err);
	if (!rc)
		rc = write_headers(dir, err);
	close(dir);
	if (!rc)
		printf("%s/ has %s.c, Makefile, first.txt, accepted.txt, ci.yml and the headers; "
		       "next: make -C %s check\n",
		       name, name, name);
	return rc;
}

static int run(const struct as_args *args, struct as_err *err)
{
	if (args->n_operands == 2 && !strcmp(args->operands[0], "check"))
		return check(args, args->operands[1], err);
	if (args->n_operands == 2 && !strcmp(args->operands[0], "new"))
		return make_new(args->operands[1], err);
	return as_fail(err, AS_EUSE, "plugin: expected check FILE.so, or new NAME");
}

static const struct as_opt opts[] = {
	AS_CLI_DEADLINE_OPT("how long one operation may take before it is a hang"),
	AS_CLI_OUTPUT_OPTS,
	{ 0 },
};

const struct as_command as_cmd_plugin = {
	.name = "plugin",
	.operands = "check FILE.so | new NAME",
	.summary = "look at a plugin and try it, or write the start of a new one",
	.text = "check says what assay sees of a plugin: its functions, what it promises and where "
		"it differs from POSIX, and runs a few operations on it, once as they are and once "
		"with the power cut at every point. new makes a folder with a small file system "
		"that compiles, a Makefile, a first workload, a job for a CI, and the headers. "
		"docs/HOWTO_ADD_TARGET.md explains the interface.",
	.opts = opts,
	.max_operands = 2,
	.run = run,
};
