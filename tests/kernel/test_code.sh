#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The code of the kernel that workloads reach: --kcov of run and hunt, and `cov code`. What needs a
# kernel with kcov is skipped where none is built; refusals and files that are damaged need none.
# test_code_cuts.sh has checks, and hunts that cut the power.
cd "$(dirname "$0")/../.." || exit 2
. tests/tap.sh
export LC_ALL=C
ASSAY=$(realpath "$ASSAY")
SMOKE=$PWD/examples/smoke.txt
cd "$WORK" || exit 2

# ---- Files of --kcov ----
printf 'assay-code 1\nkernel -\n6000a001\n' >x.kcov
tap_run "a kernel that nobody knows" 2 "$ASSAY" cov code x.kcov
tap_like "says so" "$WORK/err" "--kernel names it"
tap_run "a kernel that is not there" 3 "$ASSAY" cov code --kernel t$$-none x.kcov
tap_like "says so" "$WORK/err" "no kernel called 't$$-none'"
while IFS='|' read -r name text why; do
	printf "$text" >bad.kcov
	tap_run "$name" 2 "$ASSAY" cov code --kernel debian bad.kcov
	tap_like "$name: says why" "$WORK/err" "$why"
done <<'END'
an empty file||not a file of --kcov
another file|{}\n|not a file of --kcov
a kernel that is a path|assay-code 1\nkernel ../x\n|not the name of a kernel
no end of the line|assay-code 1\nkernel -\n6000a001|bad.kcov:3: not an address
a word|assay-code 1\nkernel -\n6000a001\nxyz\n|bad.kcov:4: not an address
a sign|assay-code 1\nkernel -\n-6000a001\n|bad.kcov:3: not an address
the last address there is|assay-code 1\nkernel -\nffffffffffffffff\n|bad.kcov:3: f* is far
a build that is none|assay-code 1\nkernel debug 12\n|bad.kcov:2: not the name of a kernel
far away|assay-code 1\nkernel -\n6000a001\nf000a001\n|bad.kcov:4: f000a001 is far
END
tap_run "a folder without such a file" 2 "$ASSAY" cov code --kernel debian .
tap_like "names the file" "$WORK/err" "code.kcov"
for command in run hunt; do
	file=$SMOKE
	[ $command = run ] || file=
	# shellcheck disable=SC2086 # no word for a hunt
	tap_run "$command: a library has no such code" 2 "$ASSAY" $command --kcov --target lab \
		-o lab $file
	tap_like "$command: says so" "$WORK/err" "target lab: --kcov is for file systems of the"
done
if "$ASSAY" run --no-store --sandbox uml --kernel debian --target lab "$SMOKE" >/dev/null 2>&1; then
	tap_run "a kernel without kcov" 3 "$ASSAY" run --kernel debian --kcov --target ext2 \
		--no-store "$SMOKE"
	tap_like "says which has it" "$WORK/err" "assay kernel build debug"
	tap_run "a kernel without kcov: check" 3 "$ASSAY" check --kernel debian --kcov \
		--target ext2 --no-store --for 20s
	tap_like "says which has it" "$WORK/err" "assay kernel build debug"
	tap_run "a kernel without kmemleak" 3 "$ASSAY" run --kernel debian --kmemleak \
		--target ext2 --no-store "$SMOKE"
	tap_like "says so" "$WORK/err" "without kmemleak.*assay kernel build debug"
	tap_run "has no functions" 3 "$ASSAY" cov code --kernel debian x.kcov
	tap_like "says so" "$WORK/err" "the kernel debian has no list of its functions"
else
	tap_skip "a kernel without kcov" "the sandbox uml does not run here"
fi

kernel=$("$ASSAY" kernel list --json |
	sed -n 's/.*"name":"\([^"]*\)".*"with":"[^"]*kcov[^"]*","patches":\[\].*/\1/p' | head -n 1)
if [ -z "$kernel" ] || ! tap_uml ext2 ||
	! "$ASSAY" cov code --kernel "$kernel" x.kcov >/dev/null 2>&1; then
	tap_skip "a kernel with kcov" "none runs here: assay kernel build debug"
	tap_done
	exit
fi

# ---- run ----
places() { sed 1,2d "$1/code.kcov" | wc -l; }
echo 'mkdir /a 0755' >one.txt
printf 'mkdir /a 0755\nsymlink x /b\nrename /a /c\n' >more.txt
tap_run "run" 0 "$ASSAY" run --kernel "$kernel" --kcov --target ext2 -o one one.txt
tap_like "says how many" "$WORK/out" "^$(places one) places"
: >elsewhere
mkdir linked
touch linked/.assay-run
ln -s ../elsewhere linked/code.kcov
tap_run "a link in the folder" 2 "$ASSAY" run --kernel "$kernel" --kcov --target ext2 -o linked \
	one.txt
tap_like "is told" "$WORK/err" "linked/code.kcov: a link"
tap_is "and not followed" "$(wc -c <elsewhere)" 0
tap_like "a table of functions for the report" one/code.csv '^fs/ext2/namei.c,ext2_mkdir,[1-9]'
tap_is "which counts nearly all of them" "$(awk -F, -v all="$(places one)" 'NR > 1 { n += $3 }
	END { print (n > 0.9 * all && n <= all) }' one/code.csv)" 1
tap_run "more is done" 0 "$ASSAY" run --kernel "$kernel" --kcov --target ext2 -o more more.txt
tap_is "more is reached" "$(($(places more) > $(places one)))" 1
"$ASSAY" cov code --functions --under fs/ext2 one >one.out
"$ASSAY" cov code --functions --under fs/ext2 more >more.out
tap_like "mkdir is reached" one.out '^ *[1-9][0-9]* places  ext2_mkdir +fs/ext2/namei.c'
tap_like "rename is not" one.out '^ *0 places  ext2_rename '
tap_like "with rename it is" more.out '^ *[1-9][0-9]* places  ext2_rename +fs/ext2/namei.c'
"$ASSAY" cov code --never --under fs/ext2/ more >never.out
tap_is "and not among those never reached" "$(grep -c 'ext2_rename ' never.out)" 0
tap_like "others are" never.out 'ext2_mknod'
tap_is "another file system is not reached" \
	"$("$ASSAY" cov code --under fs/ext4 --json one | grep -c '"places":[1-9]')" 0
tap_run "two runs together" 0 "$ASSAY" cov code --json one more
sum=$(sed -n 's/.*"all".*"places":\([0-9]*\).*/\1/p' "$WORK/out")
tap_is "have as many as the larger one or more" "$((sum > $(places one)))" 1
tap_run "no such code" 2 "$ASSAY" cov code --under fs/none one

# ---- hunt ----
tap_run "hunt" 0 "$ASSAY" hunt --kernel "$kernel" --kcov --target ext2 --no-draw --seed 3 \
	--max-workloads 16 --length 20 --json -o hunt
tap_like "tells how many" "$WORK/out" '"event":"code","places":[1-9]'
before=$(places hunt)
sed 1,2d hunt/code.kcov | sort >before.txt
tap_is "it has reached more than one mkdir" "$((before > $(places one)))" 1
tap_run "it goes on" 0 "$ASSAY" hunt --resume --max-workloads 32 -o hunt
tap_is "and forgets nothing" "$(($(places hunt) >= before))" 1
tap_is "nothing that was reached is lost" \
	"$(comm -13 <(sed 1,2d hunt/code.kcov | sort) before.txt | wc -l)" 0

tap_run "races" 0 "$ASSAY" hunt --race --kernel "$kernel" --kcov --target ext2 --no-draw --seed 3 \
	--max-workloads 2 --length 12 -o race
tap_is "record the mount, if not their threads" "$(($(places race) > 0))" 1

tap_run "comparisons" 0 "$ASSAY" hunt --diff ext2,minix3 --kernel "$kernel" --kcov --seed 3 \
	--max-workloads 1 --length 12 -o diff
for type in ext2 minix; do
	"$ASSAY" cov code --under fs/$type --json diff >diff.out
	tap_like "record the code of $type" diff.out '"all","places":[1-9]'
done

# ---- A hunt that is killed, and a kernel that was built again ----
"$ASSAY" hunt --kernel "$kernel" --kcov --target ext2 --no-draw --for 60s -o killed \
	>/dev/null 2>&1 &
pid=$!
tap_wait_until 60 test -s killed/code.kcov
kill -9 $pid
wait $pid 2>/dev/null
tap_is "what it has reached is kept" "$(($(places killed) > 0))" 1
tap_run "it can be shown" 0 "$ASSAY" cov code --under fs/ext2 killed
sed -i '2s/ [0-9a-f]*$/ 0123456789abcdef0123456789abcdef/' killed/code.kcov
tap_run "another build of that kernel" 3 "$ASSAY" cov code --under fs/ext2 killed
tap_like "says so" "$WORK/err" "another build of the kernel: the places of $kernel are others"
tap_run "is not added to this one" 2 "$ASSAY" cov code hunt killed
tap_like "says so" "$WORK/err" "killed is of another build, not of the kernel $kernel"
tap_run "nor is it gone on with" 2 "$ASSAY" hunt --resume --max-workloads 1000000 -o killed
tap_like "says so" "$WORK/err" "killed/code.kcov was reached in another build"

# ---- Memory that nobody frees ----
if "$ASSAY" kernel list --json | grep "\"name\":\"$kernel\"" | grep -q kmemleak; then
	tap_run "a clean kernel" 0 "$ASSAY" run --kernel "$kernel" --kmemleak --target ext2 \
		-o clean "$SMOKE"
else
	tap_skip "a clean kernel" "none with kmemleak is built: assay kernel build debug"
fi
leaks=$("$ASSAY" kernel list --json |
	sed -n 's/.*"name":"\([^"]*\)".*"patches":\["broken.patch"\].*/\1/p' | head -n 1)
if [ -n "$leaks" ]; then
	echo 'mkdir /leak 0755' >leak.txt
	tap_run "a kernel that leaks" 1 "$ASSAY" run --kernel "$leaks" --kmemleak --target ext2 \
		-o leaks leak.txt
	tap_like "is a finding" "$WORK/out" 'the kernel has lost memory'
	# A number in memory that looks like a pointer to it can hide it for once.
	for try in 1 2 3 4; do
		"$ASSAY" replay -o leaks "$(ls leaks/findings)" >"$WORK/out" 2>&1 && continue
		break
	done
	tap_like "which comes back" "$WORK/out" ': reproduced'
	tap_run "without the option it is none" 0 "$ASSAY" run --kernel "$leaks" --target ext2 \
		-o none leak.txt
else
	tap_skip "a kernel that leaks" \
		"none is built: assay kernel build debug --patch tests/kernel/broken.patch"
fi
tap_done
