/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz entry of what --kcov reads: the file of a run, the functions of a kernel, and what a sandbox
 * tells. What a file is taken to hold is there when it is walked, in order, and counted once. What
 * the report makes of a table of functions is JSON, whatever the table is. */
#include "cover/code.h"
#include "report/html_priv.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void walk(const struct as_codeset *set)
{
	uint64_t n = 0, last = 0;

	for (uint64_t pc = 0; (pc = as_codeset_next(set, pc)); pc++) {
		as_assert(pc > last && as_codeset_has(set, pc));
		last = pc;
		n++;
	}
	as_assert(n == set->n);
}

static void report(const struct as_buf *text)
{
	struct as_buf copy = { 0 }, out = { 0 };
	struct as_json json = as_json_on(&out);
	json_t *root;

	as_buf_adds(&copy, as_buf_str(text));
	as_json_array(&json);
	if (copy.len)
		(void)as_report_code_print(copy.data, &json);
	as_json_end(&json);
	root = json_loads(as_buf_str(&out), 0, NULL);
	as_assert(root);
	json_decref(root);
	as_buf_free(&copy);
	as_buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct as_codeset *set = as_xcalloc(1, sizeof(*set));
	struct as_code_of of;
	struct as_buf text = { 0 };
	struct as_code_map map;
	const char *name;
	uint64_t added;
	size_t name_len;

	as_buf_add(&text, data, len);
	if (!as_code_parse("code", as_buf_str(&text), set, &of, NULL))
		as_assert(!*of.kernel || as_kernel_name_ok(of.kernel));
	if (as_codeset_hear(set, as_buf_str(&text), &name, &name_len, &added))
		as_assert(added <= set->n && name + name_len <= as_buf_str(&text) + text.len);
	walk(set);
	if (!as_code_map_parse("functions", as_buf_str(&text), &map, NULL)) {
		uint64_t in = 0, nowhere = as_code_count(&map, set);

		for (size_t i = 0; i < map.n; i++)
			in += map.functions[i].reached;
		as_assert(in + nowhere == set->n);
	}
	as_code_map_free(&map);
	report(&text);
	as_buf_free(&text);
	free(set);
	return 0;
}
