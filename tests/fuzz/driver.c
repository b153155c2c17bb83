/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * driver: feeds every file of a corpus folder through a fuzz entry, in the order of their names,
 * and every prefix of small ones too (a truncated file is the commonest damage). This is what
 * `make test` runs; `make fuzz` links the same entries with libFuzzer instead. Speaks TAP; an entry
 * that dies takes the program with it, and the line before says on which file.
 */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PREFIXES_MAX_BYTES 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A copy of exactly len bytes, so that a sanitizer sees any step past the end. */
static void feed(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	if (!copy)
		abort();
	memcpy(copy, data, len);
	LLVMFuzzerTestOneInput(copy, len);
	free(copy);
}

static int feed_file(const char *folder, const char *name, int number)
{
	char path[4096];
	struct stat st;
	uint8_t *data;
	FILE *file;
	size_t len;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rb");
	if (!file || fstat(fileno(file), &st) || !S_ISREG(st.st_mode)) {
		printf("not ok %d - %s: cannot be read\n", number, path);
		if (file)
			fclose(file);
		return 1;
	}
	data = malloc((size_t)st.st_size + 1);
	if (!data)
		abort();
	len = fread(data, 1, (size_t)st.st_size, file);
	fclose(file);
	printf("# %s\n", path);
	fflush(stdout);
	for (size_t i = 0; len <= PREFIXES_MAX_BYTES && i < len; i++)
		feed(data, i);
	feed(data, len);
	free(data);
	printf("ok %d - %s\n", number, name);
	return 0;
}

int main(int argc, char **argv)
{
	struct dirent **entries;
	int n, number = 0, failed = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: %s CORPUS-FOLDER\n", argv[0]);
		return 2;
	}
	n = scandir(argv[1], &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (entries[i]->d_name[0] != '.')
			failed += feed_file(argv[1], entries[i]->d_name, ++number);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	if (!number) {
		printf("not ok 1 - %s: no files to feed\n1..1\n", argv[1]);
		return 1;
	}
	printf("1..%d\n", number);
	return failed != 0;
}
