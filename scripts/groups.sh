#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How well findings are put into groups: every seeded bug of labfs is hunted, from several seeds,
# and the kinds of findings (signatures) and the groups of likely causes are counted. One bug should
# give at most two groups in a hunt, and no group should come from two bugs.
#
#   scripts/groups.sh [BUG]...         all bugs that a hunt can find, or these
#   SEEDS="1 2 3" WORKLOADS=400 SECONDS_CRASH=20 KEEP=FOLDER ASSAY=./assay
#
# Columns: kinds of all seeds together, the most groups that one hunt has, the names of groups of
# all seeds together. The last lines name the groups that come from several bugs, and count what was
# met. Kinds that are not reduced yet are a group, but no cause that bugs could share. Exit status
# 1: a bug has more than two groups, or two bugs share one.
cd "$(dirname "$0")/.." || exit 2

ASSAY=${ASSAY:-./assay}
SEEDS=${SEEDS:-1 2 3}
WORKLOADS=${WORKLOADS:-400}
SECONDS_CRASH=${SECONDS_CRASH:-20}
REDUCE=${REDUCE:-10}
GROUPS_MAX=2
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
export ASAN_OPTIONS=detect_leaks=0

"$ASSAY" targets --bugs --json >"$WORK/bugs" || exit 2

text() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }
class_of() { grep "\"number\":$1," "$WORK/bugs" | field class; }

# hunt BUG SEED OUT: a JSON line for each kind of finding.
hunt() {
	local how=(--max-workloads "$WORKLOADS")
	case $(class_of "$1") in
	crash | recovery | checker) how=(--crash --for "${SECONDS_CRASH}s") ;;
	esac
	"$ASSAY" hunt --json --target "lab:bug=$1" --seed "$2" "${how[@]}" \
		--reduce-for "$REDUCE" -o "$WORK/hunt" 2>/dev/null |
		grep '"event":"signature"' >"$3"
	rm -rf "$WORK/hunt" 2>/dev/null
}

bugs=("$@")
if [ ${#bugs[@]} -eq 0 ]; then
	while read -r row; do
		case $(field class <<<"$row") in
		semantics | dogfood | leak | crash | recovery) ;;
		checker) grep -q 'hunt --crash' <<<"$row" || continue ;;
		*) continue ;;
		esac
		bugs+=("$(field number <<<"$row")")
	done <"$WORK/bugs"
fi

failed=0 missed=0
: >"$WORK/groups"
echo "| bug | kinds | groups | names | |"
echo "|---|---|---|---|---|"
for bug in "${bugs[@]}"; do
	: >"$WORK/all"
	groups=0
	for seed in $SEEDS; do
		hunt "$bug" "$seed" "$WORK/one"
		n=$(text group <"$WORK/one" | sort -u | wc -l)
		[ "$n" -le $groups ] || groups=$n
		cat "$WORK/one" >>"$WORK/all"
	done
	[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && cp "$WORK/all" "$KEEP/$bug"; }
	kinds=$(text signature <"$WORK/all" | sort -u | wc -l)
	text group <"$WORK/all" | sort | uniq -c | sort -rn >"$WORK/mine"
	sed "s/^ *[0-9]* //; s/^/$bug\t/" "$WORK/mine" >>"$WORK/groups"
	names=$(wc -l <"$WORK/mine")
	echo "| $bug | $kinds | $groups | $names | $(sed 's/^ *[0-9]* //' "$WORK/mine" | head -n 6 |
		paste -sd';' | sed 's/;state/; state/g; s/;answer/; answer/g; s/|/\\|/g') |"
	[ "$groups" -gt 0 ] || missed=$((missed + 1))
	[ "$groups" -le $GROUPS_MAX ] || failed=$((failed + 1))
done

shared=0
while read -r group; do
	[ -n "$group" ] || continue
	shared=$((shared + 1))
	echo "shared: $group: bugs" \
		"$(awk -F'\t' -v g="$group" '$2 == g { print $1 }' "$WORK/groups" | paste -sd' ')"
done < <(cut -f2 "$WORK/groups" | grep -vx 'not reduced yet' | sort | uniq -d)
echo "${#bugs[@]} bugs, $missed without a finding, $failed with more than $GROUPS_MAX groups," \
	"$shared groups of several bugs"
[ $failed -eq 0 ] && [ $shared -eq 0 ]
