#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The report in a headless browser (browser/report.mjs): what people see and do there.
# SHOTS=FOLDER keeps screenshots.
. "$(dirname "$0")/../tap.sh"
here=$(dirname "$0")/browser

skip() {
	tap_skip "the report in a browser" "$1"
	tap_done
	exit 0
}
command -v chromium >/dev/null || skip "chromium is not installed"
command -v node >/dev/null || skip "node is not installed"
[ -d "$here/node_modules/playwright-core" ] ||
	skip "playwright-core is not installed: scripts/setup.sh test does it, if npm can reach it"

# ---- Runs: a crash that loses writes, a checker, a hunt with coverage ----
cat >"$WORK/w.txt" <<-'END'
	mkdir /a 0755
	create /a/f 0644
	$0 = open /a/f O_RDWR
	pwrite $0 len=4096 at=0 fill=3
	fsync $0
	rename /a/f /a/g
	mkdir /b 0755
	create /b/x 0644
	fsync $0
	close $0
END
for bug in 39 38 26; do
	"$ASSAY" crash -t lab:bug=$bug "$WORK/w.txt" -o "$WORK/crash" >/dev/null 2>&1
done
"$ASSAY" fsck labfs-fsck:bug=50 --for 120s --max-findings 1 -o "$WORK/fsck" >/dev/null 2>&1
"$ASSAY" hunt -t lab:bug=3 --max-workloads 12 --no-reduce --cov "$WORK/own.cov" -o "$WORK/hunt" \
	>/dev/null 2>&1
printf 'seconds,blocks,percent\n0.5,100,10\n1.0,180,18\n1.5,200,20\n' \
	>"$WORK/fsck/fsck/coverage.csv"
printf 'wall_us,states,transitions,memory_bytes\n500000,5,9,1048576\n1000000,9,20,2097152\n' \
	>"$WORK/crash/history.csv"
printf 'file,function,places\nfs/a/b.c,one,3\nfs/a/b.c,<b>two,0\n' >"$WORK/fsck/code.csv"
printf 'file,function,places\nfs/a/b.c,one,3\nfs/a/b.c,two,0\nfs/a/c.c,one,1\n' \
	>"$WORK/hunt/code.csv"
printf '| bug | check | hunt |\n|---|---|---|\n| 1 | 0.3 | - |\n| 2 | 0.4 | 1.2 |\n' \
	>"$WORK/score.md"
crash=$(grep -l 'lost: .*the tree when' "$WORK"/crash/findings/*/finding.json | head -n 1)
crash=$(basename "$(dirname "$crash")")
fsck=$(basename "$WORK"/fsck/findings/*)
hunt=$(grep -lE '"summary":"op ([4-9][0-9]|[0-9]{3}):' "$WORK"/hunt/findings/*/finding.json |
	head -n 1)
hunt=$(basename "$(dirname "$hunt")")
if [ ! -f "$WORK/crash/findings/$crash/finding.json" ]; then
	tap_not_ok "a crash that loses writes" "$(ls "$WORK/crash")"
	tap_done
	exit 1
fi
mkdir "$WORK/pages"
"$ASSAY" report "$WORK/crash" "$WORK/fsck" "$WORK/hunt" --cov "$WORK/own.cov" \
	--score "$WORK/score.md" -o "$WORK/pages/runs.html" 2>/dev/null

"$ASSAY" merge "$WORK/crash" "$WORK/hunt" -o "$WORK/joined" >/dev/null 2>&1
"$ASSAY" report "$WORK/joined" -o "$WORK/pages/joined.html" 2>/dev/null

# ---- Texts that try to be markup, wherever a text can stand ----
bad='<img src=x onerror=window.hacked=1>\"'"'"'</script><script>window.hacked=2</script><!--<b>'
mark=${bad//\\/\\\\}
mark=${mark//&/\\&} # as sed wants it
cp -r "$WORK/crash" "$WORK/evil<img src=x onerror=hacked=3>"
evil="$WORK/evil<img src=x onerror=hacked=3>"
for record in "$evil"/findings/*/finding.json; do
	sed -Ei "s~\"(summary|signature|group|target|options|kernel)\":\"~&$mark~;
		s~\"log\":(null|\")~\"log\":\"$mark\",\"x\":\1~;
		s~wrote journal~wrote <img src=x onerror=window.hacked=4>~g" "$record"
	printf '# %b\nmkdir /<img\n' "$bad" >"$(dirname "$record")/workload.txt"
	printf '%b' "$bad" >"$(dirname "$record")/repro.c"
done
sed -i "s~\"target\":\"~&$mark~" "$evil/progress.json"
printf 'wall_us,<img src=x onerror=hacked=5>,states\n1,2,3\n4,5,6\n' >"$evil/history.csv"
mkdir -p "$evil/fsck"
printf 'seconds,<img src=x onerror=hacked=6>\n1,2\n3,4\n' \
	>"$evil/fsck/<img src=x onerror=hacked=7>.csv"
printf '| %b | a |\n| %b | - |\n' "$bad" "$bad" >"$WORK/evil.md"
cp "$WORK/own.cov" "$WORK/<img src=x onerror=hacked=8>.cov"
"$ASSAY" report "$evil" "$WORK/hunt" --score "$WORK/evil.md" --title "$bad" \
	--cov "$WORK/<img src=x onerror=hacked=8>.cov" -o "$WORK/pages/hostile.html" 2>/dev/null

# ---- Ten thousand findings, and none ----
mkdir "$WORK/many"
cp -r "$WORK/crash/.assay-run" "$WORK/crash/findings" "$WORK/many"
node "$here/many.mjs" "$WORK/many" "$crash" 10000
rm -rf "$WORK/many/findings/$crash"
"$ASSAY" report "$WORK/many" -o "$WORK/pages/many.html" 2>/dev/null
mkdir "$WORK/none"
cp "$WORK/crash/.assay-run" "$WORK/none"
"$ASSAY" report "$WORK/none" -o "$WORK/pages/empty.html" 2>/dev/null

# ---- A campaign: cells that find something, one that is complete, one that fails, many ----
cat >"$WORK/heat.campaign" <<-'END'
	campaign heat
	time 20s
	rounds 1
	cells hunt --target lab:bug={bug} --no-reduce --max-workloads 6 --seed {seed}
	    bug 3 7
	    seed 1..3
	cells check --target lab --nodes 1 --depth 1 --no-crash
	cells hunt --target {fs} --no-reduce --max-workloads 1
	    fs lab "lab:<img src=x onerror=window.hacked=9>"
	cells hunt --target lab --max-workloads 1 --seed {n}
	    n 1..26
END
"$ASSAY" swarm run "$WORK/heat.campaign" -o "$WORK/pages/campaign" -j 2 -q >/dev/null 2>&1
"$ASSAY" swarm merge "$WORK/pages/campaign" >/dev/null 2>&1

# Two seconds on a machine that does nothing else.
PAGES=$WORK/pages CRASH=$crash FSCK=$fsck HUNT=$hunt \
	BOUND_MS=$((2000 * $(tap_slowness) * TAP_SLOWER)) \
	CHROMIUM=$(command -v chromium) TMPDIR=/tmp timeout 380 node "$here/report.mjs"
