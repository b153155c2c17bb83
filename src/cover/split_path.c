/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * split_path: names of tests as paths of files. A command line may contain anything, so:
 *
 *  1. No part of the path is empty, hidden, "." or "..", and none is longer than a name may be.
 *  2. Two names that differ in more than slashes have different paths, as far as lengths allow.
 *  3. No path is that of our own files, and none is a folder where another is a file.
 */
#include "cover/split.h"

#include <string.h>

#define PART_MAX 200u

static bool is_safe(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c && strchr("._-=,@:", c));
}

static void add_part(const char *part, size_t len, bool first, bool last, struct as_buf *out)
{
	static const char end[] = ".cov";
	size_t tail = sizeof(end) - 1, begin = out->len;
	/* A folder must not have a name that the file of another test may have. */
	bool like_file = !last && len >= tail && !memcmp(part + len - tail, end, tail);

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)part[i];
		bool escape = !is_safe(c) || (!i && c == '.') || (!i && first && c == '_') ||
			      (like_file && i == len - tail);

		if (out->len - begin > PART_MAX) {
			/* Too long for the name of a file: a checksum stands for the rest. */
			uint64_t sum = 14695981039346656037ull;

			for (; i < len; i++)
				sum = (sum ^ (unsigned char)part[i]) * 1099511628211ull;
			as_buf_addf(out, "%%%%%016llx", (unsigned long long)sum);
			return;
		}
		if (c == ' ')
			as_buf_addc(out, '+');
		else if (escape)
			as_buf_addf(out, "%%%02X", c);
		else
			as_buf_addc(out, (char)c);
	}
}

void as_split_path(const char *name, size_t len, struct as_buf *out)
{
	const char *end = name + len;
	bool first = true;
	size_t begin = out->len;

	/* Paths of files have a limit, too. */
	if (len > 1000)
		end = name + 1000;
	while (name < end) {
		const char *slash = memchr(name, '/', (size_t)(end - name));
		const char *stop = slash ? slash : end, *rest = stop;

		while (rest < end && *rest == '/')
			rest++;
		/* "./a//b" is a/b. */
		if (stop > name && !(stop - name == 1 && *name == '.')) {
			if (!first)
				as_buf_addc(out, '/');
			add_part(name, (size_t)(stop - name), first, rest == end, out);
			first = false;
		}
		name = rest;
	}
	if (out->len == begin)
		as_buf_adds(out, "unnamed");
}
