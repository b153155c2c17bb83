#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# setup.sh PURPOSE...: installs the Debian packages that the purposes need and that are missing.
# Says nothing and takes no time when all is there. Exit status 3: something is missing and we may
# not install it; the command to run is then the last thing printed.
set -euo pipefail

# One row a package: package, purpose (build test fs deb tidy sanitizer fuzz), why.
table() {
	cat <<-'END'
	gcc                build      the compiler
	libc6-dev          build      the C library's headers
	make               build      runs the Makefile
	pkgconf            build      decides the optional parts
	libxxhash-dev      build      digests (XXH3)
	libzstd-dev        build      disk images in findings
	libjansson-dev     build      reading JSON
	libfuse3-dev       build      disks and file systems served through FUSE
	libcmocka-dev      test       unit tests
	procps             test       who is still running (pgrep)
	git                test       the test of `make tidy` needs a repository
	libbpf-dev         test       recording of system calls by the kernel
	zlib1g-dev         test       traces packed by gzip
	libbabeltrace2-dev test       LTTng traces, natively
	clang              test       compiles the part of it that runs there
	zsh                test       the completion of command lines in zsh
	zstd               test       saved disks opened by another program than ours
	strace             test       what recordings are compared with
	librsvg2-bin       test       figures drawn by another program than a browser
	libext2fs-dev      test       what the blocks of ext2, ext3 and ext4 are
	valgrind           test       checkers run symbolically: what that part is built against
	libjs-chart.js     test       charts in the report for a browser
	chromium           test       the report looked at in a browser
	libsqlite3-dev     test       the index of joined run folders: assay merge
	sqlite3            test       the index asked by another program than ours
	npm                test       installs what drives that browser (playwright-core)
	tmux               test       live progress looked at in a terminal
	slurmctld          test       campaigns by Slurm: a cluster of one node
	slurmd             test       the same
	slurm-client       test       the same
	munge              test       the same
	dpkg-dev           test       the package built and unpacked
	debhelper          test       the same
	lintian            test       looks at that package
	libz3-dev          test       branches of checkers solved: assay fsck --symbolic
	flex               test       kernels: what building one needs
	bison              test       the same
	bc                 test       the same
	user-mode-linux    fs         kernels in a process: file systems without root
	bindfs             fs         a FUSE server that passes on
	fuse2fs            fs         ext4 by a FUSE server
	ntfs-3g            fs         NTFS by a FUSE server
	e2fsprogs          fs         ext2, ext3, ext4
	xfsprogs           fs         xfs
	btrfs-progs        fs         btrfs
	f2fs-tools         fs         f2fs
	jfsutils           fs         jfs
	reiserfsprogs      fs         reiserfs
	gfs2-utils         fs         gfs2
	nilfs-tools        fs         nilfs2
	util-linux         fs         minix
	dosfstools         fs         vfat
	exfatprogs         fs         exfat
	udftools           fs         udf
	dpkg-dev           deb        builds the package
	debhelper          deb        builds the package
	fakeroot           deb        builds the package as an ordinary user
	lintian            deb        looks at the package
	debootstrap        deb        a bare Debian to install it in
	libext2fs-dev      deb        built into the package
	libsqlite3-dev     deb        built into the package
	libz3-dev          deb        built into the package
	zlib1g-dev         deb        built into the package
	libbabeltrace2-dev deb        built into the package
	valgrind           deb        built into the package
	libjs-chart.js     deb        built into the package
	clang-format       tidy       layout of changed lines
	git                tidy       which lines have changed
	clang              sanitizer  the second compiler; gcc brings its own sanitizers
	libclang-rt-14-dev sanitizer  the sanitizers of clang
	clang              fuzz       libFuzzer
	libclang-rt-14-dev fuzz       the runtime of libFuzzer
	END
}

usage() {
	echo "usage: setup.sh PURPOSE..." "(of: $(table | awk '{print $2}' | sort -u | xargs))" >&2
	exit 2
}

[ $# -gt 0 ] || usage
for purpose; do
	table | awk '{print $2}' | grep -qx -- "$purpose" || usage
done

if ! command -v dpkg-query >/dev/null; then
	echo "setup: not a Debian system: make sure that you have what these packages give:" \
		"$(table | awk '{print $1}' | sort -u | tr '\n' ' ')" >&2
	exit 0
fi

wanted() {
	local purpose
	for purpose; do
		table | awk -v p="$purpose" '$2 == p {print $1}'
	done | sort -u
}

# One query for all of them: it reads a large file each time.
mapfile -t packages < <(wanted "$@")
format='${db:Status-Status} ${Package}\n'
installed=$(dpkg-query -W -f="$format" "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
	# Node.js of another source brings npm with it, and conflicts with that package.
	if [ "$package" = npm ] && command -v npm >/dev/null; then continue; fi
	grep -qxF "installed $package" <<<"$installed" || missing+=("$package")
done

# What npm gives: it drives the browser. A test without it skips, and says so.
browser_tests() {
	local folder version
	folder=$(dirname "$0")/../tests/report/browser
	case " $* " in *" test "*) ;; *) return 0 ;; esac
	version=$(sed -n 's/.*"playwright-core": "\(.*\)".*/\1/p' \
		"$folder/package.json" 2>/dev/null)
	[ -n "$version" ] && command -v npm >/dev/null || return 0
	grep -qs "\"version\": \"$version\"" "$folder/node_modules/playwright-core/package.json" &&
		return 0
	echo "setup: installing playwright-core $version for the test of the report"
	timeout 300 npm install --prefix "$folder" --no-audit --no-fund --no-save \
		--no-package-lock \
		--loglevel=error >/dev/null ||
		echo "setup: npm could not install it: the test of the report in a browser skips"
}

if [ ${#missing[@]} = 0 ]; then
	browser_tests "$@"
	exit 0
fi

echo "setup: missing:"
for package in "${missing[@]}"; do
	table | awk -v p="$package" '$1 == p {$1 = ""; $2 = ""; printf "  %-18s%s\n", p, $0; exit}'
done

command="apt-get install -y --no-install-recommends ${missing[*]}"
update="apt-get update"
refuse() {
	echo "setup: $1; as root, run this and then try again:" >&2
	echo "$update && $command" >&2
	exit 3
}

if [ "$(id -u)" = 0 ]; then
	sudo=()
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
	sudo=(sudo -n)
elif command -v sudo >/dev/null && [ -t 0 ]; then
	sudo=(sudo)
else
	refuse "installing packages takes root's rights"
fi

# A fresh machine knows no packages until its lists have been fetched once.
for package in "${missing[@]}"; do
	if ! apt-cache show "$package" >/dev/null 2>&1; then
		"${sudo[@]}" $update || refuse "apt-get update failed"
		break
	fi
done
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive $command || refuse "apt-get install failed"
browser_tests "$@"
