/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spec: see spec.h. The tables are put together once. A mistake in a table is a programmer's error,
 * which an assertion finds; the tests go through all of them.
 *
 * Calls are found by name through a hash table without collisions: seeds are
 * tried until every name (and alias) has a place of its own.
 */
#include "calls/spec.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* ---- The tables ------------------------------------------------------------------------------ */

static const struct as_spec_word all_words[] = {
#define FLAG(table, name, value) { name, value, value },
#define FIELD(table, mask, name, value) { name, value, mask },
#define WORD(table, name, value) { name, value, ~0ull },
#include "calls/spec/words.def"
#undef FLAG
#undef FIELD
#undef WORD
};
#define N_WORDS (sizeof(all_words) / sizeof(all_words[0]))

static const char *const word_tables[N_WORDS] = {
#define FLAG(table, name, value) #table,
#define FIELD(table, mask, name, value) #table,
#define WORD(table, name, value) #table,
#include "calls/spec/words.def"
#undef FLAG
#undef FIELD
#undef WORD
};

struct family_row {
	enum { ROW_FAMILY, ROW_ARG, ROW_WHEN } kind;
	const char *name;
	int what; /* enum as_spec_ret, enum as_spec_class */
	const char *text; /* errors, table */
	uint64_t number; /* log2, bits */
};

static const struct family_row family_rows[] = {
#define FAMILY(name, ret, listed) { ROW_FAMILY, #name, AS_RET_##ret, listed, 0 },
#define ARG(name, class, table, log2) { ROW_ARG, #name, AS_CLASS_##class, #table, log2 },
#define WHEN(arg, bits) { ROW_WHEN, #arg, 0, NULL, bits },
#include "calls/spec/family.def"
#undef FAMILY
#undef ARG
#undef WHEN
};
#define N_ROWS (sizeof(family_rows) / sizeof(family_rows[0]))

static const struct call_row {
	const char *name;
	short nr;
	const char *family;
	enum as_spec_act act;
	const char *slots;
} call_rows[] = {
#define CALL(name, nr, family, act, slots) { #name, nr, #family, AS_ACT_##act, slots },
#define ALIAS(other, name)
#include "calls/spec/call.def"
#undef CALL
#undef ALIAS
};
#define N_CALLS (sizeof(call_rows) / sizeof(call_rows[0]))

static const char *const aliases[][2] = {
#define CALL(name, nr, family, act, slots)
#define ALIAS(other, name) { #other, #name },
#include "calls/spec/call.def"
#undef CALL
#undef ALIAS
};
#define N_ALIASES (sizeof(aliases) / sizeof(aliases[0]))

#define N_TABLES_MAX 48
#define NAME_PLACES 4096

struct as_spec_names {
	struct as_spec_words tables[N_TABLES_MAX];
	unsigned n_tables;
	uint64_t seed;
	struct {
		const char *name;
		unsigned len;
		const struct as_spec_call *call;
	} places[NAME_PLACES];
};

/* ---- Words ----------------------------------------------------------------------------------- */

static void group_words(struct as_spec_names *names)
{
	struct as_spec_words *table = NULL;

	for (size_t i = 0; i < N_WORDS; i++) {
		if (!table || strcmp(table->name, word_tables[i]) != 0) {
			as_assert(names->n_tables < N_TABLES_MAX);
			table = &names->tables[names->n_tables++];
			*table = (struct as_spec_words){ word_tables[i], all_words + i, 0, 0 };
		}
		table->n++;
		table->known |= all_words[i].mask;
		as_assert(table->n <= AS_SPEC_BITS);
	}
}

static const struct as_spec_words *find_words(const struct as_spec_names *names, const char *name)
{
	for (unsigned i = 0; i < names->n_tables; i++)
		if (!strcmp(names->tables[i].name, name))
			return &names->tables[i];
	return NULL;
}

/* ---- Families -------------------------------------------------------------------------------- */

static int find_arg(const struct as_spec_family *family, const char *name, size_t len)
{
	for (unsigned i = 0; i < family->n_args; i++)
		if (strlen(family->args[i].name) == len && !memcmp(family->args[i].name, name, len))
			return (int)i;
	return -1;
}

static void add_arg(struct as_spec *spec, struct as_spec_family *family,
		    const struct family_row *row)
{
	struct as_spec_arg *arg = &family->args[family->n_args++];

	as_assert(family->n_args <= AS_SPEC_ARGS);
	*arg = (struct as_spec_arg){
		.name = row->name,
		.class = (enum as_spec_class)row->what,
		.when = -1,
		.log2_max = (unsigned)row->number,
	};
	if (arg->class == AS_CLASS_BITS || arg->class == AS_CLASS_WORD) {
		arg->words = find_words(spec->names, row->text);
		as_assert(arg->words);
	}
}

static void build_families(struct as_spec *spec)
{
	struct as_spec_family *family = NULL;

	spec->families = as_xcalloc(N_ROWS, sizeof(*spec->families));
	for (size_t i = 0; i < N_ROWS; i++) {
		const struct family_row *row = &family_rows[i];

		if (row->kind == ROW_FAMILY) {
			family = &spec->families[spec->n_families++];
			family->name = row->name;
			family->ret = (enum as_spec_ret)row->what;
			family->listed = row->text;
		} else if (row->kind == ROW_ARG) {
			add_arg(spec, family, row);
		} else {
			struct as_spec_arg *arg = &family->args[family->n_args - 1];

			arg->when = (signed char)find_arg(family, row->name, strlen(row->name));
			arg->when_bits = row->number;
			as_assert(arg->when >= 0);
		}
	}
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum as_spec_own own;
	enum as_spec_class class;
	const char *words;
} owns[] = {
	{ ".old", AS_OWN_OLD, AS_CLASS_FD, NULL },
	{ ".new", AS_OWN_NEW, AS_CLASS_FD, NULL },
	{ ".last", AS_OWN_LAST, AS_CLASS_NUMBER, NULL },
	{ ".flags", AS_OWN_FLAGS, AS_CLASS_BITS, "fd_flags" },
	{ ".pair", AS_OWN_PAIR, AS_CLASS_NUMBER, NULL },
	{ ".clone", AS_OWN_CLONE, AS_CLASS_BITS, "clone" },
	{ ".arg", AS_OWN_ARG, AS_CLASS_BITS, "fd_flags" },
	{ ".source", AS_OWN_SOURCE, AS_CLASS_TARGET, NULL },
	{ "dirfd", AS_OWN_NOT, AS_CLASS_DIRFD, NULL },
	{ ".program", AS_OWN_PROGRAM, AS_CLASS_NAME, NULL },
	{ "path", AS_OWN_NOT, AS_CLASS_PATH, NULL },
};

static void set_own(const struct as_spec_names *names, struct as_spec_slot *slot, const char *name,
		    size_t len)
{
	slot->arg = AS_SLOT_OWN;
	for (size_t i = 0; i < sizeof(owns) / sizeof(owns[0]); i++) {
		if (strlen(owns[i].name) != len || memcmp(owns[i].name, name, len) != 0)
			continue;
		slot->own = (unsigned char)owns[i].own;
		slot->class = (unsigned char)owns[i].class;
		if (owns[i].words)
			slot->words = find_words(names, owns[i].words);
		return;
	}
	as_assert(!"a slot that no table knows");
}

static unsigned char natural_how(enum as_spec_class class)
{
	switch (class) {
	case AS_CLASS_FD:
	case AS_CLASS_DIRFD:
		return AS_HOW_INT;
	case AS_CLASS_PATH:
	case AS_CLASS_TARGET:
	case AS_CLASS_NAME:
		return AS_HOW_TEXT;
	case AS_CLASS_BITS:
	case AS_CLASS_WORD:
	case AS_CLASS_ID:
		return AS_HOW_UINT;
	default:
		return AS_HOW_VALUE;
	}
}

/* What follows the number of the parameter. */
static void set_how(struct as_spec_slot *slot, const char *text)
{
	static const char letters[] = "dwq@itvu";
	static const unsigned char hows[] = { AS_HOW_INT,     AS_HOW_UINT,   AS_HOW_VALUE,
					      AS_HOW_U64,     AS_HOW_IOV,    AS_HOW_TIMESPEC,
					      AS_HOW_TIMEVAL, AS_HOW_UTIMBUF };
	const char *at = *text ? strchr(letters, *text) : NULL;

	if (!at)
		return;
	slot->how = hows[at - letters];
	slot->offset = (unsigned char)strtoul(text + 1, NULL, 10);
	if (slot->how == AS_HOW_IOV)
		slot->more = slot->offset;
}

/* "argument[=field]:parameter[how]" or "argument#value" */
static void add_slot(const struct as_spec *spec, struct as_spec_call *call, const char *text,
		     size_t len)
{
	struct as_spec_slot *slot = &call->slots[call->n_slots++];
	size_t name_len = strcspn(text, "=:#");
	const char *field = text;
	char *end;
	int arg = -1;

	as_assert(call->n_slots <= AS_SYSCALL_SLOTS && name_len < len);
	if (call->family >= 0 && *text != '.')
		arg = find_arg(&spec->families[call->family], text, name_len);
	if (arg < 0) {
		set_own(spec->names, slot, text, name_len);
	} else {
		slot->arg = (unsigned char)arg;
		slot->class = (unsigned char)spec->families[call->family].args[arg].class;
		slot->words = spec->families[call->family].args[arg].words;
	}
	slot->how = natural_how((enum as_spec_class)slot->class);
	if (text[name_len] == '#') {
		slot->how = AS_HOW_CONST;
		slot->constant = (unsigned)strtoul(text + name_len + 1, NULL, 0);
		slot->reg = slot->printed = 255;
		slot->field = "";
		return;
	}
	if (text[name_len] == '=')
		field = text + name_len + 1;
	slot->field = field;
	slot->field_len = (unsigned char)strcspn(field, "=:");
	slot->reg = (unsigned char)strtoul(field + slot->field_len + 1, &end, 10);
	slot->printed = slot->reg;
	if (*end == '/')
		slot->printed = (unsigned char)strtoul(end + 1, &end, 10);
	set_how(slot, end);
}

static void build_calls(struct as_spec *spec)
{
	spec->calls = as_xcalloc(N_CALLS, sizeof(*spec->calls));
	spec->n_calls = N_CALLS;
	for (unsigned i = 0; i < N_CALLS; i++) {
		const struct call_row *row = &call_rows[i];
		struct as_spec_call *call = &spec->calls[i];
		const struct as_spec_family *family = as_spec_family(spec, row->family);

		as_assert(family || !strcmp(row->family, "0"));
		call->name = row->name;
		call->index = (unsigned short)i;
		call->nr = row->nr;
		call->family = (short)(family ? family - spec->families : -1);
		call->act = (unsigned char)row->act;
		for (const char *s = row->slots; *s; s += strcspn(s, " "), s += *s == ' ')
			add_slot(spec, call, s, strcspn(s, " "));
		if (row->nr >= 0 && row->nr < AS_SPEC_NR_MAX)
			spec->by_nr[row->nr] = call;
	}
}

/* ---- Names ----------------------------------------------------------------------------------- */

static unsigned place_of(uint64_t seed, const char *name, size_t len)
{
	uint64_t head = 0, tail = 0;

	if (len >= 8) {
		memcpy(&head, name, 8);
		memcpy(&tail, name + len - 8, 8);
	} else {
		memcpy(&head, name, len);
	}
	return (unsigned)(((head ^ (tail * 31) ^ len) * seed) >> 52);
}

static bool place_name(struct as_spec_names *names, const char *name,
		       const struct as_spec_call *call)
{
	unsigned at = place_of(names->seed, name, strlen(name));

	if (names->places[at].name)
		return false;
	names->places[at].name = name;
	names->places[at].len = (unsigned)strlen(name);
	names->places[at].call = call;
	return true;
}

static bool place_all(const struct as_spec *spec)
{
	struct as_spec_names *names = spec->names;
	bool ok = true;

	memset(names->places, 0, sizeof(names->places));
	for (unsigned i = 0; i < N_CALLS && ok; i++)
		ok = place_name(names, spec->calls[i].name, &spec->calls[i]);
	for (unsigned i = 0; i < N_ALIASES && ok; i++)
		for (unsigned c = 0; c < N_CALLS && ok; c++)
			if (!strcmp(spec->calls[c].name, aliases[i][1]))
				ok = place_name(names, aliases[i][0], &spec->calls[c]);
	return ok;
}

const struct as_spec_call *as_spec_find(const struct as_spec *spec, const char *name, size_t len)
{
	const struct as_spec_names *names = spec->names;
	unsigned at = place_of(names->seed, name, len);

	if (!len || names->places[at].len != len || memcmp(names->places[at].name, name, len))
		return NULL;
	return names->places[at].call;
}

const struct as_spec_family *as_spec_family(const struct as_spec *spec, const char *name)
{
	for (unsigned i = 0; i < spec->n_families; i++)
		if (!strcmp(spec->families[i].name, name))
			return &spec->families[i];
	return NULL;
}

bool as_spec_hides(const struct as_spec_call *call)
{
	return call->act == AS_ACT_HIDES;
}

struct as_spec *as_spec_new(void)
{
	struct as_spec *spec = as_xcalloc(1, sizeof(*spec));

	spec->names = as_xcalloc(1, sizeof(*spec->names));
	group_words(spec->names);
	build_families(spec);
	build_calls(spec);
	do
		spec->names->seed = as_mix64(spec->names->seed + 1) | 1;
	while (!place_all(spec));
	return spec;
}

void as_spec_free(struct as_spec *spec)
{
	if (!spec)
		return;
	free(spec->families);
	free(spec->calls);
	free(spec->names);
	free(spec);
}
