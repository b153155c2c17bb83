#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A library that writes past the end of a buffer that it is given is found, though its answer is
# right: a link's text with a NUL after it, an attribute whose length is looked at too late.
# tests/torture/test_liars.sh does it with read.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

LABFS=$(realpath "$(dirname "$ASSAY")/plugins/labfs.so")
cat >"$WORK/w.txt" <<'END'
create /f 0644
symlink some/where /l
write_xattr /f user.name len=20
readlink /l
read_xattr /f user.name
listxattr /f
END
rows() {
	cat <<-'END'
	none 0 1 workload, 6 operations, 0 findings
	readlink 1 op 4: readlink /l: wrote past the end of the buffer that it was given
	getxattr 1 op 5: read_xattr /f user.name.*: wrote past the end of the buffer
	listxattr 1 op 6: listxattr /f: wrote past the end of the buffer
	END
}
while read -r call status words; do
	${CC:-cc} -fPIC -shared -Iinclude "-DLABFS=\"$LABFS\"" "-DPAST=$call" \
		tests/target/plugins/past.c -o "$WORK/$call.so" || tap_not_ok "building $call"
	tap_run "$call" "$status" "$ASSAY" run --no-store --target "plugin:$WORK/$call.so" \
		"$WORK/w.txt"
	tap_like "$call: the words" "$WORK/out" "$words"
done < <(rows)
tap_done
