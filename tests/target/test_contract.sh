#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a plugin says of itself (struct as_contract): a plugin that keeps its word passes, one that
# breaks it is found, and one that says less is held to less. And plugins that were built before
# there was a contract are loaded as ever.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

CASES=examples/flashfs/cases

# flashfs NAME [SED FILE]...: flashfs with changes; a change that changes nothing is a mistake here.
flashfs() {
	local name=$1
	shift
	mkdir -p "$WORK/$name"
	cp examples/flashfs/*.[ch] examples/flashfs/bugs.def "$WORK/$name"
	while [ $# -gt 1 ]; do
		sed -i.bak -E "$1" "$WORK/$name/$2"
		cmp -s "$WORK/$name/$2" "$WORK/$name/$2.bak" &&
			tap_not_ok "building $name" "flashfs has no such line: $1"
		shift 2
	done
	${CC:-cc} -fPIC -shared -Wl,-Bsymbolic -Iinclude "$WORK/$name"/*.c -o "$WORK/$name.so" ||
		tap_not_ok "building $name"
}

passes() { # NAME COMMAND FILE OPTIONS [FLASH]
	# shellcheck disable=SC2086 # options are words
	tap_run "$1 passes: $2 ${3##*/} $4" 0 "$ASSAY" "$2" --no-store \
		--target "plugin:$WORK/$1.so${5:+:$5}" $4 "$3"
}

finds() { # NAME COMMAND FILE OPTIONS WORDS [FLASH]
	# shellcheck disable=SC2086 # options are words
	tap_run "$1 is found: $2 ${3##*/} $4" 1 "$ASSAY" "$2" --no-store \
		--target "plugin:$WORK/$1.so${6:+:$6}" $4 "$3"
	tap_like "$1: the words" "$WORK/out" "$5"
}

no_promise() { # NAME FLAG: flashfs that does not promise this
	flashfs "$1" "s/$2( \\| )?//; s/ \\| ,/,/; s/= ,/= 0,/" ops.c
}

# ---- Promises: bugs of flashfs break one each; without the promise they are none ----

CUT="--view 1"
OFF=flash.tear=off
flashfs whole
finds whole crash $CASES/small.txt "$CUT" 'after close of' bug=11,$OFF
finds whole crash $CASES/small.txt "$CUT" 'persisted: after mkdir' bug=14,$OFF
finds whole crash $CASES/small.txt "$CUT" 'all of its old contents or all of the new' bug=15,$OFF
no_promise mixed AS_PROMISE_WHOLE_FILES
passes mixed crash $CASES/small.txt "$CUT" bug=15,$OFF
printf 'mkdir /a 0755\nmkdir /a/b 0755\nsync\nmkdir /c 0755\n' >"$WORK/names.txt"
no_promise late AS_PROMISE_NAMES_NOW
finds whole crash "$WORK/names.txt" "$CUT" 'persisted: after mkdir' bug=14,$OFF
passes late crash "$WORK/names.txt" "$CUT" bug=14,$OFF
finds late crash $CASES/small.txt "$CUT" 'after close of' bug=11,$OFF

# Data and sizes that wait for the close are meant if that is said, and otherwise out of order.
cat >"$WORK/waits.txt" <<'END'
$0 = open /a O_RDWR|O_CREAT 0644
pwrite $0 len=900 at=0 fill=1
fsync $0
ftruncate $0 100
mkdir /d 0755
mkdir /e 0755
close $0
END
passes whole crash "$WORK/waits.txt" "$CUT" $OFF
no_promise waits AS_PROMISE_AT_CLOSE
finds waits crash "$WORK/waits.txt" "$CUT" 'size: /a can have 100 bytes at most' $OFF

# fsync makes the name stable, too: of a library whose names are late otherwise.
cat >"$WORK/named.txt" <<'END'
mkdir /d 0755
$0 = open /d/a O_RDWR|O_CREAT 0644
pwrite $0 len=900 at=0 fill=1
fsync $0
stat /d
END
flashfs named 's/AS_PROMISE_NAMES_NOW/AS_PROMISE_FSYNC_NAMES/' ops.c
passes named crash "$WORK/named.txt" "$CUT" $OFF
finds named crash "$WORK/named.txt" "$CUT" 'after fsync of /d/a.* must exist' bug=14,$OFF

# Nothing is promised but by sync: names and closes may be late; what was synced is not lost.
cat >"$WORK/synced.txt" <<'END'
create /kept 0644
$0 = open /kept O_RDWR
pwrite $0 len=900 at=0 fill=1
sync
create /other 0644
close $0
END
ONLY='s/\.promises = .*/.promises = AS_PROMISE_ONLY_SYNC,/'
flashfs synced "$ONLY" ops.c
passes synced crash $CASES/small.txt "$CUT" bug=11,$OFF
passes synced crash "$WORK/names.txt" "$CUT" bug=14,$OFF
flashfs unsynced "$ONLY" ops.c 's/int now = ff_flush\(fs, fs->nodes\[i\]\);/int now = 0;/' mount.c
finds unsynced crash "$WORK/synced.txt" "$CUT" 'after sync' bug=11,$OFF

# ---- What differs from POSIX, and is meant ----

cat >"$WORK/open.txt" <<'END'
mkdir /d 0755
create /d/other 0644
$0 = open /d/open O_RDWR|O_CREAT 0644
unlink /d/open
rename /d/other /d/open
remove /d
prune /
close $0
stat /d
END
passes whole run "$WORK/open.txt" ""
TEXT='s/-EBUSY : drop/-ETXTBSY : drop/; s/opens \? -EBUSY : 0/opens ? -ETXTBSY : 0/'
flashfs text "$TEXT" ops.c
finds text run "$WORK/open.txt" "" 'unlink /d/open: returned -1 ETXTBSY'
flashfs said "$TEXT; "'s/busy_errno = EBUSY/busy_errno = ETXTBSY/' ops.c
passes said run "$WORK/open.txt" ""

cat >"$WORK/stat.txt" <<'END'
mkdir /d 0755
create /d/f 0644
create /d/g 0644
stat /d/f
stat /d
rename /d/f /d/h
END
flashfs links 's/\.nlink = 1/.nlink = 7/' ops.c
passes links run "$WORK/stat.txt" ""
flashfs counted 's/\.nlink = 1/.nlink = 7/; s/AS_MEANS_NLINK_ANY \| //' ops.c
finds counted run "$WORK/stat.txt" "" 'link count 7'
flashfs numbers 's/\.ino = node->ino/.ino = 0/; s/(AS_MEANS_)(NLINK)(_ANY)/&|\1INO\3/' ops.c
passes numbers run "$WORK/stat.txt" "--check op"
passes numbers crash "$WORK/stat.txt" "$CUT" $OFF

# It finds at close that flash is full, and what was written is lost.
cat >"$WORK/full.txt" <<'END'
$0 = open /a O_RDWR|O_CREAT 0644
pwrite $0 len=20000 at=0 fill=1
close $0
$0 = open /b O_RDWR|O_CREAT 0644
pwrite $0 len=20000 at=0 fill=2
close $0
stat /b
END
full() { # NAME STATUS
	tap_run "$1: a full flash" "$2" "$ASSAY" run --no-store --size 32K \
		--target "plugin:$WORK/$1.so:flash.erase=2048" "$WORK/full.txt"
}
GUESS='s/if \(good < FF_RESERVE.*/if (!good)/'
flashfs drops "$GUESS" gc.c
full drops 0
# But no name, no other file and no space, seen at once and without power cuts.
PAIRFS=$(dirname "$ASSAY")/plugins/pairfs.so
cat >"$WORK/others.txt" <<'END'
$1 = open /kept O_RDWR|O_CREAT 0644
pwrite $1 len=5000 at=0 fill=9
close $1
$0 = open /a O_RDWR|O_CREAT 0644
pwrite $0 len=40000 at=0 fill=1
pwrite $0 len=4096 at=40960 fill=1
stat /kept
END
{
	sed 's/len=40000/len=32000/' "$WORK/others.txt" | head -n 5
	printf 'mkdir /d%d 0755\n' 1 2
	echo 'readdir /'
} >"$WORK/dirs.txt"
others() { # BUG STATUS FILE [WORDS]
	tap_run "ENOSPC, bug $1: $3" "$2" "$ASSAY" run --no-store --size 64K \
		--target "plugin:$PAIRFS:bug=$1" "$WORK/$3"
	[ -z "$4" ] || tap_like "bug $1: the words" "$WORK/out" "$4"
}
others 0 0 others.txt
others 14 1 others.txt '/kept: byte at offset 0 is 0x00'
others 0 0 dirs.txt
others 12 1 dirs.txt 'free blocks after another mount'
others 13 1 dirs.txt 'mkdir /d2 0755: /d2: should not be there'
# What was stable before may not be lost with it.
cat >"$WORK/stable.txt" <<'END'
$0 = open /a O_RDWR|O_CREAT 0644
pwrite $0 len=900 at=0 fill=1
close $0
$0 = open /b O_RDWR|O_CREAT 0644
pwrite $0 len=30000 at=0 fill=2
close $0
END
FULL="--size 32K --view 1"
passes drops crash "$WORK/stable.txt" "$FULL" flash.erase=2048,$OFF
LOSES='/^int ff_begin/,/^}/s/return -ENOSPC;/{ (void)as_flash_erase(fs->flash, 0); & }/'
flashfs loses "$GUESS" gc.c "$LOSES" gc.c
finds loses crash "$WORK/stable.txt" "$FULL" 'power cut during op 6' flash.erase=2048,$OFF
flashfs denies "$GUESS" gc.c 's/ \| AS_MEANS_FULL_DROPS//' ops.c
full denies 1
tap_like "denies: the words" "$WORK/out" ENOSPC

# A call that fails, and has been done all the same.
cat >"$WORK/failed.txt" <<'END'
create /a 0644
rename /a /b
stat /b
END
# skeleton NAME SED
skeleton() {
	sed -E "$2" examples/plugin_skeleton/skeleton.c >"$WORK/$1.c"
	cmp -s "$WORK/$1.c" examples/plugin_skeleton/skeleton.c &&
		tap_not_ok "building $1" "the skeleton has no such line"
	${CC:-cc} -fPIC -shared -Iinclude "$WORK/$1.c" -o "$WORK/$1.so" ||
		tap_not_ok "building $1"
}
AGAIN='rc = put(fs, from.number, \&from.record)'
UNLOCK='as_unlock(fs->host, "names", 0)'
DONE="s/rc = put\\(fs, from.number, &from.record\\);/$AGAIN; if (rc \\&\\& ($AGAIN) == 0) {\
 $UNLOCK; return -EIO; }/"
# A contract for the skeleton.
says() {
	printf '%s' "s/^const struct as_target_ops as_target = \\{/static const struct" \
		" as_contract contract = { $1 };\\n&/;" \
		"s/\\.limits = &limits,/&.contract = \\&contract,/"
}
skeleton forward "$DONE"
finds forward run "$WORK/failed.txt" "--sweep write --size 256K" 'rename'
skeleton forwards "$DONE; $(says ".semantics = AS_MEANS_FAILED_MAYBE_DONE")"
passes forwards run "$WORK/failed.txt" "--sweep write --size 256K"

# Handles with views of their own: what one writes, others see from its sync or close on.
cat >"$WORK/views.txt" <<'END'
$0 = open /f O_RDWR|O_CREAT 0644
pwrite $0 len=900 at=0 fill=1
$1 = open /f O_RDONLY
pread $1 len=900 at=0
fstat $0
stat /f
close $1
fsync $0
$1 = open /f O_RDWR|O_TRUNC
pread $0 len=900 at=0
pwrite $1 len=100 at=50 fill=2
stat /f
close $1
stat /f
pwrite $0 len=10 at=5 fill=3
close $0
stat /f
$0 = open /f O_RDWR
ftruncate $0 77
stat /f
sync
stat /f
END
views() { # NAME OPTIONS...
	local name=$1
	shift
	${CC:-cc} -fPIC -shared -Iinclude "$@" tests/target/plugins/views.c -o "$WORK/$name.so" ||
		tap_not_ok "building $name"
}
views own -DDECLARES
passes own run "$WORK/views.txt" "--check op"
tap_run "own passes a hunt" 0 "$ASSAY" hunt --target "plugin:$WORK/own.so" --max-workloads 200 \
	-o "$WORK/own"
tap_run "own passes a hunt with faults" 0 "$ASSAY" hunt --target "plugin:$WORK/own.so" --faults \
	--max-workloads 32 -o "$WORK/own.f"
views quiet -DQUIET
finds quiet run "$WORK/views.txt" "" 'pread .1 len=900 at=0: returned 0, model says 900'
views shared -DDECLARES -DPLAIN
finds shared run "$WORK/views.txt" "" 'pread .1 len=900 at=0: returned 900, model says 0'
views unshared -DDECLARES -DCLOSE_FORGETS
finds unshared run "$WORK/views.txt" "" 'size 900, model says 150'

# A library without directories: it says so, or mkdir is judged.
cat >"$WORK/flat.txt" <<'END'
create /f 0644
create /g 0644
mkdir /d 0755
mkdir /g 0755
deepen / 2
rmdir /g
rename /f /h
stat /h
END
NO_DIRS='s/\.mkdir = fs_mkdir/.mkdir = no_dirs/
s/^static const struct as_limits limits/static int no_dirs(struct as_fs *fs, const char *path,'
NO_DIRS+=' uint32_t mode)\n{\n\tstruct place p;\n\tint rc = walk(fs, path, \&p);\n\n\t(void)mode;\n'
NO_DIRS+='\treturn rc ? rc : p.there ? -EEXIST : -EPERM;\n}\n\n&/
'
skeleton flat "$NO_DIRS$(says ".semantics = AS_MEANS_FLAT")"
passes flat run "$WORK/flat.txt" "--check op --size 256K"
tap_run "flat passes a hunt" 0 "$ASSAY" hunt --target "plugin:$WORK/flat.so" --max-workloads 100 \
	-o "$WORK/flat.d"
tap_like "directories are left out" "$WORK/out" 'cannot do them: mkdir, .*rmdir'
"$ASSAY" plugin check --no-store "$WORK/flat.so" >"$WORK/out"
tap_like "it is said" "$WORK/out" '^means .*flat'
skeleton hilly "$NO_DIRS"
finds hilly run "$WORK/flat.txt" "--size 256K" 'mkdir /d 0755: returned -1 EPERM, model says 0'
# It says so, but a rename makes one.
skeleton hill "$NO_DIRS$(says ".semantics = AS_MEANS_FLAT")
s/from\.record\.parent = /from.record.mode = S_IFDIR | 0755;\n&/"
finds hill run "$WORK/flat.txt" "--check op --size 256K" '/h: is a directory, model says a regular'

# What is declared is no excuse for more.
flashfs worse_busy "$TEXT" ops.c 's/busy_errno = EBUSY/busy_errno = EPERM/' ops.c
finds worse_busy run "$WORK/open.txt" "" 'unlink /d/open: returned -1 ETXTBSY'
flashfs uncounted 's/\.ino = node->ino/.ino = 0/' ops.c
finds uncounted run "$WORK/stat.txt" "--check op" 'inode number 0 is that of another file'

# ---- After a call has failed ----

cat >"$WORK/after.txt" <<'END'
create /a 0644
$0 = open /a O_RDWR
pwrite $0 len=600 at=0 fill=1
fsync $0
pwrite $0 len=300 at=100 fill=2
fsync $0
fsync $0
mkdir /d 0755
close $0
END
# means NAME MEANS SED FILE...: flashfs that does not try again when a program fails
ONCE='s/^(.*)\/\* The block is bad; what.*/\1return rc; &/'
means() {
	local name=$1 said=$2
	shift 2
	if [ -n "$said" ]; then
		flashfs "$name" "$ONCE" log.c "s/AS_MEANS_FULL_DROPS/& | $said/" ops.c "$@"
	else
		flashfs "$name" "$ONCE" log.c "$@"
	fi
}
FAULT="$CUT --fault write:6:eio"
# It turns read-only.
OFF_NOW='s/return rc;\s*\/\* The block/fs->readonly = true; &/'
HONEST='s/fs->readonly \? 0 : ff_sync/fs->readonly ? -EIO : ff_sync/'
TELLS='s/fs->readonly \? 0 : ff_flush/fs->readonly ? -EROFS : ff_flush/'
means stops "" "$OFF_NOW" log.c "$HONEST" mount.c "$TELLS" ops.c
finds stops run "$WORK/after.txt" "--fault program:6:eio" 'EROFS'
finds stops crash "$WORK/after.txt" "$FAULT" 'EROFS' $OFF
means stopped AS_MEANS_FAILED_READ_ONLY "$OFF_NOW" log.c "$HONEST" mount.c "$TELLS" ops.c
passes stopped run "$WORK/after.txt" "--fault program:6:eio"
passes stopped crash "$WORK/after.txt" "$FAULT" $OFF
# It says so, but the unmount claims what was never written.
means claims AS_MEANS_FAILED_READ_ONLY "$OFF_NOW" log.c "$TELLS" ops.c
finds claims crash "$WORK/after.txt" "$FAULT" 'after umount' $OFF

# An fsync that fails forgets what it could not write.
FORGET='s/^(.*)rc = write_pages\(fs, node\);/\1{ rc = write_pages(fs, node);'
FORGET+=' node->changed = node->changed \&\& rc != -EIO; }/'
means forgets "" "$FORGET" file.c
finds forgets crash "$WORK/after.txt" "$FAULT" 'after fsync' $OFF
means forgot AS_MEANS_SYNC_FORGETS "$FORGET" file.c
passes forgot crash "$WORK/after.txt" "$FAULT" $OFF
# It says so, but loses what an earlier fsync has made stable, too.
WORSE='s/return rc;\s*\/\* The block/{ (void)as_flash_erase(fs->flash, 0); return rc; } &/'
means worse AS_MEANS_SYNC_FORGETS "$FORGET" file.c "$WORSE" log.c
finds worse crash "$WORK/after.txt" "$FAULT" 'crash' $OFF

# A call that fails may have been done, but it may not take with it what was stable.
means done AS_MEANS_FAILED_MAYBE_DONE
passes done crash "$WORK/after.txt" "$FAULT" $OFF
means undone AS_MEANS_FAILED_MAYBE_DONE "$WORSE" log.c
finds undone crash "$WORK/after.txt" "$FAULT" 'crash' $OFF

# It leaves a mark, and the next mount refuses.
MARK='s/return rc;\s*\/\* The block/{ memset(fs->page, 0, fs->unit); '
MARK+='(void)as_flash_program(fs->flash, *at + total, fs->page, fs->unit); '
MARK+='fs->at += total + fs->unit; return rc; } &/'
REFUSE='s/^\t\t\t\treturn 0;$/\t\t\t\treturn -EUCLEAN;/'
means refuses "" "$MARK" log.c "$REFUSE" mount.c
finds refuses crash "$WORK/after.txt" "$FAULT" 'EUCLEAN' $OFF
means refused AS_MEANS_FAILED_NO_MOUNT "$MARK" log.c "$REFUSE" mount.c
passes refused crash "$WORK/after.txt" "$FAULT" $OFF
# It says so, but refuses without a failure, too.
means picky AS_MEANS_FAILED_NO_MOUNT \
	's/^\tfs->cur = b;$/\tif (fs->n_nodes > 2) return -EUCLEAN;\n&/' mount.c
finds picky crash "$WORK/after.txt" "$FAULT" 'EUCLEAN' $OFF

# ---- Contracts that are refused ----

refuses() { # NAME CONTRACT SED WORDS
	skeleton "$1" "$(says "$2"); $3"
	tap_run "$1 is refused" 2 "$ASSAY" run --no-store --target "plugin:$WORK/$1.so" \
		"$WORK/failed.txt"
	tap_like "$1: the words" "$WORK/err" "$4"
}
refuses unknown '.promises = 1u << 20' '' 'contract has what this assay does not know'
refuses negative '.busy_errno = -16' '' 'busy_errno'
LINK='s/AS_CAP_OWNER \|/AS_CAP_HARDLINK | &/; s/\.statfs = fs_statfs/&, .link = (void *)fs_sync/'
refuses linked '.semantics = AS_MEANS_NLINK_ANY' "$LINK" 'hard links could not be told'
NO_BLOCKS='s/\.limits = &limits,/&.flash = \&(const struct as_flash_geometry){ .erased = 255 },/'
refuses blockless '.busy_errno = 0' "$NO_BLOCKS" 'its flash has erase blocks of 0 bytes'

# ---- Answers that are no errno ----

# Codes of a library's own, among them those that the executor has for itself.
for code in 4095 4094 4093 600 70000; do
	skeleton "code$code" "s/^\treturn -ENOENT;/\treturn -$code;/"
	tap_run "$code is no errno" 1 "$ASSAY" run --no-store --target "plugin:$WORK/code$code.so" \
		"$WORK/failed.txt"
	tap_like "$code is named" "$WORK/out" "answered -$code, which is no errno"
done
skeleton codemount 's/^\tif \(super\.magic != MAGIC.*/\tif (1)/
	s/^\t\treturn -EINVAL;/\t\treturn -4094;/'
tap_run "a mount that answers none is found" 1 "$ASSAY" run --no-store \
	--target "plugin:$WORK/codemount.so" "$WORK/failed.txt"
tap_like "and named" "$WORK/out" 'mount answered -4094, which is no errno'

# ---- Plugins of before ----

# The table of version 2 is shorter. One of 1 is told by its number alone.
V2="-Itests/target/plugins/v2 -Iinclude"
for api in 1 2; do
	# shellcheck disable=SC2086 # options are words
	${CC:-cc} -fPIC -shared $V2 "-DAS_OLD_API=$api" -xc - -o "$WORK/old$api.so" <<END ||
#include "$PWD/tests/target/plugins/old.c"
END
		tap_not_ok "building for version $api"
	tap_run "a plugin for version $api runs" 0 "$ASSAY" run --no-store --size 256K \
		--target "plugin:$WORK/old$api.so" --sweep write "$WORK/failed.txt"
	tap_run "a plugin for version $api meets power cuts" 0 "$ASSAY" crash --no-store \
		--size 256K --target "plugin:$WORK/old$api.so" "$WORK/failed.txt"
done
${CC:-cc} -fPIC -shared -Itests/target/plugins/v2 -Iinclude -DAS_OLD_API=3 -xc - \
	-o "$WORK/cut.so" <<END || tap_not_ok "building a short table"
#include "$PWD/tests/target/plugins/old.c"
END
tap_run "a table that is shorter than its version says is refused" 2 "$ASSAY" run --no-store \
	--target "plugin:$WORK/cut.so" "$WORK/failed.txt"
tap_like "it is named" "$WORK/err" 'a table of version 3 has'

# The headers of version 3 as they are built against: all that a plugin includes is kept in v3/.
V3="-Itests/target/plugins/v3"
# shellcheck disable=SC2086 # options are words
${CC:-cc} -fPIC -shared $V3 examples/plugin_skeleton/skeleton.c -o "$WORK/old3.so" ||
	tap_not_ok "building for version 3"
tap_run "a plugin for version 3 runs" 0 "$ASSAY" run --no-store --size 256K \
	--target "plugin:$WORK/old3.so" --sweep write "$WORK/failed.txt"
tap_run "a plugin for version 3 meets power cuts" 0 "$ASSAY" crash --no-store --size 256K \
	--target "plugin:$WORK/old3.so" "$WORK/failed.txt"
# shellcheck disable=SC2086
${CC:-cc} -fPIC -shared -Wl,-Bsymbolic $V3 examples/flashfs/*.c -o "$WORK/flash3.so" ||
	tap_not_ok "building flashfs for version 3"
tap_run "its contract is met on flash" 0 "$ASSAY" crash --no-store --view 1 \
	--target "plugin:$WORK/flash3.so" examples/flashfs/cases/small.txt
tap_run "and broken on flash" 1 "$ASSAY" crash --no-store --view 1 \
	--target "plugin:$WORK/flash3.so:bug=11,flash.tear=off" examples/flashfs/cases/small.txt
tap_run "it is shown with its version" 0 "$ASSAY" plugin check "$WORK/flash3.so"
tap_like "the version" "$WORK/out" 'version 3'

# As long as the version is 3, nothing that is shared may change its place.
places() { # INCLUDES: sizes of what both sides know, and the version
	# shellcheck disable=SC2086
	${CC:-cc} $1 -xc - -o "$WORK/places" <<'END' && "$WORK/places"
#include <assay/target.h>
#include <stdio.h>
#define SIZE(s) printf("%s %zu\n", #s, sizeof(struct s))
#define PLACE(s, m) printf("%s.%s %zu\n", #s, #m, offsetof(struct s, m))
int main(void)
{
	printf("%u\n", AS_TARGET_API);
	SIZE(as_target_ops);
	SIZE(as_mount_args);
	SIZE(as_contract);
	SIZE(as_host);
	SIZE(as_bd);
	SIZE(as_bd_ops);
	SIZE(as_flash);
	SIZE(as_flash_geometry);
	SIZE(as_limits);
	SIZE(as_stat);
	SIZE(as_statfs);
	PLACE(as_target_ops, mount);
	PLACE(as_target_ops, fsck);
	PLACE(as_target_ops, contract);
	PLACE(as_mount_args, host);
	PLACE(as_mount_args, flash);
	return 0;
}
END
}
places "$V3" >"$WORK/then" || tap_not_ok "building with the headers of version 3"
places -Iinclude >"$WORK/now" || tap_not_ok "building with the headers of today"
if [ "$(head -n 1 "$WORK/now")" = 3 ]; then
	tap_is "a table that grows has another version" "$(cat "$WORK/now")" "$(cat "$WORK/then")"
else
	tap_is "a table that has grown has a higher version" \
		"$(($(head -n 1 "$WORK/now") > 3))" 1
fi
tap_done
