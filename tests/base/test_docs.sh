#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The docs name things that exist: files, functions, headers, other pages. DESIGN.md has all rooms
# and arrows of scripts/tidy.sh.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

# What stands between backquotes, a line each.
quoted() { grep -oE '`[^`]+`' "$1" | tr -d '`'; }

# Files: `room/file.c` is below src/ or at the root. A reproducer is not one of ours.
for page in docs/DESIGN.md docs/GLOSSARY.md; do
	missing=$(quoted "$page" | grep -E '^[a-z_./0-9]+\.(c|h|def|sh)$' |
		grep -v '^repro\.c$' | sort -u | while read -r file; do
		[ -e "$file" ] || [ -e "src/$file" ] ||
			find src labfs include tests scripts -name "$file" 2>/dev/null |
			grep -q . || echo "$file"
	done)
	tap_is "$page: the files exist" "$missing" ""
	missing=$(quoted "$page" | sed -nE 's/^([a-z_0-9]+)\(\)$/\1/p' | sort -u |
		while read -r name; do
		grep -rqw "$name" src include labfs scripts || echo "$name()"
	done)
	tap_is "$page: the functions exist" "$missing" ""
	missing=$(quoted "$page" | sed -nE 's/^struct (as_[a-z_0-9]+)$/\1/p' | sort -u |
		while read -r name; do
			grep -rqE "struct $name \{" src include || echo "$name"
		done)
	tap_is "$page: the structs exist" "$missing" ""
done

# Links between pages.
for page in README.md docs/*.md; do
	missing=$(grep -oE '\]\([A-Za-z_./]+(#[^)]*)?\)' "$page" |
		sed 's/^](//; s/[#)].*//' | sort -u |
		while read -r to; do [ -e "$(dirname "$page")/$to" ] || echo "$to"; done)
	tap_is "$page: the links lead somewhere" "$missing" ""
done

# Rooms and arrows, as tidy.sh has them: a room and those that it may include.
arrows=$(sed -n '/^arrows() {/,/END$/p' scripts/tidy.sh | sed '1,2d;/END/d' | tr -d '\t')
for room in $(cut -d ' ' -f 1 <<<"$arrows" | sort -u); do
	tap_is "DESIGN.md has the room $room" "$(grep -c "^| \`$room\` |" docs/DESIGN.md)" 1
	missing=$(sed -n "s/^$room //p" <<<"$arrows" | xargs -n 1 | while read -r to; do
		[ -z "$to" ] || sed -nE "/^$room +->/,/^[^ ]* *->|^\`/p" docs/DESIGN.md |
			sed "1s/^$room *->//; 2,\${/->/d}" | tr ' ' '\n' |
			grep -qx "$to" || echo "$to"
	done | xargs)
	tap_is "DESIGN.md has the arrows of $room" "$missing" ""
done
tap_done
