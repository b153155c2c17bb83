/* SPDX-License-Identifier: GPL-2.0-or-later */
/* chance: see chance.h. */
#include "tests/lib/chance.h"

static const char *const chance_alphabet =
	"mkdir /a 0755\nmkdir /b 0750\nmkdir /a/c 0700\nmkdir /a/c/d 0755\nmkdir /b/e 0755\n"
	"create /f 0644\ncreate /a/f 0640\ncreate /b/g 0600\ncreate /a/c/h 0644\n"
	"hardlink /f /a/l\nhardlink /a/f /b/l\nhardlink /b/g /f2\nhardlink /a/l /a/c/l\n"
	"symlink ../f /a/s\nsymlink /a/c /t\nsymlink x /b/s\n"
	"mknod /p fifo 0600\nmknod /a/n chr 0600 dev=1:3\n"
	"rename /a/f /b/f\nrename /b/f /a/f\nrename /f /a/f\nrename /a /b/a\nrename /b/a /a\n"
	"rename /a/c /b/c\nrename /b/c /a/c\nrename /b/g /f\nrename /a/l /b/l\nrename /b /z\n"
	"rename /z /b\nrename2 /f /a/f RENAME_EXCHANGE\nrename2 /a /b RENAME_EXCHANGE\n"
	"rename2 /a/f /b/g RENAME_NOREPLACE\nrename2 /f /g RENAME_WHITEOUT\n"
	"unlink /f\nunlink /a/f\nunlink /b/l\nunlink /a/l\nunlink /b/f\nunlink /b/g\nunlink /g\n"
	"rmdir /a/c/d\nrmdir /a/c\nrmdir /b/e\nrmdir /b\nremove /a\nremove /b/a\nprune /b\n"
	"deepen /b 3\nenlarge /a 3\nenlarge /f 700\nprune /a/f\n"
	"$0 = open /f O_RDWR|O_CREAT 0644\n$0 = open /f O_RDWR\n$1 = open /a/f O_RDWR\n"
	"$1 = open /a/f O_RDWR|O_CREAT|O_TRUNC 0600\n$2 = open /b/g O_RDWR|O_CREAT|O_SYNC 0644\n"
	"$2 = open /f O_WRONLY|O_DSYNC\n$3 = open /a O_RDONLY|O_DIRECTORY\n"
	"$3 = open / O_RDONLY|O_DIRECTORY\n$3 = open /b O_RDONLY|O_DIRECTORY\n"
	"$4 = open /a O_RDWR|O_TMPFILE 0600\n$4 = open /f O_RDWR|O_APPEND\n"
	"link_tmpfile $4 /a/f\nlink_tmpfile $4 /tmp\nclose $0\nclose $1\nclose $2\nclose $4\n"
	"pwrite $0 len=3000 at=0 fill=1\npwrite $0 len=1024 at=1024 fill=2\n"
	"pwrite $0 len=100 at=4000 fill=3\npwrite $1 len=5000 at=700 fill=4\n"
	"pwrite $1 len=10 at=3 fill=5\nwrite $2 len=2000 fill=6\npwrite $2 len=512 at=512 fill=7\n"
	"write $4 len=1500 fill=8\nwrite $4 len=12 fill=9\npwrite $1 len=4096 at=20000 fill=10\n"
	"ftruncate $0 0\nftruncate $0 2000\nftruncate $1 6000\ntruncate /f 1\ntruncate /a/f 1024\n"
	"fallocate $0 0 at=0 len=8192\nfallocate $0 KEEP_SIZE at=0 len=8192\n"
	"fallocate $1 KEEP_SIZE|PUNCH_HOLE at=1024 len=2048\n"
	"fallocate $0 ZERO_RANGE at=100 len=2000\nfallocate $0 COLLAPSE_RANGE at=1024 len=1024\n"
	"fallocate $1 INSERT_RANGE at=1024 len=2048\n"
	"copy_file_range $0 $1 len=2000 at=100 to=900\n"
	"mmap_write $0 len=500 at=100 fill=11\nmmap_write $1 len=500 at=0 fill=12 flags=MS_ASYNC\n"
	"chmod /f 0600\nchmod /a 0711\nfchmod $1 04755\nchown /f 10 20\nchown /a/f 3 -1\n"
	"write_xattr /f user.k len=20 fill=1\nwrite_xattr /a user.d len=100 fill=2\n"
	"write_xattr /f user.k len=30 fill=3\nremovexattr /f user.k\n"
	"write_xattr /a/f trusted.t len=5 fill=4\n"
	"fsync $0\nfsync $0\nfsync $1\nfsync $1\nfsync $3\nfsync $3\nfsync $4\nfdatasync $0\n"
	"fdatasync $1\nfdatasync $4\nsync\nsync\nsyncfs $0\nsync_file_range $0 at=0 len=0\n";

struct as_seq *t_chance_letters(void)
{
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	if (as_parse_text("alphabet", chance_alphabet, strlen(chance_alphabet), &seq, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		abort();
	}
	return seq;
}
