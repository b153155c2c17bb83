/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz entry of the fault plan parser. A plan that is accepted prints to a text that is accepted
 * too and prints the same; one that is refused is refused with a message. */
#include "disk/fault.h"

#include <stdlib.h>
#include <string.h>

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
	free(rules);
	free(again);
	as_buf_free(&text);
	as_buf_free(&first);
	as_buf_free(&second);
	return 0;
}
