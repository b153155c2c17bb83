/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls on the disk: where symbolic bytes come from, and where they are written back.
 *
 * Method: the disk is known by device and inode number, and its position by asking the kernel, so
 * that no table of descriptors is kept. Bytes of the disk have shadows like memory (DISK_BASE). A
 * mapping of the disk gets shadows when it is made; a shared one gives them back before anybody
 * reads the disk, and when it goes. */
#include "core.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"
#include "vg.h"

#define MAPS_MAX 64
#define INPUTS_MAX 65536

struct as_symlog_range as_vg_ranges[AS_SYMLOG_RANGES_MAX];
UInt as_vg_range_count;
Bool as_vg_stand_early;

static Int disk = -1;
static struct vg_stat disk_stat;
static struct {
	Addr at;
	SizeT bytes;
	ULong offset;
} maps[MAPS_MAX];
static UInt map_count;

void as_vg_io_open(const HChar *path)
{
	SysRes r = VG_(open)(path, VKI_O_RDONLY, 0);

	if (sr_isError(r) || VG_(fstat)((Int)sr_Res(r), &disk_stat) != 0) {
		VG_(umsg)("assaysym: --disk=%s cannot be opened\n", path);
		VG_(exit)(3);
	}
	disk = VG_(safe_fd)((Int)sr_Res(r));
}

static Bool is_disk(Int fd)
{
	struct vg_stat st;

	return disk >= 0 && fd >= 0 && VG_(fstat)(fd, &st) == 0 && st.dev == disk_stat.dev &&
	       st.ino == disk_stat.ino;
}

/* ---- Ranges -------------------------------------------------------------------------------- */

static Bool read_line(HChar *line)
{
	struct as_symlog_range *r = &as_vg_ranges[as_vg_range_count];
	HChar *end;

	if (VG_(strncmp)(line, "symbolic ", 9) == 0) {
		r->kind = AS_SYMLOG_SYMBOLIC;
		line += 9;
	} else if (VG_(strncmp)(line, "watched ", 8) == 0) {
		r->kind = AS_SYMLOG_WATCHED;
		line += 8;
	} else {
		return line[0] == 0;
	}
	r->offset = VG_(strtoull10)(line, &end);
	if (end == line || *end != ' ' || as_vg_range_count == AS_SYMLOG_RANGES_MAX)
		return False;
	line = end + 1;
	r->length = VG_(strtoull10)(line, &end);
	if (end == line || *end || !r->length || r->offset + r->length < r->offset)
		return False;
	as_vg_range_count++;
	return True;
}

Bool as_vg_ranges_read(const HChar *path)
{
	SysRes r = VG_(open)(path, VKI_O_RDONLY, 0);
	static HChar text[1 << 18];
	Int n, from = 0;

	if (sr_isError(r))
		return False;
	n = VG_(read)((Int)sr_Res(r), text, sizeof text - 1);
	VG_(close)((Int)sr_Res(r));
	if (n < 0 || n == sizeof text - 1)
		return False;
	for (Int i = 0; i <= n; i++)
		if (i == n || text[i] == '\n') {
			text[i] = 0;
			if (!read_line(text + from))
				return False;
			from = i + 1;
		}
	return True;
}

static Bool touches(ULong offset, ULong bytes)
{
	for (UInt i = 0; i < as_vg_range_count; i++)
		if (offset < as_vg_ranges[i].offset + as_vg_ranges[i].length &&
		    as_vg_ranges[i].offset < offset + bytes)
			return True;
	return False;
}

/* A watched byte is a checksum of the symbolic ones, whatever arithmetic makes it: what is compared
 * with it is decided by sealing. */
static void watch(UInt count, Id from)
{
	ULong support = count < 64 ? (1ull << count) - 1 : ~0ull;

	if (!count || !from)
		return;
	for (UInt i = 0; i < as_vg_range_count; i++) {
		const struct as_symlog_range *r = &as_vg_ranges[i];

		for (ULong k = 0; r->kind == AS_SYMLOG_WATCHED && k < r->length; k++)
			if (!as_vg_mem_byte(DISK_BASE + r->offset + k))
				as_vg_mem_set_byte(DISK_BASE + r->offset + k,
						   as_vg_opaque(8, from, support));
	}
}

/* The symbolic bytes become nodes, with what is on the disk now. */
void as_vg_io_inputs(void)
{
	Id first = 0;
	UInt count = 0, index = 0;

	/* It may be another disk each time, and of another size. */
	VG_(fstat)(disk, &disk_stat);
	for (UInt i = 0; i < as_vg_range_count; i++)
		if (as_vg_ranges[i].kind == AS_SYMLOG_SYMBOLIC)
			count += as_vg_ranges[i].length > INPUTS_MAX ? INPUTS_MAX + 1
								     : (UInt)as_vg_ranges[i].length;
	if (count > INPUTS_MAX) {
		VG_(umsg)("assaysym: at most %u bytes can be symbolic\n", INPUTS_MAX);
		VG_(exit)(3);
	}
	as_vg_group_bytes(count);
	for (UInt i = 0; i < as_vg_range_count; i++) {
		struct as_symlog_range *r = &as_vg_ranges[i];

		for (ULong k = 0; r->kind == AS_SYMLOG_SYMBOLIC && k < r->length; k++) {
			UChar byte;
			SysRes got = VG_(pread)(disk, &byte, 1, r->offset + k);
			Id n;

			if (sr_isError(got) || sr_Res(got) != 1)
				break;
			n = as_vg_input(r->offset + k, byte, index++, count);
			as_vg_mem_set_byte(DISK_BASE + r->offset + k, n);
			first = first ? first : n;
		}
	}
	watch(count, first);
}

/* ---- Calls --------------------------------------------------------------------------------- */

/* One piece of memory of a call, and where on the disk it is. */
typedef void piece(Addr at, ULong offset, ULong bytes);

struct call {
	Int fd;
	Bool is_write;
	Bool is_here; /* at the descriptor's position */
	Bool is_vector;
	ULong offset;
	Addr buffer; /* or the vector */
	ULong bytes; /* or how many pieces */
};

static Bool data_call(UInt number, const UWord *a, struct call *c)
{
	*c = (struct call){ .fd = (Int)a[0], .buffer = a[1], .bytes = a[2] };
	switch (number) {
	case __NR_write:
		c->is_write = True; /* fall through */
	case __NR_read:
		c->is_here = True;
		return True;
	case __NR_pwrite64:
		c->is_write = True; /* fall through */
	case __NR_pread64:
		c->offset = a[3];
		return True;
	case __NR_writev:
		c->is_write = True; /* fall through */
	case __NR_readv:
		c->is_vector = c->is_here = True;
		return True;
	case __NR_pwritev:
	case __NR_pwritev2:
		c->is_write = True; /* fall through */
	case __NR_preadv:
	case __NR_preadv2:
		c->is_vector = True;
		c->offset = a[3];
		c->is_here = (Long)a[3] == -1;
		return True;
	default:
		return False;
	}
}

static ULong call_bytes(const struct call *c)
{
	const struct vki_iovec *v = (const struct vki_iovec *)c->buffer;
	ULong sum = 0;

	if (!c->is_vector)
		return c->bytes;
	for (ULong i = 0; i < c->bytes && i < 1024; i++)
		sum += v[i].iov_len;
	return sum;
}

static void each_piece(const struct call *c, ULong offset, ULong done, piece *f)
{
	const struct vki_iovec *v = (const struct vki_iovec *)c->buffer;

	if (!c->is_vector) {
		f(c->buffer, offset, done);
		return;
	}
	for (ULong i = 0; i < c->bytes && done; i++) {
		ULong n = v[i].iov_len < done ? v[i].iov_len : done;

		f((Addr)v[i].iov_base, offset, n);
		offset += n;
		done -= n;
	}
}

static void from_disk(Addr at, ULong offset, ULong bytes)
{
	as_vg_mem_copy(DISK_BASE + offset, at, bytes);
}

static void to_disk(Addr at, ULong offset, ULong bytes)
{
	as_vg_mem_copy(at, DISK_BASE + offset, bytes);
}

static void give_back(void)
{
	for (UInt i = 0; i < map_count; i++)
		to_disk(maps[i].at, maps[i].offset, maps[i].bytes);
}

/* What was written to the disk is seen through shared mappings, too. */
static void show(ULong offset, ULong bytes)
{
	for (UInt i = 0; i < map_count; i++) {
		ULong from = offset > maps[i].offset ? offset : maps[i].offset;
		ULong end = offset + bytes, to = maps[i].offset + maps[i].bytes;

		if (end < to)
			to = end;
		if (from < to)
			from_disk(maps[i].at + (from - maps[i].offset), from, to - from);
	}
}

static void mapped(const UWord *a, Addr at)
{
	SizeT bytes = a[1];
	ULong end = (ULong)disk_stat.size;

	if (a[5] >= end)
		return;
	if (bytes > end - a[5])
		bytes = end - a[5];
	from_disk(at, a[5], bytes);
	if ((a[3] & VKI_MAP_SHARED) && map_count < MAPS_MAX) {
		maps[map_count].at = at;
		maps[map_count].offset = a[5];
		maps[map_count++].bytes = bytes;
	}
}

/* Shared memory is symbolic no longer when it is not there. */
static void gone(Addr at, SizeT bytes)
{
	for (UInt i = 0; i < map_count; i++)
		if (maps[i].at < at + bytes && at < maps[i].at + maps[i].bytes) {
			to_disk(maps[i].at, maps[i].offset, maps[i].bytes);
			maps[i--] = maps[--map_count];
		}
	as_vg_mem_clear(at, bytes);
}

/* What is not followed is said at least. */
static void look_at(UInt number)
{
	switch (number) {
	case __NR_io_submit:
	case __NR_io_uring_setup:
		as_vg_see(AS_SYMLOG_F_ASYNC);
		return;
	case __NR_execve:
		as_vg_see(AS_SYMLOG_F_EXECS);
		if (as_vg_in_run)
			as_vg_finish();
		return;
	default:
		return;
	}
}

/* The path that a call is about; 0: about none. */
static Addr path_of(UInt number, const UWord *a)
{
	switch (number) {
	case __NR_open:
	case __NR_stat:
	case __NR_lstat:
	case __NR_access:
	case __NR_readlink:
	case __NR_statfs:
	case __NR_truncate:
		return a[0];
	case __NR_openat:
	case __NR_newfstatat:
	case __NR_faccessat:
	case __NR_readlinkat:
	case __NR_statx:
		return a[1];
	default:
		return 0;
	}
}

/* Whether a call may tell the checker anything about the disk. A number that happens to be that of
 * a descriptor does no harm: it stands a little earlier then. */
static Bool names_disk(UInt number, const UWord *a)
{
	Addr path = path_of(number, a);
	struct vg_stat st;
	SysRes r;

	if (!path)
		return is_disk((Int)a[number == __NR_mmap ? 4 : 0]);
	r = VG_(stat)((const HChar *)path, &st);
	return (!sr_isError(r) && st.dev == disk_stat.dev && st.ino == disk_stat.ino) ||
	       is_disk((Int)a[0]);
}

static void pre_syscall(ThreadId tid, UInt number, UWord *a, UInt count)
{
	struct call c;

	(void)tid;
	(void)count;
	as_vg_reg_thread(tid);
	look_at(number);
	if (as_vg_in_run || disk < 0)
		return;
	if (as_vg_stand_early) {
		if (names_disk(number, a))
			as_vg_server_here();
		return;
	}
	if (number == __NR_mmap && !(a[3] & VKI_MAP_ANONYMOUS) && is_disk((Int)a[4]) &&
	    touches(a[5], a[1]))
		as_vg_server_here();
	if (!data_call(number, a, &c) || c.is_write || !is_disk(c.fd))
		return;
	if (c.is_here)
		c.offset = VG_(lseek)(c.fd, 0, VKI_SEEK_CUR);
	if (touches(c.offset, call_bytes(&c)))
		as_vg_server_here();
}

static void post_syscall(ThreadId tid, UInt number, UWord *a, UInt count, SysRes result)
{
	struct call c;
	ULong done = sr_Res(result);

	(void)count;
	as_vg_reg_thread(tid);
	if (!as_vg_in_run || sr_isError(result))
		return;
	if (number == __NR_mmap) {
		if (!(a[3] & VKI_MAP_ANONYMOUS) && is_disk((Int)a[4]))
			mapped(a, done);
		return;
	}
	if (number == __NR_ftruncate && is_disk((Int)a[0])) {
		as_vg_mem_clear(DISK_BASE + a[1], 1ull << 50);
		return;
	}
	if (number == __NR_fallocate && is_disk((Int)a[0]) && a[1] & ~1ul) {
		as_vg_mem_clear(DISK_BASE + a[2], a[3]);
		return;
	}
	if (!data_call(number, a, &c) || !is_disk(c.fd) || (Long)done <= 0)
		return;
	if (c.is_here)
		c.offset = VG_(lseek)(c.fd, 0, VKI_SEEK_CUR) - done;
	give_back();
	each_piece(&c, c.offset, done, c.is_write ? to_disk : from_disk);
	if (c.is_write)
		show(c.offset, done);
}

/* ---- What the kernel does to memory and registers -------------------------------------------- */

static void written(CorePart part, ThreadId tid, Addr at, SizeT bytes)
{
	(void)part;
	(void)tid;
	if (as_vg_in_run)
		as_vg_mem_clear(at, bytes);
}

static void new_map(Addr at, SizeT bytes, Bool r, Bool w, Bool x, ULong handle)
{
	(void)r;
	(void)w;
	(void)x;
	(void)handle;
	if (as_vg_in_run)
		gone(at, bytes);
}

static void new_break(Addr at, SizeT bytes, ThreadId tid)
{
	(void)tid;
	if (as_vg_in_run)
		as_vg_mem_clear(at, bytes);
}

static void old_memory(Addr at, SizeT bytes)
{
	if (as_vg_in_run)
		gone(at, bytes);
}

static void moved(Addr from, Addr to, SizeT bytes)
{
	if (as_vg_in_run)
		as_vg_mem_copy(from, to, bytes);
}

static void register_read(CorePart part, ThreadId tid, const HChar *what, PtrdiffT offset,
			  SizeT bytes)
{
	(void)part;
	(void)what;
	as_vg_reg_thread(tid);
	if (as_vg_in_run)
		as_vg_reg_pin((UInt)offset, (UInt)bytes, AS_SYMLOG_WHY_SYSCALL, VG_(get_IP)(tid));
}

static void register_written(CorePart part, ThreadId tid, PtrdiffT offset, SizeT bytes)
{
	(void)part;
	as_vg_reg_thread(tid);
	if (as_vg_in_run)
		as_vg_reg_clear((UInt)offset, (UInt)bytes);
}

/* A handler runs on registers that were put aside without their shadows. */
static void on_signal(ThreadId tid, Int number, Bool alt_stack)
{
	(void)number;
	(void)alt_stack;
	as_vg_reg_thread(tid);
	if (as_vg_in_run)
		as_vg_reg_forget(VG_(get_IP)(tid));
}

static void thread_starts(ThreadId tid, ULong blocks)
{
	(void)blocks;
	as_vg_reg_thread(tid);
	if (tid > 1 && !(as_vg_seen & AS_SYMLOG_F_THREADS))
		as_vg_see(AS_SYMLOG_F_THREADS);
}

void as_vg_io_start(void)
{
	VG_(needs_syscall_wrapper)(pre_syscall, post_syscall);
	VG_(track_post_mem_write)(written);
	VG_(track_new_mem_mmap)(new_map);
	VG_(track_new_mem_brk)(new_break);
	VG_(track_die_mem_munmap)(old_memory);
	VG_(track_copy_mem_remap)(moved);
	VG_(track_pre_reg_read)(register_read);
	VG_(track_post_reg_write)(register_written);
	VG_(track_pre_deliver_signal)(on_signal);
	VG_(track_start_client_code)(thread_starts);
}
