#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deb_test.sh FOLDER: installs the package of `make deb` in a bare Debian, made by debootstrap in a
# temporary directory, and runs `assay demo` there as an ordinary user, without the source tree. As
# root. The packages come from where this machine's apt gets them. Exit status 3: it cannot be run
# here.
#
# KERNELS="plain debug" then also builds these kernels there, from Debian's source package, and runs
# a workload in each; KEEP=DIR is then the home of that user, and stays (the kernels with it).
set -euo pipefail

folder=$(realpath "$1")
deb=$(ls -1 "$folder"/assay_*.deb | head -n 1)
[ "$(id -u)" = 0 ] || { echo "deb_test: debootstrap and chroot take root" >&2; exit 3; }
command -v debootstrap >/dev/null || { echo "deb_test: no debootstrap" >&2; exit 3; }

site=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' |
	awk '$2 !~ /security|updates|backports/ {print $1; exit}')
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
root=$(mktemp -d /var/tmp/assay-deb-XXXXXX)
chmod 755 "$root" # the / of an ordinary user there
clean() {
	for mount in home/tester proc dev/shm dev; do
		umount -l "$root/$mount" 2>/dev/null || true
	done
	rm -rf --one-file-system "$root"
}
trap clean EXIT

echo "== debootstrap of $suite"
debootstrap --variant=minbase "$suite" "$root" "$site" >"$folder/debootstrap.log" 2>&1 ||
	{ tail -n 20 "$folder/debootstrap.log"; echo "deb_test: debootstrap failed"; exit 1; }
# How apt reaches its source belongs to the machine, too.
cp -a /etc/apt/sources.list* /etc/apt/apt.conf.d /etc/apt/trusted.gpg.d "$root/etc/apt/" \
	2>/dev/null || true
[ ! -f /etc/resolv.conf ] || cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mkdir -p "$root/dev/shm"
cp "$deb" "$root/tmp/assay.deb"

in_root() {
	chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		DEBIAN_FRONTEND=noninteractive "$@"
}
echo "== apt install of the package"
in_root apt-get update -q >"$folder/apt.log" 2>&1
in_root apt-get install -y -q --no-install-recommends /tmp/assay.deb e2fsprogs user-mode-linux \
	>>"$folder/apt.log" 2>&1 || { tail -n 20 "$folder/apt.log"; exit 1; }
in_root assay --version
in_root useradd -m tester
if [ -n "${KEEP:-}" ]; then
	mkdir -p "$KEEP"
	chown "$(stat -c %u:%g "$root/home/tester")" "$KEEP"
	mount --bind "$KEEP" "$root/home/tester"
fi
echo "== assay demo, as an ordinary user"
start=$SECONDS
in_root su - tester -c 'assay demo' >"$folder/demo.log" 2>&1 || true
tail -n 12 "$folder/demo.log"
echo "== it took $((SECONDS - start)) s"
grep -q '^demo: all of it as it should be' "$folder/demo.log"
[ -s "$root/home/tester/assay-demo/report.html" ]

# As docs/KERNELS.md says it; the programs that make file systems are what the workload needs.
kernels() {
	echo "== apt install of what a kernel is built from"
	in_root apt-get install -y -q --no-install-recommends linux-source-6.12 make gcc libc6-dev \
		flex bison bc xz-utils patch f2fs-tools xfsprogs btrfs-progs exfatprogs \
		>>"$folder/apt.log" 2>&1 || { tail -n 20 "$folder/apt.log"; exit 1; }
	for kernel in $KERNELS; do
		echo "== assay kernel build $kernel, as an ordinary user"
		start=$SECONDS
		in_root su - tester -c "assay kernel build $kernel -j $(nproc)" \
			>"$folder/kernel.log" 2>&1 || { tail -n 20 "$folder/kernel.log"; exit 1; }
		tail -n 1 "$folder/kernel.log"
		echo "== it took $((SECONDS - start)) s"
		for type in ext4 xfs btrfs f2fs exfat; do
			in_root su - tester -c "printf 'mkdir /a 0755\n' >a.txt
				assay run --kernel $kernel --target $type a.txt"
		done
	done
	in_root su - tester -c 'assay kernel list'
}
[ -z "${KERNELS:-}" ] || kernels
echo "== apt remove"
in_root apt-get remove -y -q assay >>"$folder/apt.log" 2>&1
[ ! -e "$root/usr/bin/assay" ]
echo "deb_test: ok"
