/* SPDX-License-Identifier: GPL-2.0-or-later */
/* code: see code.h. */
#include "cover/code.h"

#include "base/array.h"
#include "os/out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "assay-code 1\n"
#define KERNEL "kernel "

/* ---- What was reached ------------------------------------------------------------------------ */

bool as_code_of_same(const struct as_code_of *a, const struct as_code_of *b)
{
	return *a->build && *b->build ? !strcmp(a->build, b->build) : !strcmp(a->kernel, b->kernel);
}

void as_code_print(const struct as_codeset *set, const struct as_code_of *of, struct as_buf *out)
{
	as_buf_addf(out, HEAD KERNEL "%s%s%s\n", *of->kernel ? of->kernel : "-",
		    *of->build ? " " : "", of->build);
	for (uint64_t pc = 0; (pc = as_codeset_next(set, pc)); pc++)
		as_buf_addf(out, "%llx\n", (unsigned long long)pc);
}

static bool take_word(const char *from, size_t len, char *to, size_t room)
{
	if (len >= room)
		return false;
	memcpy(to, from, len);
	to[len] = '\0';
	return true;
}

static int parse_kernel(const char *name, const char **at, struct as_code_of *of,
			struct as_err *err)
{
	size_t len, rest = 0;
	struct as_digest build;
	bool ok;

	*of = (struct as_code_of){ "", "" };
	if (strncmp(*at, HEAD KERNEL, strlen(HEAD KERNEL)))
		return as_fail(err, AS_EUSE, "%s: not a file of --kcov", name);
	*at += strlen(HEAD KERNEL);
	len = strcspn(*at, " \n");
	ok = take_word(*at, len, of->kernel, sizeof(of->kernel));
	if (ok && (*at)[len] == ' ') {
		rest = 1 + strcspn(*at + len + 1, "\n");
		ok = take_word(*at + len + 1, rest - 1, of->build, sizeof(of->build)) &&
		     as_digest_parse(of->build, &build);
	}
	*at += len + rest;
	if (ok && !strcmp(of->kernel, "-"))
		of->kernel[0] = '\0';
	else
		ok = ok && as_kernel_name_ok(of->kernel);
	if (!ok || *(*at)++ != '\n')
		return as_fail(err, AS_EUSE, "%s:2: not the name of a kernel", name);
	return 0;
}

int as_code_parse(const char *name, const char *text, struct as_codeset *set, struct as_code_of *of,
		  struct as_err *err)
{
	const char *at = text, *end;
	int rc = parse_kernel(name, &at, of, err);

	for (unsigned line = 3; !rc && *at; line++, at = end + 1) {
		uint64_t pc = as_codeset_address(at, &end);

		if (end == at || *end != '\n')
			return as_fail(err, AS_EUSE, "%s:%u: not an address", name, line);
		if (as_codeset_add(set, pc) || as_codeset_has(set, pc))
			continue;
		return set->n < AS_CODESET_MAX
			       ? as_fail(err, AS_EUSE, "%s:%u: %llx is far from the others", name,
					 line, (unsigned long long)pc)
			       : as_fail(err, AS_EUSE, "%s:%u: more places than a kernel has", name,
					 line);
	}
	return rc;
}

int as_code_load(const char *path, struct as_codeset *set, struct as_code_of *of,
		 struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = as_buf_read_file(&text, path, AS_CODE_MAX_BYTES, err);

	if (!rc)
		rc = as_code_parse(path, as_buf_str(&text), set, of, err);
	as_buf_free(&text);
	return rc;
}

/* ---- The functions of a kernel --------------------------------------------------------------- */

/* A word of a line; NULL: there is none. It ends with '\0' from now on. */
static char *word(char **at)
{
	char *from = *at;
	size_t len = strcspn(from, " \n");

	if (!len || !from[len])
		return NULL;
	from[len] = '\0';
	*at = from + len + 1;
	return from;
}

static bool number(char **at, int base, uint64_t *n)
{
	const char *text = word(at);
	char *end;

	if (!text)
		return false;
	errno = 0;
	*n = strtoull(text, &end, base);
	return !*end && !errno;
}

static bool parse_function(char **at, struct as_code_function *f)
{
	if (!number(at, 16, &f->at) || !number(at, 10, &f->size) || f->size > UINT64_MAX - f->at)
		return false;
	f->reached = 0;
	f->file = word(at);
	f->name = f->file ? word(at) : NULL;
	return f->name;
}

int as_code_map_parse(const char *name, const char *text, struct as_code_map *map,
		      struct as_err *err)
{
	char *at;

	*map = (struct as_code_map){ .text = as_xstrdup(text) };
	as_digest_hex(as_hash(text, strlen(text)), map->build);
	for (at = map->text; *at;) {
		struct as_code_function f;

		AS_ARRAY_ROOM(map->functions, map->n, map->cap);
		if (!parse_function(&at, &f) || (map->n && f.at < map->functions[map->n - 1].at)) {
			as_code_map_free(map);
			return as_fail(err, AS_EUSE, "%s:%zu: not a function of a kernel", name,
				       map->n + 1);
		}
		map->functions[map->n++] = f;
	}
	return 0;
}

int as_code_map_load(const char *path, struct as_code_map *map, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = as_buf_read_file(&text, path, AS_CODE_MAX_BYTES, err);

	*map = (struct as_code_map){ 0 };
	if (!rc)
		rc = as_code_map_parse(path, as_buf_str(&text), map, err);
	as_buf_free(&text);
	return rc;
}

void as_code_map_free(struct as_code_map *map)
{
	free(map->functions);
	free(map->text);
	*map = (struct as_code_map){ 0 };
}

uint64_t as_code_count(struct as_code_map *map, const struct as_codeset *set)
{
	uint64_t nowhere = 0;
	size_t i = 0;

	for (uint64_t pc = 0; (pc = as_codeset_next(set, pc)); pc++) {
		/* The address is that after the call: it may be the end of the function. */
		while (i < map->n && map->functions[i].at + map->functions[i].size < pc)
			i++;
		if (i < map->n && map->functions[i].at < pc)
			map->functions[i].reached++;
		else
			nowhere++;
	}
	return nowhere;
}

static int by_name(const void *a, const void *b)
{
	const struct as_code_function *x = a, *y = b;
	int order = strcmp(x->file, y->file);

	order = order ? order : strcmp(x->name, y->name);
	return order ? order : (x->at > y->at) - (x->at < y->at);
}

static int by_file(const void *a, const void *b)
{
	const struct as_code_function *x = a, *y = b;
	int order = strcmp(x->file, y->file);

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* Names in C have no dots: those of the compiler have, for what it split off a function
 * ("f.cold", "f.part.0") and for copies that it made of one ("f.isra.0"). */
static void join_parts(struct as_code_map *map)
{
	struct as_code_function *all = map->functions;
	size_t n = 0;

	for (size_t i = 0; i < map->n; i++) {
		char *name = map->text + (all[i].name - map->text);

		name[1 + strcspn(name + 1, ".")] = '\0';
	}
	qsort(all, map->n, sizeof(*all), by_name);
	for (size_t i = 0; i < map->n; i++) {
		struct as_code_function *last = n ? &all[n - 1] : NULL;

		if (last && !strcmp(last->name, all[i].name) && !strcmp(last->file, all[i].file)) {
			last->size += all[i].size;
			last->reached += all[i].reached;
		} else {
			all[n++] = all[i];
		}
	}
	map->n = n;
}

void as_code_sort(struct as_code_map *map)
{
	if (!map->n)
		return;
	join_parts(map);
	qsort(map->functions, map->n, sizeof(*map->functions), by_file);
}

void as_code_table(const struct as_code_map *map, struct as_buf *out)
{
	const struct as_code_function *all = map->functions;

	as_buf_adds(out, "file,function,places\n");
	for (size_t i = 0, end; i < map->n; i = end) {
		uint64_t reached = 0;

		for (end = i; end < map->n && !strcmp(all[end].file, all[i].file); end++)
			reached += all[end].reached;
		for (size_t f = i; f < end && reached; f++)
			as_buf_addf(out, "%s,%s,%u\n", all[f].file, all[f].name, all[f].reached);
	}
}
