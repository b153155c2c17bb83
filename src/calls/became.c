/* SPDX-License-Identifier: GPL-2.0-or-later */
/* became: see became.h. */
#include "calls/became.h"

#include <string.h>

#define GROUPS_MAX 10

void as_became_look(const struct as_syscall *call, struct as_became *out)
{
	unsigned len = 0;

	for (unsigned i = 0; i < call->spec->n_slots; i++)
		if (call->spec->slots[i].own == AS_OWN_PROGRAM &&
		    call->slots[i].state == AS_SLOT_TEXT) {
			len = call->slots[i].len < AS_BECAME_MAX ? call->slots[i].len
								 : AS_BECAME_MAX - 1;
			memcpy(out->program, call->slots[i].text, len);
		}
	out->program[len] = 0;
	len = call->args ? call->args_len : 0;
	out->cut = len && (call->args_cut || len >= AS_BECAME_MAX);
	len = len < AS_BECAME_MAX ? len : AS_BECAME_MAX - 1;
	if (len)
		memcpy(out->args, call->args, len);
	while (len && !out->args[len - 1])
		len--;
	out->args[len] = 0;
	out->args_len = len;
	for (unsigned i = 0; i < len; i++)
		out->line[i] = out->args[i] ? out->args[i] : ' ';
	out->line[len] = 0;
}

bool as_became_match(const regex_t *regex, const char *text, bool cut, const char **name,
		     size_t *len)
{
	regmatch_t groups[GROUPS_MAX];
	unsigned g = 1;

	if (!*text || regexec(regex, text, GROUPS_MAX, groups, 0))
		return false;
	if (cut && !text[groups[0].rm_eo])
		return false;
	while (g < GROUPS_MAX && groups[g].rm_eo <= groups[g].rm_so)
		g++;
	g = g < GROUPS_MAX ? g : 0;
	*name = text + groups[g].rm_so;
	*len = (size_t)(groups[g].rm_eo - groups[g].rm_so);
	return true;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_interpreter(const char *path)
{
	static const char *const names[] = { "sh",  "bash", "dash", "ash",     "ksh",
					     "zsh", "perl", "ruby", "python3", "python" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(base_of(path), names[i]))
			return true;
	return false;
}

const char *as_became_name(const struct as_became *b)
{
	const char *arg = b->args, *end = b->args + b->args_len;
	bool script = b->args_len && is_interpreter(b->args);

	/* A script that was started by its own name. */
	if (*b->program && !is_interpreter(b->program))
		return script || !b->args_len || strcmp(base_of(b->program), base_of(b->args)) != 0
			       ? b->program
			       : b->args;
	for (arg += strlen(arg) + 1; script && arg < end; arg += strlen(arg) + 1)
		if (*arg && *arg != '-')
			return arg;
	return b->args_len ? b->args : b->program;
}
