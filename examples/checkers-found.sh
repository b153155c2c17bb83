#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# checkers-found.sh [CASE]...: what assay found in checkers (docs/FOUND.md), by plain commands: each
# case makes a disk with mkfs, damages it, and runs the checker. Without CASE, all of them run.
# Prints the exit status of each run. Exit status: 0 if each case shows what FOUND.md says, 1 if one
# does not (a newer checker, we hope), 2 if there is no such case.
# 124 is a run that did not end within 10 seconds, 134 an abort, 139 a segmentation fault.
set -u
PATH=$PATH:/usr/sbin:/sbin
export LC_ALL=C E2FSCK_TIME=2145916800 MKE2FS_CONFIG=/dev/null
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
wrong=0

# ---- How disks are made and damaged --------------------------------------------------------------

poke() { # OFFSET BYTES: as printf(1) writes them
	printf "$2" | dd of=d bs=1 seek="$1" conv=notrunc status=none
}
ext4() { # mke2fs options
	rm -f d
	mke2fs -q -F -t ext4 -b 1024 -I 256 -O has_journal,extent,flex_bg,metadata_csum,64bit \
		"$@" d 2M >/dev/null 2>&1
	head -c 20000 /dev/zero | tr '\0' x >file
	dbg 'write file f' 'mkdir dir' 'write file dir/g'
}
dbg() { # COMMAND...: of debugfs, which computes checksums anew
	local command
	for command; do
		debugfs -w -R "$command" d >/dev/null 2>&1
	done
}
# 1 MiB of version 1: /f is inode 2 (zones 7 to 13, and 15 through 14), /g inode 3 (zone 16), /d
# inode 4 (zone 17), /d/h inode 5 (zone 18). Inodes are at byte 4096, zone N at byte N * 1024.
minix() {
	rm -f d
	truncate -s 1M d
	mkfs.minix -1 -n 14 -i 64 d >/dev/null
	poke 4100 '\120'
	poke 4109 '\003'
	poke 4128 '\244\201\0\0\0\040\0\0\0\0\0\0\0\001'
	poke 4142 '\007\0\010\0\011\0\012\0\013\0\014\0\015\0\016\0'
	poke 4160 '\244\201\0\0\0\004\0\0\0\0\0\0\0\001\020\0'
	poke 4192 '\355\101\0\0\060\0\0\0\0\0\0\0\0\002\021\0'
	poke 4224 '\244\201\0\0\0\004\0\0\0\0\0\0\0\001\022\0'
	poke 6176 '\002\0f'
	poke 6192 '\003\0g'
	poke 6208 '\004\0d'
	poke 14336 '\017\0'
	poke 17408 '\004\0.'
	poke 17424 '\001\0..'
	poke 17440 '\005\0h'
	fsck.minix -a -f d >/dev/null # sets the bitmaps
}
blank() { # SIZE MKFS...
	rm -f d
	truncate -s "$1" d
	shift
	"$@" d >/dev/null 2>&1 </dev/null
}

# ---- How it is judged ----------------------------------------------------------------------------

begin() { # NAME PROGRAM: false if it is not asked for, or the program is not installed
	name=$1 got=''
	case " $asked " in
	"  " | *" $1 "*) ;;
	*) return 1 ;;
	esac
	found=1
	command -v "$2" >/dev/null && return 0
	echo "$1: $2 is not installed"
	return 1
}
run() { # COMMAND...
	cp d before
	(
		ulimit -c 0
		timeout 10 "$@"
		exit $?
	) >out 2>&1 </dev/null
	got="$got $?"
	cmp -s d before || got=$got+
}
shows() { # STATUSES [TEXT]: a + follows the status of a run that changed the disk
	local ok=yes
	[ "$got" = " $1" ] || ok=no
	[ $# -lt 2 ] || grep -q -- "$2" out || ok=no
	[ "$ok" = yes ] || wrong=1
	echo "$name:$got $([ "$ok" = yes ] && echo "as found" || echo "DIFFERS from: $1 ${2-}")"
}
asked=$* found=0

# ---- e2fsck --------------------------------------------------------------------------------------

if begin e2fsck-journal-checksum e2fsck; then
	ext4
	dbg 'sif <8> block[5] 1'
	run e2fsck -fy d
	run e2fsck -fy d
	shows "1+ 8" "Superblock checksum does not match"
fi
if begin e2fsck-journal-backup e2fsck; then
	ext4
	dbg 'sif <8> block[4] 0xffff'
	run e2fsck -fy d
	run e2fsck -fy d
	shows "1+ 1+" "Superblock has an invalid journal"
fi
if begin e2fsck-quota-inode e2fsck; then
	ext4
	dbg 'ssv usr_quota_inum 13'
	run e2fsck -fy d
	run e2fsck -fy d
	run e2fsck -fy d
	run e2fsck -fy d
	shows "1+ 1+ 1+ 1+"
fi
if begin e2fsck-orphan-file e2fsck; then
	ext4
	dbg 'ssv orphan_file_inum 2'
	run e2fsck -fy d
	run e2fsck -fy d
	run e2fsck -fy d
	run e2fsck -fy d
	shows "1+ 1+ 1+ 1+"
fi
if begin e2fsck-last-block e2fsck; then
	ext4
	dbg 'sif f block[3] 0xfffffff0'
	run e2fsck -fy d
	run e2fsck -fy d
	run e2fsck -fy d
	shows "1+ 1+ 1+" "i_size is 4398046515200, should be 4398046515200"
fi
if begin e2fsck-dot-dot e2fsck; then
	ext4 -O ^metadata_csum
	block=$(debugfs -R 'blocks <11>' d 2>/dev/null | cut -d' ' -f1)
	poke $((block * 1024 + 16)) '\0\0'
	run e2fsck -fy d
	run e2fsck -fy d
	run e2fsck -fy d
	shows "4+ 4+ 4+" "Directory entry for '.' in ... (11) is big"
fi
if begin e2fsck-inline-flag e2fsck; then
	rm -f d
	mke2fs -q -F -t ext2 -b 1024 -I 256 -O ext_attr,dir_index,filetype,sparse_super d 2M \
		>/dev/null 2>&1
	dbg 'sif <2> flags 0x10000000'
	for _ in 1 2 3 4; do
		run e2fsck -fy d
	done
	shows "4+ 4+ 4+ 4+" "Cannot reconnect"
fi
if begin e2fsck-unused-inodes e2fsck; then
	ext4
	dbg 'set_bg 0 itable_unused 65535' 'set_bg 0 checksum calc'
	run e2fsck -fn d
	run e2fsck -fy d
	run e2fsck -fy d
	shows "12 0+ 0+" ""
fi
if begin e2fsck-descriptor e2fsck; then
	ext4
	poke 2078 '\0\0'
	run e2fsck -fn d
	run e2fsck -fy d
	shows "0 0+" "FIXED"
fi
if begin e2fsck-orphan-time e2fsck; then
	ext4 -O ^metadata_csum
	dbg 'ssv mtime 2000000000' 'sif f links_count 0' 'sif f dtime 5' 'unlink f'
	poke 1072 '\005\0\0\0'
	run e2fsck -fy d
	run e2fsck -fy d
	shows "1+ 1+" "was part of the orphaned inode list"
fi
if begin e2fsck-write-time e2fsck; then
	ext4 -O ^metadata_csum
	poke 1072 '\377\377\377\377'
	run e2fsck -fn d
	run e2fsck -fy d
	shows "0 0+" "last write time"
fi
if begin e2fsck-clone e2fsck; then
	ext4
	dbg 'ssv inodes_per_group 512'
	run e2fsck -fy d
	run e2fsck -fy d
	shows "1+ 1+"
fi
if begin e2fsck-block-uninit e2fsck; then
	ext4
	dbg 'set_bg 0 flags 1' 'set_bg 0 checksum calc'
	run e2fsck -fy d
	run e2fsck -fy d
	shows "1+ 1+" "Block bitmap differences"
fi
if begin e2fsck-device-flags e2fsck; then
	ext4
	dbg 'mknod dev b 1 2' 'sif dev flags 0xffff'
	run e2fsck -fy d
	run e2fsck -fy d
	shows "1+ 1+" "has immutable"
fi
if begin e2fsck-descriptor-size e2fsck; then
	ext4
	dbg 'ssv desc_size 0'
	run e2fsck -fy d
	shows "8" "SIGFPE"
fi
for field in "first_ino 40" "inode_size 512" "rev_level 0"; do
	if begin "e2fsck-trusts-${field%% *}" e2fsck; then
		ext4
		dbg "ssv $field"
		run e2fsck -fy d
		run e2fsck -fy d
		debugfs -R 'cat f' d >f.out 2>/dev/null
		cmp -s f.out file && wrong=1
		shows "1+ 1+"
	fi
done

# ---- fsck.minix ----------------------------------------------------------------------------------

if begin minix-root-dot fsck.minix; then
	minix
	poke 6144 '\002'
	run fsck.minix -a -f d
	cp out first
	run fsck.minix -a -f d
	cp first out
	shows "3+ 0" "Zone 7: marked in use, no file uses it"
fi
if begin minix-loop fsck.minix; then
	minix
	poke 17440 '\001\0h'
	run fsck.minix -a -f d
	cp out first
	run fsck.minix -a -f d
	cp first out
	shows "3+ 0" "i_nlinks=3, counted=100"
fi
if begin minix-double-indirect fsck.minix; then
	minix
	poke 4158 '\377\377'
	run fsck.minix -a -f d
	run fsck.minix -a -f d
	shows "3+ 0"
fi
if begin minix-indirect-status fsck.minix; then
	minix
	poke 14338 '\001'
	run fsck.minix -f d
	run fsck.minix -a -f d
	shows "4 0+" "Zone nr < FIRSTZONE"
fi
if begin minix-first-claims fsck.minix; then
	minix
	poke 4174 '\021'
	run fsck.minix -a -f d
	run fsck.minix -a -f d
	run fsck.minix -f -l d
	shows "3+ 0 0" "/d: bad directory: invalid i_zone"
fi
if begin minix-root-zone fsck.minix; then
	minix
	poke 4110 '\377\377'
	run fsck.minix -a -f d
	run fsck.minix -a -f d
	shows "7+ 0+" "bad directory: invalid i_zone"
fi
if begin minix-root-size fsck.minix; then
	minix
	poke 4100 '\377\377\377\377'
	run fsck.minix -a -f d
	shows "124" "block out of range"
fi

# ---- Others --------------------------------------------------------------------------------------

if begin reiserfs-loop reiserfsck; then
	blank 4M mkfs.reiserfs -q -ff -s 513
	poke 2175032 '\002'
	run reiserfsck -y -q --fix-fixable d
	shows "124"
fi
if begin reiserfs-abort reiserfsck; then
	blank 4M mkfs.reiserfs -q -ff -s 513
	poke 65537 '\002'
	run reiserfsck -y -q --fix-fixable d
	shows "134" "Assertion"
fi
if begin reiserfs-bitmaps reiserfsck; then
	blank 4M mkfs.reiserfs -q -ff -s 513
	poke 65606 '\0'
	run reiserfsck -y -q --rebuild-sb -j d d
	run reiserfsck -y -q --check d
	shows "0 8" "wrong either bitmaps number"
fi
if begin reiserfs-check-writes reiserfsck; then
	blank 40M mkfs.reiserfs -q -ff
	poke 65568 '\0'
	run reiserfsck -y -q --check d
	shows "0+" "Journal header is fixed"
fi
if begin jfs-status jfs_fsck; then
	blank 16M jfs_mkfs -q
	poke 65544 '\377\377\377\377'
	run jfs_fsck -n d
	run jfs_fsck -f -p d
	shows "4 0+" "Filesystem is clean"
fi
if begin jfs-links jfs_fsck; then
	blank 16M jfs_mkfs -q
	poke 115752 '\003'
	run jfs_fsck -n d
	run jfs_fsck -f -p d
	shows "0 1+" "Incorrect link counts"
fi
for at in 65571:200 32805:001 32808:377; do
	if begin "jfs-segv-${at%:*}" jfs_fsck; then
		blank 16M jfs_mkfs -q
		poke "${at%:*}" "\\${at#*:}"
		run jfs_fsck -f -p d
		shows "139+"
	fi
done
if begin exfat-bitmap-place fsck.exfat; then
	blank 4M mkfs.exfat
	poke 2109492 '\003'
	run fsck.exfat -y d
	run fsck.exfat -y d
	shows "0+ 4+" "corrupted upcase table"
fi
for at in 65579:000 9580576:377 9580683:001; do
	if begin "gfs2-segv-${at%:*}" fsck.gfs2; then
		blank 24M mkfs.gfs2 -O -q -p lock_nolock -J 8
		poke "${at%:*}" "\\${at#*:}"
		run fsck.gfs2 -f -y d
		shows "139+"
	fi
done
if begin gfs2-segv-65536 fsck.gfs2; then
	blank 24M mkfs.gfs2 -O -q -p lock_nolock -J 8
	poke 65536 '\0'
	run fsck.gfs2 -f -y d
	shows "139"
fi
if begin gfs2-root fsck.gfs2; then
	blank 24M mkfs.gfs2 -O -q -p lock_nolock -J 8
	poke 65631 '\042'
	run fsck.gfs2 -f -y d
	run fsck.gfs2 -f -y d
	run fsck.gfs2 -f -y d
	shows "1+ 1+ 1+"
fi
if begin f2fs-quota-inode fsck.f2fs; then
	blank 64M mkfs.f2fs -q
	poke 3772 '\377'
	run fsck.f2fs -f d
	shows "139"
fi
for value in 0xffffffffffffffff 11072; do
	if begin "xfs-log-start-$value" xfs_repair; then
		blank 16M mkfs.xfs -q --unsupported
		xfs_db -x -c 'sb 0' -c "write -d logstart $value" d >/dev/null 2>&1
		run xfs_repair -o force_geometry d
		shows "139"
	fi
done
if begin xfs-log-uuid xfs_repair; then
	blank 16M mkfs.xfs -q --unsupported
	poke 24880 '\0\0\0\0' # the identifier in the first record of the log
	run xfs_repair -n -o force_geometry d
	run xfs_repair -e -o force_geometry d
	run xfs_repair -e -o force_geometry d
	shows "0 0+ 1+" "root inode lost"
fi
if begin xfs-lsn xfs_repair; then
	blank 16M mkfs.xfs -q --unsupported
	xfs_db -x -c 'agf 0' -c 'write -d lsn 0x7fffffffffffffff' d >/dev/null 2>&1
	run xfs_repair -e -o force_geometry d
	run xfs_repair -e -o force_geometry d
	run xfs_repair -e -o force_geometry d
	shows "4+ 4+ 0"
fi

[ "$found" = 1 ] || {
	echo "$0: no such case" >&2
	exit 2
}
exit $wrong
