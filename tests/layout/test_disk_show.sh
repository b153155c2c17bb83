#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# assay disk show: values as the type's own tools print them, the difference of two disks, and what
# it refuses.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
ASSAY=$(realpath "$ASSAY")
export LC_ALL=C PATH=$PATH:/sbin:/usr/sbin
cd "$WORK" || exit 1

mkdir -p tree/d
head -c 30000 /dev/zero | tr '\0' x >tree/f
ln tree/f tree/d/hard
ln -s / tree/d/link
for i in $(seq 50); do : >"tree/d/f$i"; done

# value STRUCTURE INSTANCE FIELD DISK...: the first word of the value.
value() {
	local structure=$1 instance=$2 field=$3
	shift 3
	"$ASSAY" disk show --structure "$structure" "$@" |
		awk -v instance="$instance" -v field="$field" '
		/^[^ ]/ { here = index($0, instance " (") == 1; next }
		here && $1 == field { print $2; exit }'
}
hex() { printf '0x%x\n' "$1"; }
here() { # PROGRAM...: all are here, or the test is skipped
	local program
	for program; do
		command -v "$program" >/dev/null && continue
		tap_skip "$program" "it is not here"
		return 1
	done
}

# ---- ext4 ----------------------------------------------------------------------------------------
if here mke2fs dumpe2fs debugfs; then
	mke2fs -q -F -t ext4 -b 1024 -d tree ext4.img 8M
	dumped() { dumpe2fs -h ext4.img 2>/dev/null | sed -n "s/^$1: *//p"; }
	tap_is "ext4: inodes" "$(value super superblock s_inodes_count ext4.img)" \
		"$(dumped 'Inode count')"
	tap_is "ext4: blocks" "$(value super superblock s_blocks_count_lo ext4.img)" \
		"$(dumped 'Block count')"
	tap_is "ext4: free blocks" "$(value super superblock s_free_blocks_count_lo ext4.img)" \
		"$(dumped 'Free blocks')"
	tap_is "ext4: checksum" "$(value super superblock s_checksum ext4.img)" \
		"$(hex "$(dumped Checksum)")"
	tap_is "ext4: inode table" "$(value group 'group 0' bg_inode_table_lo ext4.img)" \
		"$(dumpe2fs ext4.img 2>/dev/null |
			sed -n 's/^  Inode table at \([0-9]*\)-.*/\1/p' | head -n 1)"
	ino=$(debugfs -R 'stat /f' ext4.img 2>/dev/null | sed -n 's/^Inode: \([0-9]*\).*/\1/p')
	tap_run "ext4: one file, by any of its names" 0 "$ASSAY" disk show --path /f ext4.img
	tap_like "ext4: its size" "$WORK/out" '^  i_size_lo  *30000$'
	tap_like "ext4: its links" "$WORK/out" '^  i_links_count  *2$'
	tap_like "ext4: its number" "$WORK/out" "^inode $ino of /"
	tap_like "ext4: its mode" "$WORK/out" '^  i_mode  *0100644 \(regular file\)$'
	tap_is "ext4: its extent" \
		"$("$ASSAY" disk show --path /f ext4.img |
			awk '$1 == "ee_start_lo" { print $2 }')" \
		"$(debugfs -R 'blocks /f' ext4.img 2>/dev/null | awk '{ print $1 }')"

	cp ext4.img other.img
	tap_run "no difference" 0 "$ASSAY" disk show ext4.img --diff other.img
	tap_is "is said" "$(cat "$WORK/out")" "no difference"
	debugfs -w -R 'sif /d/f1 mode 040644' other.img 2>/dev/null
	debugfs -w -R 'rm /d/f2' other.img 2>/dev/null
	tap_run "a difference" 0 "$ASSAY" disk show ext4.img --diff other.img
	tap_like "in words" "$WORK/out" \
		'of /d/f1: i_mode was 0100644 \(regular file\), is 040644 \(directory\)$'
	tap_like "a bit of a bitmap" "$WORK/out" \
		'^inode bitmap of group 0: inode [0-9]+ was used, is free$'
	tap_like "what is gone" "$WORK/out" '^entry f2 of /d: only on the first disk'
	tap_run "one structure of it" 0 \
		"$ASSAY" disk show ext4.img --diff other.img --structure dir_entry
	tap_is "is all" "$(grep -vc '^entry' "$WORK/out")" 0
	# Without its magic, the second disk cannot be walked.
	cp ext4.img bare.img
	printf '\0\0' | dd of=bare.img bs=1 seek=1080 conv=notrunc status=none
	tap_run "a difference in the magic" 0 "$ASSAY" disk show ext4.img --diff bare.img
	tap_is "it is told" "$(cat "$WORK/out")" "superblock: s_magic was 0xef53, is 0x0"
	truncate -s 1M of-minix.img
	if here mkfs.minix && mkfs.minix of-minix.img >/dev/null; then
		tap_run "two types" 2 "$ASSAY" disk show ext4.img --diff of-minix.img
		tap_like "are told" "$WORK/err" "the first disk is of ext, of-minix.img is of minix"
	fi
	tap_run "as JSON" 0 "$ASSAY" disk show ext4.img --diff other.img --json
	tap_like "with both values" "$WORK/out" \
		'"field":"i_mode","offset":[0-9]+,"before":33188,"after":16804'
	tap_run "fields as JSON" 0 "$ASSAY" disk show ext4.img --structure super --json
	tap_like "with role" "$WORK/out" '"field":"s_magic","kind":"magic","role":"super.magic"'
	tap_like "and place" "$WORK/out" '"offset":1080,"bytes":2.*"value":61267'

	tap_run "another type" 2 "$ASSAY" disk show --type xfs ext4.img
	tap_like "is refused" "$WORK/err" 'ext4.img: the disk has no superblock of xfs'
	tap_run "an unknown type" 2 "$ASSAY" disk show --type apple ext4.img
	tap_like "is refused" "$WORK/err" 'the structures of apple are not described'
	tap_run "an unknown structure" 2 "$ASSAY" disk show --structure apple ext4.img
	tap_run "an unknown path" 2 "$ASSAY" disk show --path /apple ext4.img
	printf 'layout x\nstructure s at=0 size=8\n a 0 4 count\n b 3 2 count\n' >bad.layout
	tap_run "a description that overlaps" 2 "$ASSAY" disk show --layout bad.layout ext4.img
	tap_like "is told by its place" "$WORK/err" 'bad.layout:4:2: the field overlaps a of line 3'
	printf 'layout x\nstructure s at=99999999 size=8\n a 0 4 count\n' >far.layout
	tap_run "a description beyond the disk" 2 "$ASSAY" disk show --layout far.layout ext4.img
	tap_like "is told by its place" "$WORK/err" 'far.layout:2:11: s would be at byte 99999999'
	printf 'layout x\nstructure s at=1080 size=8\n a 0 2 magic\n' >good.layout
	tap_run "a description of one's own" 0 "$ASSAY" disk show --layout good.layout ext4.img
	tap_like "shows its fields" "$WORK/out" '^  a  *0xef53$'
fi
truncate -s 1M zeros.img
tap_run "a disk of nothing" 2 "$ASSAY" disk show zeros.img
tap_like "is refused" "$WORK/err" 'zeros.img: the disk has no magic of a type that is described'
tap_run "an option of show" 2 "$ASSAY" disk info --json zeros.img

# ---- xfs -----------------------------------------------------------------------------------------
if here mkfs.xfs xfs_db; then
	printf 'x\n0 0\nd--755 0 0\nf ---644 3 4 %s\nd d--755 0 0\n$\n$\n' "$WORK/tree/f" >proto
	truncate -s 16M xfs.img
	TEST_DIR=/ TEST_DEV=/ QA_CHECK_FS=y mkfs.xfs -q -f -p proto xfs.img
	db() { xfs_db -r -c "$1" -c "p $2" xfs.img | sed 's/.* = //; s/ (.*//'; }
	for pair in dblocks:sb_dblocks rootino:sb_rootino fdblocks:sb_fdblocks icount:sb_icount \
		versionnum:sb_versionnum; do
		tap_is "xfs: ${pair%:*}" \
			"$(value super 'superblock of group 0' "${pair#*:}" xfs.img)" \
			"$(db 'sb 0' "${pair%:*}")"
	done
	tap_is "xfs: freeblks" "$(value agf 'free space header of group 0' agf_freeblks xfs.img)" \
		"$(db 'agf 0' freeblks)"
	tap_is "xfs: root" "$(value agi 'inode header of group 0' agi_root xfs.img)" \
		"$(db 'agi 0' root)"
	ino=$("$ASSAY" disk show --path /f xfs.img | sed -n 's/^inode \([0-9]*\) of .*/\1/p')
	tap_is "xfs: size" "$(value inode "inode $ino of /f" di_size xfs.img)" \
		"$(db "inode $ino" core.size)"
	tap_is "xfs: owner" "$(value inode "inode $ino of /f" di_uid xfs.img)" \
		"$(hex "$(db "inode $ino" core.uid)")"
fi

# ---- btrfs ---------------------------------------------------------------------------------------
if here mkfs.btrfs btrfs; then
	truncate -s 112M btrfs.img
	mkfs.btrfs -q -f --rootdir tree btrfs.img >/dev/null 2>&1
	sb() { btrfs inspect-internal dump-super btrfs.img | awk -v k="$1" '$1 == k { print $2 }'; }
	for name in generation root chunk_root total_bytes bytes_used nodesize num_devices; do
		tap_is "btrfs: $name" "$(value super superblock "$name" btrfs.img)" "$(sb "$name")"
	done
	tap_run "btrfs: a file" 0 "$ASSAY" disk show --path /f --structure inode_item btrfs.img
	tap_like "btrfs: its size" "$WORK/out" '^  size  *30000$'
fi

# ---- f2fs ----------------------------------------------------------------------------------------
if here mkfs.f2fs sload.f2fs dump.f2fs; then
	truncate -s 64M f2fs.img
	mkfs.f2fs -q -f f2fs.img >/dev/null 2>&1
	sload.f2fs -f tree f2fs.img >/dev/null 2>&1
	# "main_blkaddr  [0x    1e00 : 7680]"
	dump.f2fs -d 3 f2fs.img >f2fs.txt 2>&1
	d3() { sed -n "s/^$1 .*: \([0-9]*\)\].*/\1/p" f2fs.txt | head -n 1; }
	for name in segment_count main_blkaddr nat_blkaddr root_ino block_count; do
		tap_is "f2fs: $name" "$(value super superblock "$name" f2fs.img)" "$(d3 "$name")"
	done
	tap_run "f2fs: a file" 0 "$ASSAY" disk show --path /f --structure inode f2fs.img
	tap_like "f2fs: its size" "$WORK/out" '^  i_size  *30000$'
fi

# ---- reiserfs, jfs, gfs2, minix, vfat ------------------------------------------------------------
if here mkreiserfs debugreiserfs; then
	truncate -s 40M reiserfs.img
	mkreiserfs -q -f -f reiserfs.img >/dev/null 2>&1
	debugreiserfs reiserfs.img >reiserfs.txt 2>/dev/null
	tap_is "reiserfs: blocks" "$(value super superblock s_block_count reiserfs.img)" \
		"$(sed -n 's/^Count of blocks on the device: //p' reiserfs.txt)"
	tap_is "reiserfs: free blocks" "$(value super superblock s_free_blocks reiserfs.img)" \
		"$(sed -n 's/^Free blocks.*: //p' reiserfs.txt)"
	tap_is "reiserfs: root" "$(value super superblock s_root_block reiserfs.img)" \
		"$(sed -n 's/^Root block: //p' reiserfs.txt)"
	tap_is "reiserfs: height" "$(value super superblock s_tree_height reiserfs.img)" \
		"$(sed -n 's/^Tree height: //p' reiserfs.txt)"
fi
if here mkfs.jfs jfs_debugfs; then
	truncate -s 16M jfs.img
	mkfs.jfs -q jfs.img >/dev/null 2>&1
	printf 'su\nx\nq\n' | jfs_debugfs jfs.img >jfs.txt 2>&1
	jfs_hex() { sed -n "s/.*$1:[ \t]*\(0x[0-9a-f]*\).*/\1/p" jfs.txt | head -n 1; }
	tap_is "jfs: blocks" "$(hex "$(value super superblock s_size jfs.img)")" \
		"$(hex "$(jfs_hex s_size)")"
	tap_is "jfs: group" "$(hex "$(value super superblock s_agsize jfs.img)")" \
		"$(hex "$(jfs_hex s_agsize)")"
	tap_is "jfs: the root is a directory" \
		"$("$ASSAY" disk show --path / --structure inode jfs.img |
			grep -c '(directory)$')" 1
fi
if here mkfs.gfs2 gfs2_edit; then
	truncate -s 32M gfs2.img
	mkfs.gfs2 -q -O -p lock_nolock -j 1 -J 8 gfs2.img >/dev/null 2>&1
	gfs2_edit -p sb "$WORK/gfs2.img" >gfs2.txt 2>/dev/null
	g2() { sed -n "s/^ *$1 *\([0-9]*\) .*/\1/p" gfs2.txt | head -n 1; }
	tap_is "gfs2: block size" "$(value super superblock sb_bsize gfs2.img)" "$(g2 sb_bsize)"
	tap_is "gfs2: format" "$(value super superblock sb_fs_format gfs2.img)" \
		"$(g2 sb_fs_format)"
	tap_run "gfs2: the root" 0 "$ASSAY" disk show --path / --structure dinode gfs2.img
	tap_like "gfs2: is a directory" "$WORK/out" 'di_mode  *040755 \(directory\)'
fi
at() { od -An -v -j "$2" -N "$3" -t "u$3" "$1" | tr -d ' '; }
if here mkfs.minix; then
	for version in 1 2 3; do
		truncate -s 1M minix.img
		mkfs.minix -$version minix.img >/dev/null
		structure=super
		field=s_zones
		zones=1044
		bytes=4
		[ $version != 3 ] || structure=super3
		[ $version != 1 ] || { field=s_nzones; zones=1026; bytes=2; }
		tap_is "minix $version: zones" \
			"$(value $structure superblock $field minix.img)" \
			"$(at minix.img $zones $bytes)"
		tap_is "minix $version: the root" \
			"$("$ASSAY" disk show --path / minix.img | grep -c '(directory)$')" 1
	done
fi
if here mkfs.vfat; then
	for bits in 12 16 32; do
		rm -f vfat.img
		truncate -s $((bits * bits / 12))M vfat.img
		mkfs.vfat -F $bits -i 61737361 vfat.img >/dev/null
		tap_is "FAT$bits: serial number" \
			"$("$ASSAY" disk show --structure boot vfat.img |
				awk '/volume_id/ { print $2; exit }')" 0x61737361
		tap_is "FAT$bits: reserved sectors" \
			"$(value boot 'boot sector' reserved vfat.img)" "$(at vfat.img 14 2)"
		# A directory without clusters, as fsck.fat leaves some, seems to be the root.
		if [ $bits != 32 ]; then
			root=$(od -An -v -tu2 -j14 -N2 vfat.img)
			tables=$(od -An -v -tu1 -j16 -N1 vfat.img)
			tables=$((tables * $(od -An -v -tu2 -j22 -N2 vfat.img)))
			printf 'A          \020' | dd of=vfat.img bs=1 conv=notrunc status=none \
				seek=$(((root + tables) * 512))
			(
				[ -n "${SAN:-}" ] || ulimit -v 1000000
				timeout 20 "$ASSAY" disk show vfat.img
			) >own.txt
			tap_is "FAT$bits: a directory that is its own" \
				"$(grep -c 'entry of /A$\|entry of /A ' own.txt)" 1
		fi
	done
fi
tap_done
