/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import_strace_line: see import_strace_line.h. Arguments are separated by ", " outside of strings, brackets,
 * comments and the <paths> that -y puts behind descriptors.
 */
#include "trace/import_strace_line.h"

#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void skip(struct as_piece *p, size_t n)
{
	n = n < p->len ? n : p->len;
	p->at += n;
	p->len -= n;
}

static void skip_blanks(struct as_piece *p)
{
	while (p->len && (*p->at == ' ' || *p->at == '\t'))
		skip(p, 1);
}

static size_t digits(struct as_piece p)
{
	size_t n = 0;

	while (n < p.len && is_digit(p.at[n]))
		n++;
	return n;
}

/* Times of day, seconds, differences: digits, colons and dots that end at a blank. */
static void skip_time(struct as_piece *line)
{
	struct as_piece rest = *line;
	size_t n = 0;

	while (n < rest.len && (is_digit(rest.at[n]) || rest.at[n] == ':' || rest.at[n] == '.'))
		n++;
	if (n && n < rest.len && rest.at[n] == ' ') {
		skip(line, n);
		skip_blanks(line);
	}
}

unsigned as_strace_prefix(struct as_piece *line)
{
	bool bracket = as_piece_starts(*line, "[pid");
	int64_t pid = 0;
	size_t n;

	if (bracket)
		skip(line, 4);
	skip_blanks(line);
	n = digits(*line);
	if (n && n < 10 && n < line->len && (line->at[n] == ' ' || line->at[n] == ']')) {
		/* Leading zeros do not make a process octal. */
		for (size_t i = 0; i < n; i++)
			pid = pid * 10 + (line->at[i] - '0');
		skip(line, n);
	}
	if (bracket && line->len && *line->at == ']')
		skip(line, 1);
	skip_blanks(line);
	skip_time(line);
	return (unsigned)pid;
}

/* ---- Arguments ------------------------------------------------------------------------------- */

/* The length of what opens at p: a string, a comment, the path of a descriptor; 0: nothing does. */
static size_t quoted(struct as_piece p, bool after_fd)
{
	size_t n;

	if (p.len && *p.at == '"') {
		for (n = 1; n < p.len && p.at[n] != '"'; n++)
			n += p.at[n] == '\\';
		return n < p.len ? n + 1 : p.len;
	}
	if (as_piece_starts(p, "/*")) {
		for (n = 2; n + 1 < p.len && !(p.at[n] == '*' && p.at[n + 1] == '/'); n++)
			;
		return n + 1 < p.len ? n + 2 : p.len;
	}
	if (p.len && *p.at == '<' && after_fd) {
		/* "->" is in the names of sockets. */
		for (n = 1; n < p.len && !(p.at[n] == '>' && p.at[n - 1] != '-'); n++)
			;
		return n < p.len ? n + 1 : p.len;
	}
	return 0;
}

static struct as_piece trimmed(const char *at, size_t len)
{
	while (len && (*at == ' ' || *at == '\t')) {
		at++;
		len--;
	}
	while (len && (at[len - 1] == ' ' || at[len - 1] == '\t'))
		len--;
	return (struct as_piece){ at, len };
}

/* From behind the opening parenthesis to behind the closing one. */
static bool split_args(struct as_piece *p, struct as_strace_call *call)
{
	const char *start = p->at;
	unsigned depth = 0;
	bool after_fd = false, more;

	call->n_args = 0;
	while (p->len) {
		size_t n = quoted(*p, after_fd);
		char c = *p->at;

		if (n) {
			skip(p, n);
			after_fd = false;
			continue;
		}
		if (!depth && (c == ',' || c == ')')) {
			struct as_piece arg = trimmed(start, (size_t)(p->at - start));

			more = call->n_args || arg.len || c == ',';
			if (more && call->n_args < AS_STRACE_ARGS_MAX)
				call->args[call->n_args] = arg;
			call->n_args += more;
			start = p->at + 1;
		}
		skip(p, 1);
		if (!depth && c == ')')
			return true;
		depth += c == '(' || c == '[' || c == '{';
		if (depth && (c == ')' || c == ']' || c == '}'))
			depth--;
		after_fd = is_digit(c) || c == 'D';
	}
	return false;
}

static bool read_result(struct as_piece p, struct as_strace_call *call)
{
	struct as_piece word;
	size_t n = 0;

	if (!as_piece_word(&p, &word) || !as_piece_is(word, "=") || !as_piece_word(&p, &word))
		return false;
	call->ret = -1;
	call->known = *word.at != '?';
	call->failed = false;
	/* "3</path>" */
	while (n < word.len && word.at[n] != '<')
		n++;
	word.len = n;
	if (!call->known)
		return true;
	if (!as_piece_number(word, &call->ret))
		return false;
	if (call->ret == -1 && as_piece_word(&p, &word)) {
		call->failed = true;
		call->error = word;
	}
	return true;
}

bool as_strace_parse(struct as_piece text, struct as_strace_call *call)
{
	size_t n = 0;

	while (n < text.len && (text.at[n] == '_' || is_digit(text.at[n]) ||
				((text.at[n] | 32) >= 'a' && (text.at[n] | 32) <= 'z')))
		n++;
	if (!n || n >= text.len || text.at[n] != '(')
		return false;
	call->name = (struct as_piece){ text.at, n };
	skip(&text, n + 1);
	return split_args(&text, call) && read_result(text, call);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

static int hex_of(char c)
{
	return is_digit(c)			    ? c - '0'
	       : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
						    : -1;
}

/* What stands behind a backslash; moves on. */
static int unescape(struct as_piece *p)
{
	static const char names[] = "ntrvf\"\\", bytes[] = "\n\t\r\v\f\"\\";
	const char *name = memchr(names, *p->at, sizeof(names) - 1);
	int value = 0;

	if (name) {
		skip(p, 1);
		return (unsigned char)bytes[name - names];
	}
	if (*p->at == 'x' && p->len > 2 && hex_of(p->at[1]) >= 0 && hex_of(p->at[2]) >= 0) {
		value = hex_of(p->at[1]) * 16 + hex_of(p->at[2]);
		skip(p, 3);
		return value;
	}
	if (!is_octal(*p->at))
		return -1;
	for (int i = 0; i < 3 && p->len && is_octal(*p->at); i++) {
		value = value * 8 + (*p->at - '0');
		skip(p, 1);
	}
	return value & 0xff;
}

/* Everything up to `end`, which must be the last byte. */
static const char *decode(struct as_importing *x, struct as_piece p, char end)
{
	struct as_buf out = { 0 };
	const char *copy = NULL;
	bool ok = true;

	while (ok && p.len && *p.at != end) {
		int c = (unsigned char)*p.at;

		skip(&p, 1);
		if (c == '\\')
			c = p.len ? unescape(&p) : -1;
		ok = c > 0;
		as_buf_addc(&out, (char)c);
	}
	if (ok && p.len == 1)
		copy = as_importing_word(x, (struct as_piece){ as_buf_str(&out), out.len });
	as_buf_free(&out);
	return copy;
}

const char *as_strace_string(struct as_importing *x, struct as_piece arg)
{
	if (arg.len < 2 || *arg.at != '"')
		return NULL;
	skip(&arg, 1);
	return decode(x, arg, '"');
}

bool as_strace_fd(struct as_importing *x, struct as_piece arg, int64_t *fd, const char **path)
{
	struct as_piece number = { arg.at, 0 };

	while (number.len < arg.len && arg.at[number.len] != '<')
		number.len++;
	skip(&arg, number.len);
	*path = NULL;
	if (arg.len > 2 && arg.at[1] == '/') {
		skip(&arg, 1);
		*path = decode(x, arg, '>');
	}
	if (as_piece_is(number, "AT_FDCWD")) {
		*fd = AS_STRACE_CWD;
		return true;
	}
	return as_piece_number(number, fd) && *fd >= 0;
}

static bool find_after(struct as_piece p, const char *what, struct as_piece *value)
{
	const char *at = memmem(p.at, p.len, what, strlen(what));

	if (!at)
		return false;
	value->at = at + strlen(what);
	value->len = p.len - (size_t)(value->at - p.at);
	for (size_t n = 0; n < value->len; n++)
		if (strchr(",}] ", value->at[n])) {
			value->len = n;
			break;
		}
	return true;
}

static bool read_time(struct as_piece p, int64_t *time)
{
	struct as_piece sec = { 0 }, nsec = { 0 };
	int64_t s, ns;

	if (memmem(p.at, p.len, "UTIME_NOW", 9)) {
		*time = AS_TIME_NOW;
		return true;
	}
	if (memmem(p.at, p.len, "UTIME_OMIT", 10)) {
		*time = AS_TIME_OMIT;
		return true;
	}
	if (!find_after(p, "tv_sec=", &sec) || !find_after(p, "tv_nsec=", &nsec) ||
	    !as_piece_number(sec, &s) || !as_piece_number(nsec, &ns) || s > AS_TIME_SEC_MAX ||
	    s < -AS_TIME_SEC_MAX || ns < 0 || ns >= 1000000000)
		return false;
	*time = s * 1000000000 + ns;
	return true;
}

bool as_strace_times(struct as_piece arg, int64_t *atime, int64_t *mtime)
{
	unsigned depth = 0;
	size_t n;

	if (as_piece_is(arg, "NULL")) {
		*atime = *mtime = AS_TIME_NOW;
		return true;
	}
	if (!as_piece_starts(arg, "["))
		return false;
	skip(&arg, 1);
	for (n = 0; n < arg.len && (depth || arg.at[n] != ','); n++) {
		depth += arg.at[n] == '{';
		if (depth && arg.at[n] == '}')
			depth--;
	}
	return n < arg.len && read_time((struct as_piece){ arg.at, n }, atime) &&
	       read_time((struct as_piece){ arg.at + n, arg.len - n }, mtime);
}
