#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay check` says "all" only if nothing was left out, also by those who worked on the same folder
# before; and what it left out does not spoil what follows.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

count() { grep -o "\"$1\":[0-9]*" | tail -n 1 | cut -d: -f2; } # NAME

# ---- What was left out stays known ----

few=("$ASSAY" check --nodes 2 --depth 2 --max-states 20 -o "$WORK/few")
tap_run "room for a few states" 0 "${few[@]}"
tap_run "going on" 0 "${few[@]}" --resume
tap_like "is not all" "$WORK/out" '^not all states were explored: the check that this one goes on'
tap_run "its JSON" 0 "${few[@]}" --resume --json
tap_like "says so, too" "$WORK/out" '"all":false'

# More states wait than may: some are discarded, by chance, and who goes on takes them up.
many=("$ASSAY" check --nodes 2 --depth 3 --no-crash -o "$WORK/many")
tap_run "a frontier with a bound" 0 "${many[@]}" --max-frontier 20 --jobs 2
tap_like "is not all" "$WORK/out" '^not all states were explored: states were discarded'
tap_like "how many is said" "$WORK/out" '^[0-9]+ states were discarded at random: more than 20 '
tap_is "nowhere is it all" "$(grep -c '^all ' "$WORK/out")" 0
tap_run "going on with a bound" 0 "${many[@]}" --max-frontier 30 --resume --json
tap_like "it is not all yet" "$WORK/out" '"all":false'
tap_run "going on without it" 0 "${many[@]}" --resume
tap_like "now it is all" "$WORK/out" '^all 3366 states within bounds explored'
tap_run "a bound that is never reached" 0 "$ASSAY" check --nodes 2 --depth 2 --no-crash --no-store \
	--max-frontier 100000
tap_like "is all" "$WORK/out" '^all '

# A folder that is full.
mkdir "$WORK/disk"
if mount -t tmpfs -o size=64k tmpfs "$WORK/disk" 2>/dev/null; then
	tap_run "a full disk" 0 "$ASSAY" check --nodes 2 --depth 3 --no-crash -o "$WORK/disk/x"
	tap_like "a full disk: is not all" "$WORK/out" '^not all states were explored: there was no'
	rm -rf "$WORK/disk/x"
	mkdir "$WORK/disk/y"
	head -c 64k /dev/zero >"$WORK/disk/fill" 2>/dev/null
	tap_run "a disk without room" 2 "$ASSAY" check --nodes 2 --depth 3 --no-crash \
		-o "$WORK/disk/y"
	tap_like "a disk without room: is said" "$WORK/err" 'No space left on device'
	umount "$WORK/disk"
else
	tap_skip "a full disk" "mounting a tmpfs needs root"
fi

refused() { # NAME OPTION...
	local name=$1
	shift
	tap_run "going on with $name" 2 "$ASSAY" check --nodes 1 --depth 1 -o "$WORK/one" --resume \
		"$@"
	tap_like "$name: is refused" "$WORK/err" 'made with other settings'
}
tap_run "one node" 0 "$ASSAY" check --nodes 1 --depth 1 -o "$WORK/one"
refused "faults" --faults alloc
refused "other views" --view 1
refused "more power cuts" --again 2
refused "no power cuts" --no-crash
tap_run "going on with the same" 0 "$ASSAY" check --nodes 1 --depth 1 -o "$WORK/one" --resume
tap_like "is all" "$WORK/out" \
	'^all [0-9]+ states within bounds explored: 1 node, traces of up to 1 operation$'

# ---- States that are met by a longer trace first ----

visit() { # OPTION...
	"$ASSAY" check --target lab --no-store --json "$@" | grep '"event":"check"' >"$WORK/order"
	echo "$(count owned_sum <"$WORK/order") $(grep -o '"all":[a-z]*' "$WORK/order")"
}
orders() { visit --nodes 2 --depth 3 --no-crash "$@"; } # OPTION...
bfs=$(orders)
tap_is "depth first visits the same states, and says so" "$(orders --search dfs)" "$bfs"
tap_is "though some were met by longer traces" "$(($(count shorter <"$WORK/order") > 0))" 1
tap_is "so does random search" "$(orders --search random --seed 3)" "$bfs"
tap_is "so do two processes" "$(orders --search dfs --jobs 2)" "$bfs"

# The same where traces go on after power cuts: what was recovered once may be met again by a
# shorter trace, and by another process.
cuts() { visit --nodes 1 --depth 4 --ops mkdir,rmdir,sync,create,unlink --again 0 "$@"; }
bfs_cuts=$(cuts)
tap_like "all, with power cuts" <(echo "$bfs_cuts") '"all":true$'
tap_is "some are gone on from" "$(($(count recovered <"$WORK/order") > 10))" 1
for search in dfs random recovery novelty; do
	tap_is "power cuts, $search" "$(cuts --search $search)" "$bfs_cuts"
done
tap_is "power cuts, two processes" "$(cuts --jobs 2)" "$bfs_cuts"
tap_is "power cuts, three processes, depth first" "$(cuts --search dfs --jobs 3)" "$bfs_cuts"

rm -rf "$WORK/deep"
deep=("$ASSAY" check --nodes 2 --no-crash --depth 3 --search dfs -o "$WORK/deep")
"${deep[@]}" --max-transitions 9000 >/dev/null
tap_run "going on" 0 "${deep[@]}" --resume --json
tap_is "ends with the same" "$(count owned_sum <"$WORK/out")" "${bfs%% *}"

# ---- A death while something fails ----

tap_run "a death by a fault, and a mistake without one" 1 "$ASSAY" check --nodes 2 \
	--depth 3 --ops create,rename \
	--target lab:bug=21,bug=1 --no-crash --faults alloc --no-store --json
tap_is "all that was found comes back" "$(count unconfirmed <"$WORK/out")" 0
tap_like "it is not all" "$WORK/out" '"all":false'
tap_is "both are found" "$(($(count findings <"$WORK/out") >= 2))" 1

# ---- States that cannot be brought back ----

# Below the root it dies when its process is young, or old: at first, a state there is reached, and
# it cannot be brought back by the next process.
sed -E '1i #include <stdlib.h>
	s/^static int fs_mount\(/static int mounts;\n\n&/
	/static int fs_mount\(/,/^}/s/^\{/{\n	mounts++;/
	/^static int fs_mkdir\(/,/^}/s/^\{/{\n	check_age(path);/
	/^static int fs_mkdir\(/{
		i static void check_age(const char *path)
		i {
		i if (strrchr(path, 47) != path && (mounts > 100 || mounts < 2)) abort();
		i }
	}
	' examples/plugin_skeleton/skeleton.c >"$WORK/young.c"
grep -q 'mounts++' "$WORK/young.c" || tap_not_ok "building it" "the skeleton has no such line"
${CC:-cc} -fPIC -shared -Iinclude "$WORK/young.c" -o "$WORK/young.so" || tap_not_ok "building it"
tap_run "a state that kills every new worker" 1 timeout 60 "$ASSAY" check --no-store --no-crash \
	--target "plugin:$WORK/young.so" --size 256K --nodes 3 --depth 4 \
	--ops mkdir,create,unlink --json
tap_is "is left" "$(($(count lost <"$WORK/out") >= 1))" 1
tap_like "and it is not all" "$WORK/out" '"all":false'

# ---- Stopped by a signal ----

"$ASSAY" check --target lab --nodes 4 --for 60s --no-store >"$WORK/out" 2>&1 &
pid=$!
tap_wait_until 20 tap_children $pid
kill -TERM $pid
wait $pid
tap_is "the status after SIGTERM" $? 143
tap_like "it was stopped" "$WORK/out" '^not all states were explored: it was stopped'

tap_done
