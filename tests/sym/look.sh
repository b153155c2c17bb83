# SPDX-License-Identifier: GPL-2.0-or-later
# look.sh: sourced by the tests of assay fsck --symbolic, from the root of the sources. It sets up
# PATH, and ends the test where this assay or this machine cannot explore checkers.
. tests/tap.sh
PATH=$(realpath "$ASSAY_BUILD"):$PATH:/usr/sbin:/sbin

"$ASSAY" fsck labfs-fsck --symbolic --fields label --lots 1 --no-store >"$WORK/look" 2>&1
if [ $? = 3 ]; then
	tap_skip "assay fsck --symbolic" "$(tail -n 1 "$WORK/look")"
	tap_done
	exit
fi
