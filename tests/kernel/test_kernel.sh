#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay kernel` on a small tree that behaves like a kernel's (tests/kernel/fake): it builds from a
# tarball, from a folder, with patches; it compiles only what a patch changes; a build that was
# killed goes on; two builds at once do not disturb each other; bad input gets one line.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
export LC_ALL=C ASAN_OPTIONS=detect_leaks=0

# A user without a home of its own: then the cache is in /var/tmp, and nobody else's.
HOME_=$(mktemp -d /tmp/assay-kernel-test-XXXXXX)
user=()
if [ "$(id -u)" = 0 ]; then
	uid=$((2000000 + $$))
	user=(setpriv --reuid=$uid --regid=$uid --clear-groups)
	CACHE=/var/tmp/assay-$uid
else
	CACHE=$HOME/.cache/assay
fi
name=fake-$$
trap 'rm -rf "$WORK" "$HOME_" "$CACHE"/kernels/*/*"$name"* "$CACHE"/kernels/built/t$$-*;
	[ -z "${uid:-}" ] || rm -rf "$CACHE"' EXIT
cp "$(realpath "$ASSAY")" "$HOME_/assay"
cp -r tests/kernel/fake "$HOME_/$name"
# What the patch of ours for kcov changes, as it is before.
mkdir "$HOME_/$name/kernel"
awk '/^@@/ { on = 1; next } on && /^[ -]/ { print substr($0, 2) }' kernels/kcov.patch \
	>"$HOME_/$name/kernel/kcov.c"
cd "$HOME_" || exit 2
tar -czf "$name.tar.gz" "$name"
chmod -R a+rX "$HOME_"
chmod a+rwx "$HOME_"

as_user() { "${user[@]}" "$@"; }
# refuses NAME STATUS REGEX COMMAND...: its last line is the error.
refuses() {
	local name=$1 want=$2 regex=$3 got=0
	shift 3
	as_user "$@" >"$WORK/out" 2>"$WORK/err" </dev/null || got=$?
	if [ "$got" = "$want" ] && tail -n 1 "$WORK/err" | grep -Eq "^assay: .*($regex)"; then
		tap_ok "$name"
	else
		tap_not_ok "$name" "exit status $got, wanted $want, /$regex/" "$(cat "$WORK/err")"
	fi
}
build() { # SUFFIX ARGUMENT...
	local as=$1
	shift
	as_user ./assay kernel build --name "t$$-$as" "$@"
}
path_of() {
	as_user ./assay kernel list --json |
		sed -n 's/.*"name":"t'$$"-$1"'".*"path":"\([^"]*\)".*/\1/p'
}
says() { as_user "$(path_of "$1")"; }
compiled() { cat "$CACHE"/kernels/tree/"$1"/log | grep -c '^  CC ' || true; }

# ---- Bad input ----
refuses "no such package" 3 "package linux-source-9.99" ./assay kernel build plain \
	--source linux-source-9.99
refuses "no such file" 2 "no package, tarball or folder" ./assay kernel build plain --source ./none
refuses "a folder that is no source" 2 "no source of Linux" ./assay kernel build plain --source /etc
printf 'x' >bad.tar
refuses "a tarball that is none" 2 "bad.tar cannot be unpacked" \
	./assay kernel build plain --source ./bad.tar
mkdir empty && touch empty/x && tar -cf empty.tar empty
refuses "a tarball of something else" 2 "holds no source of Linux" \
	./assay kernel build plain --source ./empty.tar
refuses "an option nobody knows" 2 "'kasn' is not something to build a kernel with" \
	./assay kernel build --with kasn
refuses "a flavour nobody knows" 2 "no flavour is called 'fast'" ./assay kernel build fast
refuses "a flavour and --with" 2 "leave out --with" ./assay kernel build plain --with kasan
refuses "a name that is a path" 2 "--name ../x: expected" ./assay kernel build plain --name ../x
refuses "a comma without a word" 2 "a word is missing" ./assay kernel build --with kasan,
refuses "the name of another flavour" 2 "a flavour is called so" \
	./assay kernel build plain --name debug --source "$name.tar.gz"
head -c 300 "$name.tar.gz" >"$name-half.tar.gz" && chmod a+r "$name-half.tar.gz"
refuses "half a tarball" 2 "cannot be unpacked into .*: gzip: .*unexpected end of file" \
	./assay kernel build plain --source "$name-half.tar.gz"
mkfifo fifo && chmod a+rw fifo
refuses "a source that is no file" 2 "no package, tarball or folder" \
	timeout -k 1 60 ./assay kernel build plain --source fifo
cp -r "$name" "$name-built" && touch "$name-built/.config"
refuses "a folder that was built in" 2 "was built in: .make ARCH=um mrproper. in it cleans it" \
	./assay kernel build plain --source "$name-built"
refuses "a patch that is not there" 2 "--patch ./none.patch: No such file" \
	./assay kernel build plain --patch ./none.patch --source "$name.tar.gz"
tap_is "is told before the source is unpacked" "$(grep -c unpacks "$WORK/err")" 0
printf 'x\0y\n' >binary.patch && printf '\n' >"a b.patch" && chmod a+r ./*.patch
refuses "a patch that is a program" 2 "not a patch, but binary data" \
	./assay kernel build plain --patch ./binary.patch --source "$name.tar.gz"
refuses "a patch that gives no name" 2 "choose one with --name" \
	./assay kernel build plain --patch "a b.patch" --source "$name.tar.gz"
mkdir tools && ln -s "$(command -v make)" tools/make
refuses "no compiler" 3 "no .gcc. to build a kernel with: package gcc" \
	env PATH="$HOME_/tools" ./assay kernel build plain --source "$name.tar.gz"
tap_is "is told before the source is unpacked, too" "$(grep -c unpacks "$WORK/err")" 0
refuses "a word that is no verb" 2 "neither build nor list" ./assay kernel make
refuses "a kernel that is not built" 3 "no kernel called 'nope' is built" \
	./assay run --target ext4 --kernel nope /dev/null
refuses "two kernels" 2 "leave out one" ./assay run --target ext4 --kernel a --uml b /dev/null

# ---- From a tarball ----
id=$(as_user ./assay kernel build plain --name "t$$-a" --source "$name.tar.gz" 2>"$WORK/err" \
	>"$WORK/out" && ls "$CACHE/kernels/source" | grep "^$name")
tap_is "a tarball builds" "$(says a)" "one two "
tap_like "progress counts the objects" "$WORK/err" ', [0-9]+ of 3 objects'
tap_like "what the source has not is named" "$WORK/out" 'its source has not: CONFIG_NTFS3_FS=y'
tap_run "a second build" 0 build a plain --source "$name.tar.gz"
tap_is "the second build compiles nothing" "$(compiled "$id+plain")" 0
as_user ./assay kernel list >"$WORK/list"
tap_like "list names it" "$WORK/list" "^t$$-a +6.99.0-fake"

# ---- Options ----
tap_run "with coverage" 0 build cov --with kcov,faults --source "$name.tar.gz"
tap_is "coverage is of fs/ only" "$(says cov)" "oney twoy n"
as_user ./assay kernel list >"$WORK/list"
tap_like "list names the options" "$WORK/list" "^t$$-cov .* kcov,faults"
# A source that does not take a line that an option needs.
cp -r "$name" "$name-poor" && echo CONFIG_KASAN=y >>"$name-poor/arch/um/refuses"
refuses "a source that cannot have an option" 2 "cannot be built with kasan.*CONFIG_KASAN=y" \
	./assay kernel build --with kasan --name "t$$-poor" --source "$name-poor"

# ---- Patches ----
cat >two.patch <<'END'
--- a/fs/two/two.c
+++ b/fs/two/two.c
@@ -3,5 +3,5 @@
 
 const char *fs_two(void)
 {
-	return "two" INSTRUMENTED;
+	return "TWO" INSTRUMENTED;
 }
END
sed 's/TWO/2/' two.patch >other.patch
cat >new.patch <<'END'
--- /dev/null
+++ b/fs/two/new.c
@@ -0,0 +1,1 @@
+int brand_new;
END
sed 's/return "two"/return "zwei"/' two.patch >off.patch
sed 's/"TWO"/nonsense/' two.patch >broken.patch
sed 's,/fs/two/two.c,/../../two.c,' two.patch >out.patch
chmod a+r ./*.patch
tap_run "a patch" 0 build two plain --source "$name.tar.gz" --patch two.patch
tap_is "the patch is in it" "$(says two)" "one TWO "
tap_is "only what it changes is compiled" "$(compiled "$id+plain")" 1
tap_is "the kernel before has it not" "$(says a)" "one two "
tap_is "the source is as it was" \
	"$(grep -c '"two"' "$CACHE/kernels/source/$id/fs/two/two.c")" 1
as_user ./assay kernel list >"$WORK/list"
tap_like "list names the patch" "$WORK/list" "^t$$-two .*two.patch"
tap_run "another patch and a new file" 0 build other plain --source "$name.tar.gz" \
	--patch other.patch --patch new.patch
tap_is "the other patch alone is in it" "$(says other)" "one 2 "
refuses "a patch that does not apply" 2 "off.patch does not apply.*FAILED" \
	./assay kernel build plain --name "t$$-x" --source "$name.tar.gz" --patch off.patch
refuses "a patch that leads out" 2 "not below the source" \
	./assay kernel build plain --name "t$$-x" --source "$name.tar.gz" --patch out.patch
refuses "a file that is no patch" 2 "changes no file" \
	./assay kernel build plain --name "t$$-x" --source "$name.tar.gz" --patch "$name/Makefile"
refuses "a tree that does not build" 2 "make linux failed .*its log is $CACHE" \
	./assay kernel build plain --name "t$$-x" --source "$name.tar.gz" --patch broken.patch
tap_like "the compiler's last lines" "$WORK/err" "error: .*nonsense"
cat >rename.patch <<'END'
diff --git a/fs/two/two.c b/fs/two/new.c
similarity index 100%
rename from fs/two/two.c
rename to fs/two/new.c
END
sed 's,/two/new.c,/one/new.c,' rename.patch >gone.patch
chmod a+r ./*.patch
tap_run "a patch that renames" 0 build two plain --source "$name.tar.gz" --patch rename.patch
tap_run "a patch that empties a folder" 0 build two plain --source "$name.tar.gz" \
	--patch gone.patch
tap_run "without patches again" 0 build a plain --source "$name.tar.gz"
tap_is "no patch is left" "$(says a)" "one two "
two=$(cd "$CACHE/kernels/tree/$id+plain/src/fs" && find two -type f | tr '\n' ' ')
tap_is "no file of a patch is left" "$two" "two/two.c "
as_user mkdir "$CACHE/kernels/built/t$$-half"
refuses "a kernel that is half there" 3 "half built, or damaged: build it again" \
	./assay run --target ext4 --kernel "t$$-half" /dev/null

# ---- A folder of the user's ----
tap_run "a folder builds" 0 build dir plain --source "$name"
tap_is "it is the folder's" "$(says dir)" "one two "
sed -i 's/"one"/"uno"/' "$name/fs/one/one.c"
tap_run "the folder has changed" 0 build dir plain --source "$name"
tap_is "the change is in it" "$(says dir)" "uno two "
tap_run "a patch on a folder" 0 build dirp plain --source "$name" --patch two.patch
tap_is "both are in it" "$(says dirp)" "uno TWO "
tap_is "the folder is as it was" "$(grep -c '"two"' "$name/fs/two/two.c")" 1
echo '/* more */' >>"$name/fs/two/two.c"
sed -i 's/"uno"/"eins"/' "$name/fs/one/one.c"
tap_run "the folder changed under a patch" 0 build dirp plain --source "$name" --patch two.patch
tap_is "both changes are in it" "$(says dirp)" "eins TWO "

odd="$name ' and blanks"
cp -r "$name" "$odd" && chmod -R a+rX "$odd"
tap_run "a folder that makefiles do not take" 0 build odd plain --source "$odd"
tap_is "is copied first" "$(says odd)" "eins two "

# ---- A full disk ----
full=$CACHE/kernels/source
if [ -n "${uid:-}" ] && mv "$full" "$full.there" && as_user mkdir "$full" &&
	mount -t tmpfs -o "size=8m,mode=700,uid=$uid" none "$full" 2>/dev/null; then
	mkdir -p big/arch/um && touch big/Makefile && head -c 40M /dev/zero >big/zero &&
		tar -czf big.tar.gz big && rm big/zero && chmod a+r big.tar.gz
	refuses "no space for the source" 3 "no space left in $CACHE.*No space left" \
		./assay kernel build plain --name "t$$-x" --source ./big.tar.gz
	umount "$full"
else
	tap_skip "no space for the source" "this needs root, and a file system that is mounted"
fi
[ ! -e "$full.there" ] || { rmdir "$full" && mv "$full.there" "$full"; }

# ---- Killed half-way; two at once ----
cp "$name.tar.gz" "$name-k.tar.gz" && chmod a+r "$name-k.tar.gz"
slow=$(as_user ./assay kernel build plain --name "t$$-k" --source "$name-k.tar.gz" \
	>/dev/null 2>&1 && ls "$CACHE/kernels/source" | grep "^$name-k")
tree=$CACHE/kernels/tree/$slow+plain
rm -rf "$tree/complete" "$tree"/obj/fs "$tree"/obj/init "$tree/objects" "$tree/log"
touch "$tree/obj/slow"
(exec "${user[@]}" ./assay kernel build plain --name "t$$-k" --source "$name-k.tar.gz" -j 1) \
	>/dev/null 2>"$WORK/first" &
first=$!
tap_wait_until 60 grep -q 'CC ' "$tree/log"
as_user ./assay kernel build plain --name "t$$-k2" --source "$name-k.tar.gz" \
	>/dev/null 2>"$WORK/second" &
second=$!
tap_wait_until 60 grep -q 'waits for another build' "$WORK/second"
tap_like "a second build waits" "$WORK/second" 'waits for another build'
touch "$tree/obj/go-one" # one object can be made, and the next one is begun
tap_wait_until 60 test -e "$tree/obj/fs/one/one.o"
tap_wait_until 60 grep -q 'CC .*two' "$tree/log"
kill -9 "$first" 2>/dev/null
wait "$first" 2>/dev/null
touch "$tree/obj/go-two" "$tree/obj/go-main"
got=0
wait "$second" || got=$?
tap_is "the second one then builds" "$got" 0
tap_is "what was killed goes on" "$(says k2)" "one two "
tap_like "it counts what was done before" "$WORK/second" ', [23] of 3 objects'

# Somebody else puts a result in place: until then, ours is not touched.
exec 8>>"$CACHE/kernels/lock"
flock 8
as_user ./assay kernel build plain --name "t$$-k" --source "$name-k.tar.gz" \
	>"$WORK/out" 2>"$WORK/err" 8>&- &
tap_wait_until 60 grep -q 'waits for another build' "$WORK/err"
tap_like "two results at once: one waits" "$WORK/err" 'waits for another build'
flock -u 8
exec 8>&-
got=0
wait $! || got=$?
tap_is "two results at once: and then has its turn" "$got" 0

# ---- What a person sees, and what a machine reads ----
# again: the compilation of one.c, and then all the rest, waits for a file.
again() {
	rm -rf "$tree/complete" "$tree"/obj/fs "$tree"/obj/init "$tree"/obj/go-* "$tree/log"
	touch "$tree/obj/slow"
}
go_on() { touch "$tree/obj/go-one" "$tree/obj/go-two" "$tree/obj/go-main"; }
tap_run "--quiet" 0 build k plain --source "$name-k.tar.gz" --quiet
tap_is "--quiet prints nothing" "$(cat "$WORK/out" "$WORK/err")" ""
again
as_user ./assay kernel build plain --name "t$$-k" --source "$name-k.tar.gz" --json \
	>"$WORK/json" 2>&1 &
tap_wait_until 60 grep -q '"phase":"compiles"' "$WORK/json"
go_on
wait $!
tap_like "--json: progress" "$WORK/json" \
	'^\{"event":"progress","command":"kernel","target":"t[0-9]+-k".*"objects":[0-3][,}]'
tap_like "--json: the last line is what was built" <(tail -n 1 "$WORK/json") \
	"^\\{\"name\":\"t$$-k\",\"version\":\"6.99.0-fake\""
tap_is "--json: nothing else" "$(grep -cv '^{.*}$' "$WORK/json")" 0
again
as_user ./assay kernel build plain --name "t$$-k" --source "$name-k.tar.gz" \
	>"$WORK/out" 2>"$WORK/err" &
pid=$!
tap_wait_until 60 grep -q 'CC ' "$tree/log"
pkill -INT -P $pid -x assay || kill -INT $pid
got=0
wait $pid || got=$?
tap_is "SIGINT: the exit status" "$got" 130
tap_like "SIGINT: it says that nothing is lost" "$WORK/err" \
	"^t$$-k: stopped by SIGINT; the same command goes on"
if command -v tmux >/dev/null; then
	socket=$(mktemp -u /tmp/assay-kernel-XXXXXX)
	mux() { tmux -S "$socket" -f /dev/null "$@"; }
	screen() { mux capture-pane -p; }
	shows() { screen | grep -Eq -- "$1"; }
	again
	mux new-session -d -x 80 -y 20 "env TERM=xterm ${user[*]} ./assay kernel build plain \
		--name t$$-k --source $name-k.tar.gz -j 2; echo STATUS=\$?; exec sleep 600"
	if tap_wait_until 60 shows '^  compiles$'; then
		tap_ok "a terminal: what it does"
	else
		tap_not_ok "a terminal: what it does" "$(screen)"
	fi
	screen >"$WORK/screen"
	tap_like "a terminal: the same block as that of a hunt" "$WORK/screen" \
		"^assay kernel  t$$-k  2 jobs .*[0-9]:[0-9]+, [0-9]+ % done"
	tap_like "a terminal: the objects" "$WORK/screen" '^  objects compiled [0-3]'
	tap_is "a terminal: no findings" "$(grep -c findings "$WORK/screen")" 0
	go_on
	tap_wait_until 60 shows '^STATUS=0'
	screen >"$WORK/screen"
	tap_is "a terminal: in the end, the block is gone" "$(grep -c '^assay kernel' \
		"$WORK/screen")" 0
	tap_like "a terminal: and the result is there" "$WORK/screen" "^t$$-k +6.99.0-fake"
	mux kill-server
	rm -f "$socket"
else
	tap_skip "the progress of a build in a terminal" "tmux is not installed"
fi
tap_done
