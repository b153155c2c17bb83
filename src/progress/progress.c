/* SPDX-License-Identifier: GPL-2.0-or-later */
/* progress: see progress.h. */
#include "progress/progress.h"

#include "base/show.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

const char *const as_counter_names[AS_COUNTERS] = {
#define AS_COUNTER(name, word, how) [AS_COUNT_##name] = #name,
#include "progress/progress.def"
};

static const char *const run_state_names[AS_RUN_STATES] = {
	[AS_RUN_RUNNING] = "running", [AS_RUN_ENDED] = "ended", [AS_RUN_STOPPED] = "stopped",
	[AS_RUN_FAILED] = "failed",   [AS_RUN_DIED] = "died",
};

/* Where a text may be cut: not within a character. */
static size_t whole(const char *text, size_t len)
{
	while (len && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	return len;
}

void as_progress_text(char to[AS_PROGRESS_TEXT], const char *text)
{
	static const char mark[] = "...";
	size_t len = strlen(text), room = AS_PROGRESS_TEXT - sizeof(mark), head, tail;

	if (len < AS_PROGRESS_TEXT) {
		memcpy(to, text, len + 1);
		return;
	}
	head = whole(text, room / 2);
	tail = len - (room - room / 2);
	while (((unsigned char)text[tail] & 0xc0) == 0x80)
		tail++;
	memcpy(to, text, head);
	memcpy(to + head, mark, sizeof(mark) - 1);
	memcpy(to + head + sizeof(mark) - 1, text + tail, len - tail + 1);
}

/* ---- The members that are not counters ------------------------------------------------------- */

enum member_kind { TEXT, WHOLE, UNSIGNED };

struct member {
	const char *name;
	size_t at;
	enum member_kind kind;
	bool who; /* it says which process it is */
};

#define MEMBER(name, kind)                                             \
	{                                                              \
#name, offsetof(struct as_progress, name), kind, false \
	}
#define WHO(name, kind)                                               \
	{                                                             \
#name, offsetof(struct as_progress, name), kind, true \
	}

/* clang-format off */
static const struct member members[] = {
	MEMBER(command, TEXT), MEMBER(target, TEXT), MEMBER(where, TEXT), MEMBER(phase, TEXT),
	MEMBER(jobs, UNSIGNED), MEMBER(wall_us, WHOLE), MEMBER(for_us, WHOLE),
	MEMBER(done, UNSIGNED), MEMBER(all, UNSIGNED), MEMBER(again, UNSIGNED),
	MEMBER(newest, TEXT), MEMBER(newest_words, TEXT), MEMBER(newest_us, WHOLE),
	MEMBER(why, TEXT), WHO(number, UNSIGNED), WHO(pid, WHOLE), WHO(pid_start, UNSIGNED),
	WHO(pid_space, UNSIGNED), WHO(boot, TEXT), WHO(host, TEXT), WHO(began_s, WHOLE),
	WHO(said_s, WHOLE),
};
/* clang-format on */

#define MEMBERS (sizeof(members) / sizeof(members[0]))

static void print_counters(const struct as_progress *p, struct as_json *json)
{
	for (unsigned c = 0; c < AS_COUNTERS; c++)
		if (as_progress_has(p, c))
			as_json_kuint(json, as_counter_names[c], p->n[c]);
	as_json_key(json, "rates");
	as_json_object(json);
	for (unsigned c = 0; c < AS_COUNTERS; c++)
		if (as_progress_has(p, c) && p->rate[c] > 0) {
			as_json_key(json, as_counter_names[c]);
			as_json_num(json, p->rate[c]);
		}
	as_json_end(json);
	as_json_key(json, "kinds");
	as_json_object(json);
	for (unsigned k = 0; k < AS_FIND_KINDS; k++)
		if (p->kinds[k])
			as_json_kuint(json, as_finding_kind_name(k), p->kinds[k]);
	as_json_end(json);
}

void as_progress_print(const struct as_progress *p, bool who, struct as_json *json)
{
	for (size_t i = 0; i < MEMBERS; i++) {
		const char *at = (const char *)p + members[i].at;

		if (members[i].who && !who)
			continue;
		if (members[i].kind == TEXT && *at)
			as_json_kstr(json, members[i].name, at);
		else if (members[i].kind == WHOLE)
			as_json_kint(json, members[i].name, *(const int64_t *)(const void *)at);
		else if (members[i].kind == UNSIGNED)
			as_json_kuint(json, members[i].name, *(const uint64_t *)(const void *)at);
	}
	as_json_kstr(json, "state", run_state_names[p->state]);
	if (p->signal)
		as_json_kint(json, "signal", p->signal);
	print_counters(p, json);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int wrong(const char *name, struct as_err *err)
{
	return as_fail(err, AS_EUSE, "the member %s is not what it should be", name);
}

/* Numbers from outside: whole ones that are not negative. */
static bool is_count(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) >= 0;
}

static int parse_member(const struct member *m, const json_t *value, struct as_progress *p,
			struct as_err *err)
{
	char *at = (char *)p + m->at;

	if (!value)
		return 0;
	if (m->kind == TEXT) {
		if (!json_is_string(value))
			return wrong(m->name, err);
		as_progress_text(at, json_string_value(value));
		return 0;
	}
	if (!is_count(value))
		return wrong(m->name, err);
	*(int64_t *)(void *)at = json_integer_value(value);
	return 0;
}

static int parse_state(const json_t *root, struct as_progress *p, struct as_err *err)
{
	const json_t *state = json_object_get(root, "state"),
		     *sig = json_object_get(root, "signal");
	unsigned s = 0;

	if (!json_is_string(state))
		return wrong("state", err);
	while (s < AS_RUN_STATES && strcmp(run_state_names[s], json_string_value(state)))
		s++;
	if (s == AS_RUN_STATES)
		return wrong("state", err);
	p->state = s;
	if (sig && (!is_count(sig) || json_integer_value(sig) > 64))
		return wrong("signal", err);
	p->signal = (int)json_integer_value(sig);
	return 0;
}

static int parse_counters(const json_t *root, struct as_progress *p, struct as_err *err)
{
	const json_t *rates = json_object_get(root, "rates"),
		     *kinds = json_object_get(root, "kinds");

	for (unsigned c = 0; c < AS_COUNTERS; c++) {
		const json_t *value = json_object_get(root, as_counter_names[c]);
		const json_t *rate = json_object_get(rates, as_counter_names[c]);

		if (value && !is_count(value))
			return wrong(as_counter_names[c], err);
		if (value)
			as_progress_set(p, c, (uint64_t)json_integer_value(value));
		if (rate && (!json_is_number(rate) || !isfinite(json_number_value(rate)) ||
			     json_number_value(rate) < 0))
			return wrong("rates", err);
		p->rate[c] = json_number_value(rate);
	}
	for (unsigned k = 0; k < AS_FIND_KINDS; k++) {
		const json_t *value = json_object_get(kinds, as_finding_kind_name(k));

		if (value && !is_count(value))
			return wrong("kinds", err);
		p->kinds[k] = (uint64_t)json_integer_value(value);
	}
	return 0;
}

int as_progress_parse(const char *text, size_t len, struct as_progress *p, struct as_err *err)
{
	json_error_t why;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	int rc = json_is_object(root) ? 0 : as_fail(err, AS_EUSE, "it is no JSON object");

	memset(p, 0, sizeof(*p));
	for (size_t i = 0; i < MEMBERS && !rc; i++)
		rc = parse_member(&members[i], json_object_get(root, members[i].name), p, err);
	if (!rc)
		rc = parse_state(root, p, err);
	if (!rc)
		rc = parse_counters(root, p, err);
	json_decref(root);
	return rc;
}

/* ---- What is left ---------------------------------------------------------------------------- */

int64_t as_progress_left(const struct as_progress *p, bool *about)
{
	int64_t by_time = p->for_us ? (p->for_us - p->wall_us) / 1000000 : -1, by_work = -1;

	if (p->all && p->done && p->done <= p->all)
		by_work = (int64_t)((double)p->wall_us / 1e6 * (double)(p->all - p->done) /
				    (double)p->done);
	if (p->for_us && by_time < 0)
		by_time = 0;
	*about = by_work >= 0 && (by_time < 0 || by_work < by_time);
	return *about ? by_work : by_time;
}
