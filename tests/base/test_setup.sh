#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# scripts/setup.sh with a pretended dpkg-query, apt-get, apt-cache, sudo and id: what it would
# install, by whose rights, and what it says when it may not.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
fake=$WORK/bin
mkdir "$fake"

pretend() { # PROGRAM TEXT
	printf '#!/bin/bash\n%s\n' "$2" >"$fake/$1"
	chmod +x "$fake/$1"
}

# INSTALLED: packages that are there; KNOWN=no: apt knows no packages yet; MY_ID; SUDO=yes|no
pretend dpkg-query 'shift 2
for package; do
	case " $INSTALLED " in
	*" $package "*) echo "installed $package" ;;
	*) missing=1 ;;
	esac
done
exit ${missing:-0}'
pretend apt-cache '[ "${KNOWN:-yes}" = yes ]'
pretend apt-get 'echo "apt-get $*" >>"$LOG"; [ "${APT:-ok}" = ok ]'
pretend id 'echo "$MY_ID"'
pretend sudo '[ "$SUDO" = yes ] || exit 1
[ "$1" = -n ] && shift
[ "$1" = true ] || echo -n "sudo " >>"$LOG"
"$@"'
export LOG=$WORK/log
all="gcc libc6-dev make pkgconf libxxhash-dev libzstd-dev libjansson-dev libfuse3-dev"

setup() { # NAME STATUS LOG VARIABLE=VALUE... -- PURPOSE...
	local name=$1 status=$2 log=$3 vars=() got=0
	shift 3
	while [ "$1" != -- ]; do
		vars+=("$1")
		shift
	done
	shift
	: >"$LOG"
	env "${vars[@]}" PATH="$fake:$PATH" scripts/setup.sh "$@" \
		</dev/null >"$WORK/out" 2>&1 || got=$?
	tap_is "$name: exit status" "$got" "$status"
	tap_is "$name: what was called" "$(cat "$LOG")" "$log"
}

install="apt-get install -y --no-install-recommends"
setup "all is there" 0 "" INSTALLED="$all" MY_ID=1000 SUDO=no -- build
tap_is "it says nothing then" "$(cat "$WORK/out")" ""
setup "root" 0 "$install libzstd-dev" INSTALLED="${all/libzstd-dev/}" MY_ID=0 SUDO=no -- build
tap_like "it says why it wants the package" "$WORK/out" 'libzstd-dev.*disk images'
setup "sudo" 0 "sudo $install libzstd-dev" INSTALLED="${all/libzstd-dev/}" MY_ID=1000 SUDO=yes \
	-- build
setup "a fresh machine" 0 "apt-get update
$install libzstd-dev" INSTALLED="${all/libzstd-dev/}" MY_ID=0 SUDO=no KNOWN=no -- build
setup "no rights" 3 "" INSTALLED="${all/gcc/}" MY_ID=1000 SUDO=no -- build
tap_is "the command to run comes last" "$(tail -n 1 "$WORK/out")" \
	"apt-get update && $install gcc"
setup "apt fails" 3 "$install gcc" INSTALLED="${all/gcc/}" MY_ID=0 SUDO=no APT=broken -- build
tap_is "then, too" "$(tail -n 1 "$WORK/out")" "apt-get update && $install gcc"
# Where npm is there from elsewhere, its package is not asked for.
has_npm=$(command -v npm)
test_packages=$(awk '$2 == "test" { print $1 }' scripts/setup.sh |
	grep -vx "${has_npm:+npm}" | sort | paste -sd " ")
setup "two purposes" 0 "$install $test_packages" INSTALLED="$all" MY_ID=0 SUDO=no -- build test
setup "a purpose nobody knows" 2 "" INSTALLED="$all" MY_ID=0 SUDO=no -- party
tap_like "the purposes are listed" "$WORK/out" 'build deb fs fuzz sanitizer test tidy'
tap_done
