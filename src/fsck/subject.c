/* SPDX-License-Identifier: GPL-2.0-or-later */
/* subject: see subject.h. */
#include "crew/ended.h"
#include "fsck/subject_priv.h"

#include "target/fstype.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND_WORD "checker:"
#define OPTS_WORD "{opts}"

/* The way of the checker that a mode is; NULL: there is none. */
static const struct as_checker_way *way_of(const struct as_fsck_subject *s,
					   enum as_subject_mode mode)
{
	const unsigned ways[AS_SUBJECT_MODES] = { s->test.repair, s->test.again, s->test.look };

	return ways[mode] < AS_CHECK_WAYS ? &s->checker.ways[ways[mode]] : NULL;
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* Whether a list of words has this one. */
static bool has_word(const char *list, const char *word, size_t len)
{
	while (*list) {
		size_t n = strcspn(list, " ");

		if (n == len && !memcmp(list, word, len))
			return true;
		list += n + strspn(list + n, " ");
	}
	return false;
}

static int find_row(struct as_fsck_subject *s, const char *spec, const char **opts,
		    struct as_err *err)
{
	const struct as_checker_test *test;
	const struct as_checker *checker;
	size_t len = strcspn(spec, ":");
	struct as_buf known = { 0 };

	*opts = spec[len] ? spec + len + 1 : "";
	for (unsigned i = 0; (test = as_checker_test_at(i, &checker)); i++) {
		if (strlen(test->name) == len && !memcmp(test->name, spec, len)) {
			s->checker = *checker;
			s->test = *test;
			as_buf_free(&known);
			return 0;
		}
		as_buf_addf(&known, " %s", test->name);
	}
	as_fail(err, AS_EUSE, "%s: no such checker; known are%s, or checker:COMMAND {disk}", spec,
		as_buf_str(&known));
	as_buf_free(&known);
	return AS_EUSE;
}

/* "e2fsck:ext2": one of its types. Of a checker that takes options, they are its own. */
static int read_opts(struct as_fsck_subject *s, const char *opts, struct as_buf *words,
		     struct as_err *err)
{
	size_t n = strcspn(s->checker.types, " ");
	bool takes = strstr(s->checker.ways[s->test.repair].command, OPTS_WORD);

	s->type = as_xstrndup(s->checker.types, n);
	while (*opts) {
		size_t len = strcspn(opts, ",");

		if (has_word(s->checker.types, opts, len)) {
			free(s->type);
			s->type = as_xstrndup(opts, len);
		} else if (takes && !strncmp(opts, "bug=", 4) && len > 4 &&
			   strspn(opts + 4, "0123456789") == len - 4) {
			as_buf_addf(words, " --bug %.*s", (int)len - 4, opts + 4);
		} else {
			return as_fail(err, AS_EUSE, "%s: %.*s: expected %s%s", s->spec, (int)len,
				       opts, s->checker.types, takes ? ", or bug=N" : "");
		}
		opts += len + (opts[len] == ',');
	}
	return 0;
}

static int own_row(struct as_fsck_subject *s, const struct as_subject_setup *setup,
		   struct as_err *err)
{
	const char *command = setup->spec + strlen(COMMAND_WORD);

	if (!strstr(command, "{disk}"))
		return as_fail(err, AS_EUSE,
			       "%s: the command must have {disk} where the disk's path is to be",
			       setup->spec);
	s->own[0] = as_subject_absolute(command);
	s->own[1] = setup->exits ? as_xstrdup(setup->exits) : NULL;
	s->own[2] = setup->check ? as_subject_absolute(setup->check) : NULL;
	s->own[3] = as_xstrndup(s->own[0], strcspn(s->own[0], " "));
	s->type = setup->type ? as_xstrdup(setup->type) : NULL;
	s->checker = (struct as_checker){
		.name = s->own[3],
		.types = "",
		.ways = { [AS_CHECK_FULL] = { .command = s->own[0] },
			  [AS_CHECK_LOOK] = { .command = s->own[2], .looks = true } },
		.exits = s->own[1] ? s->own[1] : AS_FSCK_EXITS,
		.look_exits = s->own[1] ? NULL : AS_FSCK_LOOK_EXITS,
	};
	s->test = (struct as_checker_test){ .name = s->own[3],
					    .repair = AS_CHECK_FULL,
					    .again = AS_CHECK_FULL,
					    .look = s->own[2] ? AS_CHECK_LOOK : AS_CHECK_WAYS };
	if (s->own[2] && !strstr(s->own[2], "{disk}"))
		return as_fail(err, AS_EUSE, "--check: the command must have {disk} in it");
	return setup->exits ? as_exits_vet(setup->exits, err) : 0;
}

/* A program that comes with assay is looked for where assay itself is. */
static char *beside(const char *program)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self));
	struct as_buf path = { 0 };
	char *found = NULL;

	while (n > 0 && n < (ssize_t)sizeof(self) && self[n - 1] != '/')
		n--;
	if (n > 0 && n < (ssize_t)sizeof(self)) {
		as_buf_add(&path, self, (size_t)n);
		as_buf_adds(&path, program);
		if (!access(as_buf_str(&path), X_OK))
			found = as_xstrdup(as_buf_str(&path));
	}
	as_buf_free(&path);
	return found ? found : as_xstrdup(program);
}

static void set_command(struct as_fsck_subject *s, enum as_subject_mode mode, const char *opts)
{
	const char *command = way_of(s, mode)->command;
	const char *at = strstr(command, OPTS_WORD);
	struct as_buf text = { 0 };

	as_buf_add(&text, command, at ? (size_t)(at - command) : strlen(command));
	if (at)
		as_buf_addf(&text, "%s%s", opts + strspn(opts, " "), at + strlen(OPTS_WORD));
	s->command[mode] = as_xstrdup(as_buf_str(&text));
	s->argv[mode] =
		as_fstype_argv(s->command[mode], &(struct as_fstype_disks){ .disk = AS_TOOL_DISK });
	as_buf_free(&text);
}

/* The modes of one command share a tool. */
static int start(struct as_fsck_subject *s, unsigned mode, struct as_err *err)
{
	struct as_tool_setup how = { .deadline_ms = s->now_ms,
				     .halt = s->halt,
				     .output_bytes = 256 << 10 };
	char path[4096], *program;
	bool dynamic;
	int rc;

	for (unsigned i = 0; i < mode; i++)
		if (s->tool[i] && !strcmp(s->command[i], s->command[mode])) {
			s->tool[mode] = s->tool[i];
			return 0;
		}
	program = s->checker.beside ? beside(s->argv[mode][0]) : as_xstrdup(s->argv[mode][0]);
	dynamic = as_spawn_which(program, path, sizeof(path)) && as_tool_is_dynamic(path);
	if (dynamic && s->own[0] && !s->probed &&
	    as_subject_is_served(program, s->argv[mode], s->halt))
		s->served |= 1u << mode;
	how.served = s->served & 1u << mode;
	rc = as_tool_start(program, &how, &s->tool[mode], err);
	if (!mode) {
		s->dynamic = dynamic && !how.served;
		s->program = as_xstrdup(program);
	}
	free(program);
	if (rc == AS_ELACK && s->checker.package)
		return as_fail_in(err, "%s (package %s)", s->test.name, s->checker.package);
	return rc;
}

static int set_up(struct as_fsck_subject *s, const struct as_subject_setup *setup,
		  struct as_err *err)
{
	struct as_buf words = { 0 };
	const char *opts = "";
	int rc;

	if (!strncmp(setup->spec, COMMAND_WORD, strlen(COMMAND_WORD))) {
		rc = own_row(s, setup, err);
	} else if (setup->exits || setup->check || setup->type) {
		rc = as_fail(err, AS_EUSE, "--exits, --check and --type are for checker:COMMAND");
	} else {
		rc = find_row(s, setup->spec, &opts, err);
		if (!rc)
			rc = read_opts(s, opts, &words, err);
	}
	if (!rc) {
		for (unsigned i = 0; i < AS_SUBJECT_MODES; i++)
			if (way_of(s, (enum as_subject_mode)i))
				set_command(s, (enum as_subject_mode)i, as_buf_str(&words));
	}
	for (unsigned i = 0; !rc && i < AS_SUBJECT_MODES; i++)
		if (s->argv[i])
			rc = start(s, i, err);
	as_buf_free(&words);
	return rc;
}

static char *short_name(const struct as_fsck_subject *s)
{
	const char *base = strrchr(s->test.name, '/');
	struct as_buf name = { 0 };
	char *text;

	as_buf_adds(&name, base ? base + 1 : s->test.name);
	if (s->type && *s->checker.types && strchr(s->checker.types, ' '))
		as_buf_addf(&name, "-%s", s->type);
	text = as_xstrdup(as_buf_str(&name));
	as_buf_free(&name);
	return text;
}

int as_subject_open(const struct as_subject_setup *setup, struct as_fsck_subject **out,
		    struct as_err *err)
{
	struct as_fsck_subject *s = as_xcalloc(1, sizeof(*s));
	int rc;

	*out = NULL;
	s->spec = as_xstrdup(setup->spec);
	s->told_ms = setup->deadline_ms;
	s->halt = setup->halt;
	s->probed = setup->probed;
	s->served = setup->probed ? setup->served : 0;
	s->deadline_ms = s->told_ms	  ? s->told_ms
			 : setup->patient ? AS_SUBJECT_PATIENT_MS
			 : setup->hint_ms ? setup->hint_ms
					  : AS_SUBJECT_DEADLINE_MS;
	s->now_ms = s->deadline_ms;
	for (unsigned i = 0; i < AS_SUBJECT_MODES; i++)
		s->ready[i].never = setup->whole;
	rc = set_up(s, setup, err);
	if (rc) {
		as_subject_free(s);
		return rc;
	}
	if (s->own[0]) { /* it can be opened again from another folder */
		struct as_buf spec = { 0 };

		as_buf_addf(&spec, COMMAND_WORD "%s", s->own[0]);
		free(s->spec);
		s->spec = as_xstrdup(as_buf_str(&spec));
		as_buf_free(&spec);
	}
	s->name = short_name(s);
	*out = s;
	return 0;
}

void as_subject_free(struct as_fsck_subject *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < AS_SUBJECT_MODES; i++) {
		bool shared = false;

		for (unsigned j = 0; j < i; j++)
			shared = shared || s->tool[j] == s->tool[i];
		if (!shared)
			as_tool_free(s->tool[i]);
	}
	free(s->program);
	for (unsigned i = 0; i < AS_SUBJECT_MODES; i++) {
		for (unsigned k = 0; k < AS_SUBJECT_FORKS; k++)
			as_tool_free(s->forks[k][i]);
		as_fstype_free_words(s->argv[i]);
		free(s->command[i]);
	}
	for (unsigned i = 0; i < sizeof(s->own) / sizeof(s->own[0]); i++)
		free(s->own[i]);
	free(s->type);
	free(s->name);
	free(s->spec);
	free(s);
}

void as_subject_hurry(struct as_fsck_subject *s, unsigned ms)
{
	s->now_ms = ms && ms < s->deadline_ms ? ms : s->deadline_ms;
	for (unsigned i = 0; i < AS_SUBJECT_MODES; i++) {
		if (s->tool[i])
			as_tool_set_deadline(s->tool[i], s->now_ms);
		for (unsigned k = 0; k < AS_SUBJECT_FORKS; k++)
			if (s->forks[k][i])
				as_tool_set_deadline(s->forks[k][i], s->now_ms);
	}
}

unsigned as_subject_deadline_ms(const struct as_fsck_subject *s)
{
	return s->deadline_ms;
}

bool as_subject_is_halted(const struct as_fsck_subject *s)
{
	return as_halted(s->halt);
}

const char *as_subject_spec(const struct as_fsck_subject *s)
{
	return s->spec;
}

const char *as_subject_name(const struct as_fsck_subject *s)
{
	return s->name;
}

const char *as_subject_type(const struct as_fsck_subject *s)
{
	return s->type;
}

const struct as_checker_test *as_subject_test(const struct as_fsck_subject *s)
{
	return &s->test;
}

const struct as_checker *as_subject_checker(const struct as_fsck_subject *s)
{
	return &s->checker;
}

const char *as_subject_input(const struct as_fsck_subject *s, enum as_subject_mode mode)
{
	return way_of(s, mode)->input;
}

const char *as_subject_program(const struct as_fsck_subject *s)
{
	return s->program;
}

bool as_subject_has(const struct as_fsck_subject *s, enum as_subject_mode mode)
{
	return s->command[mode];
}

unsigned as_subject_served(const struct as_fsck_subject *s)
{
	return s->served;
}

const char *as_subject_command(const struct as_fsck_subject *s, enum as_subject_mode mode)
{
	return s->command[mode];
}

bool as_subject_is_book(const char *books, uint64_t off)
{
	unsigned long long from, to;
	int n;

	for (; books && sscanf(books, "%llu-%llu%n", &from, &to, &n) == 2; books += n)
		if (off >= from && off <= to)
			return true;
	return false;
}

/* ---- Running --------------------------------------------------------------------------------- */

void as_subject_give_meaning(const struct as_fsck_subject *s, enum as_subject_mode mode,
			     struct as_subject_run *run)
{
	run->answer = AS_CHECK_FAILED;
	run->documented = true;
	if (run->run.ended.how != AS_END_EXIT)
		return;
	run->answer = as_checker_answer(&s->checker, way_of(s, mode)->looks, run->run.ended.status,
					as_buf_str(&run->run.output), &run->documented);
}

struct as_tool_job as_subject_job(const struct as_fsck_subject *s, enum as_subject_mode mode)
{
	return (struct as_tool_job){ .argv = s->argv[mode],
				     .input = as_subject_input(s, mode),
				     .flags = s->checker.block ? AS_TOOL_BLOCK : 0 };
}

/* The mode whose tool this one uses. */
static enum as_subject_mode tool_mode(const struct as_fsck_subject *s, enum as_subject_mode mode)
{
	for (unsigned i = 0; i < (unsigned)mode; i++)
		if (s->tool[i] == s->tool[mode])
			return (enum as_subject_mode)i;
	return mode;
}

/*
 * What a checker does before it touches its disk is the same for all disks of a size, and for some
 * checkers it is a third of all: it is done once. *forks: this run can begin after it.
 */
static int get_ready(struct as_fsck_subject *s, enum as_subject_mode mode, struct as_disk *disk,
		     bool *forks, struct as_err *err)
{
	struct ready *r = &s->ready[tool_mode(s, mode)];
	const struct as_tool_job job = as_subject_job(s, mode);
	struct as_tool_range all = { 0, as_disk_size(disk) };
	int rc;

	*forks = r->size == all.len && as_tool_has_stopped(s->tool[mode]);
	if (*forks || r->never)
		return 0;
	if (r->size)
		as_tool_stop_end(s->tool[mode]);
	r->size = 0;
	rc = as_tool_stop_begin(s->tool[mode], &job, disk, &all, 1, forks, err);
	r->never = !rc && !*forks;
	r->size = *forks ? all.len : 0;
	return rc;
}

int as_subject_run(struct as_fsck_subject *s, enum as_subject_mode mode, struct as_disk *disk,
		   struct as_subject_run *run, struct as_err *err)
{
	const struct as_tool_job job = as_subject_job(s, mode);
	bool forks = false;
	int rc;

	memset(run, 0, sizeof(*run));
	rc = get_ready(s, mode, disk, &forks, err);
	if (!rc && forks)
		rc = as_tool_stop_run(s->tool[mode], disk, &run->run, err);
	else if (!rc)
		rc = as_tool_run(s->tool[mode], &job, disk, &run->run, err);
	if (!rc)
		as_subject_give_meaning(s, mode, run);
	return rc;
}

void as_subject_run_free(struct as_subject_run *run)
{
	as_tool_result_free(&run->run);
}

void as_subject_describe(const struct as_subject_run *run, struct as_buf *out)
{
	const struct as_tool_result *r = &run->run;

	const struct as_ended_say say = { .died = r->died, .late = "did not end" };

	if (r->ended.how != AS_END_EXIT)
		as_ended_words(&r->ended, &say, out);
	else
		as_buf_addf(out, "exit status %d (%s)", r->ended.status,
			    run->documented ? as_check_answer_name(run->answer) : "not documented");
}
