#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# make.sh ASSAY: how the folders beside it were made, once, by an older assay; README.md says what
# they are. It refuses to make them again: what matters is that they are old.
set -eu
cd "$(dirname "$0")"
[ ! -e run ] || { echo "they are there already, and are to stay as they are" >&2; exit 2; }
ASSAY=$(realpath -e "$1")
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$here/../../../labfs" "$work/labfs"
cd "$work"

found() { "$ASSAY" "$@" >/dev/null 2>&1 || [ $? = 1 ]; } # a finding is what is wanted

# One run folder with what several commands have found.
found run --target lab:bug=2 -o run labfs/cases/02-append.txt
found run --target lab:bug=19 -o run labfs/cases/19-link-leak.txt
found run --target lab:bug=1 --scenario diff:lab,lab:bug=1,lab:bug=7 -o run \
	labfs/cases/01-rename-over.txt
found crash --target lab:bug=26 --no-report -o run labfs/cases/01-rename-over.txt
truncate -s 1M empty.img
"$(dirname "$ASSAY")/labfs-mkfs" empty.img
found fsck labfs-fsck:bug=55 --disk empty.img --lots 3 --max-findings 1 --no-report -o run

# A check that was stopped, with what its checker has found.
found check --target lab:bug=73 --no-crash --nodes 1 --faults alloc --max-faults 2 \
	--max-transitions 1500 --max-states 256 --max-findings 1 \
	--for 1h --reduce-for 5 --no-report -o check
# A hunt that is over, reduced: a race.
found hunt --race --target lab:bug=1 --max-workloads 64 --max-findings 1 --seed 1 --no-report \
	-o race
# A hunt that was stopped on its way; whole.txt is what it comes to.
hunt=(hunt --target lab:bug=1 --length 40 --max-workloads 256 --jobs 2 --seed 1 --no-reduce
	--no-report)
"$ASSAY" "${hunt[@]}" -o hunt >/dev/null 2>&1 &
until grep -qs '"workloads":[1-9]' hunt/hunt/state.json; do sleep 0.02; done
kill -INT $! && wait $! || true
grep -q '"over":false' hunt/hunt/state.json
found "${hunt[@]}" -o whole
sed -n 's/.*"id":"\([^"]*\)".*"count":\([0-9]*\).*/\1 \2/p' whole/findings/*/finding.json \
	>"$here/hunt.whole.txt"

# Pages are large, and nobody reads them back; the disks are small, and the state of a check is packed.
find . -name report.html -o -name lock | xargs rm -f
zstd -q -19 --rm check/check/states
cp -r run check race hunt "$here"
cd "$here"
if grep -rlF -e "$work" -e "$PWD" run check race hunt; then
	echo "these name paths of this machine" >&2
	exit 1
fi
du -sh run check race hunt
