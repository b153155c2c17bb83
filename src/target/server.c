/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server: see server.h.
 */
#include "target/server.h"

#include "base/array.h"
#include "crew/ended.h"
#include "os/patience.h"
#include "os/spawn.h"
#include "os/stuck.h"
#include "os/userns.h"
#include "target/server_keep.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_US 300
#define KILL_MS 2000 /* for a killed process to be gone; then it is left to the kernel */

struct as_server {
	pid_t keeper; /* ends when the server has ended, and ends it: server_keep.c */
	struct as_server_report *report;
	bool gone; /* the keeper, and so all of them */
	bool wanted; /* its end was asked for */
	bool killed; /* by us */
	bool hung;
	char trouble[128];
};

/* ---- Words ---------------------------------------------------------------------------------- */

static int add_place(struct as_buf *word, const char **s, const struct as_server_places *p,
		     struct as_err *err)
{
	const struct {
		const char *name, *text;
	} rows[] = { { "{disk}", p->disk }, { "{mnt}", p->mnt }, { "{src}", p->src } };

	for (size_t i = 0; i < 3; i++)
		if (!strncmp(*s, rows[i].name, strlen(rows[i].name)) && rows[i].text) {
			as_buf_adds(word, rows[i].text);
			*s += strlen(rows[i].name);
			return 0;
		}
	return as_fail(err, AS_EUSE, "'%.16s': expected {disk}, {src} or {mnt}", *s);
}

/* Adds one word, from *s on; then *s is after it. */
static int take_word(const char **s, const struct as_server_places *p, struct as_buf *word,
		     struct as_err *err)
{
	char quote = 0;
	int rc = 0;

	while (**s && (quote || **s != ' ') && !rc) {
		if (quote ? **s == quote : **s == '\'' || **s == '"') {
			quote = quote ? 0 : **s;
			++*s;
		} else if (**s == '\\' && quote != '\'' && (*s)[1]) {
			as_buf_addc(word, (*s)[1]);
			*s += 2;
		} else if (**s == '{') {
			rc = add_place(word, s, p, err);
		} else {
			as_buf_addc(word, *(*s)++);
		}
	}
	return !rc && quote ? as_fail(err, AS_EUSE, "a quote is not closed") : rc;
}

int as_server_argv(const char *command, const struct as_server_places *places, char ***argv,
		   struct as_err *err)
{
	const char *s = command + strspn(command, " ");
	char **words = NULL;
	size_t n = 0, cap = 0;
	int rc = 0;

	while (*s && !rc) {
		struct as_buf word = { 0 };

		as_buf_adds(&word, "");
		rc = take_word(&s, places, &word, err);
		AS_ARRAY_ROOM_FOR(words, n, 2, cap);
		words[n++] = word.data;
		words[n] = NULL;
		s += strspn(s, " ");
	}
	if (!rc && !n)
		rc = as_fail(err, AS_EUSE, "there is no command");
	if (rc) {
		for (size_t i = 0; i < n; i++)
			free(words[i]);
		free(words);
		words = NULL;
	}
	*argv = words;
	return rc;
}

/* ---- The process ---------------------------------------------------------------------------- */

static void note_end(struct as_server *s)
{
	struct as_ended ended = as_ended_of(s->report->status);
	struct as_buf how = { 0 };

	as_ended_words(&ended, &(struct as_ended_say){ 0 }, &how);
	if (!s->report->ended)
		/* The keeper was killed, and the server with it. */
		snprintf(s->trouble, sizeof(s->trouble), "the server was killed");
	else if (ended.how == AS_END_SIGNAL)
		snprintf(s->trouble, sizeof(s->trouble), "the server %s", as_buf_str(&how));
	else if (!s->wanted || ended.status)
		snprintf(s->trouble, sizeof(s->trouble), "the server ended with status %d%s",
			 ended.status, s->wanted ? "" : " while it was mounted");
	as_buf_free(&how);
}

static bool reap(struct as_server *s, unsigned ms)
{
	if (!s->gone && as_stuck_reap(s->keeper, ms, NULL)) {
		s->gone = true;
		if (!s->killed)
			note_end(s);
	}
	return s->gone;
}

void as_server_kill(struct as_server *s)
{
	if (s->gone)
		return;
	s->killed = true;
	kill(s->keeper, SIGKILL);
	reap(s, KILL_MS);
}

static int await(struct as_server *s, const char *mnt, uint64_t before, unsigned deadline_ms)
{
	struct as_patience patience = as_patience_of(AS_PATIENCE_SERVER, s->keeper, deadline_ms);

	while (as_server_mount_number(mnt) == before) {
		if (reap(s, 0))
			return s->report->exec_errno ? -ENOEXEC : -ECONNABORTED;
		if (!as_patience_left(&patience))
			return -ETIMEDOUT;
		usleep(LOOK_US);
	}
	return 0;
}

int as_server_start(const char *program, char *const *argv, const char *mnt, unsigned deadline_ms,
		    struct as_server **out)
{
	struct as_server *s = as_xcalloc(1, sizeof(*s));
	uint64_t before = as_server_mount_number(mnt);
	char found[4096];
	struct stat st;
	int rc;

	*out = s;
	s->report = as_shared_alloc(sizeof(*s->report));
	if (!program && as_spawn_which(argv[0], found, sizeof(found)))
		program = found;
	if (!program) {
		s->gone = true;
		s->report->exec_errno = ENOENT;
		return -ENOEXEC;
	}
	s->keeper = as_server_keep(program, argv, mnt, s->report);
	if (s->keeper < 0) {
		s->gone = true;
		return s->keeper;
	}
	rc = await(s, mnt, before, deadline_ms);
	/* The first request waits until the server has said what it can do. */
	if (!rc && stat(mnt, &st)) {
		as_server_stop(s, deadline_ms);
		rc = -ECONNABORTED;
	}
	if (rc == -ETIMEDOUT)
		as_server_kill(s);
	return rc;
}

bool as_server_declined(const struct as_server *s)
{
	return s->gone && s->report->ended && WIFEXITED(s->report->status);
}

const char *as_server_refusal(const struct as_server *s)
{
	int errnum = s->report->exec_errno;

	return errnum ? strerror(errnum) : NULL;
}

const char *as_server_trouble(struct as_server *s)
{
	reap(s, 0);
	return s->trouble[0] ? s->trouble : NULL;
}

bool as_server_hung(const struct as_server *s)
{
	return s->hung;
}

static bool ends_in_time(struct as_server *s, unsigned deadline_ms)
{
	struct as_patience patience = as_patience_of(AS_PATIENCE_SERVER, s->keeper, deadline_ms);
	int64_t left_ms;

	do
		left_ms = deadline_ms ? as_patience_left(&patience) : 0;
	while (!reap(s, (unsigned)left_ms) && left_ms);
	return s->gone;
}

bool as_server_stop(struct as_server *s, unsigned deadline_ms)
{
	s->wanted = true;
	if (!ends_in_time(s, deadline_ms)) {
		as_server_kill(s);
		s->hung = true;
		snprintf(s->trouble, sizeof(s->trouble),
			 "the server did not end within %u ms of the unmount", deadline_ms);
	}
	return !s->trouble[0];
}

void as_server_output(const struct as_server *s, struct as_buf *out)
{
	uint64_t end = s->report->output_bytes;

	for (uint64_t i = end > AS_SERVER_OUTPUT_BYTES ? end - AS_SERVER_OUTPUT_BYTES : 0; i < end;
	     i++) {
		char c = s->report->output[i % AS_SERVER_OUTPUT_BYTES];

		as_buf_addc(out, c ? c : '?');
	}
}

void as_server_free(struct as_server *s)
{
	if (!s)
		return;
	as_server_kill(s);
	as_shared_free(s->report, sizeof(*s->report));
	free(s);
}

/* ---- Without root --------------------------------------------------------------------------- */

int as_server_userns(struct as_err *err)
{
	if (access("/dev/fuse", R_OK | W_OK))
		return as_fail(err, AS_ELACK,
			       "FUSE servers need /dev/fuse, and we may not open it: %s",
			       strerror(errno));
	return as_userns_enter("FUSE servers are tested", err);
}
