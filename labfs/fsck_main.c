/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsck_main.c: labfs-fsck, the checker as a program. Its exit status is as e2fsck's: 0 clean, 1
 * repaired, 4 errors left, 8 operational error, 16 wrong use.
 */
#include "bug.h"
#include "filebd.h"
#include "fsck.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_USAGE 16

static const char usage_text[] =
	"usage: labfs-fsck [--mode replay|default|full] [-n] [--bug N] IMAGE\n"
	"  --mode replay   replay the journal, no more\n"
	"  --mode default  replay, and check everything unless the superblock says clean\n"
	"  --mode full     check everything\n"
	"  -n              report only, write nothing\n"
	"  --bug N         switch on a seeded bug (may be given again)\n";

struct request {
	enum as_fsck_mode mode;
	bool mode_given, readonly;
	char opts[256];
	const char *image;
};

static int wrong(const char *what, const char *value)
{
	fprintf(stderr, "labfs-fsck: %s%s; see labfs-fsck --help\n", what, value);
	return EXIT_USAGE;
}

static bool find_mode(const char *word, enum as_fsck_mode *mode)
{
	static const char *const words[] = {
		[AS_FSCK_REPLAY] = "replay",
		[AS_FSCK_DEFAULT] = "default",
		[AS_FSCK_FULL] = "full",
	};

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(words[i], word)) {
			*mode = (enum as_fsck_mode)i;
			return true;
		}
	}
	return false;
}

static int parse(int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{ "mode", required_argument, NULL, 'm' },
		{ "bug", required_argument, NULL, 'b' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	size_t len = 0;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":nh", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			request->readonly = true;
			break;
		case 'm':
			if (request->mode_given)
				return wrong("--mode is given twice", "");
			request->mode_given = true;
			if (!find_mode(optarg, &request->mode))
				return wrong("mode must be replay, default or full, not ", optarg);
			break;
		case 'b':
			len += (size_t)snprintf(request->opts + len, sizeof(request->opts) - len,
						"bug=%s,", optarg);
			if (len >= sizeof(request->opts))
				return wrong("too many bugs: ", optarg);
			break;
		case 'h':
			fputs(usage_text, stdout);
			exit(0);
		case ':':
			return wrong("a value is missing after ", argv[optind - 1]);
		default:
			return wrong("no such option: ", argv[optind - 1]);
		}
	}
	if (optind + 1 != argc)
		return wrong("one image is expected", "");
	request->image = argv[optind];
	return 0;
}

int main(int argc, char **argv)
{
	struct request request = { .mode = AS_FSCK_DEFAULT };
	struct lab_filebd file = { .fd = -1 };
	struct lab_filehost host;
	struct as_mount_args args;
	struct lab_opts opts = { 0 };
	int rc = parse(argc, argv, &request);

	if (rc)
		return rc;
	(void)lab_opts_parse(request.opts, &opts); /* lab_fsck() says what is wrong with them */
	rc = lab_filebd_open(&file, request.image, 0,
			     request.readonly && !lab_bug_chosen(&opts, LAB_BUG_CK_LOOK_WRITES));
	if (rc) {
		fprintf(stderr, "labfs-fsck: %s: %s\n", request.image, strerror(-rc));
		return AS_FSCK_OPERATIONAL;
	}
	lab_filehost_init(&host, stdout);
	args = (struct as_mount_args){ .host = &host.host,
				       .bd = &file.bd,
				       .opts = request.opts,
				       .readonly = request.readonly };
	rc = lab_fsck(&args, request.mode);
	if (rc < 0) {
		lab_filebd_close(&file);
		return wrong("no such bug among ", request.opts);
	}
	if (lab_filebd_close(&file) && !rc)
		rc = AS_FSCK_OPERATIONAL;
	return rc;
}
