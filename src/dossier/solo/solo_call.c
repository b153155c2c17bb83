/* SPDX-License-Identifier: GPL-2.0-or-later */
/* solo_call: one call of a trail as C. */
#include "dossier/solo/solo_priv.h"

#include "base/show.h"
#include "os/stack.h"
#include "work/arg.h"
#include "work/op.h"

#include <assay/solo.h>
#include <string.h>
#include <sys/stat.h>

#define LITERAL_COLUMNS 76u
#define BUF_BYTES ((size_t)1 << 20) /* of struct as_solo */

void as_repro_literal(const unsigned char *data, size_t len, struct as_buf *out)
{
	size_t column = 0;

	as_buf_addc(out, '"');
	for (size_t i = 0; i < len && out->len <= REPRO_MAX_BYTES; i++) {
		unsigned char c = data[i];
		size_t before = out->len;

		if (column > LITERAL_COLUMNS) {
			as_buf_adds(out, "\"\n\t\t\"");
			before = out->len;
			column = 0;
		}
		if (c == '"' || c == '\\' || c == '?')
			as_buf_addf(out, "\\%c", c);
		else if (c == '\n')
			as_buf_adds(out, "\\n");
		else if (c < ' ' || c >= 0x7f)
			as_buf_addf(out, "\\%03o", c);
		else
			as_buf_addc(out, (char)c);
		column += out->len - before;
	}
	as_buf_addc(out, '"');
}

static void put_text(const struct as_trail_event *e, unsigned i, struct as_buf *out)
{
	const char *text = as_trail_text(e, i);

	as_repro_literal((const unsigned char *)text, strlen(text), out);
}

static void put_errno(int64_t ret, struct as_buf *out)
{
	const char *name = ret < 0 && ret > -134 ? as_errno_name((int)-ret) : "";

	if (name[0] == 'E')
		as_buf_addf(out, "-%s", name);
	else
		as_buf_addf(out, "%lld", (long long)ret);
}

/* Where the bytes of a write belong in the file: it may be appended. */
static bool is_pattern(const struct repro_writer *w, size_t i, uint64_t *fill, uint64_t *at)
{
	const struct as_trail_event *e = w->events[i].e;
	const unsigned char *data = as_trail_data(e);

	if (w->op < 0 || (size_t)w->op >= w->repro->seq->n)
		return false;
	*fill = (uint64_t)w->repro->seq->ops[w->op].fill;
	*at = e->n[1];
	if (as_pattern_check(*fill, *at, data, e->data_len) == e->data_len)
		return true;
	while (i-- > 0 && w->events[i].e->what != AS_TRAIL_OP)
		if (w->events[i].e->what == AS_TRAIL_CALL &&
		    w->events[i].e->fn == AS_TRAIL_fgetattr) {
			*at = w->events[i].e->st.size;
			return as_pattern_check(*fill, *at, data, e->data_len) == e->data_len;
		}
	return false;
}

static void put_bytes(const struct repro_writer *w, size_t i, struct as_buf *out)
{
	const struct as_trail_event *e = w->events[i].e;
	uint64_t fill, at;

	if (e->data_len <= BUF_BYTES && is_pattern(w, i, &fill, &at))
		as_buf_addf(out, "as_solo_pattern(s.buf, %u, %llu, %llu)", e->data_len,
			    (unsigned long long)fill, (unsigned long long)at);
	else
		as_repro_literal(as_trail_data(e), e->data_len, out);
}

static void put_open_flags(uint64_t flags, struct as_buf *out)
{
	struct as_buf words = { 0 };

	as_flags_print(AS_FLAGS_OPEN_FLAGS, (int64_t)flags, &words);
	for (const char *s = as_buf_str(&words); *s; s++)
		if (*s == '|')
			as_buf_adds(out, " | ");
		else
			as_buf_addc(out, *s);
	as_buf_free(&words);
}

/* The arguments after the file system and the handle, a letter each: put_arg() reads them. */
static const char *const args_of[AS_TRAIL_FN_COUNT] = {
	[AS_TRAIL_fsck] = "k",	       [AS_TRAIL_getattr] = "as",    [AS_TRAIL_fgetattr] = "s",
	[AS_TRAIL_setattr] = "atS",    [AS_TRAIL_fsetattr] = "tS",   [AS_TRAIL_mkdir] = "am",
	[AS_TRAIL_rmdir] = "a",	       [AS_TRAIL_unlink] = "a",	     [AS_TRAIL_remount] = "a",
	[AS_TRAIL_link_handle] = "a",  [AS_TRAIL_link] = "ab",	     [AS_TRAIL_symlink] = "ab",
	[AS_TRAIL_removexattr] = "ab", [AS_TRAIL_rename] = "ab0",    [AS_TRAIL_readdir] = "an",
	[AS_TRAIL_open] = "afoh",      [AS_TRAIL_read] = "r01",	     [AS_TRAIL_write] = "B01",
	[AS_TRAIL_fsync] = "d",	       [AS_TRAIL_readlink] = "ac0",  [AS_TRAIL_listxattr] = "ac0",
	[AS_TRAIL_mknod] = "am1",      [AS_TRAIL_fallocate] = "012", [AS_TRAIL_setxattr] = "abB01",
	[AS_TRAIL_getxattr] = "abr0",  [AS_TRAIL_statfs] = "F",
};

/* What setattr can set. */
static const struct {
	unsigned bit;
	const char *flag;
} settable[] = {
	{ AS_SET_MODE, "AS_SET_MODE" },	  { AS_SET_UID, "AS_SET_UID" },
	{ AS_SET_GID, "AS_SET_GID" },	  { AS_SET_SIZE, "AS_SET_SIZE" },
	{ AS_SET_ATIME, "AS_SET_ATIME" }, { AS_SET_MTIME, "AS_SET_MTIME" },
};

static void put_set_flags(uint64_t flags, struct as_buf *out)
{
	bool first = true;

	for (size_t i = 0; i < sizeof(settable) / sizeof(settable[0]); i++)
		if (flags & settable[i].bit) {
			as_buf_addf(out, "%s%s", first ? "" : " | ", settable[i].flag);
			first = false;
		}
	if (first)
		as_buf_addc(out, '0');
}

static void put_arg(const struct repro_writer *w, size_t i, char letter, struct as_buf *out)
{
	static const char *const modes[] = { "AS_FSCK_REPLAY", "AS_FSCK_DEFAULT", "AS_FSCK_FULL" };
	const struct as_trail_event *e = w->events[i].e;

	switch (letter) {
	case 'a':
	case 'b':
		if (w->fold_len) {
			as_buf_adds(out, "as_solo_name(");
			as_repro_literal((const unsigned char *)as_trail_text(e, 0), w->fold_len,
					 out);
			as_buf_adds(out, ", i)");
			break;
		}
		put_text(e, letter == 'b', out);
		break;
	case '0':
	case '1':
	case '2':
		as_buf_addu(out, e->n[letter - '0']);
		break;
	case 'm':
	case 'o':
		as_buf_addf(out, "%#llo", (unsigned long long)e->n[letter == 'o']);
		break;
	case 'f':
		put_open_flags(e->n[0], out);
		break;
	case 'h':
		as_buf_addf(out, "&h[%d]", e->handle);
		break;
	case 'r':
		as_buf_adds(out, e->n[0] > BUF_BYTES ? "malloc(" : "s.buf");
		if (e->n[0] > BUF_BYTES)
			as_buf_addf(out, "%llu)", (unsigned long long)e->n[0]);
		break;
	case 'B':
		put_bytes(w, i, out);
		break;
	case 'S':
		put_set_flags(e->n[0], out);
		break;
	case 'd':
		as_buf_adds(out, e->n[0] ? "true" : "false");
		break;
	case 'k':
		as_buf_adds(out, modes[e->n[0] % 3]);
		break;
	default:
		as_buf_adds(out, letter == 's'	 ? "&st"
				 : letter == 't' ? "&set"
				 : letter == 'n' ? "as_solo_add_name, &names"
				 : letter == 'c' ? "(char *)s.buf"
						 : "&sfs");
	}
}

static void put_call(const struct repro_writer *w, size_t i, struct as_buf *out)
{
	const struct as_trail_event *e = w->events[i].e;
	const char *table = w->repro->symbol;
	bool takes_args =
		e->fn == AS_TRAIL_mkfs || e->fn == AS_TRAIL_mount || e->fn == AS_TRAIL_fsck;

	if (e->fn == AS_TRAIL_write || e->fn == AS_TRAIL_read)
		as_buf_addf(out, "as_solo_%s(&%s, fs", as_trail_fn_name(e->fn), table);
	else
		as_buf_addf(out, "%s.%s(%s", table, as_trail_fn_name(e->fn),
			    takes_args ? "&s.args" : "fs");
	if (e->fn == AS_TRAIL_mount)
		as_buf_adds(out, ", &fs");
	if (e->handle >= 0 && e->fn != AS_TRAIL_open)
		as_buf_addf(out, ", h[%d]", e->handle);
	for (const char *letter = args_of[e->fn]; letter && *letter; letter++) {
		as_buf_adds(out, ", ");
		put_arg(w, i, *letter, out);
	}
	as_buf_addc(out, ')');
}

/* What was filled in must be as it was, too. */
static void put_filled(const struct repro_writer *w, const struct as_trail_event *e)
{
	static const struct {
		enum as_trail_fn fn;
		const char *sum;
	} rows[] = {
		{ AS_TRAIL_getattr, "as_solo_sum_stat(&st)" },
		{ AS_TRAIL_fgetattr, "as_solo_sum_stat(&st)" },
		{ AS_TRAIL_readdir, "names" },
		{ AS_TRAIL_read, NULL },
		{ AS_TRAIL_readlink, NULL },
		{ AS_TRAIL_getxattr, NULL },
		{ AS_TRAIL_listxattr, NULL },
		{ AS_TRAIL_statfs, "as_solo_sum(&sfs, sizeof(sfs))" },
	};
	const struct as_stat *st = &e->st;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].fn != e->fn || e->ret < 0)
			continue;
		if (i < 2)
			as_buf_addf(w->out, "\t/* mode %o, %u links, owner %u:%u, %llu bytes */\n",
				    st->mode, st->nlink, st->uid, st->gid,
				    (unsigned long long)st->size);
		if (e->fn == AS_TRAIL_statfs)
			as_buf_addf(w->out,
				    "\t/* free: %llu of %llu blocks, %llu of %llu inodes */\n",
				    (unsigned long long)e->n[0], (unsigned long long)e->n[1],
				    (unsigned long long)e->n[2], (unsigned long long)e->n[3]);
		if (rows[i].sum)
			as_buf_addf(w->out, "\tAS_SOLO_WRONG(&s, %s, 0x%x, \"\");\n", rows[i].sum,
				    e->sum);
		else
			as_buf_addf(w->out,
				    "\tAS_SOLO_WRONG(&s, as_solo_sum(s.buf, %lld), 0x%x, \"\");\n",
				    (long long)e->ret, e->sum);
	}
}

static void put_set(const struct as_stat *st, uint64_t flags, struct as_buf *out)
{
	const char *comma = "";

	as_buf_adds(out, "\tset = (struct as_stat){ ");
	for (unsigned bit = AS_SET_MODE; bit <= AS_SET_MTIME; bit *= 2) {
		if (!(flags & bit))
			continue;
		as_buf_adds(out, comma);
		comma = ", ";
		if (bit == AS_SET_MODE)
			as_buf_addf(out, ".mode = 0%o", st->mode);
		else if (bit == AS_SET_UID)
			as_buf_addf(out, ".uid = %u", st->uid);
		else if (bit == AS_SET_GID)
			as_buf_addf(out, ".gid = %u", st->gid);
		else if (bit == AS_SET_SIZE)
			as_buf_addf(out, ".size = %llu", (unsigned long long)st->size);
		else
			as_buf_addf(out, ".%ctime_ns = %lld", bit == AS_SET_ATIME ? 'a' : 'm',
				    (long long)(bit == AS_SET_ATIME ? st->atime_ns : st->mtime_ns));
	}
	as_buf_adds(out, *comma ? " };\n" : "0 };\n");
}

/* What the host does otherwise within this call. */
static void put_faults(const struct repro_writer *w, size_t call)
{
	static const char *const asks[] = { "READ", "WRITE", "ERASE", "FLUSH", "ALLOC" };
	uint64_t nth[AS_SOLO_ASKS] = { 0 };

	for (size_t i = call + 1; i < w->n && w->events[i].e->what == AS_TRAIL_IO; i++) {
		const struct as_trail_event *e = w->events[i].e;
		size_t own = e->fn == AS_SOLO_WRITE ? (size_t)e->n[1] : 0;

		nth[e->fn]++;
		if (!e->ret && e->data_len <= own)
			continue;
		/* What breaks a rule is refused by the program's host, too. */
		if (e->ret == -EINVAL)
			continue;
		if (e->data_len <= own) {
			as_buf_addf(w->out, "\tas_solo_fail(&s, AS_SOLO_%s, %llu, ", asks[e->fn],
				    (unsigned long long)nth[e->fn]);
			as_buf_addf(w->out, "%s);\n", as_errno_name((int)-e->ret));
			continue;
		}
		as_buf_addf(w->out, "\tas_solo_spoil(&s, AS_SOLO_%s, %llu, %lld, %llu,\n\t\t",
			    asks[e->fn], (unsigned long long)nth[e->fn], (long long)-e->ret,
			    (unsigned long long)e->n[3]);
		as_repro_literal(as_trail_data(e) + own, e->data_len - own, w->out);
		as_buf_addf(w->out, ", %zu);\n", e->data_len - own);
	}
}

/* "died of SIGSEGV", "called exit(1)", "did not come back" */
static void put_death(const char *summary, struct as_buf *out)
{
	const char *name = strstr(summary, "SIG");
	size_t len = name ? strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") : 0;

	if (strstr(summary, "called exit"))
		as_buf_adds(out, "-1");
	else if (strstr(summary, AS_STACK_HEAP))
		as_buf_adds(out, "AS_SOLO_DAMAGE");
	else if (len > 3)
		as_buf_add(out, name, len);
	else
		as_buf_adds(out, strstr(summary, "died") ? "SIGABRT" : "SIGALRM");
}

void as_repro_call(struct repro_writer *w, size_t i)
{
	const struct as_trail_event *e = w->events[i].e;
	enum repro_role role = w->events[i].role;

	if (w->clock_ns != e->before_ns)
		as_buf_addf(w->out, "\ts.now_ns = %lluu;\n", (unsigned long long)e->before_ns);
	w->clock_ns = e->after_ns;
	if (e->fn == AS_TRAIL_mount && strcmp(as_trail_text(e, 0), w->opts)) {
		w->opts = as_trail_text(e, 0);
		as_buf_adds(w->out, "\ts.args.opts = ");
		put_text(e, 0, w->out);
		as_buf_addf(w->out, ";\n\ts.args.readonly = %s;\n", e->n[0] ? "true" : "false");
	}
	if (e->fn == AS_TRAIL_setattr || e->fn == AS_TRAIL_fsetattr)
		put_set(&e->st, e->n[0], w->out);
	if (e->fn == AS_TRAIL_readdir)
		as_buf_adds(w->out, "\tnames = 0;\n");
	put_faults(w, i);
	as_buf_addf(w->out, "\t%s(&s, ",
		    role == REPRO_DIES	  ? "AS_SOLO_DIES"
		    : role == REPRO_WRONG ? "AS_SOLO_WRONG"
					  : "AS_SOLO");
	put_call(w, i, w->out);
	as_buf_adds(w->out, ", ");
	if (role == REPRO_DIES)
		put_death(w->repro->summary, w->out);
	else
		put_errno(e->ret, w->out);
	as_buf_addf(w->out, "%s);\n", role == REPRO_WRONG ? ", \"\"" : "");
	if (role == REPRO_WRONG)
		put_filled(w, e);
}
