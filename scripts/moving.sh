#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# moving.sh FOLDER SEED...: what moving work between cells is worth. Runs
# campaigns/labfs-bugs.campaign once as it is and once with --static, with equal work, for each
# seed. Prints in how many cells (each has one bug) something was found, the workloads, and the CPU
# time of both. ASSAY, JOBS and SCALE (a factor such as 1/2) may be set.
set -euo pipefail
cd "$(dirname "$0")/.."
assay=${ASSAY:-./assay}
folder=$1
shift
mkdir -p "$folder"

# CELLS-WITH-FINDINGS WORK CPU-SECONDS of a campaign's folder
sums() {
	"$assay" swarm status "$1" --json | jq -rs '[(map(select(.kinds > 0)) | length),
		(map(.work) | add), (map(.cpu_us) | add / 1000000 | floor)] | @tsv'
}

echo "| seed | found, moving | found, static | workloads of each | CPU s of each |"
echo "|---|---|---|---|---|"
for seed; do
	file=$folder/$seed.campaign
	sed "s/^    seed 1\$/    seed $seed/" campaigns/labfs-bugs.campaign >"$file"
	for how in moving static; do
		status=0
		"$assay" swarm run "$file" --local --jobs "${JOBS:-2}" --scale "${SCALE:-1}" \
			-o "$folder/$seed-$how" $([ $how = moving ] || echo --static) \
			>"$folder/$seed-$how.log" 2>&1 || status=$?
		[ "$status" -le 1 ] || { tail -n 3 "$folder/$seed-$how.log" >&2; exit 2; }
	done
	read -r a work_a cpu_a < <(sums "$folder/$seed-moving")
	read -r b work_b cpu_b < <(sums "$folder/$seed-static")
	echo "| $seed | $a | $b | $work_a, $work_b | $cpu_a, $cpu_b |"
done
