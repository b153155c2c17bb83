/* SPDX-License-Identifier: GPL-2.0-or-later */
/* crash_work: see crash_work.h. The steps are rows; {f} is the number of one of the 100 files, {n}
 * that of the step, {k} a size. */
#include "damage/crash_work.h"

#include "base/array.h"
#include "base/choice.h"
#include "base/hash.h"
#include "damage/generic.h"

#include <string.h>

#define STEPS 14u
#define SIZES 6u

#define ORPHAN                                                                             \
	"$1 = open /d/o{n} O_RDWR|O_CREAT 0644\nwrite $1 len={k} fill=5\nunlink /d/o{n}\n" \
	"sync\nclose $1\n"

static const char *const steps[] = {
	"create /d/n{n} 0644\n",
	"mkdir /d/m{n} 0755\ncreate /d/m{n}/x 0600\n",
	"unlink /d/f{f}\n",
	"rename /d/f{f} /d/d2/r{n}\n",
	"rename /d/f{f} /d/small\n",
	"rename /d/d2/d3 /m{n}\n",
	"hardlink /f /d/d2/h{n}\n",
	"symlink " AS_GENERIC_LONG " /d/s{n}\n",
	"symlink /x /s{n}\n",
	"truncate /f {k}\n",
	"$1 = open /d/n{n} O_RDWR|O_CREAT 0644\nwrite $1 len={k} fill=7\nclose $1\n",
	"$1 = open /d/w{n} O_RDWR|O_CREAT 0644\nwrite $1 len={k} fill=8\nfsync $1\nclose $1\n",
	"$1 = open /d/d2/g O_RDWR\npwrite $1 len=5000 at={k} fill=9\nclose $1\n",
	/* A file without a name, as long as it is open: an orphan, if the power fails. */
	ORPHAN,
	"$1 = open /d/long O_RDONLY\nfsync $1\nclose $1\n",
	"chmod /d/f{f} 0600\n",
	"write_xattr /d/f{f} user.a len=40 fill=3\n",
	"write_xattr /d/d2 user.b len=700 fill=4\n",
	"deepen /d/d2 3\n",
	"sync\n",
};

static void add_step(const char *step, struct as_choice *choice, unsigned n, struct as_buf *out)
{
	static const unsigned sizes[SIZES] = { 0, 1, 4096, 20000, 70001, 200000 };
	unsigned file = 1 + as_choose(choice, 100), size = sizes[as_choose(choice, SIZES)];

	for (; *step; step++) {
		if (*step != '{') {
			as_buf_addc(out, *step);
			continue;
		}
		as_buf_addf(out, "%u", step[1] == 'f' ? file : step[1] == 'n' ? n : size);
		step += 2;
	}
}

void as_crash_work(uint64_t seed, uint64_t number, struct as_buf *out)
{
	struct as_chooser *chooser = as_chooser_seeded(as_mix64(as_mix64(seed) + number));
	struct as_choice *choice = as_chooser_choice(chooser);

	as_generic_tree_work(out);
	as_buf_adds(out, "umount\nmount\n");
	for (unsigned i = 0; i < STEPS; i++)
		add_step(steps[as_choose(choice, sizeof(steps) / sizeof(steps[0]))], choice, i,
			 out);
	as_chooser_free(chooser);
}

size_t as_crash_work_mount(const struct as_seq *seq)
{
	for (size_t i = seq->n; i-- > 0;)
		if (seq->ops[i].code == AS_OP_MOUNT)
			return i;
	return SIZE_MAX;
}

const char **as_crash_work_names(const struct as_seq *seq, size_t *n)
{
	size_t first = as_crash_work_mount(seq), cap = 0;
	const char **names = NULL;

	*n = 0;
	for (size_t i = first == SIZE_MAX ? 0 : first; i < seq->n; i++) {
		const char *paths[] = { seq->ops[i].path, seq->ops[i].path2 };

		for (unsigned k = 0; k < 2; k++)
			if (paths[k]) {
				AS_ARRAY_ROOM(names, *n, cap);
				names[(*n)++] = paths[k];
			}
	}
	return names;
}
