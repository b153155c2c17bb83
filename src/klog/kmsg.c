/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kmsg: see kmsg.h.
 *
 * Method. A message of class crash or warning begins a report and includes the messages after it,
 * up to a line that ends reports or LINES_MAX lines; a second message of such a class in the same
 * report (Oops after BUG) changes nothing. A notice of corruption is complete by itself. The
 * function to blame is the first of these: the one that the message names, the one that takes the
 * lock, the one at the instruction pointer, those on the stack from the top. Functions that are on
 * the stack only because something was reported (KMSG_TELL), or that everybody calls (KMSG_SKIP),
 * are left out. User-Mode Linux guesses all of its frames: whatever on the stack looks like an
 * address in the kernel. Of these, the first one after the last that tells something is taken, and
 * none that is the beginning of a function, since nothing returns there. Of a task that sleeps
 * where it must not, the one that took the spinlock is blamed before any guess.
 *
 * User-Mode Linux says "WARNING: ..." first, and what is wrong in the message after it: if that has
 * a row of its own (a list, a reference count), the report is one of that row.
 */
#include "klog/kmsg.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 250
#define TEXT_MAX_BYTES 32768u
#define LINE_MAX_BYTES 4096u
#define WHERE_BYTES 128

static const struct {
	enum as_kmsg_class cls;
	const char *what, *pattern;
} rows[] = {
#define KMSG(class, what, pattern) { AS_KMSG_##class, what, pattern },
#include "klog/kmsg.def"
};

static const char *const skipped[] = {
#define KMSG_SKIP(function) function,
#include "klog/kmsg.def"
};

static const char *const tellers[] = {
#define KMSG_TELL(function) function,
#include "klog/kmsg.def"
};

static const char *const by_stack[] = {
#define KMSG_BY_STACK(what) what,
#include "klog/kmsg.def"
};

static const char *const threads[] = {
#define KMSG_THREAD(name) name,
#include "klog/kmsg.def"
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct as_kmsg_scan {
	struct as_kmsg_filter filter;
	as_kmsg_fn fn;
	void *ctx;
	struct as_buf line; /* the last line of a console, not complete yet */
	bool cut_here; /* the last message says that a report follows */
	/* The report that has begun: */
	bool open, foreign, in_stack, after_cut;
	enum as_kmsg_class cls;
	const char *what;
	unsigned lines;
	char where[WHERE_BYTES];
	char guess[WHERE_BYTES]; /* the same by a guessed frame, if there is nothing better */
	char spinning[WHERE_BYTES]; /* who took the last spinlock that the report lists */
	bool at_next; /* the last message names its place in the next one */
	unsigned long ip; /* that the message names as a number, or 0 */
	struct as_buf title, text, signature;
};

const char *as_kmsg_class_name(enum as_kmsg_class cls)
{
	static const char *const names[AS_KMSG_CLASSES] = {
		[AS_KMSG_INFO] = "information",
		[AS_KMSG_CORRUPTION] = "corruption",
		[AS_KMSG_WARNING] = "warning",
		[AS_KMSG_CRASH] = "crash",
	};

	as_assert((unsigned)cls < AS_KMSG_CLASSES);
	return names[cls];
}

/* ---- The table ------------------------------------------------------------------------------- */

static size_t device_len(const char *text)
{
	return strcspn(text, " :)(,\t");
}

/*
 * For each '*', the shortest match is tried first. Only the last '*' has to be tried with longer
 * matches: what is before it has matched already, and a longer match there cannot help. So the work
 * is at most the product of the lengths.
 */
static bool matches(const char *pattern, const char *text, struct as_kmsg_meaning *m)
{
	const char *star = NULL, *from = NULL;

	for (;;) {
		if (*pattern == '*') {
			star = ++pattern;
			from = text;
			if (!*pattern)
				return true;
		} else if (*pattern == '%' && device_len(text)) {
			m->device = text;
			m->device_len = device_len(text);
			text += m->device_len;
			pattern++;
		} else if (*pattern && *pattern == *text) {
			pattern++;
			text++;
		} else if (!*pattern && !*text) {
			return true;
		} else if (star && *from) {
			text = ++from;
			pattern = star;
		} else {
			return false;
		}
	}
}

struct as_kmsg_meaning as_kmsg_classify(const char *text)
{
	struct as_kmsg_meaning m;

	for (size_t i = 0; i < COUNT(rows); i++) {
		m = (struct as_kmsg_meaning){ .cls = rows[i].cls, .what = rows[i].what };
		if (matches(rows[i].pattern, text, &m))
			return m;
	}
	return (struct as_kmsg_meaning){ .what = "" };
}

/* ---- Functions on a stack -------------------------------------------------------------------- */

static bool is_among(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static bool is_skipped(const char *name)
{
	return is_among(skipped, COUNT(skipped), name);
}

/* "name.isra.0+0x12/0x34" at `text`: name. */
static bool take_function(const char *text, char where[WHERE_BYTES])
{
	size_t len = 0, all;

	if (!isalpha((unsigned char)*text) && *text != '_')
		return false;
	while (isalnum((unsigned char)text[len]) || text[len] == '_')
		len++;
	all = len;
	while (isalnum((unsigned char)text[all]) || text[all] == '_' || text[all] == '.')
		all++;
	if (strncmp(text + all, "+0x", 3) || len >= WHERE_BYTES)
		return false;
	memcpy(where, text, len);
	where[len] = '\0';
	return true;
}

/* The first function that a message names, in any place. */
static bool find_function(const char *text, char where[WHERE_BYTES])
{
	for (const char *s = text; (s = strstr(s, "+0x")); s++) {
		const char *start = s;

		while (start > text &&
		       (isalnum((unsigned char)start[-1]) || start[-1] == '_' || start[-1] == '.'))
			start--;
		if (take_function(start, where))
			return true;
	}
	return false;
}

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t");
}

/* " [<60012345>] name+0x1/0x2": without the address; NULL for what the unwinder only guessed. */
static const char *frame(const char *line)
{
	line = skip_blanks(line);
	if (!strncmp(line, "[<", 2) && strstr(line, ">]"))
		line = skip_blanks(strstr(line, ">]") + 2);
	return *line == '?' ? NULL : line;
}

static bool is_ip(const char *line)
{
	return !strncmp(line, "RIP: ", 5) || !strncmp(line, "EIP: ", 5) ||
	       !strncmp(line, "pc : ", 5);
}

/* "000000008cba63b8 (&mm->mmap_lock){++++}-{3:3}, at: handle_page_fault+0x1aa/0x920": the first one
 * in a report of lockdep is the lock that was to be taken. */
static bool is_lock(const struct as_kmsg_scan *s, const char *text)
{
	return !strcmp(s->what, "lockdep") && strstr(text, ", at: ");
}

/* "#2: 00000000618ad378 (broken_spin){+.+.}-{2:2}, at: broken_schedule+0x26/0x50": a lock that is
 * held, and that forbids sleeping (its kind, after the '-', is 1 or 2). */
static bool is_spinlock(const char *text)
{
	const char *kind = strstr(text, "}-{");

	return kind && (kind[3] == '1' || kind[3] == '2') && strstr(kind, ", at: ");
}

/* "assay/40 is trying to release lock (broken_two) at:", and then the place. */
static bool ends_with_at(const char *text)
{
	size_t len = strlen(text);

	return len > 4 && !strcmp(text + len - 4, " at:");
}

/* The number that a message names as its instruction pointer ("..., ip 0x60731860"), or 0. */
static unsigned long named_ip(const char *text)
{
	const char *at = strstr(text, ", ip 0x");

	return at ? strtoul(at + strlen(", ip "), NULL, 16) : 0;
}

/*
 * Is `ip` in the function of this frame, " [<60731660>] ? name+0x0/0x5f0"? User-Mode Linux names
 * the place of a fault as a number. All of its frames are guessed, but each says where its function
 * begins and ends.
 */
static bool frame_has(const char *line, unsigned long ip, char where[WHERE_BYTES])
{
	unsigned long address, offset, size;
	const char *at;
	int taken = 0;

	line = skip_blanks(line);
	if (!ip || sscanf(line, "[<%lx>]%n", &address, &taken) != 1 || !taken)
		return false;
	at = skip_blanks(line + taken);
	at = skip_blanks(*at == '?' ? at + 1 : at);
	if (!take_function(at, where) ||
	    sscanf(strstr(at, "+0x") + 1, "%lx/%lx", &offset, &size) != 2)
		return false;
	return ip >= address - offset && ip - (address - offset) < size;
}

/* " [<6056197e>] ? name+0x2ee/0x370": a guessed frame. */
static void guess(struct as_kmsg_scan *s, const char *line)
{
	char name[WHERE_BYTES];
	const char *at;

	line = skip_blanks(line);
	at = strncmp(line, "[<", 2) ? NULL : strstr(line, ">]");
	at = at ? skip_blanks(at + 2) : line;
	if (*at != '?')
		return;
	at = skip_blanks(at + 1);
	if (!take_function(at, name) || !strncmp(strstr(at, "+0x"), "+0x0/", 5))
		return;
	if (is_among(tellers, COUNT(tellers), name))
		s->guess[0] = '\0';
	else if (!s->guess[0] && !is_skipped(name))
		memcpy(s->guess, name, sizeof(name));
}

/* Looks for the function to blame in one message of a report. */
static void blame(struct as_kmsg_scan *s, const char *text)
{
	char name[WHERE_BYTES];
	const char *at;

	if (!strncmp(text, "Call Trace:", 11) || !strncmp(text, "Call trace:", 11))
		s->in_stack = true;
	if (s->where[0])
		return;
	if (s->in_stack)
		guess(s, text);
	if (is_spinlock(text) && find_function(text, name))
		memcpy(s->spinning, name, sizeof(name));
	if (is_ip(text) || is_lock(s, text) || s->at_next) {
		if (!find_function(text, name))
			return;
	} else if (!s->in_stack || !frame_has(text, s->ip, name)) {
		at = s->in_stack ? frame(text) : NULL;
		if (!at || !take_function(at, name))
			return;
	}
	if (!is_skipped(name))
		memcpy(s->where, name, sizeof(name));
}

/* ---- Reports --------------------------------------------------------------------------------- */

static bool is_ours(const struct as_kmsg_scan *s, const struct as_kmsg_meaning *m)
{
	const char *const *device = s->filter.devices;

	if (!device)
		return true;
	/* Another mount of this kernel may be what is corrupt. */
	if (!m->device)
		return m->cls > AS_KMSG_CORRUPTION;
	for (; *device; device++) {
		size_t len = strlen(*device);

		/* "loop0-8" is the journal of loop0, "loop0.0" gfs2's name for it. */
		if (len <= m->device_len && !strncmp(*device, m->device, len) &&
		    (len == m->device_len || !isalnum((unsigned char)m->device[len])))
			return true;
	}
	return false;
}

/* "CPU: 0 PID: 77 Comm: name Not tainted", "INFO: task name:77 blocked": whose stack it is. */
static void check_owner(struct as_kmsg_scan *s, const char *text)
{
	const char *comm = strstr(text, " Comm: ");
	size_t len;

	if (!s->filter.comm)
		return;
	if (comm)
		comm += 7;
	else if (!strncmp(text, "INFO: task ", 11))
		comm = text + 11;
	else
		return;
	len = strcspn(comm, " :");
	for (size_t i = 0; i < COUNT(threads); i++)
		if (!strncmp(comm, threads[i], strlen(threads[i])))
			return;
	if (strncmp(comm, s->filter.comm, len) || s->filter.comm[len])
		s->foreign = true;
}

/* How long the number at `text` is ("17", "0x2f", "deadbeef00"), 0 for a word. */
static size_t number_len(const char *text)
{
	size_t len = strspn(text, "x0123456789abcdefABCDEF");
	bool is_word = isalnum((unsigned char)text[len]) || text[len] == '_';

	return is_word || strcspn(text, "0123456789") >= len ? 0 : len;
}

/* Numbers become '#', the device "DEV". */
static void add_stable(struct as_buf *out, const char *text, const struct as_kmsg_meaning *m)
{
	bool in_word = false;

	while (*text) {
		size_t n = in_word ? 0 : number_len(text);

		if (m->device == text) {
			as_buf_adds(out, "DEV");
			text += m->device_len;
		} else if (n) {
			if (!out->len || out->data[out->len - 1] != '#')
				as_buf_addc(out, '#');
			text += n;
		} else {
			as_buf_addc(out, *text++);
		}
		in_word = isalnum((unsigned char)text[-1]) || text[-1] == '_';
	}
}

static void hand_out(struct as_kmsg_scan *s)
{
	struct as_kmsg_meaning m = as_kmsg_classify(as_buf_str(&s->title));
	struct as_kmsg_report report;

	s->open = false;
	if (s->foreign)
		return;
	if (!s->where[0] && s->spinning[0] && !strcmp(s->what, "atomic"))
		memcpy(s->where, s->spinning, sizeof(s->where));
	if (!s->where[0] && is_among(by_stack, COUNT(by_stack), s->what))
		memcpy(s->where, s->guess, sizeof(s->where));
	as_buf_clear(&s->signature);
	as_buf_addf(&s->signature, "%s: %s: ", as_kmsg_class_name(s->cls), s->what);
	if (s->where[0])
		as_buf_adds(&s->signature, s->where);
	else
		add_stable(&s->signature, as_buf_str(&s->title), &m);
	report = (struct as_kmsg_report){
		.cls = s->cls,
		.what = s->what,
		.title = as_buf_str(&s->title),
		.where = s->where,
		.signature = as_buf_str(&s->signature),
		.text = as_buf_str(&s->text),
	};
	s->fn(s->ctx, &report);
}

static void add_line(struct as_kmsg_scan *s, const char *text)
{
	size_t len = strlen(text);

	s->lines++;
	if (s->text.len + len + 1 > TEXT_MAX_BYTES)
		return;
	as_buf_add(&s->text, text, len);
	as_buf_addc(&s->text, '\n');
}

static void begin(struct as_kmsg_scan *s, const char *text, const struct as_kmsg_meaning *m)
{
	char name[WHERE_BYTES];

	s->open = true;
	s->foreign = !is_ours(s, m);
	s->in_stack = false;
	s->cls = m->cls;
	s->what = m->what;
	s->lines = 0;
	s->where[0] = s->guess[0] = s->spinning[0] = '\0';
	s->at_next = false;
	s->ip = named_ip(text);
	as_buf_clear(&s->title);
	as_buf_adds(&s->title, text);
	as_buf_clear(&s->text);
	s->after_cut = s->cut_here;
	if (s->cut_here)
		add_line(s, "------------[ cut here ]------------");
	add_line(s, text);
	/* In a notice of corruption, the function only says who noticed it; the text says what is
	 * wrong. */
	if (m->cls != AS_KMSG_CORRUPTION && find_function(text, name) && !is_skipped(name))
		memcpy(s->where, name, sizeof(name));
	check_owner(s, text);
}

/* The message after "WARNING: ..." says what is wrong. */
static void refine(struct as_kmsg_scan *s, const struct as_kmsg_meaning *m)
{
	if (s->lines != 1u + s->after_cut || strcmp(s->what, "warning") ||
	    m->cls < AS_KMSG_WARNING || !strcmp(m->what, "warning"))
		return;
	s->what = m->what;
	s->cls = m->cls;
}

static bool is_end_mark(const struct as_kmsg_scan *s, const char *text)
{
	return !strncmp(text, "---[ end ", 9) ||
	       (s->lines > 2 && !strncmp(text, "==========================", 26));
}

void as_kmsg_scan_message(struct as_kmsg_scan *s, const char *text)
{
	struct as_kmsg_meaning m = as_kmsg_classify(text);
	bool cut_here = !strncmp(text, "------------[ cut here ]", 24);

	if (s->open && (cut_here || s->lines >= LINES_MAX || m.cls == AS_KMSG_CORRUPTION))
		hand_out(s);
	if (s->open) {
		refine(s, &m);
		add_line(s, text);
		check_owner(s, text);
		blame(s, text);
		s->at_next = ends_with_at(text);
		if (is_end_mark(s, text))
			hand_out(s);
	} else if (m.cls != AS_KMSG_INFO) {
		begin(s, text, &m);
		if (m.cls == AS_KMSG_CORRUPTION)
			hand_out(s);
	}
	s->cut_here = cut_here;
}

struct as_kmsg_scan *as_kmsg_scan_new(const struct as_kmsg_filter *filter, as_kmsg_fn fn, void *ctx)
{
	struct as_kmsg_scan *s = as_xcalloc(1, sizeof(*s));

	if (filter)
		s->filter = *filter;
	s->fn = fn;
	s->ctx = ctx;
	return s;
}

void as_kmsg_scan_free(struct as_kmsg_scan *s)
{
	if (!s)
		return;
	as_buf_free(&s->line);
	as_buf_free(&s->title);
	as_buf_free(&s->text);
	as_buf_free(&s->signature);
	free(s);
}

void as_kmsg_scan_end(struct as_kmsg_scan *s)
{
	if (s->line.len)
		as_kmsg_scan_console(s, "\n", 1);
	if (s->open)
		hand_out(s);
}

bool as_kmsg_scan_is_open(const struct as_kmsg_scan *s)
{
	return s->open;
}

/* ---- Consoles -------------------------------------------------------------------------------- */

const char *as_kmsg_strip(const char *line)
{
	size_t n;

	if (*line == '<' && isdigit((unsigned char)line[1])) {
		n = 1 + strspn(line + 1, "0123456789");
		if (line[n] == '>')
			line += n + 1;
	}
	/* "[   12.345678]", then perhaps "[  T123]" or "[    C0]". */
	if (*line == '[') {
		n = 1 + strspn(line + 1, " 0123456789.");
		if (n == 1 || line[n] != ']')
			return line;
		line += n + 1;
		if (*line == '[') {
			n = 1 + strspn(line + 1, " ");
			if (line[n] == 'T' || line[n] == 'C')
				n += 1 + strspn(line + n + 1, "0123456789");
			if (line[n] == ']')
				line += n + 1;
		}
		if (*line == ' ')
			line++;
	}
	return line;
}

void as_kmsg_scan_console(struct as_kmsg_scan *s, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n') {
			as_kmsg_scan_message(s, as_kmsg_strip(as_buf_str(&s->line)));
			as_buf_clear(&s->line);
		} else if (text[i] != '\r' && text[i] && s->line.len < LINE_MAX_BYTES) {
			as_buf_addc(&s->line, text[i]);
		}
	}
}
