/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk: what walkers share: reading, and turning an instance of a structure into its fields.
 *
 * A field whose place or length follows from the disk (a name as long as name_len says) is left out
 * where it leaves its instance or the disk: that is the disk's damage. Two fields of one instance
 * that have the same bits are an error of the description, wherever they meet: a user's is refused,
 * of one of ours the second field is left out, which is told.
 */
#include "layout/walk/walk_in_priv.h"

#include "base/array.h"
#include "base/show.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SECTOR AS_DISK_SECTOR_BYTES
#define FIELDS_MAX (UINT64_C(1) << 24)

#define WALKER(walker) extern const struct as_walker as_walker_##walker;
#include "layout/walk/walkers.def"
#undef WALKER

static const struct as_walker *const walkers[] = {
#define WALKER(walker) &as_walker_##walker,
#include "layout/walk/walkers.def"
#undef WALKER
};

const struct as_walker *as_walker_find(const char *name)
{
	for (size_t i = 0; i < sizeof(walkers) / sizeof(walkers[0]); i++)
		if (strcmp(walkers[i]->name, name) == 0)
			return walkers[i];
	return NULL;
}

/* ---- Bytes of a disk ---- */

bool as_disk_peek(struct as_disk *disk, uint64_t off, void *buf, size_t len)
{
	unsigned char sector[SECTOR], *to = buf;
	uint64_t size = as_disk_size(disk);

	memset(buf, 0, len);
	if (off > size || len > size - off)
		return false;
	while (len) {
		uint64_t skip = off % SECTOR;
		size_t n = SECTOR - skip < len ? (size_t)(SECTOR - skip) : len;

		if (!skip && len >= SECTOR) {
			n = len / SECTOR * SECTOR;
			if (as_bd_read(as_disk_bd(disk), off, to, n))
				return false;
		} else {
			if (as_bd_read(as_disk_bd(disk), off - skip, sector, SECTOR))
				return false;
			memcpy(to, sector + skip, n);
		}
		to += n;
		off += n;
		len -= n;
	}
	return true;
}

int as_disk_poke(struct as_disk *disk, uint64_t off, const void *data, size_t len,
		 struct as_err *err)
{
	uint64_t size = as_disk_size(disk);
	const unsigned char *from = data;
	unsigned char sector[SECTOR];

	if (off > size || len > size - off)
		return as_fail(err, AS_EUSE, "bytes %llu to %llu are not on the disk",
			       (unsigned long long)off, (unsigned long long)(off + len));
	while (len) {
		uint64_t skip = off % SECTOR;
		size_t n = SECTOR - skip < len ? (size_t)(SECTOR - skip) : len;

		if (as_bd_read(as_disk_bd(disk), off - skip, sector, SECTOR))
			return as_fail(err, AS_EIO, "the disk could not be read");
		memcpy(sector + skip, from, n);
		if (as_bd_write(as_disk_bd(disk), off - skip, sector, SECTOR))
			return as_fail(err, AS_EIO, "the disk could not be written");
		from += n;
		off += n;
		len -= n;
	}
	return 0;
}

uint64_t as_number_at(const unsigned char *p, unsigned bytes, bool big_endian)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value = value << 8 | p[big_endian ? i : bytes - 1 - i];
	return value;
}

void as_number_put(unsigned char *p, unsigned bytes, bool big_endian, uint64_t value)
{
	for (unsigned i = 0; i < bytes; i++, value >>= 8)
		p[big_endian ? bytes - 1 - i : i] = (unsigned char)value;
}

/* ---- Reading ---- */

uint64_t as_walk_disk_bytes(const struct as_disk_walk *walk)
{
	return as_disk_size(walk->disk);
}

bool as_walk_read(struct as_disk_walk *walk, uint64_t off, void *buf, size_t len)
{
	return as_disk_peek(walk->disk, off, buf, len);
}

static uint64_t number(struct as_disk_walk *walk, uint64_t off, unsigned bytes, bool big_endian)
{
	unsigned char buf[8];

	as_assert(bytes <= sizeof(buf));
	(void)as_disk_peek(walk->disk, off, buf, bytes);
	return as_number_at(buf, bytes, big_endian);
}

uint64_t as_walk_le(struct as_disk_walk *walk, uint64_t off, unsigned bytes)
{
	return number(walk, off, bytes, false);
}

uint64_t as_walk_be(struct as_disk_walk *walk, uint64_t off, unsigned bytes)
{
	return number(walk, off, bytes, true);
}

const char *as_walk_mode_class(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "regular file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symbolic link";
	case S_IFCHR:
		return "character device";
	case S_IFBLK:
		return "block device";
	case S_IFIFO:
		return "FIFO";
	case S_IFSOCK:
		return "socket";
	default:
		return "no type";
	}
}

/* ---- Texts ---- */

static const char *vtext(struct as_disk_walk *walk, const char *fmt, va_list ap)
{
	as_buf_clear(&walk->scratch);
	as_buf_vaddf(&walk->scratch, fmt, ap);
	return as_arena_strndup(&walk->out->arena, as_buf_str(&walk->scratch), walk->scratch.len);
}

const char *as_walk_text(struct as_disk_walk *walk, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = vtext(walk, fmt, ap);
	va_end(ap);
	return text;
}

void as_walk_complain(struct as_disk_walk *walk, const char *fmt, ...)
{
	va_list ap;

	if (walk->complaints++ >= WALK_COMPLAINTS_MAX)
		return;
	if (walk->out->complaint.len)
		as_buf_adds(&walk->out->complaint, "; ");
	va_start(ap, fmt);
	as_buf_vaddf(&walk->out->complaint, fmt, ap);
	va_end(ap);
}

bool as_walk_leads_on(const char *name, size_t len)
{
	return len && !memchr(name, '/', len) && !(len == 1 && name[0] == '.') &&
	       !(len == 2 && name[0] == '.' && name[1] == '.');
}

const char *as_walk_join(struct as_disk_walk *walk, const char *dir, const char *name, size_t len)
{
	as_buf_clear(&walk->scratch);
	as_buf_adds(&walk->scratch, dir);
	if (strcmp(dir, "/") != 0)
		as_buf_addc(&walk->scratch, '/');
	as_shown(&walk->scratch, name, len);
	return as_arena_strndup(&walk->out->arena, as_buf_str(&walk->scratch), walk->scratch.len);
}

bool as_walk_first(struct as_disk_walk *walk, unsigned space, uint64_t number)
{
	uint64_t key = number << 3 | (space & 7);

	if (as_table_get(&walk->seen, key) != AS_TABLE_NONE)
		return false;
	as_table_add(&walk->seen, key, 0);
	return true;
}

bool as_walk_inode(struct as_disk_walk *walk, uint64_t ino, const char *path)
{
	struct as_fields *out = walk->out;

	if (path) {
		AS_ARRAY_ROOM(out->links, out->n_links, out->cap_links);
		out->links[out->n_links++] = (struct as_walk_link){ path, ino };
	}
	return as_walk_first(walk, 0, ino);
}

/* ---- What is found ---- */

void as_walk_set(struct as_disk_walk *walk, unsigned var, uint64_t value)
{
	as_assert(var < WALK_VARS_MAX);
	walk->var[var] = value;
}

uint32_t as_walk_seal(struct as_disk_walk *walk, const struct as_seal *seal)
{
	struct as_fields *out = walk->out;

	as_assert(seal->n_pieces && seal->n_stores);
	AS_ARRAY_ROOM(out->seals, out->n_seals, out->cap_seals);
	out->seals[out->n_seals++] = *seal;
	return (uint32_t)out->n_seals;
}

void as_walk_area(struct as_disk_walk *walk, uint64_t off, uint64_t len, const char *what,
		  bool is_data, uint64_t at)
{
	struct as_fields *out = walk->out;
	uint64_t size = as_disk_size(walk->disk);
	struct as_disk_area *last = out->n_areas ? &out->areas[out->n_areas - 1] : NULL;

	if (!len || off >= size || len > size - off)
		return;
	if (last && last->off + last->len == off && strcmp(last->what, what) == 0 &&
	    last->is_data == is_data && (!is_data || last->at + last->len == at)) {
		last->len += len;
		return;
	}
	AS_ARRAY_ROOM(out->areas, out->n_areas, out->cap_areas);
	out->areas[out->n_areas++] = (struct as_disk_area){
		.off = off,
		.len = len,
		.what = as_arena_strndup(&out->arena, what, strlen(what)),
		.is_data = is_data,
		.at = at,
	};
}

static const struct as_desc_struct *find_struct(const struct as_desc *desc, const char *name)
{
	for (size_t i = 0; i < desc->n_structs; i++)
		if (strcmp(desc->structs[i].name, name) == 0)
			return &desc->structs[i];
	return NULL;
}

static const char *copy(struct as_disk_walk *walk, const char *text)
{
	return text ? as_arena_strndup(&walk->out->arena, text, strlen(text)) : NULL;
}

static void add_field(struct as_disk_walk *walk, const struct as_field *field)
{
	struct as_fields *out = walk->out;

	AS_ARRAY_ROOM(out->fields, out->n, out->cap);
	out->fields[out->n++] = *field;
}

/* The value of a field before: its first element, 0 where it is not there. */
static uint64_t value_of(const void *ctx, size_t field)
{
	const struct as_walk_instance *in = ctx;
	uint64_t place = in->place[field - in->s->first];

	return place ? as_field_get(&in->walk->out->fields[place - 1], in->walk->disk) : 0;
}

uint64_t as_walk_eval(const struct as_walk_instance *in, int node)
{
	return as_desc_eval(in->walk->desc, node, in->walk->var, value_of, in);
}

static bool meets(const struct as_field *a, const struct as_field *b)
{
	if (a->off >= b->off + b->bytes || b->off >= a->off + a->bytes)
		return false;
	if (a->bits && b->bits && a->off == b->off && a->bytes == b->bytes)
		return a->shift < b->shift + b->bits && b->shift < a->shift + a->bits;
	return true;
}

/* Fields come mostly in order of their places, so that the last ones are the ones to look at. */
static bool is_apart(struct as_walk_instance *in, const struct as_desc_field *d,
		     const struct as_field *field)
{
	struct as_disk_walk *walk = in->walk;

	if (walk->rc || (in->end <= field->off && !field->bits))
		return true;
	for (size_t i = walk->out->n; i > in->first; i--)
		if (meets(&walk->out->fields[i - 1], field)) {
			const char *other = walk->out->fields[i - 1].name;

			/* On a damaged disk fields may overlap: that field alone is left out. A
			 * description of the user's that overlaps is an error. */
			if (walk->out->own)
				walk->rc = as_fail(walk->err, AS_EUSE,
						   "%s:%u:%u: the field overlaps %s in %s, byte "
						   "%llu",
						   walk->desc->path, d->line, d->col, other,
						   field->instance, (unsigned long long)field->off);
			else
				as_walk_complain(walk, "%s:%u:%u: %s overlaps %s in %s",
						 walk->desc->path, d->line, d->col, d->name, other,
						 field->instance);
			return false;
		}
	return true;
}

static void add_described(struct as_walk_instance *in, size_t index)
{
	struct as_disk_walk *walk = in->walk;
	const struct as_desc_field *d = &walk->desc->fields[index];
	uint64_t at, bytes, times, step, max_end = in->end;
	struct as_field field = *in->base;

	if (d->cond != DESC_NONE && !as_walk_eval(in, d->cond))
		return;
	at = d->off == DESC_NONE ? in->end - in->off : as_walk_eval(in, d->off);
	bytes = as_walk_eval(in, d->bytes);
	times = d->times == DESC_NONE ? 1 : as_walk_eval(in, d->times);
	step = d->step ? d->step : bytes;
	if (!bytes || bytes > DESC_FIELD_BYTES_MAX || times > DESC_TIMES_MAX)
		return;
	field.kind = d->kind;
	field.role = d->role;
	field.points = d->points;
	field.bytes = (uint32_t)bytes;
	field.shift = d->shift;
	field.bits = d->bits;
	field.big_endian = d->big_endian;
	for (uint64_t i = 0; i < times; i++, at += step) {
		if (at > in->len || bytes > in->len - at)
			break;
		field.off = in->off + at;
		field.name =
			d->times == DESC_NONE || walk->out->tree
				? d->name
				: as_walk_text(walk, "%s[%llu]", d->name, (unsigned long long)i);
		if (!is_apart(in, d, &field))
			continue;
		add_field(walk, &field);
		if (!i)
			in->place[index - in->s->first] = walk->out->n;
		if (field.off + bytes > max_end)
			max_end = field.off + bytes;
	}
	in->end = max_end;
}

/* What all fields of an instance have in common. */
static struct as_field base_of(struct as_disk_walk *walk, const struct as_desc_struct *s,
			       const struct as_walk_at *at)
{
	return (struct as_field){
		.structure = s->name,
		.instance = copy(walk, at->instance ? at->instance : s->name),
		.class = at->class ? copy(walk, at->class) : "",
		.path = copy(walk, at->path),
		.seal = at->seal,
		.self = at->self,
		.parent = at->parent,
	};
}

static bool is_of_tree(const struct as_desc *desc, const struct as_desc_struct *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const char *role = desc->fields[s->first + i].role;

		if (role && (!strncmp(role, "file.", 5) || !strncmp(role, "dir.entry.", 10)))
			return true;
	}
	return false;
}

/* How long it is, before its fields are known; 0: its own fields say so. */
static uint64_t room_of(const struct as_disk_walk *walk, const struct as_desc_struct *s,
			const struct as_walk_at *at, uint64_t size)
{
	uint64_t room = size - at->off, len = at->len;

	if (at->most && at->most < room)
		room = at->most;
	if (!len && s->size != DESC_NONE && !as_desc_names_fields(walk->desc, s->size))
		len = as_desc_eval(walk->desc, s->size, walk->var, NULL, NULL);
	return len && len < room ? len : room;
}

static uint64_t length_of(const struct as_walk_instance *in, const struct as_walk_at *at)
{
	const struct as_desc_struct *s = in->s;
	uint64_t len = s->size == DESC_NONE ? in->end - in->off : as_walk_eval(in, s->size);

	return at->len ? in->len : len < in->len ? len : in->len;
}

uint64_t as_walk_emit(struct as_disk_walk *walk, const struct as_walk_at *at)
{
	const struct as_desc_struct *s = find_struct(walk->desc, at->structure);
	uint64_t size = as_disk_size(walk->disk), len = 0;
	struct as_walk_instance in = { .walk = walk, .s = s, .off = at->off, .end = at->off };
	struct as_field base;

	if (!s || walk->rc || walk->out->n > FIELDS_MAX ||
	    (walk->out->tree && !is_of_tree(walk->desc, s)))
		return 0;
	if (at->off >= size) {
		as_walk_complain(walk, "%s: byte %llu is not on the disk",
				 at->instance ? at->instance : s->name,
				 (unsigned long long)at->off);
		return 0;
	}
	in.len = room_of(walk, s, at, size);
	base = base_of(walk, s, at);
	in.base = &base;
	in.first = walk->out->n;
	in.place = as_xcalloc(s->n + 1, sizeof(*in.place));
	for (size_t i = 0; i < s->n; i++)
		add_described(&in, s->first + i);
	if (as_walk_is_there(&in)) {
		len = in.len = length_of(&in, at);
		as_walk_sums(&in);
		as_walk_holds(&in);
	} else {
		walk->out->n = in.first;
	}
	free(in.place);
	return len;
}

void as_walk_bits(struct as_disk_walk *walk, const struct as_walk_at *at, const char *word,
		  uint64_t first, uint64_t n_bits, const char *role)
{
	const struct as_desc_struct *s = find_struct(walk->desc, at->structure);
	bool has_unset = false;
	struct as_field field;
	unsigned char byte = 0;

	if (!s || walk->rc || walk->out->tree)
		return;
	field = base_of(walk, s, at);
	field.kind = AS_FIELD_BITMAP;
	field.role = role;
	field.bytes = field.bits = 1;
	for (uint64_t i = 0; i < n_bits && walk->out->n <= FIELDS_MAX; i++) {
		bool set;

		field.off = at->off + i / 8;
		field.shift = i % 8;
		if (!field.shift && !as_disk_peek(walk->disk, field.off, &byte, 1)) {
			as_walk_complain(walk, "%s: byte %llu is not on the disk", field.instance,
					 (unsigned long long)field.off);
			return;
		}
		set = byte >> field.shift & 1;
		if (!set && has_unset)
			continue;
		has_unset |= !set;
		field.class = set ? "used" : "unused";
		field.name = as_walk_text(walk, "%s %llu", word, (unsigned long long)(first + i));
		field.self = first + i;
		add_field(walk, &field);
	}
}
