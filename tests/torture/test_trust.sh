#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Somebody else's files are data. Whatever file names a plugin, a command, a folder, a kernel or a
# mount option that reaches outside of the sandbox: one line that says what it would do, exit status
# 2, and nothing was done; with --target or --trust, or when this user typed the same words in this
# folder before, it is done.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
CC=${CC:-gcc}
ASSAY=$(realpath "$ASSAY")
labfs=$(realpath "$ASSAY_BUILD/plugins/labfs.so")
cases=$PWD/labfs/cases

# Whatever is run leaves a mark.
MARK=$WORK/mark
cat >"$WORK/evil.c" <<END
#include <fcntl.h>
__attribute__((constructor)) static void begin(void)
{
	open("$MARK", O_CREAT | O_WRONLY, 0600);
}
END
"$CC" -fPIC -shared "$WORK/evil.c" -o "$WORK/evil.so" || tap_not_ok "building the plugin"
printf '#!/bin/sh\ntouch "%s"\n' "$MARK" >"$WORK/evil"
chmod +x "$WORK/evil"
cd "$WORK" || exit 2

input=/dev/null
# refuses NAME REGEX COMMAND...: status 2, one line that matches, and no mark; nothing on stdout.
refuses() {
	local name=$1 regex=$2 got=0
	shift 2
	rm -f "$MARK"
	timeout -s KILL 60 "$ASSAY" "$@" >out 2>err <"$input" || got=$?
	if [ "$got" = 2 ] && [ "$(wc -l <err)" = 1 ] && grep -Eq "would make assay .*$regex" err &&
		[ ! -e "$MARK" ] && [ ! -s out ]; then
		tap_ok "refused: $name"
	else
		tap_not_ok "refused: $name" "exit status $got, mark: $(ls "$MARK" 2>&1)" \
			"$(head -n 5 out err | cat -v)"
	fi
}

# does NAME COMMAND...: not refused, whatever comes of it; and the mark is there.
does() {
	local name=$1 got=0
	shift
	rm -f "$MARK"
	timeout -s KILL 60 "$ASSAY" "$@" >out 2>err </dev/null || got=$?
	if [ "$got" -le 3 ] && ! grep -q 'would make assay' err && [ -e "$MARK" ]; then
		tap_ok "done: $name"
	else
		tap_not_ok "done: $name" "exit status $got" "$(head -n 5 out err | cat -v)"
	fi
}

# ---- Workloads ----
targets() {
	cat <<-END
	plugin:./evil.so
	plugin:evil.so:opts
	plugin:$WORK/evil.so
	fuse:./evil {mnt} {src}
	fuse:$WORK/evil {mnt} {disk}
	END
}
while IFS= read -r target; do
	n=$((n + 1))
	# A blank within takes opts= or cannot be said at all in @target.
	case $target in *' '*) continue ;; esac
	printf '@target %s\nmkdir /a 0755\n' "$target" >"w$n.txt"
	for command in run crash; do
		refuses "$command, @target $target" "run the plugin" "$command" "w$n.txt"
		refuses "$command, @target $target with a size" "run the plugin" \
			"$command" --size 16M "w$n.txt"
	done
	does "run --trust, @target $target" run --trust "w$n.txt"
done < <(targets)
printf '@target "fuse:./evil"\nmkdir /a 0755\n' >fuse.txt
refuses "run, @target fuse" "start the command \./evil" run fuse.txt
printf '@target dir:%s\nmkdir /a 0755\n' "$WORK" >dir.txt
refuses "run, @target dir" "files in the directory $(tap_regex "$WORK")" run dir.txt
tap_run "run --trust, @target dir" 0 "$ASSAY" run --trust --no-store dir.txt
printf '@target lab opts=bug=1\nmkdir /a 0755\n' >lab.txt
tap_run "lab needs no trust" 0 "$ASSAY" run --no-store lab.txt
printf '@target lab\nsync\n@workload two\n@target plugin:./evil.so\nsync\n' >two.txt
refuses "the second workload of a file" "run the plugin" run two.txt
printf '%s\n' "$WORK/w1.txt" >list
refuses "a list" "run the plugin" run --list list
input=w1.txt
refuses "a workload from standard input" "run the plugin" run -
echo list >names
input=names
refuses "lists whose names come on standard input" "run the plugin" run --list -
input=/dev/null
mkdir typed
cp evil.so typed
cd typed || exit 2
does "run -t, in place of it" run -t plugin:./evil.so ../dir.txt
cd ..

# Options of mounts that reach outside of a sandbox: only servers run there without being asked.
printf 'umount\nmount opts=modules=../../evil\n' >mount.txt
refuses "a mount option of a server" "mount, outside of a sandbox, with the options modules" \
	run -t fuse2fs mount.txt
printf '@target fuse2fs opts=modules=../../evil\nsync\n' >server.txt
refuses "an option of a server in @target" "mount, outside of a sandbox" run server.txt
printf '@target ext4 opts=journal_path=/dev/sda1\nsync\n' >ext4.txt
refuses "an option of a type on the running kernel" "mount, outside of a sandbox" \
	run --sandbox host ext4.txt
refuses "an option of a type on the running kernel (crash)" "mount, outside of a sandbox" \
	crash --sandbox host ext4.txt

# ---- Findings ----
"$ASSAY" run -t lab:bug=2 -o proto "$cases/02-append.txt" >out 2>&1
sign=$(grep -o '"signature":"[^"]*"' proto/findings/*/finding.json)
# finding TARGET OPTIONS
finding() {
	rm -rf f
	mkdir f
	cp "$cases/02-append.txt" f/workload.txt
	: >f/README.md
	printf '{"id":"x-1","target":"%s","options":"%s",%s,"kind":"data"}\n' \
		"$1" "$2" "$sign" >f/finding.json
}
for command in replay reduce; do
	finding plugin:./evil.so check=end
	refuses "$command, a plugin" "run the plugin \./evil.so" "$command" f
	does "$command --trust, a plugin" "$command" --trust f
	finding "plugin:./e\\u001b[31mvil.so" check=end
	refuses "$command, a plugin with an escape" 'plugin \./e\\x1b\[31mvil' "$command" f
	finding "fuse:./evil {mnt} {src}" check=end
	refuses "$command, a command" "start the command \./evil" "$command" f
	finding "dir:$WORK" check=end
	refuses "$command, a folder" "files in the directory $(tap_regex "$WORK")" "$command" f
	finding lab "check=end scenario=diff:lab,plugin:./evil.so"
	refuses "$command, a scenario that compares" "run the plugin" "$command" f
	finding lab "check=end scenario=diff:fuse:./evil,lab"
	refuses "$command, a scenario that starts a command" "start the command" "$command" f
	finding "ext4:journal_path=/dev/sda1" check=end
	refuses "$command --sandbox host" "mount, outside of a sandbox" "$command" --sandbox host f
	finding fuse2fs check=end
	cp mount.txt f/workload.txt
	refuses "$command, a mount option in the workload" "mount, outside" "$command" f
	finding lab:bug=2 check=end
	tap_run "$command, lab needs no trust" 1 "$ASSAY" "$command" f
	finding plugin:./evil.so check=end
	tap_run "$command -t lab in place of a plugin" 1 "$ASSAY" "$command" -t lab:bug=2 f
	tap_is "$command -t lab in place of a plugin: the plugin stays unused" \
		"$(ls "$MARK" 2>/dev/null)" ""
	mkdir -p "kept_$command/findings"
	cp -r f "kept_$command/findings/x-1"
	refuses "$command, by its id" "run the plugin" "$command" -o "kept_$command" x-1
done

# ---- Hunts ----
"$ASSAY" hunt -t lab:bug=7 -o h --max-workloads 3 --no-reduce >out 2>&1
cp h/hunt/state.json good.json
# state FROM TO: the state with a part of it replaced.
state() {
	sed "s|$1|$2|g" good.json >h/hunt/state.json
}
go_on=(hunt --resume -o h --max-workloads 2 --no-reduce)
state '"target":"[^"]*"' '"target":"plugin:./evil.so"'
refuses "hunt --resume, a plugin" "run the plugin" "${go_on[@]}"
state '"scenario":"[^"]*"' '"scenario":"diff:lab,plugin:./evil.so"'
refuses "hunt --resume, a scenario that compares" "run the plugin" "${go_on[@]}"
state '"target":"[^"]*"' '"target":"fuse:./evil {mnt} {src}"'
refuses "hunt --resume, a command" "start the command" "${go_on[@]}"
state '"target":"[^"]*"' '"target":"fuse2fs"'
refuses "hunt --resume, a server" "outside of a sandbox" "${go_on[@]}"
state '"target":"[^"]*"' '"target":"plugin:./evil.so"'
sed -i 's|"words":\[|&"--trust",|' h/hunt/state.json
refuses "hunt --resume, a state that trusts itself" "run the plugin" "${go_on[@]}"
state '"scenario":"[^"]*"' '"scenario":"diff:lab,lab:bug=1"'
sed -i 's|"target":"[^"]*"|"target":"plugin:./evil.so"|' h/hunt/state.json
refuses "hunt --resume, a target beside those that are compared" "run the plugin" "${go_on[@]}"
state '"words":\[' '"words":["--uml='"$WORK"'/evil",'
sed -i 's|"target":"[^"]*"|"target":"ext4"|' h/hunt/state.json
refuses "hunt --resume, a kernel" "run the kernel" "${go_on[@]}"
state '"words":\[' '"words":["--sandbox=host",'
sed -i 's|"target":"[^"]*"|"target":"ext4"|' h/hunt/state.json
refuses "hunt --resume, on the running kernel" "outside of a sandbox" "${go_on[@]}"
cp good.json h/hunt/state.json
tap_run "hunt --resume, lab needs no trust" 1 "$ASSAY" "${go_on[@]}"
state '"target":"[^"]*"' '"target":"plugin:./evil.so"'
does "hunt --resume --trust" "${go_on[@]}" --trust

# ---- One's own ----
mkdir mine other
cp "$labfs" mine/fs.so
cp "$WORK/evil.so" other/fs.so
(cd mine && "$ASSAY" run -t plugin:./fs.so:bug=2 "$cases/02-append.txt" >../out 2>&1)
id=$(cd mine/assay.out/findings && echo lab-*)
tap_run "one's own finding needs no trust" 1 env -C mine "$ASSAY" replay "$id"
tap_run "one's own finding is reduced" 1 env -C mine "$ASSAY" reduce "$id"
cp -r mine/assay.out other/
rm -f "$MARK"
tap_run "the same words in another folder" 2 env -C other "$ASSAY" replay "$id"
tap_is "and nothing was run" "$(ls "$MARK" 2>/dev/null)" ""
sed -i 's|"target":"[^"]*"|"target":"plugin:./fs.so:bug=3"|' \
	"mine/assay.out/findings/$id/finding.json"
tap_run "other words in the same folder" 2 env -C mine "$ASSAY" replay "$id"
(cd mine && "$ASSAY" hunt -t plugin:./fs.so:bug=7 -o h --max-workloads 3 --no-reduce >../out 2>&1)
tap_run "one's own hunt" 1 env -C mine "$ASSAY" "${go_on[@]}"
tap_run "hunts that compare" 1 env -C mine "$ASSAY" hunt --diff lab,plugin:./fs.so:bug=2 -o d \
	--max-workloads 40 --no-reduce
id=$(cd mine/d/findings && ls | head -n 1)
tap_run "their findings" 1 env -C mine "$ASSAY" replay -o d "$id"

tap_run "a run that compares" 1 env -C mine "$ASSAY" run -t lab -o e \
	--scenario diff:lab,plugin:./fs.so:bug=2,lab "$cases/02-append.txt"
id=$(cd mine/e/findings && ls | head -n 1)
tap_run "its finding" 1 env -C mine "$ASSAY" replay -o e "$id"
printf 'param mount.opts 100%% modules=evil\n' >p.txt
refuses "a profile with mount options" "the options modules=evil" \
	hunt --diff fuse2fs,lab -p ./p.txt --max-workloads 1 -o p

# ---- Imports ----
printf '1 mkdir("/m/a\\n@target plugin:./evil.so\\nx", 0755) = 0\n' >trace
tap_run "an import of hostile names" 0 "$ASSAY" import --from strace --under /m trace
tap_like "it has an operation" out "^mkdir "
tap_is "and names no target" "$(grep -c '^@target plugin' out)" 0
tap_done
