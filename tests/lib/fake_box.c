/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake_box: see fake_box.h. */
#include "tests/lib/skip.h"

#include "tests/lib/fake_box.h"

#include "supervise/wire.h"

#include <stdio.h>
#include <string.h>

/* Events go to 3, the shared memory is 4, the console is 1, the folder is 5. */
static const char begin[] =
	"boots=$(($(cat \"$0/boots\" 2>/dev/null || echo 0) + 1))\n"
	"echo $boots >\"$0/boots\"\n"
	"in=/proc/$$/fd/5/in out=/proc/$$/fd/5/out\n"
	"say() { echo \"$*\" >&3; }\n"
	"put() {\n"
	"  printf \"\\\\00$2\" | dd of=/proc/$$/fd/4 bs=1 seek=$1 conv=notrunc 2>/dev/null\n"
	"}\n"
	"beat() { beats=$(((beats + 1) % 8)); put 16 $beats; }\n"
	"job() { for i in 24 25 26 27 28 29 30 31; do put $i 0; done; }\n"
	"member() { sed -n \"s/.*\\\"$1\\\":\\\"\\{0,1\\}\\([a-z0-9]*\\).*/\\1/p\" $in/call; }\n"
	"up() {\n"
	"  echo 'assay: the engine begins'\n"
	"  say \"{\\\"event\\\":\\\"hello\\\",\\\"wire\\\":$version}\"\n"
	"}\n"
	"next() { read r; asked=$(member request) number=$(member number); job; }\n"
	"done_with() {\n"
	"  if [ $asked = run ]; then say '{\"event\":\"workload\"}'\n"
	"  else say \"{\\\"event\\\":\\\"answer\\\",\\\"number\\\":$1}\"; fi\n"
	"}\n"
	"answer() { printf '%s' \"$1\" >$out/answer; done_with $number; }\n"
	"die() { kill -ABRT $$; }\n";

_Static_assert(offsetof(struct as_box_state, beat) == 16, "where `beat` puts it");
_Static_assert(offsetof(struct as_box_state, job) == 24, "where `job` puts it");

static struct {
	const char *folder, *script;
} fake;

static int ready(const struct as_box_options *options, struct as_err *err)
{
	(void)options;
	(void)err;
	return 0;
}

static int start(const struct as_box_options *options, struct as_box *box, struct as_err *err)
{
	char sh[] = "sh", c[] = "-c", path[] = "PATH=/usr/bin:/bin", text[8192], folder[1024];
	char *argv[] = { sh, c, text, folder, NULL }, *envp[] = { path, NULL };
	int rc = as_box_open_folder(box, NULL, err);

	snprintf(text, sizeof(text), "version=%u\n%s%s", AS_WIRE_VERSION, begin, fake.script);
	snprintf(folder, sizeof(folder), "%s", fake.folder);
	if (rc)
		return rc;
	return as_box_spawn(box,
			    &(struct as_box_program){ .path = "/bin/sh",
						      .argv = argv,
						      .envp = envp,
						      .core = AS_CORE_ANY,
						      .console = true,
						      .fds = { box->share_fd },
						      .fill = options->fill,
						      .fill_ctx = options->fill_ctx },
			    err);
}

const struct as_sandbox_ops t_fake_box = {
	.api = AS_SANDBOX_API,
	.caps = AS_SANDBOX_OWN_KERNEL | AS_SANDBOX_HAS_CONSOLE,
	.name = "fake",
	.help = "a script",
	.ready = ready,
	.state_path = "/proc/self/fd/4",
	.share_path = "/proc/self/fd/5",
	.start = start,
};

void t_fake_box_set(const char *folder, const char *script)
{
	fake.folder = folder;
	fake.script = script;
}

int t_fake_box_boots(void)
{
	char path[1024];
	int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/boots", fake.folder);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &n), 1);
	fclose(f);
	return n;
}
