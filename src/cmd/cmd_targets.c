/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_targets: what can be tested, and the bugs that labfs can be given. */
#include "base/buf.h"
#include "base/json.h"
#include "box/guest_programs.h"
#include "box/kmodule.h"
#include "box/sandbox.h"
#include "cli/cli.h"
#include "labfs/bug.h"
#include "target/fstype.h"
#include "target/target.h"
#include "target/variant.h"

#include <string.h>

static void list_targets(bool json_lines, struct as_buf *out)
{
	const struct as_target_kind *kind;

	for (unsigned i = 0; (kind = as_target_kind(i)); i++) {
		const char *lacks = kind->lacks ? kind->lacks() : NULL;
		struct as_json json = as_json_on(out);

		if (json_lines) {
			as_json_object(&json);
			as_json_kstr(&json, "name", kind->name);
			as_json_kstr(&json, "usage", kind->usage);
			as_json_kstr(&json, "help", kind->help);
			as_json_kbool(&json, "ready", !lacks);
			as_json_kstr(&json, "lacks", lacks);
			as_json_end(&json);
			as_buf_addc(out, '\n');
		} else {
			as_buf_addf(out, "  %-26s %-62s %s%s\n", kind->usage, kind->help,
				    lacks ? "lacks " : "ready", lacks ? lacks : "");
		}
	}
}

/* Where a type can be run on this machine, or what each place lacks. */
struct places {
	struct as_buf host, uml; /* empty: ready */
};

/* What uml has on this machine. */
struct uml {
	struct as_err err; /* code 0: it runs */
	struct as_buf modules; /* their folder; empty: all that it has is built in */
};

/* Whether its kernel has not got the type. */
static bool uml_lacks(const struct uml *uml, const struct as_fstype *type)
{
	struct as_guest_programs needs = { 0 };
	struct as_buf files = { 0 };
	struct as_err err;
	bool lacks;

	as_guest_programs_add(&needs, type);
	lacks = uml->modules.len &&
		as_kmodule_order(as_buf_str(&uml->modules),
				 (const char *const *)needs.modules.names, &files, &err);
	as_guest_programs_free(&needs);
	as_buf_free(&files);
	return lacks;
}

static void look_around(const struct as_fstype *type, const struct uml *uml, struct places *places)
{
	as_fstype_lacks_host(type, &places->host);
	if (type->server)
		as_buf_adds(&places->uml, "the server: it is a separate process");
	else if (as_fstype_lacks_tools(type, &places->uml) || as_fstype_lacks_build(&places->uml))
		return;
	else if (uml->err.code)
		as_buf_adds(&places->uml, uml->err.msg);
	else if (uml_lacks(uml, type))
		as_buf_addf(&places->uml,
			    "%s in its kernel; `assay kernel build` builds one that has it",
			    type->name);
}

static void print_type(const struct as_fstype *type, const struct places *places,
		       struct as_buf *out)
{
	const char *host = as_buf_str(&places->host), *uml = as_buf_str(&places->uml);

	as_buf_addf(out, "  %-26s %-62s ", type->name, type->help);
	if (type->impossible) {
		as_buf_addf(out, "impossible: %s\n", type->impossible);
		return;
	}
	if (!*host || !*uml)
		as_buf_addf(out, "ready here (%s%s%s)", *host ? "" : "host",
			    *host || *uml ? "" : ", ", *uml ? "" : "uml");
	if (*host && *uml && !strcmp(host, uml))
		as_buf_addf(out, "lacks %s", host);
	else if (*host)
		as_buf_addf(out, "%shost lacks %s", *uml ? "" : "; ", host);
	if (*uml && strcmp(host, uml))
		as_buf_addf(out, "; uml lacks %s", uml);
	as_buf_addc(out, '\n');
}

static void print_type_json(const struct as_fstype *type, const struct places *places,
			    struct as_buf *out)
{
	struct as_json json = as_json_on(out);

	as_json_object(&json);
	as_json_kstr(&json, "name", type->name);
	as_json_kstr(&json, "usage", type->name);
	as_json_kstr(&json, "help", type->help);
	as_json_kbool(&json, "ready", !places->host.len || !places->uml.len);
	as_json_kstr(&json, "lacks_host", places->host.len ? as_buf_str(&places->host) : NULL);
	as_json_kstr(&json, "lacks_uml", places->uml.len ? as_buf_str(&places->uml) : NULL);
	as_json_kstr(&json, "mkfs", type->mkfs);
	as_json_kuint(&json, "min_bytes", type->min_bytes);
	as_json_kuint(&json, "default_bytes", type->default_bytes);
	for (int i = 0; i < AS_CHECK_MODES; i++) {
		char key[32];

		snprintf(key, sizeof(key), "check_%s", as_check_mode_name((enum as_check_mode)i));
		as_json_kstr(&json, key, as_fstype_check(type, (enum as_check_mode)i)->command);
	}
	as_json_kstr(&json, "mount_options", type->draw);
	as_json_kstr(&json, "guarantee", as_guarantee_name(type->guarantee));
	as_json_kstr(&json, "modules", type->modules);
	as_json_kstr(&json, "package", type->package);
	as_json_end(&json);
	as_buf_addc(out, '\n');
}

static void list_types(bool json_lines, struct as_buf *out)
{
	const struct as_box_options options = { .core = AS_CORE_ANY };
	struct uml uml = { 0 };
	const struct as_fstype *type;

	if (!as_sandbox_uml_modules(&options, &uml.modules, &uml.err))
		uml.err.code = 0;
	for (unsigned i = 0; (type = as_fstype_at(i)); i++) {
		struct places places = { 0 };

		look_around(type, &uml, &places);
		if (json_lines)
			print_type_json(type, &places, out);
		else
			print_type(type, &places, out);
		as_buf_free(&places.host);
		as_buf_free(&places.uml);
	}
	as_buf_free(&uml.modules);
}

static void list_bugs(bool json_lines, struct as_buf *out)
{
	const struct lab_bug_row *bug;

	for (unsigned i = 0; (bug = lab_bug_row(i)); i++) {
		struct as_json json = as_json_on(out);

		if (json_lines) {
			as_json_object(&json);
			as_json_kuint(&json, "number", bug->number);
			as_json_kstr(&json, "id", bug->id);
			as_json_kstr(&json, "class", lab_bug_class_name(bug->class));
			as_json_kstr(&json, "what", bug->what);
			as_json_kstr(&json, "ancestor", bug->ancestor);
			as_json_kstr(&json, "command", bug->command);
			as_json_kuint(&json, "budget_s", bug->budget_s);
			as_json_end(&json);
			as_buf_addc(out, '\n');
		} else {
			as_buf_addf(out, "  lab:bug=%-3u %-10s %s\n", bug->number,
				    lab_bug_class_name(bug->class), bug->what);
		}
	}
}

static void list_variants(bool json_lines, struct as_buf *out)
{
	const struct as_variant *variant;

	for (unsigned i = 0; (variant = as_variant_at(i)); i++) {
		struct as_json json = as_json_on(out);

		if (json_lines) {
			as_json_object(&json);
			as_json_kstr(&json, "type", variant->type);
			as_json_kstr(&json, "name", variant->name);
			as_json_kstr(&json, "help", variant->help);
			as_json_kstr(&json, "words", variant->words);
			as_json_kstr(&json, "features", variant->features);
			as_json_kstr(&json, "without", variant->without);
			as_json_end(&json);
			as_buf_addc(out, '\n');
		} else {
			struct as_buf spec = { 0 };

			as_buf_addf(&spec, "%s:" AS_VARIANT_KEY "%s", variant->type, variant->name);
			as_buf_addf(out, "  %-28s %s\n", as_buf_str(&spec), variant->help);
			as_buf_free(&spec);
		}
	}
}

static int run(const struct as_args *args, struct as_err *err)
{
	struct as_buf out = { 0 };

	(void)err;
	if (as_args_has(args, "bugs"))
		list_bugs(as_args_has(args, "json"), &out);
	else if (as_args_has(args, "mkfs"))
		list_variants(as_args_has(args, "json"), &out);
	else {
		list_targets(as_args_has(args, "json"), &out);
		list_types(as_args_has(args, "json"), &out);
	}
	fwrite(as_buf_str(&out), 1, out.len, stdout);
	as_buf_free(&out);
	return AS_EXIT_CLEAN;
}

static const struct as_opt opts[] = {
	{ .name = "bugs", .help = "list the bugs that can be switched on in the target `lab`" },
	{ .name = "mkfs",
	  .help = "list the names that `mkfs=` of a target takes: other ways to make its disk" },
	{ .name = "json", .help = "print JSON lines" },
	{ 0 },
};

const struct as_command as_cmd_targets = {
	.name = "targets",
	.operands = "",
	.summary = "list what can be tested, and whether this machine is ready for it",
	.opts = opts,
	.run = run,
};
