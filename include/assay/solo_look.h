/* SPDX-License-Identifier: MIT */
/* solo_look.h: the third part of solo.h, which includes it: calls and their answers, and the
 * tree as text. */
#ifndef ASSAY_SOLO_LOOK_H
#define ASSAY_SOLO_LOOK_H

#include <assay/solo.h>
#include <fcntl.h>
#include <sys/stat.h>

/* ---- Calls and their answers ----------------------------------------------------------------- */

/* Makes a call that answered `was` when the finding was made. */
#define AS_SOLO(s, call, was) \
	(as_solo_begin((s), #call), as_solo_answered((s), (int64_t)(call), (was), 0, ""))
/* The same, and that answer is wrong. `why` says what is. */
#define AS_SOLO_WRONG(s, call, was, why) \
	(as_solo_begin((s), #call), as_solo_answered((s), (int64_t)(call), (was), 1, (why)))
/* A call that does not come back: the process dies of this signal; SIGALRM: it hangs; -1: it calls
 * exit(); AS_SOLO_DAMAGE: it dies of memory that it has damaged. */
#define AS_SOLO_DIES(s, call, signal)                              \
	(as_solo_begin((s), #call), as_solo_mortal((s), (signal)), \
	 as_solo_answered((s), (int64_t)(call), 0, 0, ""), as_solo_survived(s))

static inline void as_solo_begin(struct as_solo *s, const char *call)
{
	s->doing = call;
	as_solo_current = s;
}

/* Whether the program cannot go on if this call has failed. */
static inline int as_solo_is_vital(const char *call)
{
	return (strstr(call, ".mount(") || strstr(call, ".open(")) != 0;
}

static inline void as_solo_rules(struct as_solo *s, enum as_pair_until until)
{
	int left = until == AS_PAIR_UNMOUNT;

	for (int i = 0; i < AS_SOLO_RULES && s->rule[i].name && !s->trouble[0]; i++) {
		const char *why = s->rule[i].fn && !left ? s->rule[i].fn(s->rule[i].ctx) : NULL;

		if (why)
			snprintf(s->trouble, sizeof(s->trouble), "'%s': %s", s->rule[i].name, why);
		else if (s->rule[i].taken && (left || s->rule[i].until == AS_PAIR_OPERATION))
			snprintf(s->trouble, sizeof(s->trouble),
				 "'%s' was taken more often than given back, by %d, after %s",
				 s->rule[i].name, s->rule[i].taken, s->doing);
	}
}

static inline void as_solo_answered(struct as_solo *s, int64_t got, int64_t was, int wrong,
				    const char *why)
{
	int left = strstr(s->doing, "unmount(") != NULL;

	as_solo_rules(s, left ? AS_PAIR_UNMOUNT : AS_PAIR_OPERATION);
	if (left)
		memset(s->rule, 0, sizeof(s->rule));
	if (wrong) {
		s->telling++;
		s->differing += got != was;
		printf("%s = %" PRId64 "%s%s%s%s\n", s->doing, got, got < 0 ? " " : "",
		       got < 0 ? strerror((int)-got) : "", *why ? ": " : "", why);
	}
	if (got != was)
		printf("%s%s answered %" PRId64 ", not %" PRId64 "\n",
		       wrong ? "" : "note: ", s->doing, got, was);
	if (!was && got && as_solo_is_vital(s->doing)) {
		printf("NOT REPRODUCED\n");
		s->dies = 0;
		exit(1);
	}
}

/* What a call filled in, as one number. */
static inline uint32_t as_solo_sum(const void *data, size_t len)
{
	const unsigned char *p = data;
	uint32_t sum = 2166136261u;

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ p[i]) * 16777619u;
	return sum;
}

static inline uint32_t as_solo_sum_stat(const struct as_stat *st)
{
	uint64_t all[] = { st->mode,
			   st->nlink,
			   st->uid,
			   st->gid,
			   st->rdev,
			   st->size,
			   (uint64_t)st->atime_ns,
			   (uint64_t)st->mtime_ns,
			   (uint64_t)st->ctime_ns };

	return as_solo_sum(all, sizeof(all));
}

static inline int as_solo_add_name(void *ctx, const char *name, uint64_t ino, uint32_t type)
{
	uint32_t *sum = ctx;

	(void)ino;
	(void)type;
	*sum += as_solo_sum(name, strlen(name));
	return 0;
}

/* "HEADnumber", until the next call of this. */
static inline const char *as_solo_name(const char *head, unsigned number)
{
	static char name[4352];

	snprintf(name, sizeof(name), "%s%u", head, number);
	return name;
}

/* Bytes of a data pattern of workloads; returns `to`. */
static inline void *as_solo_pattern(void *to, size_t len, uint64_t n, uint64_t off)
{
	unsigned char *data = to;

	for (size_t i = 0; i < len; i++) {
		uint64_t x = n * 0x9e3779b97f4a7c15u + (off + i) / 8 * 0xd1342543de82ef95u;

		x ^= 0x61737361792e6f6bu;
		x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
		x = (x ^ x >> 27) * 0x94d049bb133111ebu;
		x ^= x >> 31;
		data[i] = n ? (unsigned char)(x >> (off + i) % 8 * 8) : 0;
	}
	return data;
}

/* Writes at `off`; the buffer may be s->buf. */
static inline int64_t as_solo_write(const struct as_target_ops *ops, struct as_fs *fs,
				    struct as_handle *h, const void *buf, size_t len, uint64_t off)
{
	return ops->write(fs, h, buf, len, &off);
}

static inline int64_t as_solo_read(const struct as_target_ops *ops, struct as_fs *fs,
				   struct as_handle *h, void *buf, size_t len, uint64_t off)
{
	memset(buf, AS_SOLO_POISON, len);
	return ops->read(fs, h, buf, len, off);
}

/* ---- The tree as text ------------------------------------------------------------------------ */

#define AS_SOLO_TREE_MAX ((size_t)1 << 20) /* a tree that is broken may have no end */

struct as_solo_text {
	char *text;
	size_t len, cap;
	char **name; /* of the directory that is being listed */
	size_t n;
};

static inline void as_solo_say(struct as_solo_text *t, const char *line)
{
	size_t len = strlen(line);

	if (t->len + len + 1 > t->cap) {
		t->cap = 2 * t->cap + len + 256;
		t->text = realloc(t->text, t->cap);
	}
	memcpy(t->text + t->len, line, len + 1);
	t->len += len;
}

static inline int as_solo_list(void *ctx, const char *name, uint64_t ino, uint32_t type)
{
	struct as_solo_text *t = ctx;

	(void)ino;
	(void)type;
	t->name = realloc(t->name, (t->n + 1) * sizeof(*t->name));
	t->name[t->n++] = strdup(name);
	return 0;
}

static inline int as_solo_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline uint32_t as_solo_sum_file(const struct as_target_ops *ops, struct as_fs *fs,
					const char *path, uint64_t size, int64_t *err)
{
	static char buf[65536];
	struct as_handle *h = NULL;
	uint32_t sum = 0;
	int64_t n = *err = ops->open(fs, path, O_RDONLY, 0, &h);

	if (n)
		return 0;
	for (uint64_t off = 0; off < size; off += (uint64_t)n) {
		n = ops->read(fs, h, buf, sizeof(buf), off);
		if (n <= 0)
			break;
		sum = sum * 31 + as_solo_sum(buf, (size_t)n);
	}
	*err = n < 0 ? n : 0;
	n = ops->close(fs, h);
	*err = *err ? *err : n;
	return sum;
}

/* Adds a line for what is at `path`, and those for what is below it. */
static inline void as_solo_tree_add(const struct as_target_ops *ops, struct as_fs *fs,
				    const char *path, struct as_solo_text *t)
{
	struct as_solo_text below = { 0 };
	char line[4600], link[4096];
	struct as_stat st = { 0 };
	int64_t err = ops->getattr(fs, path, &st);
	uint32_t sum = 0;

	if (!err && S_ISREG(st.mode))
		sum = as_solo_sum_file(ops, fs, path, st.size, &err);
	else if (!err && S_ISDIR(st.mode))
		err = ops->readdir(fs, path, as_solo_list, &below);
	else if (!err && S_ISLNK(st.mode) && (err = ops->readlink(fs, path, link, 4096)) > 0)
		sum = as_solo_sum(link, (size_t)err);
	snprintf(line, sizeof(line), "%.4000s %06o links %u size %" PRIu64 " sum %x%s", path,
		 st.mode, st.nlink, S_ISDIR(st.mode) ? 0 : st.size, sum,
		 err < 0 ? " error " : "\n");
	as_solo_say(t, line);
	if (err < 0) {
		snprintf(line, sizeof(line), "%d\n", (int)err);
		as_solo_say(t, line);
	}
	if (below.n)
		qsort(below.name, below.n, sizeof(*below.name), as_solo_by_name);
	for (size_t i = 0; i < below.n; i++) {
		size_t room = strlen(path) + strlen(below.name[i]) + 2;
		char *deeper = malloc(room);

		snprintf(deeper, room, "%s/%s", strcmp(path, "/") ? path : "", below.name[i]);
		if (strlen(path) < 4000 && t->len < AS_SOLO_TREE_MAX)
			as_solo_tree_add(ops, fs, deeper, t);
		free(deeper);
		free(below.name[i]);
	}
	free(below.name);
}

/* The tree must be that one again, which is wrong. */
static inline void as_solo_tree_wrong(struct as_solo *s, const struct as_target_ops *ops,
				      struct as_fs *fs, const char *was)
{
	struct as_solo_text t = { 0 };

	s->doing = "reading the tree";
	as_solo_tree_add(ops, fs, "/", &t);
	s->telling++;
	s->differing += strcmp(t.text, was) != 0;
	printf("the tree is\n%s", t.text);
	if (strcmp(t.text, was))
		printf("and it was\n%s", was);
	free(t.text);
}

#endif
