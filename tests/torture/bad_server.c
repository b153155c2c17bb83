/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bad_server: a FUSE server that misbehaves as it is told, to be run as
 *
 *	bad_server WAY MOUNTPOINT [FOLDER]
 *
 * FOLDER keeps what is in it from one mount to the next. It speaks to /dev/fuse itself, so that it
 * can also break the protocol. A WAY is `none` (a small file system in memory that is right), a row
 * of `specials` below, or ACTION-CALL[=N]: at the Nth such call (the first, without) and at all
 * later ones it does what the action says (`actions`, `calls`). `bad_server --list` prints all of
 * them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define NODES 4096
#define REQUEST_BYTES (1 << 20)
#define WRITE_MAX (128 << 10)
#define ROOT FUSE_ROOT_ID

struct node {
	bool used;
	uint64_t parent;
	char name[256];
	uint32_t mode;
	unsigned char *data; /* of a file; the text of a link */
	uint64_t size;
};

static struct node nodes[NODES];
static int fuse_fd = -1;
static const char *mountpoint, *folder;

/* ---- Ways ------------------------------------------------------------------------------------ */

static const struct {
	const char *name;
	uint32_t opcode;
} calls[] = {
	{ "init", FUSE_INIT },	       { "lookup", FUSE_LOOKUP },   { "getattr", FUSE_GETATTR },
	{ "setattr", FUSE_SETATTR },   { "mkdir", FUSE_MKDIR },	    { "create", FUSE_CREATE },
	{ "open", FUSE_OPEN },	       { "read", FUSE_READ },	    { "write", FUSE_WRITE },
	{ "flush", FUSE_FLUSH },       { "release", FUSE_RELEASE }, { "fsync", FUSE_FSYNC },
	{ "opendir", FUSE_OPENDIR },   { "readdir", FUSE_READDIR }, { "symlink", FUSE_SYMLINK },
	{ "readlink", FUSE_READLINK }, { "unlink", FUSE_UNLINK },   { "statfs", FUSE_STATFS },
};

enum action {
	ACT_NONE,
	ACT_HANG,
	ACT_SPIN,
	ACT_STOP,
	ACT_SEGV,
	ACT_ABORT,
	ACT_EXIT,
	ACT_ERRNO,
	ACT_SHORT,
	ACT_LONG,
	ACT_STRANGER,
	ACT_SELF,
	ACT_UMOUNT,
	ACT_COVER,
	ACT_AGAIN,
	ACT_MOVE,
	ACT_READONLY,
	ACT_BUSY,
	ACT_EXEC,
	ACT_RELAY,
	ACT_KILLER,
	ACT_STOPPER,
	ACT_SLOW,
	ACT_TWICE,
};

static const struct {
	const char *name;
	enum action action;
} actions[] = {
	{ "hang", ACT_HANG }, /* never answers */
	{ "spin", ACT_SPIN }, /* the same, with a busy processor */
	{ "stop", ACT_STOP }, /* stops itself */
	{ "segv", ACT_SEGV }, /* dies */
	{ "abort", ACT_ABORT }, /* dies by its own hand */
	{ "exit", ACT_EXIT }, /* ends with status 0 */
	{ "errno", ACT_ERRNO }, /* answers an errno that there is not */
	{ "short", ACT_SHORT }, /* an answer of too few bytes */
	{ "long", ACT_LONG }, /* an answer of too many bytes */
	{ "stranger", ACT_STRANGER }, /* answers a request that nobody made, and not this one */
	{ "self", ACT_SELF }, /* sends a request to itself and waits for the answer */
	{ "umount", ACT_UMOUNT }, /* takes its own mount away, then answers */
	{ "cover", ACT_COVER }, /* mounts something else over it, then answers */
	{ "again", ACT_AGAIN }, /* mounts a second one, which nobody serves, over it */
	{ "move", ACT_MOVE }, /* moves its mount to its folder */
	{ "readonly", ACT_READONLY }, /* makes its mount read-only */
	{ "busy", ACT_BUSY }, /* leaves a process that works in the mount */
	{ "exec", ACT_EXEC }, /* leaves another program running that holds /dev/fuse */
	{ "relay", ACT_RELAY }, /* ends with status 0; a child answers and goes on */
	{ "killer", ACT_KILLER }, /* kills all that it can see, but not itself */
	{ "stopper", ACT_STOPPER }, /* stops its parent and its group */
	{ "slow", ACT_SLOW }, /* takes nearly two seconds for each answer */
	{ "twice", ACT_TWICE }, /* answers twice */
};

enum special {
	WAY_NONE,
	WAY_NEVER,
	WAY_EXIT0,
	WAY_EXIT1,
	WAY_MOUNT_EXIT,
	WAY_ENDLESS,
	WAY_SAME_OFFSET,
	WAY_LOOP,
	WAY_TWINS,
	WAY_SLASHES,
	WAY_HUGE_SIZE,
	WAY_LONG_LINK,
	WAY_NUL_LINK,
	WAY_TYPES,
	WAY_DAEMON,
	WAY_LINGER,
	WAY_FLOOD,
	WAY_MEMORY,
	WAY_XATTRS,
	WAY_DEADLOCK,
	WAY_NOTIFY,
	WAY_FOREVER,
	WAY_GENERATION,
	WAY_REUSE,
	WAY_OLD,
	WAY_NEW,
	WAY_ROOT_FILE,
};

static const struct {
	const char *name;
	enum special way;
} specials[] = {
	{ "none", WAY_NONE },
	{ "never", WAY_NEVER }, /* mounts nothing */
	{ "exit0", WAY_EXIT0 }, /* ends at once */
	{ "exit1", WAY_EXIT1 },
	{ "mount-exit", WAY_MOUNT_EXIT }, /* mounts, then ends */
	{ "endless", WAY_ENDLESS }, /* a directory without an end */
	{ "same-offset", WAY_SAME_OFFSET }, /* the first entries over and over */
	{ "loop", WAY_LOOP }, /* every directory has itself as `self` */
	{ "twins", WAY_TWINS }, /* every name twice */
	{ "slashes", WAY_SLASHES }, /* names that are paths */
	{ "huge-size", WAY_HUGE_SIZE }, /* files of 2^62 bytes */
	{ "long-link", WAY_LONG_LINK }, /* links with a text of 1 MiB */
	{ "nul-link", WAY_NUL_LINK }, /* and with zeros in it */
	{ "types", WAY_TYPES }, /* another type at each look */
	{ "daemon", WAY_DAEMON }, /* leaves a process in a session of its own */
	{ "linger", WAY_LINGER }, /* does not end after the unmount */
	{ "flood", WAY_FLOOD }, /* prints without an end */
	{ "memory", WAY_MEMORY }, /* takes all memory there is */
	{ "xattrs", WAY_XATTRS }, /* attributes without an end */
	/* a child that holds /dev/fuse waits for the server, which hangs */
	{ "deadlock", WAY_DEADLOCK },
	{ "notify", WAY_NOTIFY }, /* says without an end that everything is out of date */
	{ "forever", WAY_FOREVER }, /* its answers are valid for ever, and a bit longer */
	{ "generation", WAY_GENERATION }, /* every node is a new one at each look */
	{ "reuse", WAY_REUSE }, /* all files are one node */
	{ "old", WAY_OLD }, /* a version of the protocol that is too old */
	{ "new", WAY_NEW }, /* a version of the protocol that does not exist yet */
	{ "root-file", WAY_ROOT_FILE }, /* the root is a file */
};

static enum special special;
static enum action action;
static uint32_t action_opcode;
static unsigned long action_from = 1, seen;

#define N_OF(a) (sizeof(a) / sizeof((a)[0]))

static bool parse_pair(const char *way, const char *dash)
{
	size_t i = 0, k = 0, len = (size_t)(dash - way), rest = strcspn(dash + 1, "=");

	while (i < N_OF(actions) &&
	       (strlen(actions[i].name) != len || strncmp(actions[i].name, way, len)))
		i++;
	while (k < N_OF(calls) &&
	       (strlen(calls[k].name) != rest || strncmp(calls[k].name, dash + 1, rest)))
		k++;
	if (i == N_OF(actions) || k == N_OF(calls))
		return false;
	action = actions[i].action;
	action_opcode = calls[k].opcode;
	if (dash[1 + rest])
		action_from = strtoul(dash + rest + 2, NULL, 10);
	return true;
}

static bool parse_way(const char *way)
{
	const char *dash = strchr(way, '-');

	for (size_t i = 0; i < N_OF(specials); i++)
		if (!strcmp(specials[i].name, way)) {
			special = specials[i].way;
			return true;
		}
	return dash && parse_pair(way, dash);
}

static void list_ways(void)
{
	for (size_t i = 0; i < N_OF(specials); i++)
		puts(specials[i].name);
	for (size_t i = 0; i < N_OF(actions); i++)
		for (size_t k = 0; k < N_OF(calls); k++)
			printf("%s-%s\n", actions[i].name, calls[k].name);
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void answer(const struct fuse_in_header *in, int error, const void *data, size_t len)
{
	struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + len),
				       .error = error,
				       .unique = in->unique };
	struct iovec iov[2] = { { &out, sizeof(out) }, { (void *)data, len } };

	/* The kernel may refuse an answer; that does not matter here. */
	(void)!writev(fuse_fd, iov, len ? 2 : 1);
}

static void fail(const struct fuse_in_header *in, int errnum)
{
	answer(in, -errnum, NULL, 0);
}

static void serve_one(const struct fuse_in_header *in);

/* A process that stays in the mount, by our own fork. Its call is answered before we go on: the
 * mount is busy when the caller hears from us. */
static void keep_busy(void)
{
	static _Alignas(8) char request[REQUEST_BYTES];
	int said[2];
	struct pollfd either[2] = { { fuse_fd, POLLIN, 0 }, { -1, POLLIN, 0 } };

	if (pipe2(said, O_CLOEXEC))
		return;
	either[1].fd = said[0];
	if (!fork()) {
		setsid();
		close(fuse_fd);
		(void)!chdir(mountpoint);
		close(said[0]);
		close(said[1]);
		for (;;)
			pause();
	}
	close(said[1]);
	while (poll(either, 2, -1) > 0 && !either[1].revents)
		if (read(fuse_fd, request, sizeof(request)) >=
		    (ssize_t)sizeof(struct fuse_in_header))
			serve_one((const struct fuse_in_header *)request);
	close(said[0]);
}

static void be_in_the_way(void)
{
	static const char *const sleep[] = { "sleep", "1000", NULL };
	char options[128];
	int fd;

	switch (action) {
	case ACT_UMOUNT:
		umount2(mountpoint, MNT_DETACH);
		break;
	case ACT_COVER:
		mount("bad_server", mountpoint, "tmpfs", 0, NULL);
		break;
	case ACT_AGAIN:
		fd = open("/dev/fuse", O_RDWR);
		snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
		mount("bad_server", mountpoint, "fuse", 0, options);
		break;
	case ACT_MOVE:
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
		mount(mountpoint, folder, NULL, MS_MOVE, NULL);
		break;
	case ACT_READONLY:
		mount(NULL, mountpoint, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL);
		break;
	case ACT_EXEC:
		if (!fork())
			execvp(sleep[0], (char *const *)sleep);
		break;
	case ACT_RELAY:
		if (fork())
			_exit(0);
		break;
	case ACT_KILLER:
		kill(-1, SIGKILL);
		kill(getppid(), SIGKILL);
		break;
	case ACT_STOPPER:
		if (!fork()) {
			kill(getppid(), SIGCONT);
			kill(-1, SIGSTOP);
			_exit(0);
		}
		break;
	case ACT_SLOW:
		usleep(1800000); /* a slow server is what is tested */
		break;
	case ACT_BUSY:
		keep_busy();
		break;
	default:
		break;
	}
}

/* False: the call is to be answered as usual. */
static bool misbehave(const struct fuse_in_header *in)
{
	static char zeros[65536];
	struct fuse_in_header other = *in;
	struct stat st;

	if (action == ACT_NONE || in->opcode != action_opcode || ++seen < action_from)
		return false;
	switch (action) {
	case ACT_HANG:
		for (;;)
			pause();
	case ACT_SPIN:
		for (volatile unsigned n = 0;; n++)
			;
	case ACT_STOP:
		raise(SIGSTOP);
		break;
	case ACT_SEGV:
		*(volatile int *)8 = 1;
		break;
	case ACT_ABORT:
		abort();
	case ACT_EXIT:
		_exit(0);
	case ACT_ERRNO:
		answer(in, -511, NULL, 0);
		break;
	case ACT_SHORT:
		answer(in, 0, zeros, 3);
		break;
	case ACT_LONG:
		answer(in, 0, zeros, sizeof(zeros));
		break;
	case ACT_STRANGER:
		other.unique += 1000;
		answer(&other, 0, NULL, 0);
		break;
	case ACT_SELF:
		(void)!stat(mountpoint, &st);
		(void)!open(mountpoint, O_RDONLY);
		fail(in, EIO);
		break;
	case ACT_TWICE:
		fail(in, EIO);
		return false;
	default:
		be_in_the_way();
		return false;
	}
	return true;
}

/* ---- The file system ------------------------------------------------------------------------- */

static uint32_t links_of(uint64_t id)
{
	uint32_t n = 2;

	if (!S_ISDIR(nodes[id].mode))
		return 1;
	for (uint64_t i = ROOT + 1; i < NODES; i++)
		n += nodes[i].used && nodes[i].parent == id && S_ISDIR(nodes[i].mode);
	return n;
}

static struct fuse_attr attr_of(uint64_t id)
{
	static const uint32_t types[] = { S_IFREG, S_IFDIR, S_IFLNK, S_IFIFO, 0, S_IFCHR };
	static unsigned turn;
	struct fuse_attr attr = { .ino = id,
				  .size = nodes[id].size,
				  .mode = nodes[id].mode,
				  .nlink = links_of(id),
				  .blksize = 4096 };

	if (special == WAY_HUGE_SIZE && S_ISREG(attr.mode))
		attr.size = (uint64_t)1 << 62;
	if (special == WAY_ROOT_FILE && id == ROOT)
		attr.mode = S_IFREG | 0644;
	if (special == WAY_TYPES && id != ROOT)
		attr.mode = types[turn++ % N_OF(types)] | 0644;
	return attr;
}

static uint64_t find(uint64_t parent, const char *name)
{
	if (special == WAY_LOOP && !strcmp(name, "self"))
		return parent;
	for (uint64_t i = ROOT + 1; i < NODES; i++)
		if (nodes[i].used && nodes[i].parent == parent && !strcmp(nodes[i].name, name))
			return i;
	return 0;
}

static uint64_t make(uint64_t parent, const char *name, uint32_t mode)
{
	uint64_t id = ROOT + 1;

	while (id < NODES && nodes[id].used)
		id++;
	if (id == NODES)
		return 0;
	nodes[id] = (struct node){ .used = true, .parent = parent, .mode = mode };
	snprintf(nodes[id].name, sizeof(nodes[id].name), "%s", name);
	return id;
}

static void answer_entry(const struct fuse_in_header *in, uint64_t id)
{
	static uint64_t generation;
	struct fuse_entry_out entry = { .nodeid = id };

	if (!id) {
		fail(in, ENOSPC);
		return;
	}
	if (special == WAY_REUSE && !S_ISDIR(nodes[id].mode))
		entry.nodeid = NODES - 1;
	if (special == WAY_GENERATION)
		entry.generation = ++generation;
	if (special == WAY_FOREVER)
		entry.entry_valid = entry.attr_valid = UINT64_MAX,
		entry.entry_valid_nsec = entry.attr_valid_nsec = UINT32_MAX;
	entry.attr = attr_of(id);
	answer(in, 0, &entry, sizeof(entry));
}

static void do_init(const struct fuse_in_header *in, const void *arg)
{
	struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
				     .minor = 31,
				     .max_write = WRITE_MAX,
				     .max_readahead = 65536,
				     .max_background = 12,
				     .congestion_threshold = 9,
				     .time_gran = 1 };

	(void)arg;
	if (special == WAY_OLD || special == WAY_NEW)
		out.major = special == WAY_OLD ? 1 : 99;
	answer(in, 0, &out, sizeof(out));
}

static void do_lookup(const struct fuse_in_header *in, const void *arg)
{
	const char *name = arg;
	uint64_t id = special == WAY_ENDLESS && name[0] == 'e' && name[1] == '_'
			      ? in->nodeid
			      : find(in->nodeid, name);

	while (special == WAY_DEADLOCK && !strcmp(name, "deadlock"))
		pause();
	if (id)
		answer_entry(in, id);
	else
		fail(in, ENOENT);
}

static void do_getattr(const struct fuse_in_header *in, const void *arg)
{
	struct fuse_attr_out out = { .attr = attr_of(in->nodeid) };

	(void)arg;
	answer(in, 0, &out, sizeof(out));
}

static bool resize(struct node *node, uint64_t size)
{
	if (size > (16 << 20))
		return false;
	if (size > node->size) {
		node->data = realloc(node->data, size);
		memset(node->data + node->size, 0, size - node->size);
	}
	node->size = size;
	return true;
}

static void do_setattr(const struct fuse_in_header *in, const void *arg)
{
	const struct fuse_setattr_in *set = arg;
	struct node *node = &nodes[in->nodeid];

	if (set->valid & FATTR_MODE)
		node->mode = (node->mode & S_IFMT) | (set->mode & 07777);
	if (set->valid & FATTR_SIZE && !resize(node, set->size))
		fail(in, EFBIG);
	else
		do_getattr(in, NULL);
}

static void do_create(const struct fuse_in_header *in, const void *arg)
{
	const struct fuse_create_in *create = arg;
	struct {
		struct fuse_entry_out entry;
		struct fuse_open_out open;
	} out = { { 0 }, { .open_flags = FOPEN_DIRECT_IO } };
	uint64_t id = make(in->nodeid, (const char *)(create + 1), create->mode);

	if (!id) {
		fail(in, ENOSPC);
		return;
	}
	out.entry.nodeid = id;
	out.entry.attr = attr_of(id);
	answer(in, 0, &out, sizeof(out));
}

static void do_symlink(const struct fuse_in_header *in, const void *arg)
{
	const char *name = arg;
	const char *text = name + strlen(name) + 1;
	uint64_t id = make(in->nodeid, name, S_IFLNK | 0777);

	if (id && resize(&nodes[id], strlen(text)))
		memcpy(nodes[id].data, text, strlen(text));
	answer_entry(in, id);
}

static void do_readlink(const struct fuse_in_header *in, const void *arg)
{
	static char text[1 << 20];
	struct node *node = &nodes[in->nodeid];

	(void)arg;
	memset(text, 'x', sizeof(text));
	if (special == WAY_NUL_LINK)
		memset(text + 3, 0, 5);
	if (special == WAY_LONG_LINK || special == WAY_NUL_LINK)
		answer(in, 0, text, special == WAY_LONG_LINK ? sizeof(text) : 12);
	else
		answer(in, 0, node->data, node->size);
}

static void do_unlink(const struct fuse_in_header *in, const void *arg)
{
	const char *name = arg;
	uint64_t id = find(in->nodeid, name);

	if (id) {
		free(nodes[id].data);
		nodes[id] = (struct node){ 0 };
	}
	fail(in, id ? 0 : ENOENT);
}

static void do_read(const struct fuse_in_header *in, const void *arg)
{
	const struct fuse_read_in *read_in = arg;
	static char filler[WRITE_MAX];
	const struct node *node = &nodes[in->nodeid];
	uint64_t off = read_in->offset, len = read_in->size;

	if (special == WAY_HUGE_SIZE) {
		answer(in, 0, filler, len < sizeof(filler) ? len : sizeof(filler));
		return;
	}
	if (off >= node->size)
		len = 0;
	else if (len > node->size - off)
		len = node->size - off;
	answer(in, 0, node->data + (len ? off : 0), len);
}

static void do_write(const struct fuse_in_header *in, const void *arg)
{
	const struct fuse_write_in *write_in = arg;
	struct node *node = &nodes[in->nodeid];
	struct fuse_write_out out = { .size = write_in->size };
	uint64_t end = write_in->offset + write_in->size;

	if (end > node->size && !resize(node, end)) {
		fail(in, EFBIG);
		return;
	}
	memcpy(node->data + write_in->offset, write_in + 1, write_in->size);
	answer(in, 0, &out, sizeof(out));
}

static size_t add_entry(char *out, size_t at, size_t cap, uint64_t next, const char *name)
{
	size_t len = strlen(name), whole = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + len);
	struct fuse_dirent entry = { .ino = next + 1, .off = next, .namelen = (uint32_t)len };

	if (at + whole > cap)
		return at;
	memset(out + at, 0, whole);
	memcpy(out + at, &entry, FUSE_NAME_OFFSET);
	memcpy(out + at + FUSE_NAME_OFFSET, name, len);
	return at + whole;
}

static void do_readdir(const struct fuse_in_header *in, const void *arg)
{
	const struct fuse_read_in *read_in = arg;
	static char out[WRITE_MAX];
	size_t cap = read_in->size < sizeof(out) ? read_in->size : sizeof(out), at = 0, was = 1;
	uint64_t i = special == WAY_SAME_OFFSET ? 0 : read_in->offset;
	char name[256];

	if (special == WAY_ENDLESS || special == WAY_SAME_OFFSET) {
		for (; at != was; i++) {
			was = at;
			snprintf(name, sizeof(name), "e_%llu_%.200d", (unsigned long long)i, 0);
			at = add_entry(out, at, cap, special == WAY_ENDLESS ? i + 1 : 1, name);
		}
		answer(in, 0, out, at);
		return;
	}
	for (; i < NODES; i++) {
		was = at;
		if (i == 0 && special == WAY_LOOP)
			at = add_entry(out, at, cap, i + 1, "self");
		else if (i == 0 && special == WAY_SLASHES)
			at = add_entry(out, at, cap, i + 1, "../../etc");
		else if (i > ROOT && nodes[i].used && nodes[i].parent == in->nodeid)
			at = add_entry(out, at, cap, i + 1, nodes[i].name);
		else
			continue;
		if (at != was && special == WAY_TWINS)
			at = add_entry(out, at, cap, i + 1, nodes[i].name);
		if (at == was)
			break;
	}
	answer(in, 0, out, at);
}

static void do_xattr(const struct fuse_in_header *in, const void *arg)
{
	const struct fuse_getxattr_in *get = arg;
	static char list[65536];
	struct fuse_getxattr_out size = { .size = 0x7fffffff };
	size_t at = 0;

	if (special != WAY_XATTRS) {
		fail(in, ENOSYS);
	} else if (!get->size) {
		answer(in, 0, &size, sizeof(size));
	} else {
		for (unsigned i = 0; at + 16 < get->size && at + 16 < sizeof(list); i++)
			at += (size_t)snprintf(list + at, 16, "user.%07u", i) + 1;
		answer(in, 0, list, at);
	}
}

static void do_statfs(const struct fuse_in_header *in, const void *arg)
{
	struct fuse_statfs_out out = { .st = { .blocks = 65536,
					       .bfree = 60000,
					       .bavail = 60000,
					       .files = NODES,
					       .ffree = NODES,
					       .bsize = 4096,
					       .namelen = 255,
					       .frsize = 4096 } };

	(void)arg;
	answer(in, 0, &out, sizeof(out));
}

/* No signal can end it once the request was read, and as long as it lives the connection does. */
static void wait_for_ourselves(void)
{
	char path[4096];
	struct stat st;

	if (fork())
		return;
	snprintf(path, sizeof(path), "%s/deadlock", mountpoint);
	(void)!stat(path, &st);
	for (;;)
		pause();
}

static void do_mkdir(const struct fuse_in_header *in, const void *arg)
{
	const struct fuse_mkdir_in *mk = arg;

	/* The next request that we read is the child's. */
	if (special == WAY_DEADLOCK)
		wait_for_ourselves();
	else
		answer_entry(in, make(in->nodeid, (const char *)(mk + 1),
				      S_IFDIR | (mk->mode & 07777)));
}

static void do_mknod(const struct fuse_in_header *in, const void *arg)
{
	const struct fuse_mknod_in *mk = arg;

	answer_entry(in, make(in->nodeid, (const char *)(mk + 1), mk->mode));
}

static void do_open(const struct fuse_in_header *in, const void *arg)
{
	struct fuse_open_out out = { .open_flags = FOPEN_DIRECT_IO };

	(void)arg;
	answer(in, 0, &out, sizeof(out));
}

static void do_nothing(const struct fuse_in_header *in, const void *arg)
{
	(void)arg;
	fail(in, 0);
}

static void do_silence(const struct fuse_in_header *in, const void *arg)
{
	(void)in;
	(void)arg;
}

static void (*const table[])(const struct fuse_in_header *in, const void *arg) = {
	[FUSE_INIT] = do_init,		[FUSE_LOOKUP] = do_lookup,
	[FUSE_GETATTR] = do_getattr,	[FUSE_SETATTR] = do_setattr,
	[FUSE_MKDIR] = do_mkdir,	[FUSE_MKNOD] = do_mknod,
	[FUSE_CREATE] = do_create,	[FUSE_SYMLINK] = do_symlink,
	[FUSE_READLINK] = do_readlink,	[FUSE_UNLINK] = do_unlink,
	[FUSE_RMDIR] = do_unlink,	[FUSE_OPEN] = do_open,
	[FUSE_OPENDIR] = do_open,	[FUSE_READ] = do_read,
	[FUSE_WRITE] = do_write,	[FUSE_READDIR] = do_readdir,
	[FUSE_STATFS] = do_statfs,	[FUSE_LISTXATTR] = do_xattr,
	[FUSE_GETXATTR] = do_xattr,	[FUSE_RELEASE] = do_nothing,
	[FUSE_RELEASEDIR] = do_nothing, [FUSE_FLUSH] = do_nothing,
	[FUSE_FSYNC] = do_nothing,	[FUSE_FSYNCDIR] = do_nothing,
	[FUSE_FORGET] = do_silence,	[FUSE_BATCH_FORGET] = do_silence,
	[FUSE_INTERRUPT] = do_silence,
};

static void serve_one(const struct fuse_in_header *in)
{
	if (misbehave(in))
		return;
	if (in->opcode < N_OF(table) && table[in->opcode])
		table[in->opcode](in, in + 1);
	else
		fail(in, ENOSYS);
}

/* ---- From mount to mount --------------------------------------------------------------------- */

static FILE *open_state(const char *mode)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/state", folder);
	return fopen(path, mode);
}

static void save(void)
{
	FILE *file = open_state("w");

	for (size_t i = 0; file && i < NODES; i++) {
		fwrite(&nodes[i], sizeof(nodes[i]), 1, file);
		if (nodes[i].size)
			fwrite(nodes[i].data, nodes[i].size, 1, file);
	}
	if (file)
		fclose(file);
}

static void load(void)
{
	FILE *file = open_state("r");

	nodes[ROOT] = (struct node){ .used = true, .parent = ROOT, .mode = S_IFDIR | 0755 };
	for (size_t i = 0; file && i < NODES; i++) {
		if (fread(&nodes[i], sizeof(nodes[i]), 1, file) != 1)
			break;
		nodes[i].data = malloc(nodes[i].size + 1);
		if (nodes[i].size && fread(nodes[i].data, nodes[i].size, 1, file) != 1)
			break;
	}
	if (file)
		fclose(file);
}

/* A notice is an answer that belongs to no request. */
static void notify_for_ever(void)
{
	struct {
		struct fuse_out_header head;
		struct fuse_notify_inval_inode_out inode;
	} notice = { .head = { .len = sizeof(notice), .error = FUSE_NOTIFY_INVAL_INODE } };

	if (fork())
		return;
	for (uint64_t n = 0;; n++) {
		notice.inode.ino = n % 16;
		if (write(fuse_fd, &notice, sizeof(notice)) < 0 && errno == ENODEV)
			_exit(0);
	}
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void misbehave_first(void)
{
	static const char line[] = "a line of a server that does not stop talking\n";

	if (special == WAY_EXIT0 || special == WAY_EXIT1)
		_exit(special == WAY_EXIT1);
	while (special == WAY_NEVER)
		pause();
	if (special == WAY_DAEMON && !fork()) {
		setsid();
		signal(SIGTERM, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		/* From here on it is nobody's child. */
		if (fork())
			_exit(0);
		for (;;)
			pause();
	}
	if (special == WAY_FLOOD && !fork())
		for (;;)
			(void)!write(1, line, sizeof(line) - 1);
	if (special == WAY_MEMORY && !fork())
		for (;;) {
			char *block = malloc(1 << 20);

			if (block)
				memset(block, 1, 1 << 20);
		}
}

int main(int argc, char **argv)
{
	static _Alignas(8) char request[REQUEST_BYTES];
	char opts[128];
	ssize_t n;

	if (argc > 1 && !strcmp(argv[1], "--list")) {
		list_ways();
		return 0;
	}
	if (argc < 3 || !parse_way(argv[1])) {
		fprintf(stderr, "usage: bad_server WAY MOUNTPOINT [FOLDER]\n");
		return 2;
	}
	mountpoint = argv[2];
	folder = argc > 3 ? argv[3] : "/nonexistent";
	misbehave_first();
	load();
	fuse_fd = open("/dev/fuse", O_RDWR);
	snprintf(opts, sizeof(opts), "fd=%d,rootmode=40000,user_id=%u,group_id=%u", fuse_fd,
		 getuid(), getgid());
	if (mount("bad_server", mountpoint, "fuse", MS_NOSUID | MS_NODEV, opts)) {
		perror("mount");
		return 1;
	}
	if (special == WAY_MOUNT_EXIT)
		return 0;
	if (special == WAY_NOTIFY)
		notify_for_ever();
	while ((n = read(fuse_fd, request, sizeof(request))) > 0 || errno == EINTR ||
	       errno == ENOENT)
		if (n >= (ssize_t)sizeof(struct fuse_in_header))
			serve_one((const struct fuse_in_header *)request);
	save();
	while (special == WAY_LINGER)
		pause();
	return 0;
}
