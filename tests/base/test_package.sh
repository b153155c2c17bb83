#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The Debian package, without what takes long (`make deb` compiles all of it anew, and `make
# deb-test` installs it in a bare Debian): what this build installs is packed by debian/rules,
# lintian has nothing against it, and what is unpacked from it works where there is no source tree.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

flavour=$(basename "$(realpath "$ASSAY_BUILD")")
lacks=
for tool in dpkg-buildpackage dh dpkg-deb git; do
	command -v $tool >/dev/null || lacks="$lacks $tool"
done
why=
[ -z "$lacks" ] || why="not here:$lacks (packages dpkg-dev, debhelper, git)"
[ "$flavour" = gcc ] || why="the package is built by gcc without sanitizers"
[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || why="the package is one for amd64"
git ls-files --error-unmatch debian/rules >/dev/null 2>&1 || why="not a checkout of git"
if [ -n "$why" ]; then
	tap_skip "the package" "$why"
	tap_done
	exit
fi

# ---- It is built ---------------------------------------------------------------------------------

# What debian/rules would tell `make install`.
read -ra how < <(sed -n 's/^INSTALL := //p' debian/rules)
tap_is "debian/rules says how to install" "${#how[@]}" 2
tap_run "make install" 0 make --no-print-directory CC=gcc SAN= "${how[@]}" \
	DESTDIR="$WORK/ready" install
mkdir "$WORK/assay"
git ls-files -z | xargs -0 cp --parents -t "$WORK/assay" 2>/dev/null
tap_run "dpkg-buildpackage" 0 env -C "$WORK/assay" -u MAKEFLAGS -u MAKELEVEL READY="$WORK/ready" \
	dpkg-buildpackage -b -us -uc -d
deb=$(ls "$WORK"/assay_*.deb 2>/dev/null | head -n 1)
if [ -z "$deb" ]; then
	tap_not_ok "there is a package" "$(tail -n 20 "$WORK/out" "$WORK/err")"
	tap_done
	exit
fi

# ---- What is in it -------------------------------------------------------------------------------

field() { dpkg-deb -f "$deb" "$1"; }
tap_is "its version is ours" "assay $(field Version)" "$("$ASSAY" --version)"
tap_is "it depends on the libraries of the program" \
	"$(field Depends | grep -o 'libc6\|libjansson4\|libxxhash0\|libzstd1' | sort -u | xargs)" \
	"libc6 libjansson4 libxxhash0 libzstd1"
dpkg-deb -c "$deb" | awk '{print $6}' >"$WORK/files"
missing=
# All that was installed; the manual is packed, and links stay links.
while read -r file; do
	grep -qxE "\.$(tap_regex "$file")(\.gz)?" "$WORK/files" || missing="$missing $file"
done < <(cd "$WORK/ready" && find . ! -type d | cut -c2-)
tap_is "nothing that is installed is missing" "$missing" ""
tap_is "nothing is outside of /usr" "$(grep -v '^\./\(usr/\|$\)' "$WORK/files")" ""
tap_is "all belongs to root" "$(dpkg-deb -c "$deb" | awk '$2 != "root/root"' | head -n 3)" ""
for file in usr/share/doc/assay/copyright usr/share/doc/assay/changelog.gz \
	usr/share/doc/assay/README.md.gz; do
	tap_like "there is $(basename $file)" "$WORK/files" "^\./$(tap_regex $file)$"
done
tap_is "no path of where it was built is in what is text" "$(
	dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$(mkdir "$WORK/x" && echo "$WORK/x")" &&
		grep -rIl -F "$PWD" "$WORK/x" | head -n 3
)" ""
if command -v lintian >/dev/null; then
	tap_run "lintian has nothing against it" 0 env TMPDIR="$WORK" lintian --allow-root \
		--fail-on error,warning "$deb"
	[ ! -s "$WORK/out" ] || sed 's/^/# /' "$WORK/out"
else
	tap_skip "lintian has nothing against it" "no lintian (package lintian)"
fi

# ---- It works where there is no source tree ------------------------------------------------------

# A root folder of its own, away from the checkout, as another user where we are root.
root=$(mktemp -d /tmp/assay-package-XXXXXX)
trap 'rm -rf "$WORK" "$root"' EXIT
tap_run "it is unpacked" 0 dpkg -x "$deb" "$root/r"
mkdir "$root/home"
chmod 755 "$root"
as=()
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chown 65534:65534 "$root/home"
	as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
fi
# The checkout is hidden where that can be had.
hidden=()
if unshare -m sh -c 'mount -t tmpfs none "$0"' "$PWD" 2>/dev/null; then
	# shellcheck disable=SC2016
	hidden=(unshare -m sh -c 'mount -t tmpfs none "$0" && cd / && exec "$@"' "$PWD")
fi
installed() {
	env -C "$root/home" -i PATH="$root/r/usr/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
		HOME="$root/home" "${hidden[@]}" "${as[@]}" env -C "$root/home" "$@"
}
if [ ${#hidden[@]} -gt 0 ]; then
	tap_run "the checkout cannot be seen" 2 installed ls "$PWD/Makefile"
fi
tap_run "assay --version" 0 installed assay --version
tap_run "a hunt" 1 installed assay hunt --target lab:bug=2 --seed 1 --max-workloads 20 \
	--max-findings 1 -o hunt
first=$(ls -d "$root"/home/hunt/findings/* 2>/dev/null | head -n 1)
tap_is "with a finding that has all" "$(
	ls "$first" | grep -cxE 'finding.json|repro.sh|repro.c|report.txt'
)" 4
tap_is "and a report with charts" "$(grep -c 'Chart.js v' "$root/home/hunt/report.html")" 1
tap_run "a power cut" 1 installed sh -c 'printf "%s\n" "create /a 0644" "rename /a /b" sync >w &&
	exec assay crash --target lab:bug=26 -o crash w'
tap_run "a checker of the package, on damaged disks" 1 installed assay fsck labfs-fsck:bug=53 \
	--max-findings 1 -o fsck
tap_run "a description of a disk" 0 installed sh -c 'truncate -s 4M d && labfs-mkfs d &&
	assay disk show d'
tap_run "a new plugin, by the headers of the package" 0 installed sh -c 'assay plugin new my &&
	cd my && make >/dev/null && ls *.so'
if [ -x "$root/r/usr/lib/assay/vg/assaysym-amd64-linux" ] && command -v valgrind >/dev/null; then
	tap_run "a checker run symbolically" 1 installed assay fsck labfs-fsck:bug=101 --symbolic \
		--for 30s --max-findings 1 -o symbolic
else
	tap_skip "a checker run symbolically" "no valgrind, or a build without it"
fi
tap_done
