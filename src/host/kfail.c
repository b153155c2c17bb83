/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kfail: see kfail.h. */
#include "host/kfail.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[AS_KFAIL_KINDS] = { "", "kalloc", "kpage", "kio" };

enum as_kfail as_kfail_kind(const char *rule)
{
	for (unsigned i = 1; i < AS_KFAIL_KINDS; i++) {
		size_t len = strlen(names[i]);

		if (!strncmp(rule, names[i], len) && rule[len] == ':')
			return (enum as_kfail)i;
	}
	return AS_KFAIL_NONE;
}

/* A number from 1 that ends at `stop`. */
static bool read_count(const char *text, const char *stop, uint64_t *n)
{
	char *end;

	errno = 0;
	*n = strtoull(text, &end, 10);
	return isdigit((unsigned char)*text) && end == stop && !errno && *n;
}

static int add(const char *text, const struct as_kfail_rule *rule, struct as_kfail_rules *rules,
	       struct as_err *err)
{
	if (rules->n == AS_KFAIL_MAX)
		return as_fail(err, AS_EUSE, "fault '%s': at most %d of a kernel can fail", text,
			       AS_KFAIL_MAX);
	for (unsigned i = 0; i < rules->n; i++) {
		if (rules->rule[i].kind != rule->kind)
			return as_fail(err, AS_EUSE, "fault '%s': the other one is a %s", text,
				       names[rules->rule[i].kind]);
		if (rules->rule[i].op == AS_KFAIL_EVERY || rule->op == AS_KFAIL_EVERY)
			return as_fail(err, AS_EUSE, "fault '%s': with %s:all, there is no other",
				       text, names[rule->kind]);
		if (rules->rule[i].op == rule->op)
			return as_fail(err, AS_EUSE,
				       "fault '%s': in one operation only one can fail", text);
	}
	rules->rule[rules->n++] = *rule;
	return 0;
}

int as_kfail_parse(const char *text, struct as_kfail_rules *rules, struct as_err *err)
{
	struct as_kfail_rule r = { .kind = as_kfail_kind(text) };
	const char *op = text + strlen(names[r.kind]) + 1, *colon = strchr(op, ':');
	bool ok = colon && read_count(colon + 1, op + strlen(op), &r.nth);

	if (!strncmp(op, "all", 3) && (!op[3] || (colon == op + 3 && ok))) {
		r.op = AS_KFAIL_EVERY;
		return add(text, &r, rules, err);
	}
	if (ok && !(colon - op == 5 && !strncmp(op, "mount", 5)))
		ok = read_count(op, colon, &r.op);
	if (!ok)
		return as_fail(err, AS_EUSE,
			       "fault '%s': expected %s:OP:N with the number of an operation, or "
			       "`mount`, and N from 1; or %s:all",
			       text, names[r.kind], names[r.kind]);
	return add(text, &r, rules, err);
}

bool as_kfail_every(const struct as_kfail_rules *rules)
{
	return rules->n && rules->rule[0].op == AS_KFAIL_EVERY;
}

void as_kfail_print(const struct as_kfail_rules *rules, struct as_buf *out)
{
	for (unsigned i = 0; i < rules->n; i++) {
		const struct as_kfail_rule *rule = &rules->rule[i];

		as_buf_addf(out, "%s%s:", i ? " " : "", names[rule->kind]);
		if (rule->op == AS_KFAIL_EVERY) {
			as_buf_adds(out, "all");
			if (rule->nth)
				as_buf_addf(out, ":%llu", (unsigned long long)rule->nth);
			continue;
		}
		if (rule->op)
			as_buf_addf(out, "%llu", (unsigned long long)rule->op);
		else
			as_buf_adds(out, "mount");
		as_buf_addf(out, ":%llu", (unsigned long long)rule->nth);
	}
}
