#!/usr/bin/env bash
# Measures what networks with a core cost, and prints it as Markdown: mean CCT, CPU and peak memory of policies on
# FatTrees.
#
#     scripts/fabric-bench.sh [TRACE] [--update]
#
# TRACE is a file; the default is builtin:fb-like. With --update the script replaces the part of
# docs/measurements/fabrics.md between the two marks; otherwise it prints to standard output. COVEY names a ready
# binary; without it the script builds one. LIMIT (default 60) is the maximum CPU time of a run in seconds; a longer
# run is stopped, and the table says so. A run that takes more CPU than it must is repeated until there are RUNS
# (default 3), as others may use the machine's caches: the table has the least CPU time, and the greatest peak.
set -euo pipefail
export LC_ALL=C

source "$(dirname "$0")/lib/prepare.sh"
source scripts/lib/measured.sh
export LIMIT=${LIMIT:-60}

classes=aalo:K=4,queues=classes,delta=0
eight=fat-tree:k=8,place=pack

# row FABRIC POLICY REQUIREMENT
row() {
    local mean most least='' peak='?' runs=0
    most=$(sed -n 's/.*CPU ≤ \([0-9]*\) s.*/\1/p' <<<"$3")
    while ((runs < ${RUNS:-3})); do
        echo "$1 $2" >&2
        if ! run simulate "$trace" --policy "$2" --fabric "$1" --json; then
            mean=stopped least="over $LIMIT" peak=$peak_mb
            break
        fi
        mean=$(awk -F'[:, ]+' '$2 == "\"mean\"" { printf "%.6f", $3; exit }' "$tmp/out")
        least=$(printf '%s\n' $least "$cpu_s" | sort -n | head -1)
        [[ $peak_mb == '?' ]] || ((peak_mb <= ${peak/\?/0})) || peak=$peak_mb
        runs=$((runs + 1))
        [[ -n $most ]] && awk -v is="$least" -v most="$most" 'BEGIN { exit is <= most }' || break
    done
    echo "| \`$1\` | \`$2\` | $3 | $mean | $least | $peak |"
}

report() {
    local policy k
    echo "Trace: \`$(basename "$trace")\`, links of 1 Gbps. CPU is user and system time, reading the trace included; a run"
    echo "that takes more than it must is repeated, and the least of ${RUNS:-3} is in the table."
    echo
    echo '| fabric | policy | must be | mean CCT, s | CPU, s | peak, MB |'
    echo '|---|---|---|--:|--:|--:|'
    row "$eight,ecmp=modulo" fair '211.496303 s'
    row "$eight,ecmp=spray" fair '211.481534 s'
    row "$eight,ecmp=modulo" "$classes" '157.805309 s'
    row "$eight,ecmp=spray" "$classes" '157.781455 s'
    row "$eight" fair 'CPU ≤ 3 s'
    row "$eight" "$classes" 'CPU ≤ 12 s, ≤ 130 MB'
    for policy in $("$covey" policies | awk 'match($0, /^[^ ]+ \([^)]*\): /) { print $1 }'); do
        [[ $policy == fair ]] || row "$eight" "$policy" 'CPU ≤ 20 s, ≤ 500 MB'
    done
    for k in 16:15 24:8 48:4; do
        row "fat-tree:k=${k%:*},place=rack" fair "CPU ≤ ${k#*:} s, ≤ 200 MB"
    done
    row fat-tree:k=48,place=rack aalo 'CPU ≤ 8 s, ≤ 500 MB'
    row fat-tree:k=48,place=rack stream 'CPU ≤ 30 s, ≤ 500 MB'
    row fat-tree:k=48,place=rack fifo-lm 'CPU ≤ 30 s, ≤ 500 MB'
    wide >"$tmp/wide.txt"
    trace=$tmp/wide.txt row fat-tree:k=128,place=pack fair '99,856 flows: CPU ≤ 30 s, ≤ 2,000 MB'
}

# One coflow between 316 senders and 316 receivers, among the 524,288 hosts of a FatTree with k = 128.
wide() {
    awk 'BEGIN {
        printf "524288 1\n0 0 316"
        for (k = 0; k < 316; k++) printf " %d", 1650 * k
        printf " 316"
        for (k = 0; k < 316; k++) printf " %d:%d", 1650 * k + 800, 1 + k % 7
        print ""
    }'
}

if [[ -z $update ]]; then
    report
else
    report >"$tmp/report"
    put_between fabrics "$tmp/report" docs/measurements/fabrics.md
fi
