/* SPDX-License-Identifier: GPL-2.0-or-later */
/* finding: see finding.h. */
#include "base/finding.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>

static const char *const kind_names[AS_FIND_KINDS] = {
	[AS_FIND_OUTCOME] = "outcome",	   [AS_FIND_DATA] = "data",
	[AS_FIND_TREE] = "tree",	   [AS_FIND_SIGNAL] = "signal",
	[AS_FIND_HANG] = "hang",	   [AS_FIND_LEAK] = "leak",
	[AS_FIND_CHECKER] = "checker",	   [AS_FIND_MOUNT] = "mount",
	[AS_FIND_MISUSE] = "misuse",	   [AS_FIND_KERNEL] = "kernel",
	[AS_FIND_CRASH] = "crash",	   [AS_FIND_RECOVERY] = "recovery",
	[AS_FIND_RACE] = "race",	   [AS_FIND_DIFF] = "diff",
	[AS_FIND_LOCK] = "lock",	   [AS_FIND_PAIR] = "pair",
	[AS_FIND_INVARIANT] = "invariant", [AS_FIND_SILENT] = "silent",
	[AS_FIND_LIMIT] = "limit",	   [AS_FIND_FSCK] = "fsck",
};

const char *as_finding_kind_name(enum as_finding_kind kind)
{
	as_assert((unsigned)kind < AS_FIND_KINDS);
	return kind_names[kind];
}

int as_finding_kind_parse(const char *name)
{
	for (int i = 0; i < AS_FIND_KINDS; i++)
		if (!strcmp(kind_names[i], name))
			return i;
	return -1;
}

/* An id is also the name of a folder. */
static bool is_id_char(const char *id, const char *at)
{
	return (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
	       (*at >= '0' && *at <= '9') || *at == '-' || *at == '_' || (*at == '.' && at != id);
}

void as_finding_id(const struct as_finding *finding, const char *target_name,
		   char id[AS_FINDING_ID_MAX])
{
	struct as_buf all = { 0 };

	as_buf_addf(&all, "%s\n%s\n%s", finding->target, finding->signature, finding->workload);
	snprintf(id, AS_FINDING_ID_MAX, "%.40s-%s-%08x", target_name,
		 as_finding_kind_name(finding->kind),
		 (unsigned)(as_hash64(as_buf_str(&all), all.len) >> 32));
	as_buf_free(&all);
	for (char *s = id; *s; s++)
		if (!is_id_char(id, s))
			*s = '_';
}

/* The word of the options that begins so; NULL: there is none. */
static const char *find_word(const struct as_finding *finding, const char *begins)
{
	for (const char *s = finding->options; s && *s; s += strspn(s, " ")) {
		if (!strncmp(s, begins, strlen(begins)))
			return s;
		s += strcspn(s, " ");
	}
	return NULL;
}

bool as_finding_is_on_host(const struct as_finding *finding)
{
	const char *word = find_word(finding, AS_FINDING_ON_HOST);

	return word && strcspn(word, " ") == strlen(AS_FINDING_ON_HOST);
}

bool as_kernel_name_ok(const char *name)
{
	size_t len = strlen(name);

	return len && len < AS_KERNEL_NAME_MAX && name[0] != '.' && name[0] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-") ==
		       len;
}

bool as_finding_kernel(const struct as_finding *finding, char name[AS_KERNEL_NAME_MAX])
{
	const char *word = find_word(finding, AS_FINDING_KERNEL);
	size_t len = word ? strcspn(word, " ") - strlen(AS_FINDING_KERNEL) : 0;

	name[0] = '\0';
	if (!len || len >= AS_KERNEL_NAME_MAX)
		return false;
	memcpy(name, word + strlen(AS_FINDING_KERNEL), len);
	name[len] = '\0';
	return as_kernel_name_ok(name);
}

bool as_finding_is_id(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (!is_id_char(text, text + i))
			return false;
	return len && len < AS_FINDING_ID_MAX;
}
