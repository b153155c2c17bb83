#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The hunt from the command line: what it says and keeps, that it depends on nothing but its seed,
# that it goes on where it was stopped, by whatever, and that bad input gets one line.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
export LC_ALL=C ASAN_OPTIONS=detect_leaks=0

# hunt FOLDER OPTION...
hunt() {
	local out=$1
	shift
	"$ASSAY" hunt -o "$WORK/$out" "$@"
}

# refuses NAME STATUS REGEX OPTION...: one line, and nothing is hunted.
refuses() {
	local name=$1 want=$2 regex=$3 got=0
	shift 3
	"$ASSAY" hunt "$@" >"$WORK/out" 2>"$WORK/err" </dev/null || got=$?
	if [ "$got" = "$want" ] && [ "$(wc -l <"$WORK/err")" = 1 ] &&
		grep -Eq "^assay: .*($regex)" "$WORK/err"; then
		tap_ok "$name"
	else
		tap_not_ok "$name" "exit status $got, wanted $want, /$regex/" "$(cat "$WORK/err")"
	fi
}

# What a hunt came to, without times: the last lines of --json.
outcome() {
	grep -E '"event":"(signature|done)"' "$1" |
		sed 's/,"first_us":[0-9]*//; s/,"wall_us":[0-9]*//'
}

# ---- Bad input ----
refuses "no target" 2 "--target is needed" -o "$WORK/bad"
refuses "a target that is not there" 2 "nowhere" --target nowhere -o "$WORK/bad"
refuses "a profile that is not there" 2 "unknown profile|profile" \
	--target lab --profile nonsense -o "$WORK/bad"
printf 'weight mkdir -1\n' >"$WORK/negative.profile"
refuses "a negative weight" 2 "negative.profile:1:" \
	--target lab --profile "$WORK/negative.profile" -o "$WORK/bad"
{
	"$ASSAY" gen --show --profile paper | grep '^weight' | sed 's/ [0-9]*$/ 0/'
	echo "weight fsync 1"
} >"$WORK/nothing.profile"
refuses "a profile with nothing possible" 2 "no core command|no possible command" \
	--target lab --profile "$WORK/nothing.profile" -o "$WORK/bad"
refuses "a time that is none" 2 "not a time such as" --target lab --for soon -o "$WORK/bad"
refuses "no time at all" 2 "not a time such as" --target lab --for 0s -o "$WORK/bad"
refuses "nothing to go on with" 2 "there is no hunt in" --resume -o "$WORK/bad"
refuses "a scenario that is not there" 2 "unknown scenario" \
	--target lab --scenario nonsense -o "$WORK/bad"

# ---- What it finds ----
hunt found --target lab:bug=1 --max-workloads 128 --json >"$WORK/json"
tap_is "findings: exit status 1" "$?" 1
tap_like "a signature is told" "$WORK/json" '"event":"signature".*EEXIST.*"count":[1-9]'
id=$(sed -n 's/.*"event":"signature".*"id":"\([^"]*\)".*/\1/p' "$WORK/json" | head -n 1)
tap_run "the finding comes back" 1 "$ASSAY" replay -o "$WORK/found" "$id"
tap_is "it is reduced" "$(test -s "$WORK/found/findings/$id/workload.reduced.txt" && echo yes)" yes
count=$(sed -n 's/.*"event":"signature".*"count":\([0-9]*\).*/\1/p' "$WORK/json" | head -n 1)
tap_is "and counted" \
	"$(sed -n 's/.*"count":\([0-9]*\).*/\1/p' "$WORK/found/findings/$id/finding.json")" "$count"
tap_is "one folder for each signature" "$(ls "$WORK/found/findings" | wc -l)" \
	"$(grep -c '"event":"signature"' "$WORK/json")"
refuses "another target cannot be gone on with" 2 "is on lab:bug=1, not on lab" \
	--resume --target lab -o "$WORK/found"
refuses "another seed neither" 2 "--seed cannot be changed" --resume --seed 7 -o "$WORK/found"

# ---- The seed alone ----
for jobs in 1 3; do
	hunt "same$jobs-a" --target lab:bug=2 --max-workloads 384 --jobs $jobs --json >"$WORK/a"
	hunt "same$jobs-b" --target lab:bug=2 --max-workloads 384 --jobs $jobs --json >"$WORK/b"
	outcome "$WORK/a" >"$WORK/a.end"
	outcome "$WORK/b" >"$WORK/b.end"
	tap_run "the same twice with $jobs jobs" 0 diff "$WORK/a.end" "$WORK/b.end"
	tap_run "and the same folders" 0 \
		diff <(ls "$WORK/same$jobs-a/findings") <(ls "$WORK/same$jobs-b/findings")
done

# ---- Killed ----
# alive: processes whose command line names our folder.
alive() {
	pgrep -f -- "-o $(tap_regex "$WORK")/$1( |\$)" | wc -l
}

is_dead() { [ "$(alive "$1")" = 0 ]; }

# await_state FOLDER: the hunt has begun.
await_state() {
	tap_wait_until 30 test -s "$WORK/$1/hunt/state.json"
}

hunt whole --target lab:bug=2 --max-workloads 512 --jobs 2 --json >"$WORK/whole.json"
outcome "$WORK/whole.json" >"$WORK/whole.end"
for signal in KILL KILL KILL TERM INT; do
	if [ ! -d "$WORK/cut" ]; then
		options=(--target lab:bug=2 --max-workloads 512 --jobs 2)
	else
		options=(--resume)
	fi
	"$ASSAY" hunt -o "$WORK/cut" "${options[@]}" >"$WORK/out" 2>"$WORK/err" &
	pid=$!
	await_state cut
	sleep "0.$((RANDOM % 6))" # the moment is what is tested
	kill -$signal $pid 2>/dev/null
	wait $pid 2>/dev/null
	# Whoever is killed along needs a moment.
	tap_wait_until 60 is_dead cut
	tap_is "SIG$signal leaves no process" "$(alive cut)" 0
	[ $signal = INT ] && grep -q "^stopped" "$WORK/out" &&
		tap_like "it says how to go on" "$WORK/out" \
			"assay hunt --resume -o $(tap_regex "$WORK")/cut"
done
hunt cut --resume --json >"$WORK/cut.json"
outcome "$WORK/cut.json" >"$WORK/cut.end"
tap_run "killed again and again it comes to the same" 0 diff "$WORK/whole.end" "$WORK/cut.end"
tap_run "with the same folders" 0 diff <(ls "$WORK/whole/findings") <(ls "$WORK/cut/findings")
tap_is "and leaves nothing of its own" \
	"$(cd "$WORK/cut/hunt" && echo *)" "lock profile state.json"
hunt cut --resume >"$WORK/out"
tap_is "a hunt that is over is over" "$(sed -n 's/ workloads.*//p' "$WORK/out")" 512
refuses "a folder with a hunt that is not over is not overwritten" 2 "not over" \
	-o "$(
		mkdir -p "$WORK/open"
		cp -r "$WORK/cut/hunt" "$WORK/cut/.assay-run" "$WORK/open"
		sed -i 's/"max_workloads":512/"max_workloads":9999/; s/"over":true/"over":false/g' \
			"$WORK/open/hunt/state.json"
		echo "$WORK/open"
	)" --target lab
printf '{"version":1}' >"$WORK/open/hunt/state.json"
refuses "a hunt of an older assay" 2 "whose signatures were other ones" --resume -o "$WORK/open"
printf '{"version":2}' >"$WORK/open/hunt/state.json"
refuses "a state that is none" 2 "not the state of a hunt" --resume -o "$WORK/open"

# ---- A full disk ----
if [ "$(id -u)" = 0 ] && mkdir "$WORK/tiny" &&
	mount -t tmpfs -o size=64k tmpfs "$WORK/tiny" 2>"$WORK/err"; then
	trap 'umount -l "$WORK/tiny" 2>/dev/null; rm -rf "$WORK"' EXIT
	"$ASSAY" hunt --target lab:bug=2 --max-workloads 256 -o "$WORK/tiny/out" \
		>"$WORK/out" 2>"$WORK/err"
	tap_is "a full disk is an error of ours" "$?" 2
	tap_like "said in one line" "$WORK/err" "^assay: .*No space left on device"
	mount -o remount,size=64M "$WORK/tiny"
	hunt tiny/out --resume --json >"$WORK/tiny.json"
	tap_is "with room it goes on" "$?" 1
	hunt roomy --target lab:bug=2 --max-workloads 256 --json >"$WORK/roomy.json"
	outcome "$WORK/tiny.json" >"$WORK/a.end"
	outcome "$WORK/roomy.json" >"$WORK/b.end"
	tap_run "to the same end" 0 diff "$WORK/a.end" "$WORK/b.end"
	umount "$WORK/tiny"
else
	tap_skip "a full disk" "it takes root to mount a small one"
fi

# ---- An ordinary user ----
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	mkdir -m 777 "$WORK/nobody"
	chmod a+rx "$WORK"
	cp "$(realpath "$ASSAY")" "$WORK/nobody/assay"
	tap_run "as an ordinary user" 1 setpriv --reuid=65534 --regid=65534 --clear-groups \
		env HOME="$WORK/nobody" "$WORK/nobody/assay" hunt --target lab:bug=1 \
		--max-workloads 64 -o "$WORK/nobody/out"
else
	tap_skip "as an ordinary user" "it takes root to become one"
fi
tap_done
