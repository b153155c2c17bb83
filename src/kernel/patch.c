/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * patch: the patches of a tree.
 *
 * Method. The file `patched` of a tree names the files that patches have changed, and begins with
 * the digest of these patches, or with "half" while patch(1) runs. If it has the digest that is
 * wanted, nothing is done. Else each of these files is first made again from the source.
 *
 * Invariants
 *   1. `patched` names a file before patch(1) may change it: so a build that was killed at any time
 *      leaves no change that the next one does not undo.
 *   2. A file that is made again is new: what was built from the patched one is built again.
 */
#include "base/hash.h"
#include "kernel/kernel_priv.h"
#include "os/out.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATCH_MAX_BYTES ((size_t)16 << 20)
#define HALF "half"
#define NONE "none"

/* ---- What a patch changes -------------------------------------------------------------------- */

static bool leads_out(const char *path)
{
	if (path[0] == '/' || !*path)
		return true;
	for (; path; path = strchr(path, '/')) {
		path += *path == '/';
		if (!strncmp(path, "..", 2) && (path[2] == '/' || !path[2]))
			return true;
	}
	return false;
}

/* The path in "--- a/fs/x.c<tab>date": without its first part, as patch -p1 takes it, unless it is
 * `whole`. */
static bool add_path(const char *line, size_t len, bool whole, struct as_buf *paths)
{
	char path[1024];
	const char *slash;

	len = strcspn(line, "\t\n\r") < len ? strcspn(line, "\t\n\r") : len;
	if (len == 9 && !strncmp(line, "/dev/null", len))
		return true;
	slash = whole ? line - 1 : memchr(line, '/', len);
	if (!slash || len - (size_t)(slash + 1 - line) >= sizeof(path) || *line == '"')
		return false;
	len -= (size_t)(slash + 1 - line);
	memcpy(path, slash + 1, len);
	path[len] = '\0';
	if (leads_out(path))
		return false;
	for (size_t at = 0; at < paths->len; at += strlen(paths->data + at) + 1)
		if (!strcmp(paths->data + at, path))
			return true;
	as_buf_add(paths, path, len + 1);
	return true;
}

static const char *next_line(const char *at, const char *end)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));

	return newline ? newline + 1 : end;
}

/* "a/fs/x.c b/fs/x.c" of a line "diff --git ...": the only place where the name of a file is that
 * comes or goes empty, or changes its mode alone. */
static bool add_both(const char *line, size_t len, struct as_buf *paths)
{
	const char *blank = memchr(line, ' ', len);

	return !blank || !memchr(line, '/', (size_t)(blank - line)) ||
	       !memchr(blank, '/', len - (size_t)(blank - line)) ||
	       (add_path(line, (size_t)(blank - line), false, paths) &&
		add_path(blank + 1, len - (size_t)(blank + 1 - line), false, paths));
}

/* Where patch(1) finds the names of files. Those without "a/" count after a line of git only. */
static const struct {
	const char *text;
	enum { STRIPPED, WHOLE, BOTH } kind;
} marks[] = {
	{ "--- ", STRIPPED },	 { "+++ ", STRIPPED },	  { "*** ", STRIPPED },
	{ "Index: ", STRIPPED }, { "diff --git ", BOTH }, { "rename from ", WHOLE },
	{ "rename to ", WHOLE }, { "copy from ", WHOLE }, { "copy to ", WHOLE },
};

static bool add_line(const char *line, size_t len, bool *git, struct as_buf *paths)
{
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		bool whole = marks[i].kind == WHOLE;
		size_t n = strlen(marks[i].text);

		/* A removed line that looks like a header, "--- x/y", only adds a file. */
		if (len <= n || strncmp(line, marks[i].text, n) != 0 ||
		    (whole ? !*git : !memchr(line, '/', len)))
			continue;
		if (!whole)
			*git = marks[i].kind == BOTH;
		return *git && !whole ? add_both(line + n, len - n, paths)
				      : add_path(line + n, len - n, whole, paths);
	}
	return true;
}

bool as_kernel_patch_paths(const char *text, size_t len, struct as_buf *paths)
{
	const char *end = text + len;
	bool git = false;

	for (const char *at = text, *stop; at < end; at = stop) {
		stop = next_line(at, end);
		if (memchr(at, '\0', (size_t)(stop - at)))
			return false;
		/* patch(1) takes what is indented, too. */
		while (at < stop && strchr(" \tX", *at))
			at++;
		if (!add_line(at, (size_t)(stop - at), &git, paths))
			return false;
	}
	return true;
}

/* ---- State ----------------------------------------------------------------------------------- */

static int save_state(const struct as_kernel_job *job, const char *first,
		      const struct as_buf *paths, struct as_err *err)
{
	struct as_buf text = { 0 }, path = { 0 };
	int rc;

	as_buf_addf(&text, "%s\n", first);
	for (size_t at = 0; at < paths->len; at += strlen(paths->data + at) + 1)
		as_buf_addf(&text, "%s\n", paths->data + at);
	as_buf_addf(&path, "%s/patched", as_buf_str(&job->tree));
	rc = as_out_save(as_buf_str(&path), &text, err);
	as_buf_free(&text);
	as_buf_free(&path);
	return rc;
}

/* The digest goes to `first`. */
static void load_state(const struct as_kernel_job *job, struct as_buf *first, struct as_buf *paths)
{
	struct as_buf text = { 0 }, path = { 0 };
	char *rest, *line;

	as_buf_addf(&path, "%s/patched", as_buf_str(&job->tree));
	if (!as_buf_read_file(&text, as_buf_str(&path), PATCH_MAX_BYTES, NULL) && text.len) {
		rest = text.data;
		line = strsep(&rest, "\n");
		as_buf_adds(first, line);
		while ((line = strsep(&rest, "\n")))
			if (*line && !leads_out(line))
				as_buf_add(paths, line, strlen(line) + 1);
	}
	as_buf_free(&text);
	as_buf_free(&path);
}

/* patch(1) removes a folder with its last file. */
static int restore_one(const char *from, const char *to, struct as_err *err)
{
	struct as_buf folder = { 0 };
	int rc;

	as_buf_add(&folder, to, (size_t)(strrchr(to, '/') - to));
	rc = as_kernel_mkdirs(as_buf_str(&folder), err);
	if (!rc)
		rc = as_kernel_copy_file(from, to, err);
	as_buf_free(&folder);
	return rc;
}

/* Makes the files as they are in the source. */
static int restore(const struct as_kernel_job *job, const struct as_buf *paths, struct as_err *err)
{
	struct as_buf from = { 0 }, to = { 0 };
	struct stat st;
	int rc = 0;

	for (size_t at = 0; !rc && at < paths->len; at += strlen(paths->data + at) + 1) {
		as_buf_clear(&from);
		as_buf_clear(&to);
		as_buf_addf(&from, "%s/%s", as_buf_str(&job->pristine), paths->data + at);
		as_buf_addf(&to, "%s/%s", as_buf_str(&job->src), paths->data + at);
		if (lstat(as_buf_str(&from), &st))
			unlink(as_buf_str(&to));
		else if (S_ISREG(st.st_mode))
			rc = restore_one(as_buf_str(&from), as_buf_str(&to), err);
	}
	as_buf_free(&from);
	as_buf_free(&to);
	return rc;
}

/* ---- Applying -------------------------------------------------------------------------------- */

static void hear(void *ctx, const char *line)
{
	struct as_buf *said = ctx;

	if (said->len < 600)
		as_buf_addf(said, "%s%s", said->len ? "; " : "", line);
}

static int apply_one(const struct as_kernel_job *job, const char *file, const struct as_buf *text,
		     struct as_err *err)
{
	struct as_buf copy = { 0 }, said = { 0 };
	int status = 0, rc;

	/* What was read is what is applied, whatever happens to the file meanwhile. */
	as_buf_addf(&copy, "%s/patch", as_buf_str(&job->tree));
	rc = as_out_save(as_buf_str(&copy), text, err);
	if (!rc) {
		const char *const argv[] = { "patch",
					     "-p1",
					     "-f",
					     "-s",
					     "--no-backup-if-mismatch",
					     "-r",
					     "-",
					     "-i",
					     as_buf_str(&copy),
					     NULL };
		const struct as_kernel_program patch = { .argv = argv,
							 .cwd = as_buf_str(&job->src),
							 .line = hear,
							 .ctx = &said,
							 .stop = job->want->stop };

		rc = as_kernel_program(&patch, &status, err);
	}
	if (!rc && status)
		rc = as_fail(err, AS_EUSE, "--patch %s does not apply to %s: %s", file,
			     as_buf_str(&job->id), as_buf_str(&said));
	unlink(as_buf_str(&copy));
	as_buf_free(&copy);
	as_buf_free(&said);
	return rc;
}

/* All patches, in the order in which they are applied. */
struct patches {
	struct as_buf texts[AS_KERNEL_OWN_PATCHES_MAX + AS_KERNEL_PATCHES_MAX];
	const char *names[AS_KERNEL_OWN_PATCHES_MAX + AS_KERNEL_PATCHES_MAX];
	size_t n;
	struct as_buf paths; /* that they change */
};

static int check_one(struct patches *p, const char *name, struct as_err *err)
{
	struct as_buf alone = { 0 };
	const struct as_buf *text = &p->texts[p->n];
	int rc = 0;

	if (text->len && memchr(text->data, '\0', text->len))
		rc = as_fail(err, AS_EUSE, "--patch %s: not a patch, but binary data", name);
	else if (!as_kernel_patch_paths(as_buf_str(text), text->len, &p->paths))
		rc = as_fail(err, AS_EUSE, "--patch %s: names a file that is not below the source",
			     name);
	else if (as_kernel_patch_paths(as_buf_str(text), text->len, &alone) && !alone.len)
		rc = as_fail(err, AS_EUSE, "--patch %s: changes no file (not a patch?)", name);
	as_buf_free(&alone);
	p->names[p->n++] = name;
	return rc;
}

static int read_all(struct as_kernel_job *job, struct patches *p, struct as_err *err)
{
	struct as_buf sum = { 0 };
	char hex[AS_DIGEST_HEX_LEN + 1];
	int rc = 0;

	while (!rc && as_kernel_own_patch(job->want->with, p->n, &p->texts[p->n]))
		rc = check_one(p, "(of assay)", err);
	for (size_t i = 0; !rc && i < job->want->n_patches; i++) {
		const char *file = job->want->patches[i];

		rc = as_buf_read_file(&p->texts[p->n], file, PATCH_MAX_BYTES, err);
		rc = rc ? as_fail_in(err, "--patch") : check_one(p, file, err);
	}
	for (size_t i = 0; i < p->n; i++) {
		as_digest_hex(as_hash(as_buf_str(&p->texts[i]), p->texts[i].len), hex);
		as_buf_adds(&sum, hex);
	}
	as_digest_hex(as_hash(as_buf_str(&sum), sum.len), hex);
	as_buf_clear(&job->patch_digest);
	as_buf_adds(&job->patch_digest, p->n ? hex : NONE);
	as_buf_free(&sum);
	return rc;
}

/* `old` names what the patches before have changed. */
static int apply_all(struct as_kernel_job *job, const struct patches *p, const struct as_buf *old,
		     struct as_err *err)
{
	static const struct as_buf nothing;
	struct as_buf all = { 0 };
	int rc;

	/* Of a path that is in both, it is enough that it is there. */
	as_buf_add(&all, as_buf_str(old), old->len);
	as_buf_add(&all, as_buf_str(&p->paths), p->paths.len);
	rc = save_state(job, HALF, &all, err);
	if (!rc)
		rc = restore(job, old, err);
	for (size_t i = 0; !rc && i < p->n; i++)
		rc = apply_one(job, p->names[i], &p->texts[i], err);
	if (!rc)
		rc = save_state(job, as_buf_str(&job->patch_digest), &p->paths, err);
	else if (!restore(job, &all, NULL))
		(void)!save_state(job, NONE, &nothing, NULL);
	as_buf_free(&all);
	return rc;
}

int as_kernel_patch(struct as_kernel_job *job, struct as_err *err)
{
	struct patches p = { .n = 0 };
	struct as_buf old = { 0 }, first = { 0 };
	int rc = read_all(job, &p, err);

	if (!rc && strcmp(as_buf_str(&job->src), as_buf_str(&job->pristine)) != 0) {
		load_state(job, &first, &old);
		/* A file that came anew from a user's folder has lost its patch. */
		if (job->users || strcmp(first.len ? as_buf_str(&first) : NONE,
					 as_buf_str(&job->patch_digest)) != 0)
			rc = apply_all(job, &p, &old, err);
	}
	for (size_t i = 0; i < p.n; i++)
		as_buf_free(&p.texts[i]);
	as_buf_free(&p.paths);
	as_buf_free(&old);
	as_buf_free(&first);
	return rc;
}
