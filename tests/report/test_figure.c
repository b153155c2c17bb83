/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Charts: every number is in them where it belongs, whatever the numbers are; names cannot break
 * the text. */
#include "figure/figure_cover.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static unsigned times(const char *text, const char *what)
{
	unsigned n = 0;

	for (const char *s = text; (s = strstr(s, what)); s++)
		n++;
	return n;
}

/* Every < is closed, every element ends; enough of XML for what we write. */
static void assert_well_formed(const char *text)
{
	const char *open[64];
	size_t depth = 0;

	for (const char *s = text; (s = strchr(s, '<')); s++) {
		const char *end = strchr(s, '>');
		size_t len;

		assert_non_null(end);
		assert_true(!memchr(s + 1, '<', (size_t)(end - s - 1)));
		len = strcspn(s + 1, " />");
		if (s[1] == '!')
			continue;
		if (s[1] == '/') {
			len = (size_t)(end - s - 2);
			assert_true(depth > 0);
			depth--;
			assert_int_equal(strncmp(open[depth], s + 2, len), 0);
		} else if (end[-1] != '/' && strncmp(s, "<meta", 5) && strncmp(s, "<br", 3)) {
			assert_true(depth < 64);
			open[depth++] = s + 1;
		}
	}
	assert_int_equal(depth, 0);
}

/* Does the element that begins at `s` say this of itself, in letters that every program knows? */
static bool has_colour(const char *s, const char *attribute)
{
	const char *end = strchr(s, '>'), *at = strstr(s, attribute);

	return at && at < end &&
	       (at[strlen(attribute)] == '#' || !strncmp(at, "fill=\"none\"", 11));
}

/* Nothing depends on rules or variables: without them it is drawn black on black. */
static void assert_plain_colours(const char *text)
{
	unsigned n = 0;

	assert_null(strstr(text, "var("));
	for (const char *s = text; (s = strchr(s, '<')); s++) {
		if (!strncmp(s, "<rect", 5) || !strncmp(s, "<text", 5)) {
			assert_true(has_colour(s, " fill=\""));
			n++;
		} else if (!strncmp(s, "<path", 5)) {
			assert_true(has_colour(s, " stroke=\""));
			n++;
		}
	}
	assert_true(n > 0);
}

static void bars(void **state)
{
	const char *labels[] = { "A", "B<&>\"", "C" };
	const uint64_t one[] = { 0, 1, 1000000 }, two[] = { 12345, 0, UINT64_MAX };
	const bool faint[] = { false, false, true };
	struct as_figure_bars figure = { .title = "T",
					 .x_label = "x",
					 .y_label = "y",
					 .labels = labels,
					 .faint = faint,
					 .n = 3,
					 .series = { "first", "se<cond" },
					 .counts = { one, two },
					 .n_series = 2 };
	struct as_buf out = { 0 };

	(void)state;
	as_figure_bars(&figure, &out);
	assert_well_formed(out.data);
	assert_plain_colours(out.data);
	assert_int_equal(times(out.data, "<rect class=\"c"), 4 + 2); /* and the legend */
	assert_int_equal(times(out.data, "<path class=\"axis none\""), 2);
	assert_int_equal(times(out.data, " faint\""), 2);
	assert_non_null(strstr(out.data, "first: C: 1,000,000"));
	assert_non_null(strstr(out.data, "se&lt;cond: A: 12,345"));
	assert_non_null(strstr(out.data, "18,446,744,073,709,551,615"));
	assert_non_null(strstr(out.data, "B&lt;&amp;&gt;&quot;"));
	assert_null(strstr(out.data, "nan"));
	assert_null(strstr(out.data, "inf"));
	as_buf_free(&out);
}

static void empty_bars(void **state)
{
	struct as_figure_bars figure = {
		.title = "", .x_label = "", .y_label = "", .series = { "s" }, .n_series = 1
	};
	struct as_buf out = { 0 };

	(void)state;
	as_figure_bars(&figure, &out);
	assert_well_formed(out.data);
	assert_null(strstr(out.data, "nan"));
	as_buf_free(&out);
}

/* Bars and names of suites that do not fit into a line go on in the next; none is lost, none is
 * outside. */
static void wide_bars(void **state)
{
	static const char name[] = "a suite whose name is long enough for a line of its own, "
				   "and for another one, because nobody has found a shorter "
				   "\xc3\xa4\xc3\xa4\xc3\xa4 one for it, <not even> one of them";
	char text[200][16];
	const char *labels[200];
	uint64_t counts[200];
	struct as_figure_bars figure = { .title = "T",
					 .x_label = "x",
					 .y_label = "y",
					 .labels = labels,
					 .n = 200,
					 .series = { name, name, name, name },
					 .counts = { counts, counts, counts, counts },
					 .n_series = 4 };
	struct as_buf out = { 0 };
	double width = 0, height = 0, x, y;

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		snprintf(text[i], sizeof(text[i]), "LABEL_%u_", i);
		labels[i] = text[i];
		counts[i] = i % 5 ? i : 0;
	}
	as_figure_bars(&figure, &out);
	assert_well_formed(out.data);
	assert_plain_colours(out.data);
	assert_int_equal(
		sscanf(strstr(out.data, "viewBox"), "viewBox=\"0 0 %lf %lf", &width, &height), 2);
	assert_true(width <= 1080);
	assert_int_equal(times(out.data, "<rect class=\"c"), 4 * 160 + 4);
	assert_int_equal(times(out.data, "axis none"), 4 * 40);
	for (unsigned i = 0; i < 200; i++) {
		snprintf(text[i], sizeof(text[i]), ">LABEL_%u_<", i);
		assert_int_equal(times(out.data, text[i]), 1);
	}
	for (const char *s = out.data; (s = strstr(s, " x=\"")); s++) {
		assert_int_equal(sscanf(s, " x=\"%lf\" y=\"%lf", &x, &y), 2);
		assert_true(x >= 0 && x < width && y > 0 && y < height);
	}
	/* Four lines of the legend, each cut where it must be. */
	assert_int_equal(times(out.data, "\xe2\x80\xa6</text>"), 4);
	as_buf_free(&out);
}

/* A suite of which `n` opens are counted, `twice` of them with two flags. */
static struct as_counts *suite(const struct as_spec *spec, unsigned n, unsigned twice)
{
	struct as_counts *counts = as_counts_new(spec);
	const struct as_spec_call *call = as_spec_find(spec, "openat", 6);
	struct as_world *world = NULL;
	struct as_world_options options = { .cwd = "/" };

	assert_int_equal(as_world_new(spec, &options, &world, NULL), 0);
	for (unsigned i = 0; i < n; i++) {
		struct as_syscall c = {
			.spec = call, .pid = 1, .tid = 1, .finished = true, .ret = 3
		};
		struct as_about about;

		for (unsigned s = 0; s < call->n_slots; s++) {
			const struct as_spec_arg *arg =
				&spec->families[call->family].args[call->slots[s].arg];

			c.slots[s].state = AS_SLOT_VALUE;
			if (!strcmp(arg->name, "path")) {
				c.slots[s].state = AS_SLOT_TEXT;
				c.slots[s].text = "/f";
				c.slots[s].len = 2;
			} else if (!strcmp(arg->name, "flags")) {
				c.slots[s].value = i < twice ? 02001 : 0; /* O_WRONLY|O_APPEND */
			} else if (!strcmp(arg->name, "dirfd")) {
				c.slots[s].value = (uint64_t)-100;
			}
		}
		as_world_call(world, &c, &about);
		as_counts_call(counts, &c, &about);
	}
	as_world_free(world);
	return counts;
}

static void figures_of_the_paper(void **state)
{
	struct as_spec *spec = as_counts_spec();
	struct as_suites suites = { .spec = spec, .n = 2 };
	struct as_buf out = { 0 };

	(void)state;
	suites.suite[0] = (struct as_suite){ "few", suite(spec, 40, 10) };
	suites.suite[1] = (struct as_suite){ "many", suite(spec, 4000, 1000) };
	as_figure_of_paper(&suites, &as_figure_paper[0], &out);
	assert_well_formed(out.data);
	assert_non_null(strstr(out.data, "few: O_RDONLY: 30<"));
	assert_non_null(strstr(out.data, "many: O_APPEND: 1,000<"));
	assert_non_null(strstr(out.data, "many: O_RDWR: 0<"));
	as_buf_clear(&out);
	as_figure_of_paper(&suites, &as_figure_paper[2], &out);
	assert_non_null(strstr(out.data, "many: OK: 4,000<"));
	assert_non_null(strstr(out.data, "few: ENOENT: 0<"));
	as_buf_clear(&out);
	/* Two curves, and the point where they cross is marked. */
	as_figure_of_paper(&suites, &as_figure_paper[3], &out);
	assert_well_formed(out.data);
	assert_plain_colours(out.data);
	assert_int_equal(times(out.data, "<path class=\"l"), 2 + 2);
	assert_int_equal(times(out.data, "stroke-dasharray=\"4 3\""), 1);
	as_buf_clear(&out);
	/* The shares of Table 1: 30 of 40 with one flag, 10 with two. */
	as_figure_together(&suites, "open", "flags", &out);
	assert_non_null(strstr(out.data, "<tr><td>few: all flags</td><td>75.0</td><td>25.0</td>"));
	assert_non_null(strstr(out.data, "<tr><td>few: O_RDONLY</td><td>100.0</td><td>0.0</td>"));
	as_buf_clear(&out);
	as_figure_report(&suites, &out);
	assert_well_formed(strstr(out.data, "<html"));
	for (unsigned i = 0; i < spec->n_families; i++) {
		char summary[128];

		snprintf(summary, sizeof(summary), "<summary>%s ", spec->families[i].name);
		assert_non_null(strstr(out.data, summary));
	}
	as_buf_free(&out);
	for (unsigned i = 0; i < 2; i++)
		as_counts_free((struct as_counts *)suites.suite[i].counts);
	as_spec_free(spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bars),
		cmocka_unit_test(empty_bars),
		cmocka_unit_test(wide_bars),
		cmocka_unit_test(figures_of_the_paper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
