/* SPDX-License-Identifier: MIT */
/*
 * look WHAT DIRECTORY: what is in the files below a directory, an entry each, ended by a NUL byte.
 *
 *	data    regular files of at most 64 MiB: "CRC SIZE /path", as cksum(1) has them; symbolic
 *		links: the same of their texts
 *	attrs   extended attributes of users: "CRC SIZE user.name /path" of each value
 *
 * Exit status 2: something may not be read by who runs it, so nothing can be said.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define WHOLE_BYTES (64 << 20)
#define VALUE_BYTES 65536

static int refused;

/* The check sum of POSIX, of bytes and then of their number. */
static unsigned add_byte(unsigned crc, unsigned char byte)
{
	crc ^= (unsigned)byte << 24;
	for (int bit = 0; bit < 8; bit++)
		crc = crc & 0x80000000u ? crc << 1 ^ 0x04c11db7u : crc << 1;
	return crc;
}

static unsigned add(unsigned crc, const unsigned char *data, size_t len)
{
	static unsigned table[256];

	if (!table[1])
		for (int byte = 0; byte < 256; byte++)
			table[byte] = add_byte(0, (unsigned char)byte);
	while (len--)
		crc = crc << 8 ^ table[crc >> 24 ^ *data++];
	return crc;
}

static unsigned finish(unsigned crc, unsigned long long len)
{
	for (; len; len >>= 8)
		crc = add_byte(crc, (unsigned char)len);
	return ~crc;
}

static void say(unsigned crc, unsigned long long len, const char *name, const char *path)
{
	printf("%u %llu %s%s/%s", finish(crc, len), len, name, *name ? " " : "", path);
	putchar('\0');
}

/* What cannot be read shows as an entry that is not expected. */
static void failed(const char *what, const char *path)
{
	refused |= errno == EACCES || errno == EPERM;
	printf("%s: %s /%s", what, strerror(errno), path);
	putchar('\0');
}

static void look_at_file(const char *name, const char *path)
{
	static unsigned char data[VALUE_BYTES];
	unsigned long long len = 0;
	unsigned crc = 0;
	int fd = open(name, O_RDONLY | O_NOFOLLOW);
	ssize_t n = fd;

	while (fd >= 0 && (n = read(fd, data, sizeof(data))) > 0) {
		crc = add(crc, data, (size_t)n);
		len += (unsigned long long)n;
	}
	if (n < 0)
		failed("read", path);
	else
		say(crc, len, "", path);
	if (fd >= 0)
		close(fd);
}

static void look_at_link(const char *name, const char *path)
{
	unsigned char text[VALUE_BYTES];
	ssize_t n = readlink(name, (char *)text, sizeof(text));

	if (n < 0)
		failed("readlink", path);
	else
		say(add(0, text, (size_t)n), (unsigned long long)n, "", path);
}

static void look_at_attrs(const char *name, const char *path)
{
	static char list[VALUE_BYTES];
	static unsigned char value[VALUE_BYTES];
	ssize_t len = llistxattr(name, list, sizeof(list)), n;

	if (len < 0 && errno != ENOTSUP)
		failed("listxattr", path);
	for (char *attr = list; len > 0 && attr < list + len; attr += strlen(attr) + 1) {
		if (strncmp(attr, "user.", 5) != 0)
			continue;
		n = lgetxattr(name, attr, value, sizeof(value));
		if (n < 0)
			failed(attr, path);
		else
			say(add(0, value, (size_t)n), (unsigned long long)n, attr, path);
	}
}

int main(int argc, char **argv)
{
	int attrs = argc == 3 && !strcmp(argv[1], "attrs");
	char *tops[] = { argc == 3 ? argv[2] : NULL, NULL };
	FTS *walk = argc == 3 ? fts_open(tops, FTS_PHYSICAL | FTS_XDEV, NULL) : NULL;
	FTSENT *entry;

	if (!walk) {
		fprintf(stderr, "usage: look data|attrs DIRECTORY\n");
		return 2;
	}
	while ((entry = fts_read(walk))) {
		const char *path = entry->fts_path + strlen(argv[2]);

		path += *path == '/';
		if (entry->fts_info == FTS_DP)
			continue;
		if (entry->fts_level == 1 &&
		    (!strcmp(entry->fts_name, "lost+found") || !strcmp(entry->fts_name, ".nilfs")))
			fts_set(walk, entry, FTS_SKIP);
		else if (attrs)
			look_at_attrs(entry->fts_accpath, path);
		else if (entry->fts_info == FTS_SL || entry->fts_info == FTS_SLNONE)
			look_at_link(entry->fts_accpath, path);
		else if (entry->fts_info == FTS_F && entry->fts_statp->st_size <= WHOLE_BYTES)
			look_at_file(entry->fts_accpath, path);
		else if (entry->fts_info == FTS_DNR)
			errno = entry->fts_errno, failed("readdir", path);
	}
	return refused || fflush(stdout) ? 2 : 0;
}
