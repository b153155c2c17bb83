/* SPDX-License-Identifier: GPL-2.0-or-later */
/* alphabet: the operations that tests/lib/fight.c makes sequences of. */
#ifndef AS_TESTS_LIB_ALPHABET_H
#define AS_TESTS_LIB_ALPHABET_H

static const char *const starts[] = {
	"",
	"mkdir /a 0755\n"
	"$0 = open /a/f O_RDWR|O_CREAT 0644\n"
	"pwrite $0 len=5000 at=100 fill=1\n"
	"hardlink /a/f /g\n"
	"symlink a /l\n"
	"mkdir /a/b 0700\n"
	"write_xattr /g user.k len=10 fill=2\n",
	/* the same, with nothing open for writing */
	"mkdir /a 0755\n"
	"$0 = open /a/f O_RDWR|O_CREAT 0644\n"
	"pwrite $0 len=5000 at=100 fill=1\n"
	"close $0\n"
	"hardlink /a/f /g\n"
	"symlink a /l\n"
	"mkdir /a/b 0700\n"
	"mknod /p fifo 0600\n"
	"write_xattr /g user.k len=10 fill=2\n"
	"$0 = open /a/f O_RDONLY\n",
};

/* Every operation that the kernel carries out, grouped by what it is about, in three parts: what is
 * tried in all threes from the prepared tree everywhere, what is tried so where that is cheap, and
 * what is tried in all twos only. From the empty tree all threes of everything are tried. */
static const char *const part_names =
	"mkdir /a 0755\nmkdir /l/c 0750\nmkdir b 0755\ncreate /a/f 0644\ncreate /g 0600\n"
	"mknod /p fifo 0600\nhardlink /g /h\nhardlink /h /a/b/h\nsymlink l /m\n"
	"symlink ../g /a/u\nrename /a /b\nrename /a/f /g\nrename /g /h\nrename /a/b /a\n"
	"rename /a /a/b/c\nrename /a/b /b\nrename /g /a\nrename2 /g /a RENAME_EXCHANGE\n"
	"rename2 /a/b /b RENAME_EXCHANGE\nrename2 /g /h RENAME_WHITEOUT\nunlink /g\n"
	"unlink /a/f\nunlink /l\nrmdir /a/b\nrmdir /a\nremove /a\nremove /l/\n"
	"$1 = open /a/f O_RDWR\n$1 = open /h O_RDWR|O_CREAT 0644\n$1 = open /a O_RDONLY\n"
	"$1 = open /a O_RDWR|O_TMPFILE 0600\nclose $0\nlink_tmpfile $1 /h\nchcwd /a\n"
	"chcwd /a/b\nchcwd ..\nstat /g\nreaddir .\n";

static const char *const part_data =
	"$1 = open /g O_WRONLY|O_APPEND\n$1 = open /g O_RDONLY|O_TRUNC\n"
	"$1 = open /m O_RDWR|O_CREAT 0644\nlink_tmpfile $0 /a/b/t\nread $0 len=300\n"
	"pread $0 len=9000 at=50\nwrite $1 len=5000 fill=4\npwrite $0 len=4096 at=8192 fill=5\n"
	"lseek $0 0 SEEK_END\nlseek $0 4096 SEEK_DATA\ntruncate /g 4097\nftruncate $0 20000\n"
	"fallocate $0 KEEP_SIZE|PUNCH_HOLE at=200 len=4500\n"
	"fallocate $0 INSERT_RANGE at=4096 len=4096\n"
	"copy_file_range $0 $1 len=3000 at=50 to=10\nchmod /g 04755\n"
	"write_xattr /g user.k len=300 fill=1\nremovexattr /g user.k\nstat ..\nfstat $1\n"
	"readdir /a\nprune /a\ndeepen /a 3\n";

static const char *const part_rest =
	/* making */
	"mkdir /a/b 01777\nmkdir /a/ 0755\nmkdir .. 0755\nmkdir /g/x 0755\ncreate /l 0644\n"
	"create a/ 0644\ncreate /l/b/f 0640\nmknod /a/s sock 0600\nmknod /w chr 0600\n"
	"mknod /r reg 0644\nhardlink /l /m\nhardlink /a /h\nhardlink /p /q\nhardlink g h/\n"
	"symlink a /l\nsymlink m /m\nsymlink /a/b /n\nsymlink nowhere /h\n"
	/* renaming */
	"rename /g /a/f\nrename /l /m\nrename /a /g\nrename /a/ /h/\nrename . /h\nrename /g /g\n"
	"rename /a/b /n\nrename2 /a /a/b RENAME_EXCHANGE\nrename2 /g /h RENAME_NOREPLACE\n"
	"rename2 /a /l RENAME_NOREPLACE\nrename2 /a/b /b RENAME_WHITEOUT\n"
	"rename2 /g /l RENAME_NOREPLACE|RENAME_EXCHANGE\n"
	/* removing */
	"unlink /a\nunlink /g/\nunlink l/f\nrmdir /l\nrmdir .\nrmdir ..\nrmdir /b\nremove .\n"
	"remove /g\n"
	/* opening and closing */
	"$1 = open /g O_RDONLY\n$1 = open /h O_RDWR|O_CREAT|O_EXCL 0600\n"
	"$1 = open /g O_RDWR|O_TRUNC\n$1 = open /l O_RDONLY|O_NOFOLLOW\n"
	"$1 = open /l O_RDONLY|O_DIRECTORY\n$1 = open /a O_RDWR\n"
	"$1 = open /g O_RDONLY|O_DIRECTORY\n$1 = open /a O_RDWR|O_TMPFILE|O_EXCL 0600\n"
	"$1 = open /g O_RDONLY|O_PATH\n$1 = open /l O_RDONLY|O_PATH|O_NOFOLLOW\n"
	"$1 = open /p O_RDWR\n$1 = open /h/ O_RDWR|O_CREAT 0644\n$1 = open . O_RDONLY\n"
	"$1 = open /a O_RDONLY|O_CREAT 0644\nclose $1\n"
	"$1 = open /a/b O_RDONLY|O_CREAT|O_DIRECTORY 0644\n"
	"chcwd /l\nchcwd /g\n"
	/* data */
	"read $1 len=10\npread $1 len=10 at=0\npread $0 len=1 at=-1\nwrite $0 len=40 fill=3\n"
	"pwrite $1 len=10 at=3 fill=6\nwrite $1 len=0 fill=1\nlseek $0 0 SEEK_HOLE\n"
	"lseek $1 7 SEEK_CUR\nlseek $0 -1 SEEK_SET\nlseek $0 9999999 SEEK_DATA\n"
	"truncate /a/f 0\ntruncate /a 0\ntruncate /p 1\ntruncate /l 5\nftruncate $1 3\n"
	"truncate /g 9223372036854775807\nfallocate $0 0 at=4000 len=8000\n"
	"fallocate $0 KEEP_SIZE at=4000 len=90000\nfallocate $0 ZERO_RANGE at=1000 len=9000\n"
	"fallocate $0 COLLAPSE_RANGE at=0 len=4096\nfallocate $0 PUNCH_HOLE at=0 len=1\n"
	"fallocate $1 0 at=0 len=10\nfallocate $0 COLLAPSE_RANGE at=1 len=4096\n"
	"fallocate $0 COLLAPSE_RANGE|KEEP_SIZE at=0 len=4096\n"
	"copy_file_range $0 $0 len=100 at=100 to=20000\n"
	"copy_file_range $0 $0 len=100 at=100 to=150\ncopy_file_range $1 $0 len=100 at=-1 to=0\n"
	"preadv2 $1 len=10 at=-1\npreadv2 $0 len=100 at=50 flags=RWF_NOWAIT\n"
	"preadv2 $1 len=0 at=0 flags=0x40000000\npwritev2 $0 len=40 at=-1 fill=3 flags=RWF_APPEND\n"
	"pwritev2 $1 len=40 at=0 fill=3 flags=RWF_NOAPPEND\n"
	"pwritev2 $0 len=1 at=0 fill=1 flags=0x40000000\n"
	"clone $0 $1\nclone $1 $0\nclone_range $1 $0 len=4096 at=0 to=4096\n"
	"clone_range $0 $0 len=0 at=4096 to=8192\nclone_range $0 $1 len=100 at=0 to=0\n"
	"dedupe_range $1 $0 len=4096 at=0 to=0\ndedupe_range $0 $0 len=4096 at=0 to=4096\n"
	"sendfile $0 $1 len=3000 at=50\nsendfile $1 $0 len=100 at=-1\n"
	"sendfile $0 $0 len=100 at=200\nsendfile $0 $1 len=0 at=-1\nsendfile $0 $1 len=9 at=-2\n"
	"splice $0 $1 len=9000 at=-1 to=10\nsplice $1 $0 len=100 at=0 to=-1\n"
	"splice $0 $0 len=100 at=100 to=300\nsplice $0 $0 len=100 at=100 to=150\n"
	"mmap $0 len=20000 at=0\nmmap $1 len=8192 at=4096 prot=PROT_READ\nmload $0 len=9000 at=50\n"
	"mstore $0 len=5000 at=3000 fill=8\nmload $1 len=100 at=0\nmstore $1 len=1 at=0\n"
	"msync $0\nmunmap $0\n"
	"mmap_write $0 len=100 at=3000 fill=7 flags=MS_ASYNC\nmmap_write $1 len=10 at=0 fill=7\n"
	/* flags */
	"setflags $0 FS_APPEND_FL\nsetflags $0 FS_IMMUTABLE_FL\nsetflags $1 FS_IMMUTABLE_FL\n"
	"setflags $1 FS_NODUMP_FL|FS_APPEND_FL\nsetflags $0 0\ngetflags $0\ngetflags $1\n"
	"flock $0 LOCK_EX\nflock $0 LOCK_SH\nflock $1 LOCK_EX\nflock $1 LOCK_SH\nflock $1 LOCK_UN\n"
	"flock $1 LOCK_SH|LOCK_EX\n"
	"ofd_setlk $0 F_WRLCK at=0 len=10\nofd_setlk $1 F_RDLCK at=5 len=0\n"
	"ofd_setlk $0 F_UNLCK at=3 len=4\nsetlk $0 F_WRLCK at=8 len=-6\n"
	"ofd_getlk $1 F_WRLCK at=4 len=0\ngetlk $0 F_RDLCK at=0 len=20\n"
	/* access control lists */
	"setacl /g u::rw-,u:1:rwx,g::r--,m::r-x,o::---\nsetacl /a u::rwx,g:2:-w-,g::r-x,o::r-x\n"
	"setacl /a u::rwx,u:1:r-x,g::r-x,m::rwx,o::r-x default=1\nsetacl /g none\n"
	"setacl /l u::rwx,g::r-x,m::rw-,o::---\nsetacl /g u::rwx,g::rwx,o::--- default=1\n"
	"getacl /g\ngetacl /a default=1\nread_xattr /a/f system.posix_acl_access\n"
	"handle /g\nopenhandle /g\n"
	/* stability */
	"fsync $1\nsync_file_range $0 at=0 len=4096\n"
	"sync_file_range $0 at=-1 len=1\n"
	/* attributes */
	"chmod /l 0711\nfchmod $0 06777\nfchmod $1 0600\nchown /g 1 2\n"
	"chown /l 3 -1 nofollow=1\nchown /a -1 -1\nchmod /a 02755\n"
	"utimens /g atime=1.5 mtime=1000000000.123456789\nutimens /l mtime=5 nofollow=1\n"
	"utimens /g atime=omit mtime=omit\nutimens /a atime=omit mtime=77\n"
	"write_xattr /a user.k len=5 fill=1 flags=XATTR_CREATE\n"
	"write_xattr /g user.k len=5 flags=XATTR_REPLACE\n"
	"write_xattr /l user.k len=5 nofollow=1\nwrite_xattr /g nospace.k len=5\n"
	"write_xattr /g user. len=5\nwrite_xattr /g trusted.t len=7\n"
	"write_xattr /nowhere \"\" len=70000\nread_xattr /g user.k\nread_xattr /a user.k\n"
	"read_xattr /p user.k\nlistxattr /g\nlistxattr /l\nremovexattr /a/b user.k\n"
	/* looking */
	"stat /l\nstat /l nofollow=1\nstat /a/b/../f\nfstat $0\nreaddir /\nreaddir /g\n"
	"readlink /l\nreadlink /g\nstatfs /a\n"
	/* composites */
	"enlarge /a 3\nenlarge /g 700\nprune /g\nprune /\nenlarge /p 1\ndeepen /g 1\n"
	"enlarge . 2\n";

#endif
