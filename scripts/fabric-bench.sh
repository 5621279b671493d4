#!/usr/bin/env bash
# Measures what networks with a core cost, and prints it as Markdown: mean CCT, CPU and peak memory of policies on
# FatTrees.
#
#     scripts/fabric-bench.sh [TRACE] [--update]
#
# TRACE is a file; the default is builtin:fb-like. With --update the script replaces the part of
# docs/fabrics.md between the two marks; otherwise it prints to standard output. COVEY names a ready
# binary; without it the script builds one. LIMIT (default 60) is the maximum CPU time of a run in seconds; a longer
# run is stopped, and the table says so. The table has the least CPU time of RUNS runs (default 1), and the greatest
# peak.
set -euo pipefail
export LC_ALL=C

source "$(dirname "$0")/lib/prepare.sh"
source scripts/lib/measured.sh
export LIMIT=${LIMIT:-60}

classes=aalo:K=4,queues=classes,delta=0
eight=fat-tree:k=8,place=pack

# row FABRIC POLICY
row() {
    local mean least='' peak='?' runs
    for ((runs = 0; runs < ${RUNS:-1}; runs++)); do
        echo "$1 $2" >&2
        if ! run simulate "$trace" --policy "$2" --fabric "$1" --json; then
            mean=stopped least="over $LIMIT" peak=$peak_mb
            break
        fi
        mean=$(awk -F'[:, ]+' '$2 == "\"mean\"" { printf "%.6f", $3; exit }' "$tmp/out")
        least=$(printf '%s\n' $least "$cpu_s" | sort -n | head -1)
        [[ $peak_mb == '?' ]] || ((peak_mb <= ${peak/\?/0})) || peak=$peak_mb
    done
    echo "| \`$1\` | \`$2\` | $mean | $least | $peak |"
}

report() {
    local policy k
    echo "Trace: \`$(basename "$trace")\`, links of 1 Gbps. CPU is user and system time, reading the trace"
    echo "included."
    echo
    echo '| fabric | policy | mean CCT, s | CPU, s | peak, MB |'
    echo '|---|---|--:|--:|--:|'
    row "$eight,ecmp=modulo" fair
    row "$eight,ecmp=spray" fair
    row "$eight,ecmp=modulo" "$classes"
    row "$eight,ecmp=spray" "$classes"
    row "$eight" fair
    row "$eight" "$classes"
    for policy in $("$covey" policies | awk 'match($0, /^[^ ]+ \([^)]*\): /) { print $1 }'); do
        [[ $policy == fair ]] || row "$eight" "$policy"
    done
    for k in 16 24 48; do
        row "fat-tree:k=$k,place=rack" fair
    done
    row fat-tree:k=48,place=rack aalo
    row fat-tree:k=48,place=rack stream
    row fat-tree:k=48,place=rack fifo-lm
    wide >"$tmp/wide.txt"
    trace=$tmp/wide.txt row fat-tree:k=128,place=pack fair
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
    put_between fabrics "$tmp/report" docs/fabrics.md
fi
