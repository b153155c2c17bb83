#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A finding keeps the name of the kernel that it ran in: replay, reduce and repro.sh use that
# kernel, and say so when it is not there. The kernel is a copy of Debian's under a name of its own,
# so that nothing has to be built.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
export LC_ALL=C
ASSAY=$(realpath "$ASSAY")
CASE=$PWD/labfs/cases/01-rename-over.txt

got=0
"$ASSAY" run --no-store --sandbox uml --kernel debian --target lab examples/smoke.txt \
	>"$WORK/out" 2>"$WORK/err" || got=$?
if [ $got = 3 ]; then
	tap_skip "kernels with names" "$(sed 's/^assay: //' "$WORK/err")"
	tap_done
	exit
fi
tap_is "the kernel of the package has a name" "$got $(cat "$WORK/err")" "0 "

# Where the cache is, is seen by what a kernel that is there is called.
HOME_=$(getent passwd "$(id -u)" | cut -d: -f6)
CACHE=$HOME_/.cache/assay
[ -w "$HOME_" ] || CACHE=/var/tmp/assay-$(id -u)
name=t$$-copy
built=$CACHE/kernels/built/$name
trap 'rm -rf "$WORK" "$built"' EXIT
appear() {
	mkdir -p "$built" && cp "$(command -v linux)" "$built/linux" && chmod 755 "$built/linux" &&
		echo '{"name":"x","version":"6","source":"copy","with":"","patches":[]}' \
			>"$built/kernel.json"
}
(umask 077 && "$ASSAY" kernel list >/dev/null) && appear || exit 2
tap_like "it is listed" <("$ASSAY" kernel list) "^$name "
cd "$WORK" || exit 2

# ---- A finding of a run ----
tap_run "run" 1 "$ASSAY" run --sandbox uml --kernel "$name" --target lab:bug=1 -o o "$CASE"
id=$(ls o/findings)
tap_like "the finding keeps it" "o/findings/$id/finding.json" "\"options\":\"[^\"]*kernel=$name\""
tap_like "its README has the command" "o/findings/$id/README.md" "assay run .*--kernel $name"
tap_like "the report has it" <(tr -d '\n' <"o/findings/$id/report.txt" | tr -s ' ') "built as $name"
tap_run "replay" 1 "$ASSAY" replay --sandbox uml -o o "$id"
tap_like "it comes back" "$WORK/out" "$id: reproduced"

# ---- crash, with a script ----
printf 'mkdir /a 0755\n$1 = open / O_RDONLY|O_DIRECTORY\nfsync $1\n' >jfs.txt
if tap_uml jfs; then
	tap_run "crash" 1 "$ASSAY" crash --kernel "$name" --target jfs -o c jfs.txt
	crash=$(ls c/findings | head -n 1)
	tap_like "its script has the kernel" "c/findings/$crash/repro.sh" "^kernel='$name'"
else
	crash=
	tap_skip "crash" "jfs cannot be mounted here"
fi
# ---- check and hunt ----
tap_run "check" 1 "$ASSAY" check --sandbox uml --kernel "$name" --target lab:bug=5 --nodes 1 \
	--no-crash --depth 2 --max-findings 1 -o k
tap_like "its finding has the kernel" <(cat k/findings/*/finding.json) "kernel=$name[ \"]"
tap_run "hunt" 1 "$ASSAY" hunt --sandbox uml --kernel "$name" --target lab:bug=1 --seed 1 \
	--max-workloads 64 --no-reduce -o h
tap_like "its findings have it" <(cat h/findings/*/finding.json) "kernel=$name[ \"]"

# ---- The kernel is gone ----
rm -rf "$built"
for command in replay reduce; do
	tap_run "$command without it" 3 "$ASSAY" $command --sandbox uml -o o "$id"
	tap_like "says so" "$WORK/err" \
		"$id was found with --kernel $name .*no kernel called '$name'"
done
tap_run "in another one" 1 "$ASSAY" replay --sandbox uml --kernel debian -o o "$id"
tap_run "by its path" 1 "$ASSAY" replay --sandbox uml --uml "$(command -v linux)" -o o "$id"
tap_run "here: none is needed" 1 "$ASSAY" replay -o o "$id"
tap_run "reduced in another one" 1 "$ASSAY" reduce --sandbox uml --kernel debian -o o "$id"
if [ -n "$crash" ]; then
	tap_run "a script without its kernel" 2 sh "c/findings/$crash/repro.sh"
	tap_like "says so" "$WORK/err" "the kernel $name, in which it was found, is not here"
	mkdir bin && ln -s "$ASSAY" bin/assay
	tap_run "a script in another one" 0 env PATH="$PWD/bin:$PATH" \
		sh "c/findings/$crash/repro.sh" --uml linux
	tap_run "a script with half an option" 2 sh "c/findings/$crash/repro.sh" --uml
fi
tap_run "a hunt goes on in its kernel" 3 "$ASSAY" hunt --resume --max-workloads 96 -o h
tap_like "says so" "$WORK/err" "no kernel called '$name'"
"$ASSAY" hunt --resume --kernel debian --max-workloads 96 --no-reduce -o h >"$WORK/out" \
	2>"$WORK/err"
tap_is "or in another one" "$? $(cat "$WORK/err")" "1 "
"$ASSAY" hunt --resume --uml "$(command -v linux)" --max-workloads 128 --no-reduce -o h \
	>"$WORK/out" 2>"$WORK/err"
tap_is "or by its path" "$? $(cat "$WORK/err")" "1 "

# ---- A finding of somebody else ----
sed -i "s,kernel=$name,kernel=../../x," "o/findings/$id/finding.json"
tap_run "a name that is a path" 2 "$ASSAY" replay --sandbox uml -o o "$id"
tap_like "is refused" "$WORK/err" "is not the name of a kernel"
tap_run "a kernel cannot be called debian" 2 "$ASSAY" kernel build plain --name debian
tap_done
