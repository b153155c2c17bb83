/* SPDX-License-Identifier: GPL-2.0-or-later */
/* strace_value: see strace_value.h. */
#include "trace/strace_value.h"
#include "base/hash.h"
#include "trace/trace.h"

#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is(struct as_span s, const char *text, size_t len)
{
	return s.len == len && !memcmp(s.at, text, len);
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* What follows a backslash. */
static char unescape(const char **p, const char *end)
{
	static const char names[] = "ntrvf", bytes[] = "\n\t\r\v\f";
	char c = *(*p)++;
	const char *name = memchr(names, c, sizeof(names) - 1);
	int value = 0;

	if (name)
		return bytes[name - names];
	if (c == 'x' && end - *p >= 2 && as_hex_digit((*p)[0]) >= 0 && as_hex_digit((*p)[1]) >= 0) {
		value = as_hex_digit((*p)[0]) * 16 + as_hex_digit((*p)[1]);
		*p += 2;
		return (char)value;
	}
	if (c < '0' || c > '7')
		return c;
	value = c - '0';
	for (int i = 0; i < 2 && *p < end && **p >= '0' && **p <= '7'; i++)
		value = value * 8 + (*(*p)++ - '0');
	return (char)value;
}

/* Undoes escapes, in the room, which is as long as the longest line. */
static void set_text(struct as_syscall_slot *slot, struct as_span s, struct as_scan_room *room)
{
	const char *p = s.at, *end = s.at + s.len;
	char *out = room->at + room->used;
	size_t n = 0;

	slot->text = s.at;
	slot->len = (unsigned)s.len;
	if (!memchr(s.at, '\\', s.len) || room->used + s.len > AS_LINE_MAX)
		return;
	while (p < end) {
		if (*p == '\\' && p + 1 < end) {
			p++;
			out[n++] = unescape(&p, end);
		} else {
			out[n++] = *p++;
		}
	}
	slot->text = out;
	slot->len = (unsigned)n;
	room->used += n;
}

/* The length of the text that begins with a quote, with both quotes. */
static size_t quoted(struct as_span s)
{
	size_t i = 1;

	while (i < s.len && s.at[i] != '"')
		i += s.at[i] == '\\' ? 2 : 1;
	return i < s.len ? i + 1 : s.len;
}

/* "\"text\"", "\"text\"...", NULL, an address; --secontext puts a context after it. */
void as_scan_text(struct as_span s, struct as_scan_room *room, struct as_syscall_slot *slot)
{
	const char *end;

	if (is(s, "NULL", 4)) {
		slot->state = AS_SLOT_NULL;
		return;
	}
	if (s.len < 2 || *s.at != '"') {
		slot->state = s.len && is_digit(*s.at) ? AS_SLOT_FAULT : AS_SLOT_UNSEEN;
		return;
	}
	end = s.at + s.len;
	s.len = quoted(s);
	slot->cut = end - s.at - (ptrdiff_t)s.len >= 3 && !memcmp(s.at + s.len, "...", 3);
	slot->state = AS_SLOT_TEXT;
	set_text(slot, (struct as_span){ s.at + 1, s.len - 2 }, room);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* "3", "3</path>", "AT_FDCWD", "AT_FDCWD</path>", "-1" */
void as_scan_fd(struct as_span s, struct as_scan_room *room, struct as_syscall_slot *slot)
{
	const char *angle = memchr(s.at, '<', s.len), *blank;
	struct as_span number = { s.at, angle ? (size_t)(angle - s.at) : s.len };

	/* What -X verbose and --secontext put after it. */
	blank = memchr(number.at, ' ', number.len);
	if (blank)
		number.len = (size_t)(blank - number.at);
	slot->state = AS_SLOT_VALUE;
	if (is(number, "AT_FDCWD", 8))
		slot->value = (uint64_t)(int64_t)-100;
	else if (!as_spell_number(number.at, number.len, false, &slot->value))
		slot->state = AS_SLOT_UNSEEN;
	slot->value = (uint64_t)(int64_t)(int32_t)slot->value;
	if (angle && s.at + s.len > angle + 2) {
		/* "</dev/null<char 1:3>>": the path is what is before the inner one. */
		struct as_span path = { angle + 1, (size_t)(s.at + s.len - angle) - 1 };
		const char *inner = memchr(path.at, '<', path.len);

		if (!inner)
			inner = memchr(path.at, '>', path.len);
		if (inner)
			path.len = (size_t)(inner - path.at);
		set_text(slot, path, room);
	}
}

/* "4096", "0x1000", "makedev(0x8, 0x1)" */
static void number_value(struct as_span s, struct as_syscall_slot *slot)
{
	static const char makedev[] = "makedev(";
	uint64_t major, minor;
	const char *comma;

	slot->state = AS_SLOT_VALUE;
	if (as_spell_number(s.at, s.len, false, &slot->value))
		return;
	comma = memchr(s.at, ',', s.len);
	if (s.len > sizeof(makedev) && !memcmp(s.at, makedev, sizeof(makedev) - 1) && comma &&
	    comma + 2 < s.at + s.len &&
	    as_spell_number(s.at + 8, (size_t)(comma - s.at) - 8, false, &major) &&
	    as_spell_number(comma + 2, (size_t)(s.at + s.len - comma) - 3, false, &minor)) {
		/* As the kernel takes it: new_decode_dev. */
		slot->value = (minor & 0xff) | major << 8 | (minor & ~0xffull) << 12;
		return;
	}
	slot->state = AS_SLOT_UNSEEN;
}

/* "[4096]", "[4096] => [8192]", NULL */
static void reference_value(struct as_span s, struct as_syscall_slot *slot)
{
	const char *close = memchr(s.at, ']', s.len);

	if (is(s, "NULL", 4)) {
		slot->state = AS_SLOT_NULL;
		return;
	}
	slot->state = s.len && is_digit(*s.at) ? AS_SLOT_FAULT : AS_SLOT_UNSEEN;
	if (close && *s.at == '[' &&
	    as_spell_number(s.at + 1, (size_t)(close - s.at) - 1, false, &slot->value))
		slot->state = AS_SLOT_VALUE;
}

/* ---- Structures ------------------------------------------------------------------------------ */

struct as_span as_scan_member(struct as_span s, const char *key)
{
	size_t len = strlen(key);
	const char *at = s.at, *end = s.at + s.len, *stop;

	for (; (at = memmem(at, (size_t)(end - at), key, len)); at += len)
		if (at > s.at && (at[-1] == '{' || at[-1] == ' '))
			break;
	if (!at)
		return (struct as_span){ s.at, 0 };
	at += len;
	for (stop = at; stop < end && !strchr(",}", *stop);)
		stop++;
	while (stop > at && stop[-1] == ' ')
		stop--;
	return (struct as_span){ at, (size_t)(stop - at) };
}

/* One member of struct open_how. Those that are zero are not always printed. */
static void how_value(struct as_span s, const struct as_spec_slot *spec, struct as_spell *spell,
		      struct as_syscall_slot *slot)
{
	static const char *const keys[] = { "flags=", "mode=", "resolve=" };
	struct as_span value;

	if (!s.len || *s.at != '{' || spec->offset > 16) {
		slot->state = is(s, "NULL", 4) ? AS_SLOT_NULL : AS_SLOT_FAULT;
		return;
	}
	value = as_scan_member(s, keys[spec->offset / 8]);
	slot->state = AS_SLOT_VALUE;
	slot->value = value.len ? as_spell_value(spell, spec->words, value.at, value.len) : 0;
}

/* The sum of iov_len. Data may hold anything: strings are skipped. */
static void iov_value(struct as_span s, struct as_syscall_slot *slot)
{
	const char *p = s.at, *end = s.at + s.len;
	uint64_t sum = 0, one;

	slot->state = AS_SLOT_FAULT;
	if (!s.len || *p != '[')
		return;
	while (p < end) {
		if (*p == '"') {
			for (p++; p < end && *p != '"'; p++)
				p += *p == '\\';
			p++;
			/* "..." after a string that was shortened */
			while (p < end && *p == '.')
				p++;
		} else if (end - p > 8 && !memcmp(p, "iov_len=", 8)) {
			const char *digits = p + 8;

			for (p = digits; p < end && is_digit(*p);)
				p++;
			if (as_spell_number(digits, (size_t)(p - digits), false, &one))
				sum += one;
		} else if (*p == '.') {
			slot->state = AS_SLOT_UNSEEN; /* not all of them are printed */
			return;
		} else {
			p++;
		}
	}
	slot->state = AS_SLOT_VALUE;
	slot->value = sum;
}

/* "[{tv_sec=1, tv_nsec=2}, UTIME_OMIT]", "{actime=1, modtime=2}", NULL; comments with dates. */
void as_scan_time(struct as_span s, enum as_spec_how how, unsigned which,
		  struct as_syscall_slot *slot)
{
	bool buf = how == AS_HOW_UTIMBUF;
	struct as_span sec, nsec = { s.at, 0 };
	const char *comma = s.at;
	uint64_t value;

	slot->state = is(s, "NULL", 4) ? AS_SLOT_NULL : AS_SLOT_FAULT;
	if (!s.len || *s.at != (buf ? '{' : '['))
		return;
	/* The second of two begins after a comma that is in no braces. */
	if (!buf && which) {
		unsigned depth = 0;

		for (comma = s.at + 1; comma < s.at + s.len && (depth || *comma != ','); comma++)
			depth += *comma == '{' ? 1 : *comma == '}' && depth ? -1u : 0;
		s.len -= (size_t)(comma - s.at);
		s.at = comma;
	} else if (!buf) {
		const char *end = memchr(s.at, '}', s.len);
		const char *next = memchr(s.at, ',', s.len);

		if (s.len > 1 && s.at[1] != '{')
			end = next;
		s.len = end ? (size_t)(end - s.at) : s.len;
	}
	slot->state = AS_SLOT_TIME;
	if (memmem(s.at, s.len, "UTIME_NOW", 9) || memmem(s.at, s.len, "UTIME_OMIT", 10)) {
		slot->nsec = (1 << 30) - (memmem(s.at, s.len, "UTIME_NOW", 9) ? 1 : 2);
		return;
	}
	sec = as_scan_member(s, !buf ? "tv_sec=" : which ? "modtime=" : "actime=");
	for (size_t i = 0; i < sec.len; i++)
		if (sec.at[i] == ' ')
			sec.len = i; /* a comment */
	if (!buf)
		nsec = as_scan_member(s, how == AS_HOW_TIMEVAL ? "tv_usec=" : "tv_nsec=");
	if (!as_spell_number(sec.at, sec.len, false, &slot->value))
		slot->state = AS_SLOT_UNSEEN;
	if (!buf && as_spell_number(nsec.at, nsec.len, false, &value)) {
		slot->nsec = (int64_t)value;
		if (how == AS_HOW_TIMEVAL)
			slot->nsec =
				slot->nsec >= 0 && slot->nsec < 1000000 ? slot->nsec * 1000 : -1;
	}
}

/* ---- The call -------------------------------------------------------------------------------- */

uint64_t as_scan_clone_flags(const struct as_scan *scan, const struct as_spec_words *words,
			     struct as_spell *spell)
{
	for (unsigned i = 0; i < scan->n_args; i++) {
		struct as_span s = scan->args[i];
		const char *at = memmem(s.at, s.len, "flags=", 6), *stop;

		if (!at)
			continue;
		at += 6;
		for (stop = at; stop < s.at + s.len && *stop != ',' && *stop != '}';)
			stop++;
		return as_spell_value(spell, words, at, (size_t)(stop - at));
	}
	/* unshare(CLONE_FILES) */
	return scan->n_args ? as_spell_value(spell, words, scan->args[0].at, scan->args[0].len) : 0;
}

static void fill_slot(const struct as_scan *scan, const struct as_spec_slot *spec,
		      struct as_spell *spell, struct as_scan_room *room,
		      struct as_syscall_slot *slot)
{
	struct as_span s = { "", 0 };

	if (spec->printed < scan->n_args)
		s = scan->args[spec->printed];
	slot->state = AS_SLOT_VALUE;
	if (spec->how == AS_HOW_CONST)
		slot->value = spec->constant;
	else if (spec->own == AS_OWN_CLONE)
		slot->value = as_scan_clone_flags(scan, spec->words, spell);
	else if (!s.len)
		slot->state = AS_SLOT_ABSENT;
	else if (spec->class == AS_CLASS_FD || spec->class == AS_CLASS_DIRFD)
		as_scan_fd(s, room, slot);
	else if (spec->how == AS_HOW_TEXT)
		as_scan_text(s, room, slot);
	else if (spec->how == AS_HOW_U64 && spec->class == AS_CLASS_BITS)
		how_value(s, spec, spell, slot);
	else if (spec->how == AS_HOW_U64)
		reference_value(s, slot);
	else if (spec->how == AS_HOW_IOV)
		iov_value(s, slot);
	else if (spec->class == AS_CLASS_TIME)
		as_scan_time(s, (enum as_spec_how)spec->how, spec->offset, slot);
	else if (spec->class == AS_CLASS_BITS || spec->class == AS_CLASS_WORD)
		slot->value = as_spell_value(spell, spec->words, s.at, s.len);
	else
		number_value(s, slot);
}

void as_scan_args(struct as_span list, struct as_scan_room *room, struct as_syscall *call)
{
	const char *p = list.at, *end = list.at + list.len;
	char *out = room->at + room->used;
	size_t n = 0;

	call->args = NULL;
	call->args_cut = false;
	if (!list.len || *p != '[' || room->used + list.len > AS_LINE_MAX)
		return;
	for (p++; p < end && *p != ']';) {
		if (*p != '"') {
			call->args_cut |= *p == '.';
			p++;
			continue;
		}
		for (p++; p < end && *p != '"';) {
			if (*p == '\\' && p + 1 < end) {
				p++;
				out[n++] = unescape(&p, end);
			} else {
				out[n++] = *p++;
			}
		}
		p += p < end;
		out[n++] = 0;
	}
	call->args = out;
	call->args_len = (unsigned)n;
	room->used += n;
}

/* "[3, 4]", "[3<pipe:[1]>, 4<pipe:[1]>]" */
static void fill_pair(struct as_span s, int made[2])
{
	const char *p = s.at + 1, *end = s.at + s.len;

	if (!s.len || *s.at != '[')
		return;
	for (int i = 0; i < 2; i++) {
		int fd = 0;

		if (p >= end || !is_digit(*p))
			return;
		for (; p < end && is_digit(*p) && fd < 100000000; p++)
			fd = fd * 10 + (*p - '0');
		made[i] = fd;
		p = memchr(p, ',', (size_t)(end - p));
		if (!p)
			return;
		p += 2;
	}
}

/* "? ERESTARTSYS (To be restarted if SA_RESTART is set)": the kernel's own number of it. */
static int interrupted_by(struct as_span s)
{
	static const struct {
		const char *name;
		int err;
	} names[] = { { "ERESTARTSYS", 512 },
		      { "ERESTARTNOINTR", 513 },
		      { "ERESTARTNOHAND", 514 },
		      { "ERESTART_RESTARTBLOCK", 516 } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is(s, names[i].name, strlen(names[i].name)))
			return names[i].err;
	return 0;
}

void as_scan_fill(const struct as_scan *scan, const struct as_spec_call *spec,
		  struct as_spell *spell, struct as_scan_room *room, struct as_syscall *call)
{
	call->spec = spec;
	call->made[0] = call->made[1] = -1;
	room->used = 0;
	for (unsigned i = 0; i < spec->n_slots; i++) {
		call->slots[i] = (struct as_syscall_slot){ 0 };
		fill_slot(scan, &spec->slots[i], spell, room, &call->slots[i]);
		if (spec->slots[i].own == AS_OWN_PAIR && spec->slots[i].reg < scan->n_args)
			fill_pair(scan->args[spec->slots[i].reg], call->made);
	}
	call->finished = scan->has_result;
	call->no_result = false;
	call->ret = (int64_t)scan->result;
	call->err = 0;
	if (!scan->has_result && scan->error.len)
		call->err = interrupted_by(scan->error);
	if (scan->has_result && scan->error.len) {
		call->err = as_spell_errno(spell, scan->error.at, scan->error.len);
		call->err = call->err ? call->err : 4095;
	}
}
