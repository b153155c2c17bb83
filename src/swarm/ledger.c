/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ledger: see ledger.h. */
#include "swarm/ledger.h"

#include "base/finding_json.h"
#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEDGER_BYTES_MAX ((size_t)16 << 20)
#define FINDING_BYTES_MAX ((size_t)64 << 20)

/* ---- Lines ----------------------------------------------------------------------------------- */

/* clang-format off */
#define NUMBERS(X) \
	X(round) X(planned_s) X(workloads) X(ops) X(states) X(kinds) X(met) X(fresh)
/* Members that a line may leave out: they are 0. */
#define MORE_NUMBERS(X) X(work) X(cpu_us) X(load)
/* clang-format on */

static const char *const count_names[] = {
#define X(name) #name,
	AS_SLICE_COUNTS(X)
#undef X
};

const char *as_slice_count_name(enum as_slice_count count)
{
	return count_names[count];
}

void as_slice_print(const struct as_slice *slice, struct as_buf *line)
{
	struct as_json json = as_json_on(line);

	as_json_object(&json);
	as_json_kuint(&json, "version", 1);
#define X(name) as_json_kuint(&json, #name, slice->name);
	NUMBERS(X)
	MORE_NUMBERS(X)
#undef X
	for (size_t i = 0; i < AS_SLICE_N_COUNTS; i++)
		if (slice->counts[i])
			as_json_kuint(&json, count_names[i], slice->counts[i]);
	as_json_kint(&json, "wall_us", slice->wall_us);
	as_json_kint(&json, "status", slice->status);
	as_json_kbool(&json, "complete", slice->complete);
	if (slice->said[0])
		as_json_kstr(&json, "said", slice->said);
	as_json_end(&json);
	as_buf_addc(line, '\n');
}

static bool number_of(const json_t *object, const char *name, int64_t *value)
{
	const json_t *member = json_object_get(object, name);

	if (!json_is_integer(member) || json_integer_value(member) < 0)
		return false;
	*value = json_integer_value(member);
	return true;
}

bool as_slice_parse(const char *line, size_t len, struct as_slice *slice)
{
	json_t *object = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	const char *said;
	int64_t n = 0;
	bool ok = json_is_object(object) && number_of(object, "version", &n) && n == 1;

	memset(slice, 0, sizeof(*slice));
#define X(name)                                  \
	ok = ok && number_of(object, #name, &n); \
	slice->name = ok ? (uint64_t)n : 0;
	NUMBERS(X)
#undef X
#define X(name) slice->name = number_of(object, #name, &n) ? (uint64_t)n : 0;
	MORE_NUMBERS(X)
#undef X
	for (size_t i = 0; i < AS_SLICE_N_COUNTS; i++)
		slice->counts[i] = number_of(object, count_names[i], &n) ? (uint64_t)n : 0;
	ok = ok && number_of(object, "wall_us", &slice->wall_us) &&
	     number_of(object, "status", &n) && n <= 255;
	slice->status = ok ? (int)n : 0;
	slice->complete = json_is_true(json_object_get(object, "complete"));
	said = json_string_value(json_object_get(object, "said"));
	snprintf(slice->said, sizeof(slice->said), "%s", said ? said : "");
	json_decref(object);
	return ok;
}

/* ---- Tallies --------------------------------------------------------------------------------- */

static void tally(struct as_swarm_tally *t, const struct as_slice *slice)
{
	uint64_t met;

	t->slices++;
	t->rounds = slice->round;
	t->used_us += slice->wall_us;
	t->work += slice->work;
	t->cpu_us += slice->cpu_us;
	if (slice->load && (!t->load_min || slice->load < t->load_min))
		t->load_min = slice->load;
	if (slice->load > t->load_max)
		t->load_max = slice->load;
	for (size_t i = 0; i < AS_SLICE_N_COUNTS; i++)
		t->counts[i] += slice->counts[i];
	t->workloads += slice->workloads;
	t->ops += slice->ops;
	t->states += slice->states;
	t->new_states = slice->states;
	t->new_causes = slice->fresh;
	met = slice->met > t->met ? slice->met - t->met : 0;
	if (t->new_causes)
		t->met_since = met > slice->fresh ? met - slice->fresh : 0;
	else
		t->met_since += met;
	t->kinds = slice->kinds;
	t->met = slice->met;
	t->status = slice->status;
	t->complete = slice->complete;
	t->failures = slice->status > 1 ? t->failures + 1 : 0;
	t->given_up = t->failures >= AS_SWARM_FAILURES || slice->status == 3;
	snprintf(t->said, sizeof(t->said), "%s", slice->said);
}

static void ledger_name(const struct as_ledger *ledger, size_t cell, char name[static 48])
{
	snprintf(name, 48, "%s.jsonl", ledger->campaign->cells[cell].name);
}

/* Reads whole lines; *whole: the bytes that they take. */
static void read_lines(const struct as_buf *text, struct as_swarm_tally *t, size_t *whole)
{
	const char *at = as_buf_str(text), *end = at + text->len, *newline;
	struct as_slice slice;

	memset(t, 0, sizeof(*t));
	*whole = 0;
	while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
		if (as_slice_parse(at, (size_t)(newline - at), &slice))
			tally(t, &slice);
		at = newline + 1;
		*whole = (size_t)(at - as_buf_str(text));
	}
}

struct finding_reader {
	const struct as_dir *findings;
	void (*fn)(void *ctx, const struct as_finding *finding);
	void *ctx;
};

static int read_finding(void *ctx, const char *name)
{
	struct finding_reader *reader = ctx;
	struct as_buf text = { 0 };
	struct as_dir folder = AS_DIR_NONE;
	struct as_finding finding = { 0 };
	struct as_err err;
	json_t *object = NULL;

	if (as_dir_is_plain(name) && !as_dir_below(reader->findings, name, false, &folder, &err) &&
	    !as_dir_read(&folder, "finding.json", FINDING_BYTES_MAX, &text, &err))
		object = json_loadb(as_buf_str(&text), text.len, 0, NULL);
	if (object && !as_finding_parse(object, AS_FINDING_STORED, &finding, &err)) {
		reader->fn(reader->ctx, &finding);
		as_finding_free(&finding);
	}
	json_decref(object);
	as_dir_close(&folder);
	as_buf_free(&text);
	return 0;
}

void as_ledger_findings(const struct as_ledger *ledger, size_t cell,
			void (*fn)(void *ctx, const struct as_finding *finding), void *ctx)
{
	struct as_dir run = AS_DIR_NONE, findings = AS_DIR_NONE;
	struct finding_reader reader = { .findings = &findings, .fn = fn, .ctx = ctx };
	struct as_err err;

	if (!as_dir_below(&ledger->cells, ledger->campaign->cells[cell].name, false, &run, &err) &&
	    !as_dir_below(&run, AS_RUN_FINDINGS, false, &findings, &err))
		(void)as_dir_each(&findings, read_finding, &reader);
	as_dir_close(&findings);
	as_dir_close(&run);
}

struct ledger_counting {
	struct as_ledger *ledger;
	struct as_slice *slice;
	struct as_digests own;
};

/* A mistake of ext4 is another one than the same of xfs; with other options it is the same. */
struct as_digest as_ledger_cause(const struct as_finding *finding)
{
	struct as_buf words = { 0 };
	struct as_digest digest;

	as_buf_addf(&words, "%.*s ", (int)strcspn(finding->target, ":"), finding->target);
	as_signature_group(&words, finding->signature);
	digest = as_hash(words.data, words.len);
	as_buf_free(&words);
	return digest;
}

static void count_kind(void *ctx, const struct as_finding *f)
{
	struct ledger_counting *c = ctx;
	const char *signature = f->signature;
	struct as_digest digest = as_hash(signature, strlen(signature));

	c->slice->met += f->count ? f->count : 1;
	c->slice->kinds += as_digests_add(&c->own, digest);
	as_digests_add(&c->ledger->kinds, digest);
	c->slice->fresh += as_digests_add(&c->ledger->causes, as_ledger_cause(f));
}

void as_ledger_count(struct as_ledger *ledger, size_t cell, struct as_slice *slice)
{
	struct ledger_counting c = { .ledger = ledger, .slice = slice };

	slice->kinds = slice->met = slice->fresh = 0;
	as_ledger_findings(ledger, cell, count_kind, &c);
	as_digests_free(&c.own);
}

int as_ledger_refresh(struct as_ledger *ledger, size_t cell, struct as_err *err)
{
	struct as_buf text = { 0 };
	struct as_slice slice;
	char name[48];
	size_t whole;
	int rc = 0;

	ledger_name(ledger, cell, name);
	if (as_dir_has(&ledger->swarm, name)) {
		rc = as_dir_read(&ledger->swarm, name, LEDGER_BYTES_MAX, &text, err);
		if (!rc)
			read_lines(&text, &ledger->tallies[cell], &whole);
		if (!rc && ledger->tallies[cell].kinds)
			as_ledger_count(ledger, cell, &slice);
	}
	as_buf_free(&text);
	return rc;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Takes a part of a line away that somebody who was killed has left. */
static int cut_rest(int fd)
{
	struct stat st;
	char last;
	off_t at;

	if (fstat(fd, &st))
		return -errno;
	for (at = st.st_size; at > 0; at--) {
		if (pread(fd, &last, 1, at - 1) != 1)
			return -EIO;
		if (last == '\n')
			break;
	}
	return at != st.st_size && ftruncate(fd, at) ? -errno : 0;
}

int as_ledger_add(struct as_ledger *ledger, size_t cell, const struct as_slice *slice,
		  struct as_err *err)
{
	struct as_buf line = { 0 };
	char name[48];
	int fd, rc = 0;

	ledger_name(ledger, cell, name);
	as_slice_print(slice, &line);
	fd = openat(ledger->swarm.fd, name, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
		    0644);
	if (fd < 0 || flock(fd, LOCK_EX))
		rc = -errno;
	if (!rc)
		rc = cut_rest(fd);
	if (!rc) {
		ssize_t n = write(fd, as_buf_str(&line), line.len);

		rc = n < 0 ? -errno : (size_t)n != line.len ? -ENOSPC : 0;
	}
	if (!rc && fsync(fd))
		rc = -errno;
	if (fd >= 0)
		close(fd);
	as_buf_free(&line);
	if (rc)
		return as_fail_errno(err, -rc, "%s/%s: cannot be written", ledger->swarm.path,
				     name);
	tally(&ledger->tallies[cell], slice);
	return 0;
}

/* ---- The folder ------------------------------------------------------------------------------ */

static int keep_file(struct as_ledger *ledger, const char *text, struct as_err *err)
{
	struct as_buf buf = { .data = (char *)text, .len = strlen(text) };

	return as_dir_write(&ledger->run.dir, AS_SWARM_FILE, &buf, err);
}

static int check_name(struct as_ledger *ledger, struct as_err *err)
{
	struct as_campaign *there;
	struct as_buf text = { 0 };
	int rc;

	if (!as_dir_has(&ledger->run.dir, AS_SWARM_FILE))
		return 0;
	rc = as_dir_read(&ledger->run.dir, AS_SWARM_FILE, AS_CAMPAIGN_FILE_MAX, &text, err);
	if (!rc)
		rc = as_campaign_parse(AS_SWARM_FILE, as_buf_str(&text), text.len, &there, err);
	as_buf_free(&text);
	if (rc)
		return as_fail_in(err, "%s", ledger->run.dir.path);
	if (strcmp(there->name, ledger->campaign->name))
		rc = as_fail(err, AS_EUSE, "%s: the folder is of the campaign '%s', not of '%s'",
			     ledger->run.dir.path, there->name, ledger->campaign->name);
	as_campaign_free(there);
	return rc;
}

int as_ledger_open(const char *path, enum as_ledger_how how, const char *text,
		   const struct as_campaign *campaign, struct as_ledger *ledger, struct as_err *err)
{
	bool make = how != AS_LEDGER_READ;
	int rc;

	memset(ledger, 0, sizeof(*ledger));
	ledger->campaign = campaign;
	ledger->swarm = ledger->cells = AS_DIR_NONE;
	ledger->tallies = as_xcalloc(campaign->n_cells, sizeof(*ledger->tallies));
	rc = as_rundir_open(path, make ? AS_RUNDIR_MAKE : AS_RUNDIR_THERE, &ledger->run, err);
	if (rc) {
		free(ledger->tallies);
		ledger->tallies = NULL;
		return rc;
	}
	rc = check_name(ledger, err);
	if (!rc && make && (how == AS_LEDGER_WRITE || !as_dir_has(&ledger->run.dir, AS_SWARM_FILE)))
		rc = keep_file(ledger, text, err);
	if (!rc)
		rc = as_dir_below(&ledger->run.dir, AS_SWARM_FOLDER, make, &ledger->swarm, err);
	if (!rc)
		rc = as_dir_below(&ledger->run.dir, AS_SWARM_CELLS, make, &ledger->cells, err);
	for (size_t i = 0; i < campaign->n_cells && !rc && how != AS_LEDGER_ONE; i++)
		rc = as_ledger_refresh(ledger, i, err);
	if (rc)
		as_ledger_close(ledger);
	return rc;
}

void as_ledger_close(struct as_ledger *ledger)
{
	if (!ledger->tallies)
		return;
	as_dir_close(&ledger->swarm);
	as_dir_close(&ledger->cells);
	as_rundir_close(&ledger->run);
	as_digests_free(&ledger->kinds);
	as_digests_free(&ledger->causes);
	free(ledger->tallies);
	ledger->tallies = NULL;
}
