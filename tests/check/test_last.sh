#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A mistake that only the last explored state shows. A plugin answers success to the mkdir of a
# directory that is there, three levels deep. With three directories at most, breadth-first search
# comes to the one state that has such a directory after all others, and to this operation after all
# others there. So a search that leaves out one state, or one operation, finds nothing.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

SKELETON=examples/plugin_skeleton/skeleton.c
MISTAKE='/^static int fs_mkdir\(/,/^}/s/^	int rc = walk\(fs, path, &p\);/&\
	unsigned deep = 0;\
\
	for (const char *s = path; *s; s++)\
		deep += *s == 0x2f;\
	if (!rc \&\& p.there \&\& deep == 3)\
		return 0;/'

build() { # NAME
	gcc -g -fPIC -shared -Iinclude "$WORK/$1.c" -o "$WORK/$1.so" || tap_not_ok "building $1"
}
explore() { # WHAT STATUS PLUGIN OPTION...
	local what=$1 status=$2 plugin=$3
	shift 3
	tap_run "$what" "$status" timeout 120 "$ASSAY" check --target "plugin:$WORK/$plugin.so" \
		--size 256K --no-crash --nodes 3 --ops mkdir --json "$@"
}
count() { grep -o "\"$1\":[0-9]*" "$WORK/out" | head -n 1 | cut -d: -f2; } # NAME

cp "$SKELETON" "$WORK/sound.c"
sed -E "$MISTAKE" "$SKELETON" >"$WORK/last.c"
tap_is "the plugin has the mistake" "$(cmp -s "$WORK/last.c" "$WORK/sound.c" && echo no)" ""
build sound
build last

explore "without the mistake" 0 sound --no-store
tap_like "all is explored" "$WORK/out" '"all":true'
states=$(count states)
transitions=$(count transitions)

explore "with it" 1 last -o "$WORK/whole"
tap_like "all is explored, too" "$WORK/out" '"all":true'
tap_is "as many states" "$(count states)" "$states"
tap_is "it is one finding" "$(count findings)" 1
id=$(ls "$WORK/whole/findings" | head -n 1)
tap_run "replay" 1 "$ASSAY" replay --trust -o "$WORK/whole" "$id"
tap_like "it comes back" "$WORK/out" ': reproduced$'

explore "one operation less" 0 last --max-transitions $((transitions - 1)) -o "$WORK/less"
tap_is "is one state less" "$(count expanded)" $((states - 1))
tap_is "and finds nothing" "$(count findings)" 0
tap_like "nor is it all" "$WORK/out" '"all":false'
explore "what is left of it" 1 last -o "$WORK/less" --resume
tap_is "is that state" "$(count expanded)" 1
tap_is "which shows it" "$(count findings)" 1

for how in "--search dfs" "--search random" "--search recovery" "--search novelty" "--jobs 2" \
	"--jobs 3 --search random" "--shard 1/1"; do
	# shellcheck disable=SC2086
	explore "$how" 1 last $how --no-store
	tap_is "$how: the same states" "$(count states)" "$states"
	tap_is "$how: finds it, too" "$(count findings)" 1
done

tap_done
