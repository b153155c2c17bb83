/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack: see stack.h. Here: the names of frames.
 *
 * Method. The file of a module is mapped, and the function whose range holds the place is looked up
 * in its symbols (.symtab, which has static functions, too; else .dynsym). Every offset of the file
 * is checked: it may be any file.
 */
#include "os/stack.h"

#include "base/buf.h"
#include "os/elf.h"
#include "os/paint.h"
#include "os/spawn.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN 2 /* frames */

/* Modules that are not what is tested: the beginnings of their names. */
static const char *const libraries[] = { "libc.so",  "libc-",	   "ld-linux",	  "libpthread",
					 "libgcc_s", "libasan.so", "libubsan.so", "libstdc++" };
/* Functions that only tell of a mistake of their caller: a part of their name. */
static const char *const tellers[] = { "assert",	   "abort",   "panic",
				       "__asan",	   "__ubsan", "__sanitizer",
				       "__stack_chk_fail", "fatal" };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_library(const char *module)
{
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (!strncmp(base_name(module), libraries[i], strlen(libraries[i])))
			return true;
	return false;
}

static bool is_teller(const char *name)
{
	for (size_t i = 0; i < sizeof(tellers) / sizeof(*tellers); i++)
		if (strstr(name, tellers[i]))
			return true;
	return false;
}

/* ---- Symbols --------------------------------------------------------------------------------- */

/* The name of the function of this table that holds the place; NULL: none does. */
static const char *name_in(const struct as_elf *e, const Elf64_Shdr *table, uint64_t at)
{
	const Elf64_Shdr *strings = as_elf_section(e, table->sh_link);
	const Elf64_Sym *sym = as_elf_part(e, table->sh_offset, table->sh_size);
	const char *text = strings ? as_elf_part(e, strings->sh_offset, strings->sh_size) : NULL;

	if (!sym || !text || table->sh_offset % _Alignof(Elf64_Sym) || !strings->sh_size ||
	    text[strings->sh_size - 1])
		return NULL;
	for (uint64_t i = 0; i < table->sh_size / sizeof(*sym); i++)
		if (ELF64_ST_TYPE(sym[i].st_info) == STT_FUNC && at >= sym[i].st_value &&
		    at - sym[i].st_value < sym[i].st_size && sym[i].st_name < strings->sh_size)
			return text + sym[i].st_name;
	return NULL;
}

static bool add_function(const struct as_elf *e, uint64_t at, struct as_buf *out)
{
	static const uint32_t kinds[] = { SHT_SYMTAB, SHT_DYNSYM };
	const Elf64_Shdr *s;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		for (uint32_t i = 0; (s = as_elf_section(e, i)); i++) {
			const char *name = s->sh_type == kinds[k] ? name_in(e, s, at) : NULL;

			if (name && *name) {
				/* Parts that a compiler made of a function: "f.part.0". */
				as_buf_add(out, name, strcspn(name, ".@"));
				return true;
			}
		}
	return false;
}

static bool add_symbol(const char *module, uint64_t at, struct as_buf *out)
{
	struct as_elf e;
	bool found = as_elf_open(module, &e) && add_function(&e, at, out);

	as_elf_close(&e);
	return found;
}

/* ---- Words ----------------------------------------------------------------------------------- */

/* One frame in words; "": it says nothing. */
static void add_frame(const struct as_stack_frame *frame, struct as_buf *out)
{
	size_t start = out->len;

	if (!add_symbol(frame->module, frame->at, out))
		as_buf_addf(out, "%s+0x%llx", base_name(frame->module),
			    (unsigned long long)frame->at);
	else if (is_teller(as_buf_str(out) + start)) {
		out->len = start;
		out->data[start] = '\0';
	}
}

void as_stack_trace(const struct as_stack *stack, struct as_buf *out)
{
	uint32_t n = stack->n < AS_STACK_FRAMES ? stack->n : AS_STACK_FRAMES;
	char own[AS_STACK_PATH_BYTES] = "";

	(void)!readlink("/proc/self/exe", own, sizeof(own) - 1);
	for (uint32_t i = 0; i < n; i++) {
		struct as_stack_frame frame = stack->frame[i];

		frame.module[sizeof(frame.module) - 1] = '\0';
		if (i && !strcmp(frame.module, own))
			return;
		as_buf_addf(out, "  #%u ", i);
		if (!add_symbol(frame.module, frame.at, out))
			as_buf_adds(out, "?");
		as_buf_addf(out, " (%s+0x%llx)\n", base_name(frame.module),
			    (unsigned long long)frame.at);
	}
}

static void add_frames(const struct as_stack *stack, struct as_buf *out)
{
	char own[AS_STACK_PATH_BYTES] = "", first[AS_STACK_PATH_BYTES] = "";
	uint32_t n = stack->n < AS_STACK_FRAMES ? stack->n : AS_STACK_FRAMES;
	unsigned shown = 0;

	(void)!readlink("/proc/self/exe", own, sizeof(own) - 1);
	for (uint32_t i = 0; i < n && shown < SHOWN; i++) {
		struct as_stack_frame frame = stack->frame[i];
		struct as_buf words = { 0 };

		frame.module[sizeof(frame.module) - 1] = '\0';
		if (is_library(frame.module))
			continue;
		if (shown && (strcmp(first, frame.module) || !strcmp(first, own)))
			return;
		add_frame(&frame, &words);
		if (words.len) {
			as_buf_addf(out, "%s%s", shown ? " < " : " in ", as_buf_str(&words));
			memcpy(first, frame.module, sizeof(first));
			shown++;
		}
		as_buf_free(&words);
	}
}

static struct as_stack failure; /* of the last call that was made to fail */

void as_stack_note_failure(void)
{
	as_paint_hold();
	as_stack_here(&failure);
	as_paint_release();
}

void as_stack_failure(struct as_buf *out)
{
	char own[AS_STACK_PATH_BYTES] = "";
	unsigned shown = 0;

	(void)!readlink("/proc/self/exe", own, sizeof(own) - 1);
	for (uint32_t i = 0; i < failure.n && shown < SHOWN; i++) {
		const struct as_stack_frame *frame = &failure.frame[i];

		struct as_buf words = { 0 };

		if (!strcmp(frame->module, own) || is_library(frame->module)) {
			if (shown)
				return;
			continue;
		}
		add_frame(frame, &words);
		/* Functions of our headers, in its code. */
		if (words.len && strncmp(as_buf_str(&words), "as_", 3))
			as_buf_addf(out, "%s%s", shown++ ? " < " : "", as_buf_str(&words));
		as_buf_free(&words);
	}
}

#define TITLE "AddressSanitizer: "

/* The word after the name of the sanitizer: "heap-use-after-free". */
static bool add_mistake(const struct as_stack *stack, struct as_buf *out)
{
	char said[AS_STACK_SAID_BYTES];
	const char *title;
	size_t len;

	memcpy(said, stack->said, sizeof(said));
	said[sizeof(said) - 1] = '\0';
	title = strstr(said, TITLE);
	len = title ? strspn(title + strlen(TITLE), "abcdefghijklmnopqrstuvwxyz-") : 0;
	if (!len)
		return false;
	as_buf_add(out, title + strlen(TITLE), len);
	return true;
}

#define OWN_FRAME " in as_lib_" /* from there on it is we who called */

static bool is_frame(const char *line, size_t len)
{
	size_t blanks = strspn(line, " ");

	return blanks < len && line[blanks] == '#';
}

void as_stack_report(const struct as_stack *stack, struct as_buf *out)
{
	char said[AS_STACK_SAID_BYTES];
	const char *at, *end;
	bool ours = false;

	memcpy(said, stack->said, sizeof(said));
	said[sizeof(said) - 1] = '\0';
	at = strstr(said, "ERROR: ");
	if (!at)
		return;
	end = strstr(at, "\nSUMMARY: ");
	end = end ? end : at + strlen(at);
	while (at < end) {
		size_t len = strcspn(at, "\n");

		if (!is_frame(at, len))
			ours = false;
		else if (memmem(at, len, OWN_FRAME, strlen(OWN_FRAME)))
			ours = true;
		if (!ours)
			as_buf_addf(out, "%.*s\n", (int)len, at);
		at += len + (at[len] == '\n');
	}
}

void as_stack_words(const struct as_stack *stack, int signal, struct as_buf *out)
{
	if (as_stack_is_heap(stack)) {
		as_buf_adds(out, "SIGABRT: " AS_STACK_HEAP);
		return;
	}
	if (!add_mistake(stack, out)) {
		as_buf_adds(out, as_signal_name(stack->signal ? stack->signal : signal));
		as_stack_assertion(stack, out);
	}
	if (stack->signal)
		add_frames(stack, out);
}
