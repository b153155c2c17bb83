/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * embed: puts a file into the program. AS_EMBED(as_thing, "path") makes the bytes from
 * as_thing_first to as_thing_end, which a NUL follows. The path is a string literal, most often one
 * that the Makefile defines; the Makefile must also say that the object depends on the file.
 */
#ifndef AS_BASE_EMBED_H
#define AS_BASE_EMBED_H

#define AS_EMBED(name, path)                                                                   \
	__asm__(".section .rodata\n.balign 16\n" #name "_first:\n.incbin \"" path "\"\n" #name \
		"_end:\n.byte 0\n.previous\n");                                                \
	extern const char name##_first[] __attribute__((visibility("hidden")));                \
	extern const char name##_end[] __attribute__((visibility("hidden")))

#endif
