/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lab_sample: see lab_sample.h. */
#include "tests/lib/lab_sample.h"

static void sample_names(struct img *img)
{
	char name[128];

	t_img_dir(img, I_ROOT, "many");
	t_img_node(img, 0, NULL, S_IFREG | 0600);
	t_img_inode(img, I_NAMED)->nlink = SAMPLE_NAMES;
	for (int i = 0; i < SAMPLE_NAMES; i++) {
		snprintf(name, sizeof(name), "%03d%0*d", i, 94, 0);
		t_img_entry(img, I_MANY, name, I_NAMED);
	}
}

struct img t_sample_build(uint8_t *data)
{
	struct img img = t_img_new(data, SAMPLE_BLOCKS, SAMPLE_INODES, SAMPLE_JOURNAL);
	char text[201];

	memset(text, 't', 200);
	text[200] = '\0';
	t_img_dir(&img, I_ROOT, "a");
	t_img_file(&img, I_A, "f", 3000);
	t_img_dir(&img, I_A, "b");
	t_img_dir(&img, I_B, "c");
	t_img_file(&img, I_C, "deep", 100);
	t_img_file(&img, I_ROOT, "big", 30 * LAB_BLOCK - 1);
	t_img_node(&img, I_ROOT, "sparse", S_IFREG | 0640);
	t_img_inode(&img, I_SPARSE)->size = 400 * LAB_BLOCK;
	t_img_fill(&img, I_SPARSE, 3);
	t_img_fill(&img, I_SPARSE, 300);
	t_img_symlink(&img, I_ROOT, "short", "a/f");
	t_img_symlink(&img, I_ROOT, "long", text);
	t_img_node(&img, I_ROOT, "fifo", S_IFIFO | 0600);
	t_img_node(&img, I_ROOT, "chr", S_IFCHR | 0600);
	t_img_inode(&img, I_CHR)->rdev = 0x103;
	t_img_file(&img, I_ROOT, "h1", 50);
	t_img_entry(&img, I_ROOT, "h2", I_HARD);
	t_img_inode(&img, I_HARD)->nlink = 2;
	t_img_file(&img, I_ROOT, "attr", 10);
	t_img_xattr(&img, I_ATTR, "user.one", "first");
	t_img_xattr(&img, I_ATTR, "user.two", "second value");
	sample_names(&img);
	t_img_dir(&img, I_ROOT, "empty");
	assert(img.next_ino == I_FREE);
	t_img_seal(&img);
	return img;
}

struct lab_dirent *t_sample_rec(struct img *img, uint32_t dir, const char *name)
{
	for (uint32_t i = 0; i < t_img_inode(img, dir)->size / LAB_BLOCK; i++) {
		uint8_t *block = t_img_block(img, *t_img_ptr(img, dir, i));
		struct lab_dirent *rec;

		for (unsigned off = 0; off < LAB_BLOCK; off += rec->rec_len) {
			rec = (struct lab_dirent *)(block + off);
			if (rec->name_len == strlen(name) &&
			    !memcmp(rec->name, name, rec->name_len))
				return rec;
		}
	}
	abort();
}

void t_tree_diff(const struct tree *old, const struct tree *now, char *text, size_t len)
{
	unsigned a = 0, b = 0, gone = 0, added = 0, changed = 0;
	size_t used = 0;

	text[0] = '\0';
	while (a < old->count || b < now->count) {
		int order = a == old->count   ? 1
			    : b == now->count ? -1
					      : t_tree_order(&old->entry[a], &now->entry[b]);
		const char *path = order > 0 ? now->entry[b].path : old->entry[a].path;
		char sign = order < 0 ? '-' : order > 0 ? '+' : '~';

		gone += order < 0;
		added += order > 0;
		if (order || strcmp(old->entry[a].what, now->entry[b].what)) {
			changed += !order;
			if (used < len)
				used += (size_t)snprintf(text + used, len - used, " %c%.24s", sign,
							 path);
		}
		a += order <= 0;
		b += order >= 0;
	}
	if (gone + added + changed > 8)
		snprintf(text, len, " %u gone, %u new, %u changed", gone, added, changed);
}

static void sample_log(void *ctx, const char *line)
{
	struct sample_host *host = ctx;
	size_t len = strlen(line);

	host->log = realloc(host->log, host->len + len + 2);
	memcpy(host->log + host->len, line, len);
	memcpy(host->log + host->len + len, "\n", 2);
	host->len += len + 1;
}

void t_sample_host_init(struct sample_host *host)
{
	t_memhost_init(&host->mem);
	host->mem.host.log = sample_log;
	host->log = calloc(1, 1);
	host->len = 0;
}

struct membd t_sample_disk(const struct img *img)
{
	return (struct membd){ .bd = { &t_mem_ops, (uint64_t)img->blocks * LAB_BLOCK, 512 },
			       .disk = img->data };
}

static void sample_codes(const char *log, char *codes, size_t len)
{
	int last = -1;
	size_t used = 0;

	codes[0] = '\0';
	for (; *log && used < len; log = strchr(log, '\n') + 1) {
		int code = *log == '[' ? atoi(log + 1) : -1;

		if (code >= 0 && code != last)
			used += (size_t)snprintf(codes + used, len - used, " %d", code);
		last = code;
	}
}

void t_sample_check(struct img *img, enum as_fsck_mode mode, const char *opts, bool readonly,
		    struct sample_run *run)
{
	struct membd disk = t_sample_disk(img);
	struct as_mount_args args = { .bd = &disk.bd, .opts = opts, .readonly = readonly };
	struct sample_host host;

	t_sample_host_init(&host);
	args.host = &host.mem.host;
	t_mem_record(&disk);
	run->code = lab_fsck(&args, mode);
	run->calls = disk.nlog;
	t_mem_forget_log(&disk);
	run->leaked = host.mem.live;
	run->log = host.log;
	sample_codes(host.log, run->codes, sizeof(run->codes));
}
