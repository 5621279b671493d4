#!/usr/bin/env bash
# Measures how cost grows, and prints it as Markdown: the CPU that each policy takes at one of several
# sizes, and the exponent of growth between the last two sizes that it finishes (none if the first of
# them takes less than 0.1 s). Sizes are
#
# - coflows that are present: n coflows of four flows, all at time 0 on 150 ports;
# - flows: twenty coflows of n flows each, all at time 0 on 150 ports;
# - ports: 2,000 coflows of four flows, all at time 0 on n ports;
# - events: n coflows of four flows, one each 18 ms, which 150 ports carry.
#
# Last, 100,000 coflows of one flow, all at time 0 on 900 ports: CPU and peak memory.
#
#     scripts/growth.sh [--update] [POLICY...]
#
# Without POLICY it measures all policies that `covey policies` lists. With --update the script
# replaces the part of docs/measurements/simulator.md between the two marks; otherwise it prints to
# standard output. COVEY names a ready binary; without it the script builds one. LIMIT (default 60)
# is the maximum CPU time of a run in seconds; a longer run is stopped, and the table says so.
set -euo pipefail
export LC_ALL=C

into=
[[ ${1:-} != --update ]] || { into=yes; shift; }
policies="$*"
set --
source "$(dirname "$0")/lib/prepare.sh"
source scripts/lib/measured.sh
export LIMIT=${LIMIT:-60}
[[ -n $policies ]] ||
    policies=$("$covey" policies | awk 'match($0, /^[^ ]+ \([^)]*\): /) { print $1 }')

# workload COFLOWS FLOWS PORTS GAP: writes COFLOWS coflows, one each GAP seconds, to standard
# output. Sizes are whole MB, 1 to 100; ports and sizes are pseudo-random, always the same.
workload() {
    awk -v n="$1" -v flows="$2" -v ports="$3" -v gap="$4" '
        function random(below) { state = state * 16807 % 2147483647; return state % below }
        BEGIN {
            state = 1
            printf "{\"covey_trace\":1,\"ports\":%d,\"coflows\":%d}\n", ports, n
            for (c = 1; c <= n; c++) {
                printf "{\"id\":\"%d\",\"arrival_s\":%.3f,\"flows\":[", c, gap * (c - 1)
                for (f = 0; f < flows; f++)
                    printf "%s{\"src\":%d,\"dst\":%d,\"bytes\":%d}", f ? "," : "", random(ports),
                        random(ports), 1000000 * (1 + random(100))
                print "]}"
            }
        }'
}

# workload_of DIMENSION N
workload_of() {
    case $1 in
        coflows) workload "$2" 4 150 0 ;;
        flows) workload 20 "$2" 150 0 ;;
        ports) workload 2000 4 "$2" 0 ;;
        events) workload "$2" 4 150 0.018 ;;
    esac
}

# measure POLICY FILE: sets cpu_s and peak_mb; returns 1 if the run was stopped.
measure() {
    if run simulate "$2" --policy "$1" --json; then
        return 0
    elif (($(awk -v is="$cpu_s" -v most="$LIMIT" 'BEGIN { print (is >= 0.9 * most) }'))); then
        return 1
    fi
    cat "$tmp/pid.err" >&2
    exit 1
}

# cells DIMENSION SHOWN N…: for each policy a line with its CPU at the size SHOWN, and the exponent.
cells() {
    local dimension=$1 shown=$2 policy n cpu before exponent
    shift 2
    for n in "$@"; do workload_of "$dimension" "$n" >"$tmp/$dimension-$n.jsonl"; done
    for policy in $policies; do
        echo "$dimension $policy" >&2
        cpu=stopped before= exponent=
        for n in "$@"; do
            measure "$policy" "$tmp/$dimension-$n.jsonl" || break
            ((n != shown)) || cpu=$cpu_s
            [[ -z $before ]] || exponent=$(awk -v is="$cpu_s $n" -v was="$before" 'BEGIN {
                split(is, a, " "); split(was, b, " ")
                if (b[1] >= 0.1) printf "%.1f", log(a[1] / b[1]) / log(a[2] / b[2])
            }')
            before="$cpu_s $n"
        done
        echo " $cpu | $exponent |"
    done
}

growth() {
    echo "| policy | 4,000 coflows | exponent | 20 of 1,000 flows | exponent | 600 ports | exponent | 16,000 in turn | exponent | 100,000 of one flow | peak, MB |"
    echo "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    local policy
    for policy in $policies; do echo "| \`$policy\` |"; done >"$tmp/names"
    cells coflows 4000 1000 2000 4000 8000 16000 >"$tmp/coflows"
    cells flows 1000 250 500 1000 2000 >"$tmp/flows"
    cells ports 600 75 150 300 600 >"$tmp/ports"
    cells events 16000 2000 4000 8000 16000 >"$tmp/events"
    workload 100000 1 900 0 >"$tmp/thin.jsonl"
    for policy in $policies; do
        echo "thin $policy" >&2
        measure "$policy" "$tmp/thin.jsonl" || cpu_s=stopped
        echo " $cpu_s | $peak_mb |"
    done >"$tmp/thin"
    paste -d '' "$tmp"/{names,coflows,flows,ports,events,thin}
}

if [[ -z $into ]]; then
    growth
    exit
fi
growth >"$tmp/growth"
put_between growth "$tmp/growth" docs/measurements/simulator.md
