/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guest_programs: see guest_programs.h. */
#include "box/guest_programs.h"

#include "base/array.h"
#include "target/fstype.h"

#include <stdlib.h>
#include <string.h>

/* Adds the first word of the text, unless the list has it already. */
static void add(struct as_guest_names *list, const char *text)
{
	size_t len = strcspn(text, " ");

	for (size_t i = 0; i < list->n; i++)
		if (strlen(list->names[i]) == len && !strncmp(list->names[i], text, len))
			return;
	AS_ARRAY_ROOM_FOR(list->names, list->n, 2, list->cap);
	list->names[list->n++] = as_xstrndup(text, len);
	list->names[list->n] = NULL;
}

void as_guest_programs_add(struct as_guest_programs *p, const struct as_fstype *type)
{
	/* The guest's kernel reaches assay's disks through these two. */
	add(&p->modules, "fuse");
	add(&p->modules, "loop");
	for (const char *s = type->modules ? type->modules : ""; *s; s += strspn(s, " ")) {
		add(&p->modules, s);
		s += strcspn(s, " ");
	}
	if (type->mkfs)
		add(&p->programs, type->mkfs);
	for (int i = 0; i < AS_CHECK_MODES; i++)
		if (as_fstype_check(type, (enum as_check_mode)i)->command)
			add(&p->optional, as_fstype_check(type, (enum as_check_mode)i)->command);
	if (type->guest_bytes > p->mem_bytes)
		p->mem_bytes = type->guest_bytes;
}

void as_guest_programs_set(struct as_guest_programs *p, struct as_box_options *options)
{
	static const char *const none[] = { NULL };

	options->programs = p->programs.n ? (const char *const *)p->programs.names : none;
	options->optional = p->optional.n ? (const char *const *)p->optional.names : none;
	options->modules = p->modules.n ? (const char *const *)p->modules.names : none;
	if (options->mem_bytes == p->mem_set)
		options->mem_bytes = p->mem_set = p->mem_bytes;
}

static void free_names(struct as_guest_names *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->names[i]);
	free(list->names);
	*list = (struct as_guest_names){ 0 };
}

void as_guest_programs_free(struct as_guest_programs *p)
{
	free_names(&p->programs);
	free_names(&p->optional);
	free_names(&p->modules);
	p->mem_bytes = p->mem_set = 0;
}
