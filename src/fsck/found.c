/* SPDX-License-Identifier: GPL-2.0-or-later */
/* found: see found.h. */
#include "fsck/found.h"

#include "base/array.h"
#include "base/ddmin.h"
#include "base/hash.h"
#include "base/show.h"
#include "fsck/export.h"
#include "symptom/still.h"
#include "target/fstype.h"
#include "tool/shim/proto.h"

#include <stdlib.h>
#include <string.h>

#define DOUBTS_MAX 3u
#define TESTS 300 /* of disks, to make one damage smaller */
#define SMALLER_US (INT64_C(10) * 1000000) /* no more tries after that: each may take a deadline */
#define HURRY_US (INT64_C(2) * 1000000)
#define OUTPUT_BYTES 6000 /* of a run, on the page */

/* ---- Clusters -------------------------------------------------------------------------------- */

void as_fsck_known_free(struct as_fsck_known *k)
{
	for (size_t i = 0; i < k->n; i++)
		free(k->items[i].signature);
	free(k->items);
	as_table_free(&k->table);
	*k = (struct as_fsck_known){ 0 };
}

struct key {
	const struct as_fsck_known *known;
	const char *signature;
};

static bool is_key(const void *ctx, size_t i)
{
	const struct key *key = ctx;

	return !strcmp(key->known->items[i].signature, key->signature);
}

bool as_fsck_known_add(struct as_fsck_known *k, const char *signature, uint64_t count)
{
	uint64_t hash = as_hash64(signature, strlen(signature));
	struct key key = { k, signature };
	size_t i = as_table_find(&k->table, hash, is_key, &key);

	if (i != AS_TABLE_NONE) {
		k->items[i].count += count;
		return k->items[i].doubts && k->items[i].doubts < DOUBTS_MAX;
	}
	AS_ARRAY_ROOM(k->items, k->n, k->cap);
	k->items[k->n] = (struct as_fsck_cluster){ as_xstrdup(signature), count, 0 };
	as_table_add(&k->table, hash, k->n++);
	return true;
}

bool as_fsck_known_has(const struct as_fsck_known *k, const char *signature)
{
	struct key key = { k, signature };

	return as_table_find(&k->table, as_hash64(signature, strlen(signature)), is_key, &key) !=
	       AS_TABLE_NONE;
}

void as_fsck_known_judge(struct as_fsck_known *k, const char *signature, bool confirmed)
{
	struct key key = { k, signature };
	size_t i = as_table_find(&k->table, as_hash64(signature, strlen(signature)), is_key, &key);

	if (i != AS_TABLE_NONE)
		k->items[i].doubts = confirmed ? 0 : k->items[i].doubts + 1;
}

/* ---- Smaller --------------------------------------------------------------------------------- */

struct smaller {
	const struct as_fsck_found *f;
	struct as_fsck_verdict v;
	struct as_err *err;
	int64_t until_us;
	bool tries; /* less of the damage */
	int rc;
};

/* The words and the field stay those of the whole damage, so the signature is comparable. */
static int still_shows(void *ctx, bool *kept, size_t n)
{
	struct smaller *s = ctx;
	const struct as_fsck_found *f = s->f;
	struct as_disk *disk;
	int shows = 0;

	(void)n;
	if (s->rc || as_now_us() > s->until_us)
		return 0;
	disk = as_damage_apply(f->damage, f->base->disk, kept);
	s->rc = as_judge_disk(f->judge, f->base, f->damage, disk, &s->v, s->err);
	/* A part of the damage on which the checker takes long shows something else. */
	if (s->rc == AS_ESTOP && s->tries && !as_subject_is_halted(f->subject)) {
		as_disk_free(disk);
		s->rc = 0;
		return 0;
	}
	if (!s->rc)
		shows = as_still_fails(AS_STILL_EXACTLY, f->signature,
				       as_fsck_verdict_shows(&s->v, f->problem));
	as_disk_free(disk);
	return shows;
}

/* Who is patient would wait for each try that hangs. */
static void try_less(struct smaller *s, bool *kept, size_t n)
{
	s->tries = true;
	as_judge_hurry(s->f->judge, AS_SUBJECT_DEADLINE_MS);
	as_ddmin(kept, n, still_shows, s, TESTS);
	as_judge_hurry(s->f->judge, 0);
	s->tries = false;
}

/* ---- The script ------------------------------------------------------------------------------ */

/* "e2fsck -f -y {disk}" with the path of the script's copy, wherever the disk is named. */
static void add_command(const char *command, struct as_buf *out)
{
	const char *at;

	for (; (at = strstr(command, "{disk}")); command = at + strlen("{disk}")) {
		as_buf_add(out, command, (size_t)(at - command));
		as_buf_adds(out, "\"$disk\"");
	}
	as_buf_adds(out, command);
}

static void add_run(const struct as_fsck_subject *s, enum as_subject_mode mode,
		    const struct as_fsck_run *run, const char *name, struct as_buf *out)
{
	int status = run->ended.how == AS_END_EXIT     ? run->ended.status
		     : run->ended.how == AS_END_SIGNAL ? 128 + run->ended.status
						       : 124;
	const char *input = as_subject_input(s, mode);

	if (input) {
		as_buf_adds(out, "printf '");
		for (; *input; input++)
			as_buf_addf(out, *input == '\n' ? "\\n" : "%c", *input);
		as_buf_adds(out, "' | ");
	}
	as_buf_addf(out, "run '%s' %d %s ", name, status,
		    run->changed ? "changed"
		    : run->wrote ? "any" /* it may have written the time, which stands still here */
				 : "same");
	add_command(as_subject_command(s, mode), out);
	as_buf_addc(out, '\n');
}

/* The programs that it runs: without them nothing is shown. */
static void add_needs(const struct as_fsck_subject *s, struct as_buf *out)
{
	for (unsigned i = 0; i < AS_SUBJECT_MODES; i++) {
		const char *command = as_subject_command(s, (enum as_subject_mode)i);

		if (command && i != AS_SUBJECT_AGAIN)
			as_buf_addf(out, "has %.*s\n", (int)strcspn(command, " "), command);
	}
}

/* The kernel's word cannot be had without root. */
static void add_mount(const struct as_fsck_subject *s, struct as_buf *out)
{
	const char *type = as_subject_type(s);

	if (!type || !strncmp(type, "lab", 3)) {
		as_buf_adds(out, "echo 'the library itself cannot be asked here: assay replay'\n");
		return;
	}
	as_buf_addf(out,
		    "# The checker is content. As root, and with a kernel that knows the type:\n"
		    "# MOUNT=1 ./repro.sh mounts the repaired disk, reads it, and makes and\n"
		    "# deletes a file in every directory. What fails is printed, as is the log.\n"
		    "if [ -n \"$MOUNT\" ]; then\n"
		    "\tmkdir \"$work/mnt\"\n"
		    "\tif mount -t %s -o loop \"$disk\" \"$work/mnt\"; then\n"
		    "\t\tfind \"$work/mnt\" -ls >/dev/null\n"
		    "\t\tfind \"$work/mnt\" -type f -exec cat {} + >/dev/null\n"
		    "\t\tfind \"$work/mnt\" -type d >\"$work/dirs\"\n"
		    "\t\twhile read -r dir; do\n"
		    "\t\t\ttouch \"$dir/.new\" && rm \"$dir/.new\"\n"
		    "\t\tdone <\"$work/dirs\"\n"
		    "\t\tumount \"$work/mnt\"\n"
		    "\tfi\n"
		    "\tdmesg | tail -n 20\n"
		    "fi\n",
		    as_fstype_find(type) ? as_fstype_find(type)->type : type);
}

void as_fsck_script(const struct as_fsck_subject *s, const struct as_fsck_verdict *v,
		    struct as_buf *out)
{
	static const char *const names[] = { "first run", "second run", "third run", "fourth run",
					     "fifth run" };

	as_buf_addf(
		out,
		"#!/bin/sh\n"
		"# Runs the checker on the damaged disk as assay did, and compares exit statuses.\n"
		"# Exit status: 0 if all are as expected, 1 if not, 2 if it cannot be run.\n"
		"here=$(cd \"$(dirname \"$0\")\" && pwd) || exit 2\n"
		"work=$(mktemp -d) || exit 2\n"
		"trap 'rm -rf \"$work\"' EXIT\n"
		"disk=$work/disk\n"
		"wrong=0\n"
		"# The clock of e2fsck, as assay sets it.\n"
		"export E2FSCK_TIME=%lld LC_ALL=C\n"
		"# Of a checker with sanitizers: what they report is a death.\n"
		"export ASAN_OPTIONS=abort_on_error=1:detect_leaks=0\n"
		"export UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1\n"
		"fresh() { zstd -q -d -f \"$here/disk.img.zst\" -o \"$disk\" || exit 2; }\n"
		"run() { # NAME STATUS same|changed|any COMMAND...\n"
		"\tname=$1 want=$2 change=$3\n"
		"\tshift 3\n"
		"\tcp \"$disk\" \"$work/before\" || exit 2\n"
		"\t# A disk does not grow when something is written after its end.\n"
		"\t(\n"
		"\t\ttrap '' XFSZ\n"
		"\t\tulimit -S -f $(($(stat -c %%s \"$disk\") / 512))\n"
		"\t\texec timeout -k 2 30 \"$@\"\n"
		"\t) >\"$work/out\" 2>&1\n"
		"\tgot=$?\n"
		"\t# It did not end, and not by SIGTERM either.\n"
		"\t[ \"$want$got\" != 124137 ] || got=124\n"
		"\tif cmp -s \"$disk\" \"$work/before\"; then now=same; else now=changed; fi\n"
		"\tcat \"$work/out\"\n"
		"\techo \"$name: $*: exit status $got, expected $want; the disk is $now, expected "
		"$change\"\n"
		"\t[ \"$got\" = \"$want\" ] || wrong=1\n"
		"\t[ \"$change\" = any ] || [ \"$now\" = \"$change\" ] || wrong=1\n"
		"}\n"
		"has() {\n"
		"\tcommand -v \"$1\" >\"$work/out\" && return\n"
		"\techo \"$1: not found\" >&2\n"
		"\texit 2\n"
		"}\n"
		"has zstd\n",
		(long long)AS_SHIM_NOW_S);
	add_needs(s, out);
	as_buf_adds(out, "fresh\n");
	if (v->seen.check) {
		add_run(s, AS_SUBJECT_CHECK, v->seen.check, "only a look", out);
		as_buf_adds(out, "fresh\n");
	}
	for (unsigned i = 0; i < v->seen.n; i++) {
		add_run(s, i == 1 ? AS_SUBJECT_AGAIN : AS_SUBJECT_REPAIR, v->seen.run[i], names[i],
			out);
		if (i != 1 || !v->seen.after)
			continue;
		as_buf_adds(out, "cp \"$disk\" \"$work/repaired\" || exit 2\n");
		add_run(s, AS_SUBJECT_CHECK, v->seen.after, "only a look, after that", out);
		as_buf_adds(out, "cp \"$work/repaired\" \"$disk\" || exit 2\n");
	}
	if (v->problems & 1u << AS_FSCK_KERNEL)
		add_mount(s, out);
	as_buf_adds(out, "if [ $wrong = 0 ]; then echo REPRODUCED; else echo 'NOT REPRODUCED'; "
			 "fi\nexit $wrong\n");
}

/* ---- The page -------------------------------------------------------------------------------- */

static void add_block(const char *title, const char *text, struct as_buf *out)
{
	size_t len = strlen(text);

	as_buf_addf(out, "%s:\n\n", title);
	if (len > OUTPUT_BYTES)
		len = OUTPUT_BYTES;
	/* Indented, so that no text of the checker can end it. */
	for (const char *s = text; s < text + len;) {
		size_t n = strcspn(s, "\n");

		if (s + n > text + len)
			n = (size_t)(text + len - s);
		as_buf_adds(out, "    ");
		as_show_lines(out, s, n);
		as_buf_addc(out, '\n');
		s += n + 1;
	}
	as_buf_addc(out, '\n');
}

static void add_page(const struct as_fsck_found *f, const struct as_fsck_verdict *v,
		     const char *bytes, struct as_buf *out)
{
	static const char *const titles[] = { "What the first run printed",
					      "What the second run printed" };
	struct as_buf summary = { 0 };

	as_show(&summary, as_buf_str(&v->found[f->problem].summary));
	as_buf_addf(out, "# %s: %s\n\n%s\n\n    %s\n\n", as_subject_name(f->subject),
		    as_fsck_problem_name(f->problem), as_fsck_problem_words(f->problem),
		    as_buf_str(&summary));
	if (f->damage->crashed)
		as_buf_addf(out,
			    "The checker is `%s`. The disk is one that a power cut can leave: the "
			    "workload %s (`crashed.txt`) was recorded, and writes that were "
			    "pending are missing.\n\n",
			    as_subject_command(f->subject, AS_SUBJECT_REPAIR), f->base->name);
	else
		as_buf_addf(
			out,
			"The checker is `%s`. The healthy disk is the %s one, damaged by the model "
			"`%s`: %zu byte%s%s.\n\n",
			as_subject_command(f->subject, AS_SUBJECT_REPAIR), f->base->name, f->model,
			f->damage->n, as_plural(f->damage->n),
			f->damage->sealed ? ", with the checksums that cover them" : "");
	if (*bytes)
		add_block("The damage, compared with the healthy disk", bytes, out);
	if (v->lost.len)
		add_block("What is missing after the repair", as_buf_str(&v->lost), out);
	if (v->kernel.len)
		add_block("What the kernel says when it mounts the repaired disk",
			  as_buf_str(&v->kernel), out);
	for (unsigned i = 0; i < v->seen.n && i < 2; i++)
		add_block(titles[i], v->seen.run[i]->output, out);
	if (v->seen.check && (f->problem == AS_FSCK_DISAGREES || f->problem == AS_FSCK_WRITES))
		add_block("What the run that only looks printed", v->seen.check->output, out);
	if (v->seen.after && (f->problem == AS_FSCK_DISAGREES || f->problem == AS_FSCK_WRITES))
		add_block("What it printed of the repaired disk", v->seen.after->output, out);
	as_buf_adds(out, "- `disk.img.zst`: the damaged disk; `zstd -d` unpacks it\n"
			 "- `healthy.img.zst`: the disk before the damage\n"
			 "- `repro.sh`: the same runs in plain shell, without assay\n"
			 "- `damage.txt`: the bytes that were changed\n"
			 "- `finding.json`: all of this for programs\n");
	as_buf_free(&summary);
}

static enum as_finding_kind kind_of(enum as_fsck_problem problem)
{
	return problem == AS_FSCK_DIED	  ? AS_FIND_SIGNAL
	       : problem == AS_FSCK_HANGS ? AS_FIND_HANG
					  : AS_FIND_FSCK;
}

/* The name of a case: those of e2fsck's suite begin with f_. */
static int export(const struct as_fsck_found *f, const struct as_fsck_verdict *v,
		  const struct as_finding *finding, struct as_err *err)
{
	struct as_buf name = { 0 };
	int rc;

	as_buf_addf(&name, "f_%s", finding->id);
	rc = as_fsck_export(f->export, as_buf_str(&name), v, finding->summary, finding->disk, err);
	as_buf_free(&name);
	return rc;
}

/* What `assay replay` has to know of the disk before the damage. */
static const char *health(const struct as_fsck_base *base)
{
	return base->sick ? "sick" : base->dirty ? "dirty" : "healthy";
}

static int emit(const struct as_fsck_found *f, const struct as_fsck_verdict *v,
		struct as_disk *disk, struct as_sink *sinks, struct as_err *err)
{
	int rc = 0;
	struct as_buf page = { 0 }, script = { 0 }, bytes = { 0 }, options = { 0 };
	struct as_finding finding = { .kind = kind_of(f->problem),
				      .target = as_subject_spec(f->subject),
				      .summary = as_buf_str(&v->found[f->problem].summary),
				      .signature = f->signature,
				      .workload = "",
				      .workload_name = f->base->name,
				      .op_index = -1,
				      .disk = disk,
				      .healthy = f->base->disk };
	char id[AS_FINDING_ID_MAX];

	as_damage_say_bytes(f->damage, &bytes);
	if (f->damage->crashed)
		as_buf_addf(&bytes, "%s\n", as_buf_str(&f->damage->words));
	add_page(f, v, as_buf_str(&bytes), &page);
	as_fsck_script(f->subject, v, &script);
	as_buf_addf(&options, "fsck=%s model=%s disk=%s%s", as_fsck_problem_name(f->problem),
		    f->model, health(f->base), f->damage->sealed ? " sealed" : "");
	as_subject_options(f->subject, &options);
	finding.detail = as_buf_str(&bytes);
	finding.options = as_buf_str(&options);
	finding.files =
		(const struct as_finding_file[]){ { "README.md", as_buf_str(&page), false },
						  { "repro.sh", as_buf_str(&script), true },
						  { "damage.txt", as_buf_str(&bytes), false },
						  { "crashed.txt", f->base->work, false } };
	finding.n_files = f->base->work ? 4 : 3;
	as_finding_id(&finding, as_subject_name(f->subject), id);
	finding.id = id;
	as_emit_finding(sinks, &finding);
	if (f->export)
		rc = export(f, v, &finding, err);
	as_buf_free(&page);
	as_buf_free(&script);
	as_buf_free(&bytes);
	as_buf_free(&options);
	return rc;
}

int as_fsck_tell(const struct as_fsck_found *f, struct as_sink *sinks, bool *confirmed,
		 struct as_err *err)
{
	size_t n = f->damage->n;
	struct smaller s = { .f = f, .err = err, .until_us = INT64_MAX };
	bool *kept = as_xmalloc(n + 1);

	memset(kept, true, n);
	*confirmed = still_shows(&s, kept, n);
	if (*confirmed) {
		s.until_us = as_now_us() + (f->hurry ? HURRY_US : SMALLER_US);
		/* Each test of one that hangs would take until the deadline. */
		if (n > 1 && f->problem != AS_FSCK_HANGS)
			try_less(&s, kept, n);
		s.until_us = INT64_MAX;
		/* The time may be over in the middle: the smallest so far was judged before, and
		 * is told from what is known of it. */
		if (s.rc == AS_ESTOP)
			s.rc = 0;
		/* The last one that was tried need not be the smallest. */
		as_damage_keep(f->damage, kept);
		if (as_damage_is_none(f->damage)) {
			as_buf_clear(&f->damage->words);
			as_buf_adds(&f->damage->words,
				    f->base->sick ? "the image as it is" : "nothing is damaged");
		}
		memset(kept, true, n);
		/* Of one that hangs, the first verdict is that of the whole damage. */
		if ((f->problem == AS_FSCK_HANGS && n) || still_shows(&s, kept, f->damage->n)) {
			struct as_disk *disk = as_damage_apply(f->damage, f->base->disk, NULL);

			s.rc = emit(f, &s.v, disk, sinks, err);
			as_disk_free(disk);
		}
	}
	as_fsck_verdict_free(&s.v);
	free(kept);
	return s.rc;
}
