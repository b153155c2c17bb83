/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz entry of the fault plan parsers, that of disks and the one of all that can fail. A plan that
 * is accepted prints to a text that is accepted too and prints the same; one that is refused is
 * refused with a message. */
#include "disk/fault.h"
#include "host/medium.h"

#include <stdlib.h>
#include <string.h>

static void whole_plan(const char *text)
{
	struct as_plan *plan, *again = NULL;
	struct as_buf first = { 0 }, second = { 0 };
	struct as_err err = { 0 };

	if (as_plan_parse(text, &plan, &err)) {
		as_assert(!plan && err.msg[0]);
	} else {
		as_plan_print(plan, &first);
		as_assert(!as_plan_parse(as_buf_str(&first), &again, &err));
		as_plan_print(again, &second);
		as_assert(!strcmp(as_buf_str(&first), as_buf_str(&second)));
	}
	as_plan_free(plan);
	as_plan_free(again);
	as_buf_free(&first);
	as_buf_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct as_fault_rule *rules, *again = NULL;
	struct as_buf text = { 0 }, first = { 0 }, second = { 0 };
	struct as_err err = { 0 };
	size_t n, n_again;

	as_buf_add(&text, data, len);
	if (as_fault_parse(as_buf_str(&text), &rules, &n, &err)) {
		as_assert(!rules && !n && strstr(err.msg, "expected"));
	} else {
		as_fault_print(rules, n, &first);
		as_assert(!as_fault_parse(as_buf_str(&first), &again, &n_again, &err));
		as_assert(n == n_again);
		as_fault_print(again, n_again, &second);
		as_assert(!strcmp(as_buf_str(&first), as_buf_str(&second)));
	}
	whole_plan(as_buf_str(&text));
	free(rules);
	free(again);
	as_buf_free(&text);
	as_buf_free(&first);
	as_buf_free(&second);
	return 0;
}
