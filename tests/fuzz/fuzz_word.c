/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz entry of what a sandbox says of a disk (damage/kernel_word.c). What is accepted must come
 * out of another round trip as the same.
 */
#include "damage/disk_host.h"
#include "snapshot/tree.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct as_word word, again;
	struct as_buf bytes = { 0 };
	struct as_err err = { 0 };

	if (!as_word_parse(data, len, &word, &err)) {
		as_word_print(&word, &bytes);
		as_assert(!as_word_parse(bytes.data, bytes.len, &again, &err));
		as_assert(again.end == word.end && !word.tree == !again.tree &&
			  !strcmp(as_buf_str(&again.why), as_buf_str(&word.why)) &&
			  !strcmp(as_buf_str(&again.sign), as_buf_str(&word.sign)) &&
			  !strcmp(as_buf_str(&again.log), as_buf_str(&word.log)));
		as_assert(!word.tree ||
			  as_digest_eq(as_tree_digest(word.tree), as_tree_digest(again.tree)));
		as_word_free(&again);
	}
	as_word_free(&word);
	as_buf_free(&bytes);
	return 0;
}
