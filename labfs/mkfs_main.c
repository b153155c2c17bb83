/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mkfs_main.c: labfs-mkfs IMAGE [-s SIZE]. Makes the file, or formats an existing one.
 */
#include "filebd.h"
#include "labfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int usage(void)
{
	fprintf(stderr, "usage: labfs-mkfs IMAGE [-s SIZE[K|M|G]]\n");
	return 2;
}

/* Reads "16M"; 0: it is no size. */
static uint64_t parse_size(const char *text)
{
	static const char units[] = "KMG";
	char *end;
	unsigned long long value = strtoull(text, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;

	if (end == text || *text == '-' || (*end && (!unit || end[1])) || value > 1ull << 40)
		return 0;
	return unit ? (uint64_t)value << 10 * (unit - units + 1) : value;
}

int main(int argc, char **argv)
{
	struct lab_filebd file = { .fd = -1 };
	struct lab_filehost fh;
	const char *path = NULL;
	uint64_t size = 0;
	struct stat st;
	int opt, rc;

	while ((opt = getopt(argc, argv, "-s:")) != -1) {
		if (opt == 1 && !path) {
			path = optarg;
		} else if (opt == 's') {
			size = parse_size(optarg);
			if (!size) {
				fprintf(stderr, "labfs-mkfs: not a size: %s\n", optarg);
				return 2;
			}
		} else {
			return usage();
		}
	}
	if (!path && optind < argc)
		path = argv[optind++];
	if (!path || optind < argc)
		return usage();
	if (!size && (stat(path, &st) || !st.st_size))
		size = LABFS_DEFAULT_BYTES;
	if (size && size < LABFS_MIN_BYTES) {
		fprintf(stderr, "labfs-mkfs: %s: a labfs needs at least 256K\n", path);
		return 2;
	}
	size -= size % 512; /* a device consists of whole sectors */
	lab_filehost_init(&fh, stderr);
	rc = lab_filebd_open(&file, path, size, false);
	if (!rc)
		rc = lab_mkfs(&fh.host, &file.bd, 0);
	if (rc)
		fprintf(stderr, "labfs-mkfs: %s: %s\n", path, strerror(-rc));
	if (lab_filebd_close(&file) && !rc) {
		fprintf(stderr, "labfs-mkfs: %s: cannot close\n", path);
		rc = -EIO;
	}
	return rc ? 2 : 0;
}
