/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Define-use analysis: what goes when an operation goes. In the tables, a line that begins with '-'
 * is taken out by hand, and one that begins with '.' must follow it; all others must stay.
 */
#include "tests/lib/skip.h"

#include "work/defuse.h"
#include "work/parse.h"

#include <stdlib.h>
#include <string.h>

/* Marks stand in front of the lines; they are taken off for the parser. */
static struct as_seq *parse_marked(const char *text, char *marks)
{
	struct as_buf plain = { 0 };
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };
	size_t n = 0;

	for (const char *s = text; *s; s = strchr(s, '\n') + 1) {
		marks[n++] = *s;
		as_buf_add(&plain, s + 1, (size_t)(strchr(s, '\n') - s));
	}
	if (as_parse_text("test", as_buf_str(&plain), plain.len, &seq, &err))
		fail_msg("%s", err.msg);
	as_buf_free(&plain);
	return seq;
}

static const struct {
	const char *name, *text;
} rows[] = {
	{ "a folder takes what is below it",
	  "-mkdir /a 0755\n.create /a/f 0644\n.stat /a/f\n create /b 0644\n stat /b\n" },
	{ "a slot takes its uses",
	  " create /f 0644\n-$0 = open /f O_RDWR\n.write $0 len=1\n.close $0\n stat /f\n" },
	{ "a slot that is opened again is another one",
	  " create /f 0644\n-$0 = open /f O_RDWR\n $0 = open /f O_RDWR\n"
	  " write $0 len=1\n" },
	{ "what was never there does not depend on anything",
	  "-mkdir /a 0755\n stat /nosuch\n write $7 len=1\n unlink /b/c\n" },
	{ "a second creation takes over", "-mkdir /a 0755\n mkdir /a 0755\n create /a/f 0644\n" },
	{ "what a rename moved",
	  " mkdir /a 0755\n create /a/f 0644\n-rename /a /b\n.stat /b/f\n.rmdir /b\n" },
	{ "the source of a rename",
	  "-mkdir /a 0755\n.create /a/f 0644\n.rename /a /b\n.stat /b/f\n stat /a\n" },
	{ "a file below a folder that moved",
	  " mkdir /a 0755\n-create /a/f 0644\n rename /a /b\n.stat /b/f\n stat /b\n" },
	{ "exchanged", " mkdir /a 0755\n-create /a/f 0644\n mkdir /b 0755\n create /b/g 0644\n"
		       " rename2 /a /b RENAME_EXCHANGE\n.stat /b/f\n stat /a/g\n" },
	{ "half of an exchange",
	  "-create /a 0644\n create /b 0644\n.rename2 /a /b RENAME_EXCHANGE\n" },
	{ "links", " create /f 0644\n-hardlink /f /g\n.stat /g\n stat /f\n" },
	{ "what a symbolic link says is no use",
	  "-create /f 0644\n symlink /f /l\n stat /l nofollow=1\n" },
	{ "the working directory",
	  " mkdir /a 0755\n create /a/f 0644\n-chcwd /a\n.unlink f\n create f 0644\n" },
	{ "relative names", " mkdir /a 0755\n-create /a/f 0644\n chcwd /a\n.stat f\n.stat ./f\n"
			    ".stat ../a//f\n" },
	{ "removed is no longer there",
	  "-create /f 0644\n.unlink /f\n stat /f\n create /f 0644\n stat /f\n" },
	{ "prune empties", " mkdir /a 0755\n-create /a/f 0644\n prune /a\n stat /a/f\n" },
	{ "deep and large ones",
	  " mkdir /a 0755\n-deepen /a 3\n.stat /a/d/d/d\n enlarge /a 5\n stat /a/e3\n" },
	{ "large ones", " mkdir /a 0755\n-enlarge /a 5\n.rmdir /a/e3\n stat /a/e\n" },
	{ "O_CREAT makes, without it uses",
	  "-create /f 0644\n $0 = open /f O_RDWR|O_CREAT 0644\n write $0 len=1\n" },
	{ "without O_CREAT", "-create /f 0644\n.$0 = open /f O_RDWR\n.write $0 len=1\n" },
	{ "O_TMPFILE", "-$0 = open / O_RDWR|O_TMPFILE 0600\n.link_tmpfile $0 /f\n.stat /f\n" },
	{ "two slots", " $0 = open /a O_RDWR|O_CREAT 0644\n-$1 = open /b O_RDWR|O_CREAT 0644\n"
		       ".copy_file_range $0 $1 len=1 at=0 to=0\n fsync $0\n" },
	{ "a mapping outlives its descriptor",
	  " $0 = open /a O_RDWR|O_CREAT 0644\n-mmap $0 len=1 at=0\n close $0\n"
	  ".mload $0 len=1 at=0\n.munmap $0\n mload $0 len=1 at=0\n" },
	{ "a crash empties slots",
	  "-$0 = open /a O_RDWR|O_CREAT 0644\n.fsync $0\n crash\n fsync $0\n" },
};

static void what_follows(void **state)
{
	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		char marks[32];
		bool kept[32];
		struct as_seq *seq = parse_marked(rows[r].text, marks);
		struct as_defuse *du = as_defuse_new(seq);
		size_t left, want = 0;

		for (size_t i = 0; i < seq->n; i++) {
			kept[i] = marks[i] != '-';
			want += marks[i] == ' ';
		}
		left = as_defuse_close(du, kept);
		for (size_t i = 0; i < seq->n; i++)
			if (kept[i] != (marks[i] == ' '))
				fail_msg("%s: line %zu is %s", rows[r].name, i + 1,
					 kept[i] ? "still there" : "gone");
		assert_int_equal(left, want);
		/* Nothing taken out: nothing goes; and what is closed stays closed. */
		assert_int_equal(as_defuse_close(du, kept), want);
		memset(kept, true, sizeof(kept));
		assert_int_equal(as_defuse_close(du, kept), seq->n);
		as_defuse_free(du);
		as_seq_free(seq);
	}
}

static void slices(void **state)
{
	static const char text[] = " mkdir /a 0755\n"
				   ".mkdir /b 0755\n"
				   " create /a/f 0644\n"
				   ".create /b/g 0644\n"
				   "+$0 = open /a/f O_RDWR\n"
				   "+write $0 len=5\n"
				   " rename /a /c\n"
				   ".stat /b/g\n"
				   " stat /c/f\n";
	char marks[32];
	bool kept[32];
	struct as_seq *seq = parse_marked(text, marks);
	struct as_defuse *du = as_defuse_new(seq);
	const size_t *deps;
	size_t n;

	(void)state;
	assert_int_equal(as_defuse_slice(du, seq->n - 1, false, kept), 4);
	for (size_t i = 0; i < seq->n; i++)
		assert_int_equal(kept[i], marks[i] == ' ');
	assert_int_equal(as_defuse_slice(du, seq->n - 1, true, kept), 6);
	for (size_t i = 0; i < seq->n; i++)
		assert_int_equal(kept[i], marks[i] != '.');
	deps = as_defuse_of(du, seq->n - 1, &n);
	assert_int_equal(n, 2);
	assert_int_equal(deps[0], 2);
	assert_int_equal(deps[1], 6);
	as_defuse_free(du);
	as_seq_free(seq);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_follows),
		cmocka_unit_test(slices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
