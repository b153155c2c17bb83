#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The museum without kernels: its rows and patches belong together, the patches apply to the source
# where it is unpacked, and the script says of each bug what a pretended assay found.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
export LC_ALL=C
rows=kernels/museum/rows.txt

tap_is "there are at least 24 bugs" "$([ "$(grep -vc '^#' $rows)" -ge 24 ] && echo yes)" yes
tap_is "each row has a patch, and each patch a row" \
	"$(grep -v '^#' $rows | sed 's/ .*//' | sort | xargs)" \
	"$(for p in kernels/museum/*.patch; do basename "$p" .patch; done | sort | xargs)"
tap_is "each row has six fields" \
	"$(grep -v '^#' $rows | awk -F ' [|] ' 'NF != 6 { print $1, NF }')" ""
tap_is "each patch names the fix that it undoes" "$(grep -L '^Undoes: ' kernels/museum/*.patch)" ""
tap_is "the workloads of rows are there" \
	"$(grep -v '^#' $rows | grep -o 'kernels/museum/[a-z]*\.txt' | sort -u |
		while read -r f; do [ -f "$f" ] || echo "$f"; done)" ""
for f in kernels/museum/{again,cut,fsync,read,remount,rename,times,truncate,zero}.txt; do
	"$ASSAY" fmt "$f" >/dev/null 2>&1
	tap_is "$f is a workload" $? 0
done
"$ASSAY" run --target lab --no-store kernels/museum/stable.txt >"$WORK/out" 2>&1
tap_is "those for power cuts are all right" $? 0

source=$(find "${XDG_CACHE_HOME:-$HOME/.cache}/assay/kernels/source" -maxdepth 1 \
	-name 'linux-source-6.12*' -type d 2>/dev/null | head -n 1)
for p in kernels/museum/*.patch; do
	if [ ! -f "$source/Makefile" ]; then
		tap_skip "$p applies" "the source of 6.12 is not unpacked: assay kernel build"
		continue
	fi
	patch -d "$source" -p1 --dry-run --force --fuzz 0 <"$p" >"$WORK/out" 2>&1
	tap_is "$p applies" $? 0
done

# A pretended assay: it finds ext4-rename-ctime, nilfs2-set-link also without the patch, and fails
# to build the kernel with nilfs2-init-sem.
cat >"$WORK/assay" <<'END'
#!/bin/bash
echo "$*" >>"$(dirname "$0")/calls"
if [ "$1" = kernel ]; then
	[[ "$*" != *nilfs2-init-sem* ]] || { echo "no kernel today"; exit 2; }
	exit 0
fi
kernel= out=
for ((i = 1; i < $#; i++)); do
	[ "${!i}" != --kernel ] || { j=$((i + 1)) kernel=${!j}; }
	[ "${!i}" != -o ] || { j=$((i + 1)) out=${!j}; }
done
signature=
case "$*" in
*ext4:noatime*) [ "$kernel" = plain ] || signature="state: times of a file; after rename" ;;
*rename.txt*) signature="BUG: nilfs_set_link" ;;
esac
[ -n "$signature" ] || exit 0
mkdir -p "$out/findings/x-1"
printf '{ "signature": "%s" }\n' "$signature" >"$out/findings/x-1/finding.json"
printf '@seed 1\nmkdir /a 0755\nrename /a /b\n' >"$out/findings/x-1/workload.txt"
exit 1
END
chmod +x "$WORK/assay"
scripts/museum.sh "$WORK/assay" ext4-rename-ctime ext4-truncate-up-times f2fs-setxattr-ctime \
	nilfs2-set-link nilfs2-init-sem >"$WORK/table" 2>&1
tap_is "not all were found" $? 1
tap_like "found" "$WORK/table" \
	'^| ext4-rename-ctime | posix | yes | [0-9]* | 2 | state: times of a file; after rename |$'
tap_like "not found" "$WORK/table" '^| f2fs-setxattr-ctime | posix | \*\*no\*\* | > 60 | | |$'
tap_like "proves nothing" "$WORK/table" \
	'^| nilfs2-set-link | error | also without the patch: BUG: nilfs_set_link | '
tap_like "no kernel" "$WORK/table" '^| nilfs2-init-sem | deadlock | no kernel: no kernel today | '
tap_is "two bugs of one file system are in two kernels, others share one" \
	"$(grep -c '^kernel build plain' "$WORK/calls")" 2
tap_done
