/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boxes: see boxes.h. */
#include "cli/boxes.h"

#include "crash/boxed.h"
#include "host/medium.h"
#include "instance/instance.h"
#include "kernel/kernel.h"
#include "target/cache.h"
#include "target/fstype.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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

	/* A FUSE server that dies does not crash the kernel, so it needs no box. */
	return asked ? !strcmp(asked, "uml") : type && !type->server;
}

void as_cli_where(const struct as_args *args, struct as_run_options *o)
{
	const char *name = as_cli_kernel(args);

	o->on_host = !strcmp(as_args_text(args, "sandbox", ""), "host");
	o->kernel[0] = '\0';
	if (name && as_kernel_name_ok(name)) /* any other is refused when it is looked for */
		memcpy(o->kernel, name, strlen(name) + 1);
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

/* `fsck` has a flag of that name. */
const char *as_cli_kernel(const struct as_args *args)
{
	for (size_t i = 0; i < args->n_given; i++)
		if (!strcmp(args->given[i].opt->name, "kernel") &&
		    args->given[i].opt->kind == AS_OPT_TEXT)
			return args->given[i].value;
	return NULL;
}

/* The path of the kernel that --kernel names. */
static int find_kernel(const struct as_args *args, const char **path, struct as_err *err)
{
	static char found[4096]; /* the same for each call: there is one command line */
	struct as_kernel kernel;
	int rc;

	*path = as_args_text(args, "uml", NULL);
	if (!as_cli_kernel(args))
		return 0;
	if (*path)
		return as_fail(err, AS_EUSE, "--kernel and --uml: leave out one");
	rc = as_kernel_find(as_cli_kernel(args), &kernel, err);
	if (!rc && (size_t)snprintf(found, sizeof(found), "%s", kernel.path) >= sizeof(found))
		rc = as_fail(err, AS_EUSE, "--kernel: the path is too long");
	if (rc)
		return rc;
	as_kernel_free(&kernel);
	*path = found;
	return 0;
}

bool as_cli_box_replaced(const struct as_args *args, const char *name)
{
	bool host = !strcmp(as_args_text(args, "sandbox", ""), "host");

	if (!strcmp(name, "kernel"))
		return host || as_args_has(args, "uml");
	return !strcmp(name, "uml") && (host || as_cli_kernel(args));
}

int as_cli_box_options(const struct as_args *args, struct as_box_options *o, struct as_err *err)
{
	int rc = find_kernel(args, &o->kernel, err);

	if (rc)
		return rc;
	o->mem_bytes = as_args_number(args, "uml-mem", 0);
	return read_core(as_args_text(args, "uml-core", NULL), &o->core, err);
}

/* The option of a kernel that what was given on the command line needs. */
static bool needs_of_kernel(const struct as_opt *opt, const char *value,
			    enum as_kernel_option *needs)
{
	static const struct {
		const char *option, *word; /* NULL: any value */
		enum as_kernel_option needs;
	} rows[] = {
		{ "kcov", NULL, AS_KERNEL_HAS_kcov },
		{ "kmemleak", NULL, AS_KERNEL_HAS_kmemleak },
		{ "sweep", "kalloc", AS_KERNEL_HAS_faults },
		{ "sweep", "kpage", AS_KERNEL_HAS_faults },
		{ "sweep", "kio", AS_KERNEL_HAS_faults },
		{ "faults", "kalloc", AS_KERNEL_HAS_faults },
		{ "faults", "kpage", AS_KERNEL_HAS_faults },
		{ "faults", "kio", AS_KERNEL_HAS_faults },
		{ "fault", "kalloc", AS_KERNEL_HAS_faults },
		{ "fault", "kpage", AS_KERNEL_HAS_faults },
		{ "fault", "kio", AS_KERNEL_HAS_faults },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		*needs = rows[i].needs;
		if (!strcmp(opt->name, rows[i].option) &&
		    (!rows[i].word || (value && strstr(value, rows[i].word))))
			return true;
	}
	return false;
}

int as_cli_check_kernel(const struct as_args *args, const char *spec, struct as_err *err)
{
	const char *name = as_cli_kernel(args) ? as_cli_kernel(args) : AS_KERNEL_DEBIAN;
	enum as_kernel_option needs;
	struct as_kernel kernel;
	int rc = 0;

	/* Of a kernel that --uml names, it is seen when it runs. */
	if (!as_cli_wants_box(args, spec) || as_args_has(args, "uml") ||
	    as_kernel_find(name, &kernel, NULL))
		return 0;
	for (size_t i = 0; !rc && i < args->n_given; i++) {
		const struct as_opt *opt = args->given[i].opt;

		if (needs_of_kernel(opt, args->given[i].value, &needs) &&
		    !(kernel.with >> needs & 1))
			rc = as_fail(
				err, AS_ELACK,
				"--%s: the kernel %s was built without %s: `assay kernel build "
				"%s` builds one that has it, and --kernel %s uses it",
				opt->name, name, as_kernel_option_name(needs),
				as_kernel_flavour_with(needs), as_kernel_flavour_with(needs));
	}
	as_kernel_free(&kernel);
	return rc;
}

/* What needs the file system to be linked, and to run here. */
static int check_library(const struct as_args *args, const char *spec, struct as_err *err)
{
	static const char *const only[] = { "corrupt", "max-heap", "max-stack" };
	size_t len = strcspn(spec, ":");
	bool library = (len == 3 && !strncmp(spec, "lab", len)) ||
		       (len == 6 && !strncmp(spec, "plugin", len));

	for (size_t i = 0; i < sizeof(only) / sizeof(only[0]); i++)
		if (as_args_has(args, only[i]) && (!library || as_cli_wants_box(args, spec)))
			return as_fail(err, AS_EUSE,
				       "target %s: --%s is for libraries (lab, plugin) that run "
				       "here",
				       spec, only[i]);
	if (library && as_args_has(args, "kcov"))
		return as_fail(err, AS_EUSE,
			       "target %s: --kcov is for file systems of the kernel; a library "
			       "has no code there",
			       spec);
	return 0;
}

int as_cli_check_box(const struct as_args *args, const char *spec, struct as_err *err)
{
	static const char *const only[] = { "uml", "uml-mem", "uml-core" };
	const char *asked = as_args_text(args, "sandbox", NULL);
	struct as_box_options o = { 0 };
	const struct as_fstype *type = as_cli_fstype(spec);
	int rc = check_library(args, spec, err);

	if (rc)
		return rc;
	if (as_cli_wants_box(args, spec)) {
		if ((type && type->server) || !strncmp(spec, "fuse:", 5))
			return as_fail(err, AS_EUSE,
				       "target %s: a FUSE server is a process of its own and runs "
				       "here: leave out --sandbox uml",
				       spec);
		if (!strncmp(spec, "plugin:", 7))
			return as_fail(
				err, AS_EUSE,
				"target %s: a plugin runs in a process of its own and needs no "
				"sandbox",
				spec);
		rc = as_cli_box_options(args, &o, err);
		return rc ? rc : as_sandbox_uml.ready(&o, err);
	}
	for (size_t i = 0; i < sizeof(only) / sizeof(only[0]); i++)
		if (as_args_has(args, only[i]))
			return as_fail(err, AS_EUSE, "--%s needs --sandbox uml", only[i]);
	if (as_cli_kernel(args))
		return as_fail(err, AS_EUSE, "--kernel needs --sandbox uml");
	return asked && as_cli_fstype(spec) ? as_sandbox_host.ready(&o, err) : 0;
}

/* ---- Boxes ----------------------------------------------------------------------------------- */

/* The cache of fresh disks is not where the user expects it. */
static void warn_of_cache(void)
{
	struct as_buf folder = { 0 }, why = { 0 };

	if (as_cache_refused(&why) && !as_cache_folder("images", &folder, NULL))
		fprintf(stderr, "assay: %s: the cache is in %s instead\n", as_buf_str(&why),
			as_buf_str(&folder));
	as_buf_free(&folder);
	as_buf_free(&why);
}

/* What the guest needs for one target: its disk, its programs, its modules. */
static int keep_disk(const char *spec, uint64_t size_bytes, struct as_err *err)
{
	struct as_target *target = NULL;
	int rc = as_target_open(spec, &target, err);

	if (!rc)
		rc = as_instance_keep_disk(target, size_bytes, err);
	as_target_free(target);
	return rc;
}

static int add_target(struct as_cli_box *box, const char *spec, uint64_t size_bytes,
		      struct as_medium **fresh, struct as_err *err)
{
	const struct as_fstype *type = as_cli_fstype(spec);
	struct as_buf why = { 0 };
	int rc = 0;

	*fresh = NULL;
	if (!type)
		return 0;
	if (as_fstype_lacks_tools(type, &why)) {
		rc = as_fail(err, AS_ELACK, "target %s: %s", spec, as_buf_str(&why));
	} else {
		warn_of_cache();
		rc = keep_disk(spec, size_bytes, err);
	}
	if (!rc) {
		rc = as_guest_disks_add(&box->disks, spec, size_bytes, fresh, err);
	}
	as_guest_programs_add(&box->programs, type);
	box->boxed.box.files = box->disks.files;
	as_buf_free(&why);
	return rc;
}

int as_cli_box_open(const struct as_args *args, const char *spec, uint64_t size_bytes,
		    struct as_cli_box *box, struct as_err *err)
{
	int rc;

	*box = (struct as_cli_box){
		.boxed = { .sandbox = &as_sandbox_uml, .target = spec, .where = as_crash_where }
	};
	rc = as_cli_box_options(args, &box->boxed.box, err);
	if (!rc)
		rc = add_target(box, spec, size_bytes, &box->fresh, err);
	box->boxed.fresh = box->fresh;
	as_guest_programs_set(&box->programs, &box->boxed.box);
	if (rc)
		as_cli_box_close(box);
	return rc;
}

int as_cli_box_add(struct as_cli_box *box, const char *spec, uint64_t size_bytes,
		   struct as_err *err)
{
	struct as_medium *fresh;
	int rc = add_target(box, spec, size_bytes, &fresh, err);

	as_guest_programs_set(&box->programs, &box->boxed.box);
	/* A box that dies leaves one disk, and nothing says to which target it belongs. */
	as_medium_free(box->fresh);
	box->fresh = box->boxed.fresh = NULL;
	as_medium_free(fresh);
	return rc;
}

void as_cli_box_close(struct as_cli_box *box)
{
	as_guest_programs_free(&box->programs);
	as_guest_disks_free(&box->disks);
	as_medium_free(box->fresh);
	*box = (struct as_cli_box){ 0 };
}

void as_cli_show_where(struct as_live *live, const struct as_args *args, const char *spec,
		       uint64_t jobs)
{
	as_live_target(live, spec,
		       as_cli_wants_box(args, spec) ? "in a sandbox"
		       : as_cli_fstype(spec)	    ? "on the running kernel"
						    : "",
		       jobs);
}
