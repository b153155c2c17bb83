/* SPDX-License-Identifier: GPL-2.0-or-later */
/* counts: see counts.h. Which partitions a call falls into. */
#include "cover/counts.h"
#include "base/hash.h"
#include "cover/counts_priv.h"
#include "cover/partition.h"

#include <stdlib.h>
#include <string.h>

struct as_spec *as_counts_spec(void)
{
	struct as_spec *spec = as_spec_new();

	for (unsigned f = 0; f < spec->n_families; f++) {
		struct as_spec_family *family = &spec->families[f];

		family->ret_first = spec->n_parts;
		family->ret_n = as_partition_out_places();
		spec->n_parts += family->ret_n;
		for (unsigned i = 0; i < family->n_args; i++) {
			struct as_spec_arg *arg = &family->args[i];

			if (arg->class == AS_CLASS_BITS)
				arg->bits = spec->n_bits++;
			arg->first = spec->n_parts;
			arg->n = as_partition_places(arg);
			spec->n_parts += arg->n;
		}
	}
	return spec;
}

struct as_counts *as_counts_new(const struct as_spec *spec)
{
	struct as_counts *counts = as_xcalloc(1, sizeof(*counts));

	as_assert(spec->n_parts);
	counts->spec = spec;
	counts->parts = as_xcalloc(spec->n_parts, sizeof(*counts->parts));
	counts->bits = as_xcalloc(spec->n_bits, sizeof(*counts->bits));
	counts->bits_unseen = as_xcalloc(spec->n_bits, sizeof(*counts->bits_unseen));
	counts->variants = as_xcalloc(spec->n_calls, sizeof(*counts->variants));
	return counts;
}

void as_counts_free(struct as_counts *counts)
{
	if (!counts)
		return;
	for (unsigned i = 0; i < counts->spec->n_bits; i++)
		as_combos_free(&counts->bits[i]);
	for (unsigned i = 0; i < AS_COV_EXAMPLES; i++)
		free(counts->examples[i]);
	for (unsigned i = 0; i < counts->n_unknown; i++)
		free(counts->unknown[i].name);
	free(counts->parts);
	free(counts->bits);
	free(counts->bits_unseen);
	free(counts->variants);
	free(counts->partial);
	free(counts->source);
	free(counts->under);
	free(counts);
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

static void count_number(uint64_t *parts, const struct as_syscall_slot *slot)
{
	uint64_t v = slot->value;
	unsigned k;

	if (slot->state != AS_SLOT_VALUE) {
		parts[slot->state == AS_SLOT_NULL ? AS_NUM_NULL : AS_NUM_UNSEEN]++;
		return;
	}
	if ((int64_t)v <= 0) {
		parts[v ? AS_NUM_NEGATIVE : AS_NUM_ZERO]++;
		return;
	}
	k = 63 - (unsigned)__builtin_clzll(v);
	parts[AS_NUM_LOG2 + k]++;
	if (v < 2)
		return;
	if (!(v & (v - 1)))
		parts[AS_NUM_BOUND + 3 * k + 1]++;
	else if (!(v & (v + 1)))
		parts[AS_NUM_BOUND + 3 * (k + 1)]++;
	else if (!((v - 1) & (v - 2)))
		parts[AS_NUM_BOUND + 3 * k + 2]++;
}

static void count_time(uint64_t *parts, const struct as_syscall_slot *slot)
{
	int64_t sec = (int64_t)slot->value;
	enum as_time_part part;

	if (slot->state == AS_SLOT_NULL)
		part = AS_TIME_PART_NULL;
	else if (slot->state != AS_SLOT_TIME)
		part = AS_TIME_UNSEEN;
	else if (slot->nsec == (1 << 30) - 1)
		part = AS_TIME_PART_NOW;
	else if (slot->nsec == (1 << 30) - 2)
		part = AS_TIME_PART_OMIT;
	else if (slot->nsec < 0 || slot->nsec > 999999999)
		part = AS_TIME_PART_BAD_NSEC;
	else if (sec <= 0)
		part = sec ? AS_TIME_PART_NEGATIVE : AS_TIME_PART_ZERO;
	else
		part = sec < 1ll << 31			 ? AS_TIME_PART_32BIT
		       : sec < (1ll << 34) - (1ll << 31) ? AS_TIME_PART_34BIT
							 : AS_TIME_PART_LARGE;
	parts[part]++;
}

/* A name that the trace cut short is judged by what is there. */
static bool starts(const struct as_syscall_slot *slot, const char *with, size_t len)
{
	if (slot->cut && slot->len < len)
		len = slot->len;
	return slot->len >= len && !memcmp(slot->text, with, len);
}

static void count_name(uint64_t *parts, const struct as_syscall_slot *slot)
{
	enum as_name_part part = AS_NAME_OTHER;

	if (slot->state == AS_SLOT_UNSEEN)
		part = AS_NAME_UNSEEN;
	else if (slot->state != AS_SLOT_TEXT)
		part = AS_NAME_OTHER;
	else if (!slot->len)
		part = AS_NAME_EMPTY;
	else if (starts(slot, "user.", 5))
		part = AS_NAME_USER;
	else if (starts(slot, "trusted.", 8))
		part = AS_NAME_TRUSTED;
	else if (starts(slot, "security.", 9))
		part = AS_NAME_SECURITY;
	else if (starts(slot, "system.", 7))
		part = AS_NAME_SYSTEM;
	parts[part]++;
	if (slot->state == AS_SLOT_TEXT && slot->len >= 255)
		parts[AS_NAME_LONG]++;
}

static void count_path(uint64_t *parts, const struct as_syscall_slot *slot, unsigned char bits)
{
	if (slot->state == AS_SLOT_UNSEEN)
		parts[AS_PATH_PARTS - 1]++;
	for (; bits; bits &= (unsigned char)(bits - 1))
		parts[__builtin_ctz(bits)]++;
}

static void count_id(uint64_t *parts, const struct as_syscall_slot *slot)
{
	uint32_t id = (uint32_t)slot->value;

	parts[slot->state != AS_SLOT_VALUE ? AS_ID_UNSEEN
	      : id == UINT32_MAX	   ? AS_ID_KEEP
	      : !id			   ? AS_ID_ROOT
	      : id < 65536		   ? AS_ID_16BIT
					   : AS_ID_32BIT]++;
}

static void count_word(uint64_t *parts, const struct as_spec_words *words,
		       const struct as_syscall_slot *slot)
{
	unsigned i = 0;

	if (slot->state != AS_SLOT_VALUE) {
		parts[words->n + 1]++;
		return;
	}
	while (i < words->n && words->words[i].value != slot->value)
		i++;
	parts[i]++;
}

static void count_bits(struct as_counts *counts, const struct as_spec_arg *arg,
		       const struct as_syscall_slot *slot)
{
	uint64_t value = slot->value & arg->words->known;

	if (slot->state != AS_SLOT_VALUE) {
		counts->bits_unseen[arg->bits]++;
		return;
	}
	if (value != slot->value)
		value |= AS_COMBO_UNKNOWN;
	/* A value that is there has its plain form. */
	if (as_combos_again(&counts->bits[arg->bits], value))
		return;
	if (!as_combos_add(&counts->bits[arg->bits], as_combo_plain(arg->words, value), 1)) {
		counts->bits_unseen[arg->bits]++;
		as_counts_partial(counts, "more combinations of flags than can be kept");
	}
}

/* Whether the condition of an argument holds. For example, the mode of an open counts only if the
 * call can make a file. */
static bool holds(const struct as_spec_arg *arg, const struct as_syscall *call)
{
	for (unsigned i = 0; i < call->spec->n_slots; i++)
		if (call->spec->slots[i].arg == arg->when)
			return call->slots[i].state != AS_SLOT_VALUE ||
			       (call->slots[i].value & arg->when_bits);
	return true;
}

static void count_slot(struct as_counts *counts, const struct as_syscall *call,
		       const struct as_about *about, const struct as_spec_arg *arg, unsigned i)
{
	const struct as_syscall_slot *slot = &call->slots[i];
	uint64_t *parts = counts->parts + arg->first;

	switch (arg->class) {
	case AS_CLASS_FD:
	case AS_CLASS_DIRFD:
		parts[slot->state == AS_SLOT_VALUE ? about->fd[i] : AS_FD_PARTS - 1]++;
		break;
	case AS_CLASS_PATH:
	case AS_CLASS_TARGET:
		count_path(parts, slot, about->path[i]);
		break;
	case AS_CLASS_NAME:
		count_name(parts, slot);
		break;
	case AS_CLASS_BITS:
		count_bits(counts, arg, slot);
		break;
	case AS_CLASS_NUMBER:
		count_number(parts, slot);
		break;
	case AS_CLASS_WORD:
		count_word(parts, arg->words, slot);
		break;
	case AS_CLASS_TIME:
		count_time(parts, slot);
		break;
	case AS_CLASS_ID:
		count_id(parts, slot);
		break;
	}
}

void as_counts_call(struct as_counts *counts, const struct as_syscall *call,
		    const struct as_about *about)
{
	const struct as_spec_call *spec = call->spec;
	const struct as_spec_family *family;
	uint64_t *out;

	if (spec->family < 0)
		return;
	family = &counts->spec->families[spec->family];
	counts->variants[spec->index]++;
	for (unsigned i = 0; i < spec->n_slots; i++) {
		const struct as_spec_arg *arg;

		if (spec->slots[i].arg == AS_SLOT_OWN || call->slots[i].state == AS_SLOT_ABSENT)
			continue;
		arg = &family->args[spec->slots[i].arg];
		if (arg->when < 0 || holds(arg, call))
			count_slot(counts, call, about, arg, i);
	}
	out = counts->parts + family->ret_first;
	if (!call->finished || call->no_result)
		return;
	if (call->err)
		out[AS_OUT_ERRNO + as_partition_errno(call->err)]++;
	else if (family->ret == AS_RET_BYTES && call->ret > 0)
		out[AS_OUT_LOG2 + 63 - __builtin_clzll((uint64_t)call->ret)]++;
	else
		out[AS_OUT_OK]++;
}

/* ---- What else ------------------------------------------------------------------------------- */

static const struct {
	const char *name, *text;
} notes[AS_NOTES] = {
#define NOTE(id, name, text) { name, text },
#include "cover/note.def"
#undef NOTE
};

const char *as_cov_note_name(enum as_cov_note note)
{
	return notes[note].name;
}

const char *as_cov_note_text(enum as_cov_note note)
{
	return notes[note].text;
}

void as_counts_note(struct as_counts *counts, enum as_cov_note note, uint64_t n)
{
	as_counting_add(&counts->notes[note], n);
}

void as_counts_unnote(struct as_counts *counts, enum as_cov_note note, uint64_t n)
{
	counts->notes[note] -= n < counts->notes[note] ? n : counts->notes[note];
}

uint64_t as_counts_noted(const struct as_counts *counts, enum as_cov_note note)
{
	return counts->notes[note];
}

#define EXAMPLE_BYTES 160

void as_counts_example(struct as_counts *counts, const char *text, size_t len)
{
	unsigned i = 0;
	char *copy;

	while (i < AS_COV_EXAMPLES && counts->examples[i])
		i++;
	if (i == AS_COV_EXAMPLES)
		return;
	len = len < EXAMPLE_BYTES ? len : EXAMPLE_BYTES;
	copy = as_xcalloc(1, len + 1);
	/* Bytes that a terminal would interpret become dots. */
	for (size_t k = 0; k < len; k++)
		copy[k] = (char)((unsigned char)text[k] < ' ' || (unsigned char)text[k] > '~'
					 ? '.'
					 : text[k]);
	counts->examples[i] = copy;
}

const char *as_counts_example_at(const struct as_counts *counts, unsigned i)
{
	return i < AS_COV_EXAMPLES ? counts->examples[i] : NULL;
}

static bool is_name(const char *known, const char *name, size_t len)
{
	return strlen(known) == len && !memcmp(known, name, len);
}

void as_counting_unknown(struct as_counts *counts, const char *name, size_t len, uint64_t n)
{
	static const char rest[] = "(others)";
	char plain[40];
	unsigned short *hint;
	unsigned i;

	/* As it will be written: bytes that do not belong into a file or on a terminal are dots. */
	len = len < sizeof(plain) ? len : sizeof(plain);
	for (size_t k = 0; k < len; k++)
		plain[k] = (char)(name[k] > ' ' && name[k] < 127 ? name[k] : '.');
	name = len ? plain : ".";
	len = len ? len : 1;
	hint = &counts->unknown_at[as_hash64(name, len) % 1024];
	i = *hint ? *hint - 1u : 0;
	if (!*hint || !is_name(counts->unknown[i].name, name, len))
		for (i = 0; i < counts->n_unknown; i++)
			if (is_name(counts->unknown[i].name, name, len))
				break;
	if (i == counts->n_unknown && i >= AS_COV_UNKNOWN_CALLS - 1) {
		i = AS_COV_UNKNOWN_CALLS - 1;
		name = rest;
		len = sizeof(rest) - 1;
	}
	if (i == counts->n_unknown) {
		char *copy = as_xcalloc(1, len + 1);

		memcpy(copy, name, len);
		counts->unknown[i].name = copy;
		counts->n_unknown++;
	}
	*hint = (unsigned short)(i + 1);
	as_counting_add(&counts->unknown[i].count, n);
}

void as_counts_unknown_call(struct as_counts *counts, const char *name, size_t len)
{
	as_counting_unknown(counts, name, len, 1);
	counts->notes[AS_NOTE_UNKNOWN_CALLS]++;
}

static void set_text(char **at, const char *text)
{
	free(*at);
	*at = text ? as_xstrdup(text) : NULL;
}

void as_counts_partial(struct as_counts *counts, const char *why)
{
	if (!counts->partial)
		set_text(&counts->partial, why);
}

const char *as_counts_is_partial(const struct as_counts *counts)
{
	return counts->partial;
}

void as_counts_source(struct as_counts *counts, const char *text)
{
	set_text(&counts->source, text);
}

void as_counts_under(struct as_counts *counts, const char *under)
{
	set_text(&counts->under, under);
}

const char *as_counts_get_source(const struct as_counts *counts)
{
	return counts->source ? counts->source : "";
}

const char *as_counts_get_under(const struct as_counts *counts)
{
	return counts->under;
}

uint64_t as_counts_variant(const struct as_counts *counts, const struct as_spec_call *call)
{
	return counts->variants[call->index];
}

uint64_t as_counts_family(const struct as_counts *counts, const struct as_spec_family *family)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < counts->spec->n_calls; i++)
		if (counts->spec->calls[i].family == family - counts->spec->families)
			as_counting_add(&sum, counts->variants[i]);
	return sum;
}

const char *as_counts_unknown_at(const struct as_counts *counts, unsigned i, uint64_t *count)
{
	if (i >= counts->n_unknown)
		return NULL;
	*count = counts->unknown[i].count;
	return counts->unknown[i].name;
}

#define JOINED_BYTES 1000

/* If there are too many, only the first have names. */
static void join_texts(char **into, const char *more)
{
	static const char others[] = " + ...";
	size_t n = *into ? strlen(*into) : 0, tail = sizeof(others) - 1;
	struct as_buf both = { 0 };

	if (!more || (*into && !strcmp(*into, more)))
		return;
	if (!*into) {
		set_text(into, more);
		return;
	}
	if (n >= tail && !strcmp(*into + n - tail, others))
		return;
	as_buf_adds(&both, *into);
	if (n + strlen(more) < JOINED_BYTES)
		as_buf_addf(&both, " + %s", more);
	else
		as_buf_adds(&both, others);
	set_text(into, as_buf_str(&both));
	as_buf_free(&both);
}

void as_counts_merge(struct as_counts *into, const struct as_counts *from)
{
	as_assert(into->spec == from->spec);
	for (unsigned i = 0; i < into->spec->n_parts; i++)
		as_counting_add(&into->parts[i], from->parts[i]);
	for (unsigned i = 0; i < into->spec->n_calls; i++)
		as_counting_add(&into->variants[i], from->variants[i]);
	for (unsigned i = 0; i < into->spec->n_bits; i++) {
		const struct as_combos *combos = &from->bits[i];

		as_counting_add(&into->bits_unseen[i], from->bits_unseen[i]);
		for (size_t k = 0; k < combos->n; k++)
			if (!as_combos_add(&into->bits[i], combos->at[k].value,
					   combos->at[k].count))
				as_counts_partial(into, "more combinations of flags than can be "
							"kept");
	}
	for (unsigned i = 0; i < AS_NOTES; i++)
		as_counting_add(&into->notes[i], from->notes[i]);
	for (unsigned i = 0; i < AS_COV_EXAMPLES; i++)
		if (from->examples[i])
			as_counts_example(into, from->examples[i], strlen(from->examples[i]));
	for (unsigned i = 0; i < from->n_unknown; i++)
		as_counting_unknown(into, from->unknown[i].name, strlen(from->unknown[i].name),
				    from->unknown[i].count);
	if (from->partial)
		as_counts_partial(into, from->partial);
	join_texts(&into->source, from->source);
	join_texts(&into->under, from->under);
}
