#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# make install: what lands where, and that an author of a plugin can work with it.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
CC=${CC:-cc}
root=$WORK/root
prefix=/opt/assay

# The build that is tested: its folder tells the compiler and the sanitizers.
flavour=$(basename "$(realpath "$ASSAY_BUILD")")
san=${flavour#"${flavour%%-*}"}
san=${san#-}
tap_run "make install" 0 make --no-print-directory CC="${flavour%%-*}" SAN="${san//+/,}" \
	PREFIX=$prefix DESTDIR="$root" install
# The Valgrind tool is an optional part.
vg=$(find "$ASSAY_BUILD/vg" -maxdepth 1 -type f -name '*assaysym*' 2>/dev/null |
	sed 's|.*/|./lib/assay/vg/|' | sort | xargs -r printf '%s ')
pages=$("$ASSAY" help | sed -nE 's/^  ([a-z][a-z-]*) .*/\1/p' | sort |
	sed 's|.*|./share/man/man1/assay-&.1|' | xargs printf '%s ')
files=$(cd "$root$prefix" && find . -type f | sort | xargs)
tap_is "what is installed" "$files" "./bin/assay ./bin/labfs-fsck ./bin/labfs-mkfs \
./include/assay/bd.h ./include/assay/choice.h ./include/assay/flash.h \
./include/assay/host.h ./include/assay/solo.h ./include/assay/solo_end.h \
./include/assay/solo_host.h ./include/assay/solo_look.h ./include/assay/target.h \
$vg./lib/pkgconfig/assay.pc \
$(find layouts -name '*.layout' | sort | sed 's|^|./share/assay/|' | xargs) \
./share/bash-completion/completions/assay $pages./share/man/man1/assay.1 \
./share/zsh/site-functions/_assay"
tap_is "nothing is elsewhere" "$(ls "$root")" opt
assay=$root$prefix/bin/assay

# ---- Plugins ----
export PKG_CONFIG_LIBDIR=$root$prefix/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
tap_is "pkg-config has the version" "assay $(pkg-config --modversion assay)" "$("$assay" --version)"
tap_is "and the flags" "$(pkg-config --cflags assay | xargs)" "-I$root$prefix/include"
# shellcheck disable=SC2046
tap_run "a plugin compiles" 0 "$CC" -Wall -Wextra -Werror -fPIC -shared \
	$(pkg-config --cflags assay) examples/plugin_skeleton/skeleton.c -o "$WORK/myfs.so"
printf 'mkdir /a 0755\ncreate /a/f 0644\n' >"$WORK/w.txt"
(cd "$WORK" && "$assay" run --no-store --target plugin:./myfs.so w.txt) >"$WORK/out" 2>&1
tap_like "and runs" "$WORK/out" '^1 workload, 2 operations, 0 findings'
tap_is "the program exports nothing of its own" \
	"$(nm -D --defined-only "$assay" | grep -cE ' (as|lab)_')" 0

# ---- The manual and the completions ----
if command -v man >/dev/null; then
	for page in "$root$prefix"/share/man/man1/*.1; do
		MANWIDTH=100 man --warnings -l "$page" >"$WORK/out" 2>"$WORK/err"
		tap_is "$(basename "$page") has no warnings" "$(cat "$WORK/err")" ""
		tap_like "and text" "$WORK/out" '^EXIT STATUS'
	done
else
	tap_skip "the man page has no warnings" "man is not here (package man-db)"
fi
tap_run "the completion of bash loads" 0 bash -c \
	'. "$1" && complete -p assay' - "$root$prefix/share/bash-completion/completions/assay"
if command -v zsh >/dev/null; then
	got=$(zsh -f -c 'fpath=("$1" $fpath); autoload -Uz compinit; compinit -D -u
		print ${_comps[assay]}' - "$root$prefix/share/zsh/site-functions")
	tap_is "the completion of zsh loads" "$got" _assay
else
	tap_skip "the completion of zsh loads" "zsh is not here (package zsh)"
fi
tap_done
