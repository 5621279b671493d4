#!/usr/bin/env bash
# Measures every policy that `covey policies` lists, and prints the table of docs/policies.md as Markdown.
#
#     scripts/policies.sh [TRACE] [--update]
#
# TRACE is a file; the default is builtin:fb-like. With --update the table replaces the part of the
# page between the two marks. COVEY names a ready binary; without it the script builds one. CPU is
# user time of the whole process, including the reading of the trace: the minimum of RUNS runs
# (default 1).
set -euo pipefail
export LC_ALL=C

source "$(dirname "$0")/lib/prepare.sh"

# measure TRACE SPEC: simulates; sets mean, median and cpu.
measure() {
    local TIMEFORMAT=%U run
    : >"$tmp/time"
    for ((run = 0; run < ${RUNS:-1}; run++)); do
        { time "$covey" simulate "$1" --policy "$2" --json >"$tmp/out"; } 2>>"$tmp/time"
    done
    read -r mean median < <(awk -F'[:, ]+' '
        $2 == "\"cct_s\"" { inside = 1 }
        inside && $2 == "\"mean\"" { mean = $3 }
        inside && $2 == "\"p50\"" { print mean, $3; exit }' "$tmp/out")
    cpu=$(sort -g "$tmp/time" | head -1)
    echo "$2 $mean $median $cpu" >&2
}

{
    echo "| policy | what it does | knows sizes | source | mean CCT, s | p50, s | CPU, s |"
    echo "|---|---|---|---|--:|--:|--:|"
    # A policy begins with "name (knowledge): title"; "from source" ends it.
    "$covey" policies | awk '
        match($0, /^[^ ]+ \([^)]*\): /) {
            name = $1
            knows = substr($0, length(name) + 3, RLENGTH - length(name) - 5)
            title = substr($0, RLENGTH + 1)
        }
        /^    from / { print name "|" knows "|" title "|" substr($0, 10); name = "" }' |
        while IFS='|' read -r name knows title source; do
            measure "$trace" "$name"
            case $knows in
                sized) sizes=yes ;;
                *local*) sizes="no; local" ;;
                unlabelled) sizes="no; nor coflows" ;;
                *) sizes=no ;;
            esac
            printf '| `%s` | %s | %s | %s | %.2f | %.3f | %.2f |\n' \
                "$name" "$title" "$sizes" "$source" "$mean" "$median" "$cpu"
        done
} >"$tmp/policies"

if [[ -z $update ]]; then
    cat "$tmp/policies"
    exit
fi
put_between policies "$tmp/policies" docs/policies.md
