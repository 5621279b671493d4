#!/usr/bin/env bash
# Measures how cost grows, and prints it as Markdown: the CPU that each policy takes at four sizes,
# the exponent of growth between the last two sizes that it finishes (none if the first of them
# takes less than 0.1 s), and the reason if the exponent is above 1.3. Sizes are
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
# replaces the part of docs/measurements/growth.md between the two marks; otherwise it prints to
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

# why POLICY DIMENSION: the reason for the growth of the policy's cost.
why() {
    local policy=${1%%:*} share="each event makes most coflows that share spare capacity share again"
    case $2-$policy in
        coflows-fair) echo "an end changes the shares of most flows" ;;
        coflows-fifo | coflows-aalo-oracle) echo "the state of the coflows no longer fits into a cache" ;;
        coflows-aalo) echo "the same, and a wake-up for each coflow that sends" ;;
        coflows-scf | coflows-ncf | coflows-lcf | coflows-sebf) echo "$share" ;;
        coflows-sincronia) echo "BSSI orders all coflows at each arrival and end" ;;
        coflows-philae | coflows-philae-oracle)
            echo "an end lowers the contention of all coflows that shared links with it, here a fifth of those present" ;;
        coflows-saath | coflows-graviton)
            echo "an end lowers the contention of all coflows that shared links with it; $share" ;;
        coflows-fvdf) echo "priorities of all coflows grow at each arrival and end; $share" ;;
        coflows-aalo-local | coflows-fifo-lm) echo "each port divides its links among all coflows there" ;;
        coflows-covey) echo "estimates change as coflows send: five events a flow" ;;
        *-stream) echo "each event looks at all numbers of bytes for which receivers wait" ;;
        flows-fair | flows-wss) echo "an end changes the shares of most flows" ;;
        flows-*) echo "a coflow's flows share again at each end of one of them" ;;
        ports-*) echo "more flows run at once, and an event looks at those that may change" ;;
        *) echo "not looked into" ;;
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

# table DIMENSION N…
table() {
    local dimension=$1 policy n row before exponent reason
    shift
    echo "| policy |$(printf ' %s |' "$@") exponent | why |"
    echo "|---|$(printf -- '--:|%.0s' "$@")--:|---|"
    for n in "$@"; do workload_of "$dimension" "$n" >"$tmp/$dimension-$n.jsonl"; done
    for policy in $policies; do
        echo "$dimension $policy" >&2
        row="| \`$policy\` |" before= exponent= reason=
        for n in "$@"; do
            if [[ $before == stopped ]]; then
                row+=" |"
            elif measure "$policy" "$tmp/$dimension-$n.jsonl"; then
                row+=" $cpu_s |"
                [[ -z $before ]] || exponent=$(awk -v is="$cpu_s $n" -v was="$before" 'BEGIN {
                    split(is, a, " "); split(was, b, " ")
                    if (b[1] >= 0.1) printf "%.1f", log(a[1] / b[1]) / log(a[2] / b[2])
                }')
                before="$cpu_s $n"
            else
                row+=" stopped |"
                before=stopped
            fi
        done
        if [[ -n $exponent && $(awk -v is="$exponent" 'BEGIN { print (is > 1.3) }') == 1 ]]; then
            reason=$(why "$policy" "$dimension")
        fi
        echo "$row $exponent | $reason |"
    done
}

growth() {
    echo "Seconds of CPU, reading included; a run may take $LIMIT. n coflows of four flows at time 0, 150 ports:"
    echo
    table coflows 1000 2000 4000 8000 16000
    echo
    echo "Twenty coflows of n flows each at time 0, 150 ports:"
    echo
    table flows 250 500 1000 2000
    echo
    echo "2,000 coflows of four flows at time 0, n ports:"
    echo
    table ports 75 150 300 600
    echo
    echo "n coflows of four flows, one each 18 ms, 150 ports:"
    echo
    table events 2000 4000 8000 16000
    echo
    echo "100,000 coflows of one flow at time 0, 900 ports:"
    echo
    echo "| policy | CPU, s | peak memory, MB |"
    echo "|---|--:|--:|"
    workload 100000 1 900 0 >"$tmp/thin.jsonl"
    local policy
    for policy in $policies; do
        echo "thin $policy" >&2
        measure "$policy" "$tmp/thin.jsonl" || cpu_s=stopped
        echo "| \`$policy\` | $cpu_s | $peak_mb |"
    done
}

if [[ -z $into ]]; then
    growth
    exit
fi
growth >"$tmp/growth"
put_between growth "$tmp/growth" docs/measurements/growth.md
