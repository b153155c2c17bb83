/* SPDX-License-Identifier: GPL-2.0-or-later */
/* aim_text: recipes of aim.def written out, with names, numbers and lengths in place. */
#include "gen/aim.h"
#include "gen/pick.h"

#include <stdlib.h>
#include <string.h>

#define FRESH_NUMBERS 100000u
#define FRESH_DIR_BYTES 200 /* longest path of a directory that fresh names go to */
#define FILL_BYTES 67108864
#define MANY_LIBRARY 1000000
#define MANY_MOUNTED 5000
/* What a guest, with little memory and a small disk, may be asked for at once. A mapping of more
 * than the disk holds would lose what is written to it. */
#define GUEST_BYTES (8 << 20)
#define GUEST_MAPPED (1 << 20)
#define SOLID_BYTES (1 << 20) /* of a file without holes: it takes what it is long */
#define LINKS_MAX 5000 /* directories that are worth making to see one refused */
#define DIRENT_BYTES 24 /* of e0 to e999 */
#define DIRENTS_MAX 2000
#define FAR_BYTES 200
#define TEXT_MAX 4095
#define SOLID_UNTIL ((int64_t)1 << 40) /* from there on such types refuse it at once */
#define PAGE 4096

void as_aim_text_init(struct as_aim_text *text, struct as_gen_walk *walk, const char *part,
		      bool edge)
{
	const char *power = strncmp(part, "OK=", 3) ? part : part + 3;
	unsigned long bits;

	*text = (struct as_aim_text){ .walk = walk, .part = part, .spelling = "" };
	if (!strcmp(power, "0")) {
		text->numbered = true;
	} else if (!strcmp(power, "negative")) {
		text->numbered = true;
		text->number = -1 - (int64_t)as_gen_walk_choose(walk, 3) * 4095;
	} else if (!strncmp(power, "2^", 2)) {
		bits = strtoul(power + 2, NULL, 10);
		text->numbered = bits < 63;
		text->number = text->numbered ? (int64_t)1 << bits : 0;
		if (text->numbered && bits && !edge)
			text->number += (int64_t)as_draw_below(walk->choice, (uint64_t)1 << bits);
	}
}

static bool is_bare(const char *s)
{
	for (; *s; s++)
		if (as_byte_class[(unsigned char)*s] != AS_BYTE_BARE)
			return false;
	return true;
}

/* A path where nothing is, in the root or in a directory that is there. */
static const char *fresh(struct as_aim_text *text, unsigned i)
{
	struct as_gen_walk *w = text->walk;
	struct as_buf *path = &w->text;
	const struct as_item *dir = NULL;

	if (text->fresh[i])
		return text->fresh[i];
	if (as_gen_walk_choose(w, 2)) {
		dir = &w->roster.item[as_pick_item(w, AS_SUBJECT_DIR)];
		if (dir->len == 1 || dir->len > FRESH_DIR_BYTES || !is_bare(dir->path))
			dir = NULL;
	}
	as_buf_clear(path);
	if (dir)
		as_buf_add(path, dir->path, dir->len);
	as_buf_addf(path, "/x%u", as_gen_walk_choose(w, FRESH_NUMBERS));
	text->fresh[i] = as_arena_strndup(&w->roster.text, path->data, path->len);
	return text->fresh[i];
}

static void add_times(struct as_buf *out, char c, size_t n)
{
	while (n-- > 0)
		as_buf_addc(out, c);
}

static bool add_number(struct as_aim_text *text, int64_t number)
{
	as_buf_addf(&text->out, "%lld", (long long)number);
	return text->numbered;
}

/* {}: the number, a bit of a mode in octal, or the name. */
static bool add_value(struct as_aim_text *text)
{
	unsigned bit;

	if (text->numbered)
		return add_number(text, text->number);
	if (as_mode_bit(text->part, &bit))
		as_buf_addf(&text->out, "%04o", 1u << bit);
	else
		as_buf_adds(&text->out, text->part);
	return true;
}

static bool in_guest(const struct as_aim_text *text)
{
	return (text->walk->traits->features & (AS_FEAT_MOUNT | AS_FEAT_LIBRARY)) == AS_FEAT_MOUNT;
}

/* A size: of a file that is mostly a hole, where files can be. */
static bool add_size(struct as_aim_text *text)
{
	bool solid = !(text->walk->traits->features & AS_FEAT_SPARSE);

	return add_number(text, text->number) &&
	       !(solid && text->number > SOLID_BYTES && text->number < SOLID_UNTIL);
}

static bool add_bytes(struct as_aim_text *text)
{
	return add_size(text) && !(in_guest(text) && text->number > GUEST_BYTES);
}

static bool add_mapped(struct as_aim_text *text)
{
	return add_size(text) && !(in_guest(text) && text->number > GUEST_MAPPED);
}

static bool add_end(struct as_aim_text *text)
{
	bool solid = !(text->walk->traits->features & AS_FEAT_SPARSE);

	return text->number < (solid ? SOLID_BYTES : INT64_MAX - PAGE) &&
	       add_number(text, text->number + PAGE);
}

static bool add_dirents(struct as_aim_text *text)
{
	/* Of a range of sizes the middle: how large an entry is differs a little. */
	int64_t n = (text->number | text->number >> 1) / DIRENT_BYTES - 2;

	return n <= DIRENTS_MAX && add_number(text, n < 0 ? 0 : n);
}

static bool add_text(struct as_aim_text *text)
{
	uint32_t max = text->walk->traits->symlink_max ? text->walk->traits->symlink_max : TEXT_MAX;

	if (!text->numbered || text->number < 1 || text->number > max)
		return false;
	add_times(&text->out, 't', (size_t)text->number);
	return true;
}

/* As glibc's makedev() puts them together. */
static bool add_dev(struct as_aim_text *text)
{
	uint64_t dev = (uint64_t)text->number;

	as_buf_addf(&text->out, "%u:%u", (unsigned)(dev >> 8 & 0xfff),
		    (unsigned)((dev & 0xff) | (dev >> 12 & 0xfff00)));
	return text->numbered && dev <= UINT32_MAX;
}

static bool add_links(struct as_aim_text *text)
{
	uint32_t max = text->walk->traits->dir_link_max;

	as_buf_addf(&text->out, "%u", max);
	return max && max <= LINKS_MAX;
}

static size_t name_max(const struct as_aim_text *text)
{
	return text->walk->traits->name_max ? text->walk->traits->name_max : 255;
}

static bool add_max(struct as_aim_text *text)
{
	add_times(&text->out, (char)('a' + as_gen_walk_choose(text->walk, 26)), name_max(text));
	return true;
}

static bool add_over(struct as_aim_text *text)
{
	add_times(&text->out, 'o', name_max(text) + 1);
	return true;
}

static bool add_far(struct as_aim_text *text)
{
	add_times(&text->out, 'f', FAR_BYTES);
	return true;
}

/* A directory of the machine is never filled. */
static bool can_fill(const struct as_aim_text *text)
{
	return text->walk->traits->may_fill && text->walk->traits->features & AS_FEAT_MOUNT;
}

static bool add_fill(struct as_aim_text *text)
{
	as_buf_addf(&text->out, "%d", FILL_BYTES);
	return can_fill(text);
}

static bool add_many(struct as_aim_text *text)
{
	as_buf_addf(&text->out, "%d", in_guest(text) ? MANY_MOUNTED : MANY_LIBRARY);
	return can_fill(text);
}

static bool add_spelling(struct as_aim_text *text)
{
	return as_aim_text_add(text, text->spelling);
}

static const struct {
	const char *word;
	bool (*add)(struct as_aim_text *text);
} words[] = {
	{ "{}", add_value },	    { "{end}", add_end },   { "{dirents}", add_dirents },
	{ "{text}", add_text },	    { "{dev}", add_dev },   { "{links}", add_links },
	{ "{max}", add_max },	    { "{over}", add_over }, { "{far}", add_far },
	{ "{fill}", add_fill },	    { "{many}", add_many }, { "{path}", add_spelling },
	{ "{fd}", add_spelling },   { "{size}", add_size }, { "{bytes}", add_bytes },
	{ "{mapped}", add_mapped },
};

/* What stands at s in braces; NULL: nothing known. */
static const char *add_word(struct as_aim_text *text, const char *s)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t len = strlen(words[i].word);

		if (!strncmp(s, words[i].word, len))
			return words[i].add(text) ? s + len : NULL;
	}
	return NULL;
}

bool as_aim_text_add(struct as_aim_text *text, const char *recipe)
{
	const char *s = recipe;

	while (s && *s) {
		if (*s == '%' && s[1] >= '0' && s[1] <= '9') {
			as_buf_adds(&text->out, fresh(text, (unsigned)(s[1] - '0')));
			s += 2;
		} else if (*s == '{') {
			s = add_word(text, s);
		} else {
			as_buf_addc(&text->out, *s == ';' ? '\n' : *s);
			s++;
		}
	}
	return s != NULL;
}
