#!/usr/bin/env bash
# Measures the tables of docs/measurements/simulator.md and prints them as Markdown.
#
#     scripts/bench.sh [TRACE] [--update]
#
# TRACE is a file; the default is builtin:fb-like. With --update the script replaces the part of
# docs/measurements/simulator.md between the two marks; otherwise it prints to standard output. RUNS
# (default 5) is the number of runs of a policy on the trace itself; the minimum CPU counts. CPU
# time is user and system time of the whole process, including the reading of the trace. Peak memory
# is Linux's VmHWM, read 50 times a second; elsewhere it is not measured.
set -euo pipefail
export LC_ALL=C

source "$(dirname "$0")/lib/prepare.sh"
source scripts/lib/measured.sh

# The specs of the first table, and those of the table of growth.
aalo=aalo:queues=strict,delta=0
philae=philae:queues=strict
matching=sebf:share=matching
growing="fair fifo $aalo $philae sebf $matching sincronia"
specs="$growing aalo philae"
copies="1 2 4 6"

# The first value of a key in the JSON of the last run.
field() {
    awk -F'[:, ]+' -v key="\"$1\"" '$2 == key && $3 != "{" { print $3; exit }' "$tmp/out"
}

# measure NAME TRACE SPEC: simulates and notes a line of results, once for each NAME and SPEC. On
# the trace itself the CPU is the minimum of RUNS runs.
measure() {
    local k runs=1 least=
    [[ -z $(get "$1" "$3" 3) ]] || return 0
    echo "$1 $3" >&2
    [[ $1 != x1 ]] || runs=${RUNS:-5}
    for ((k = 0; k < runs; k++)); do
        run simulate "$2" --policy "$3" --json || { cat "$tmp/pid.err" >&2; exit 1; }
        least=$(printf '%s\n' $least "$cpu_s" | sort -g | head -1)
    done
    echo "$1 $3 $(field mean) $least $peak_mb $(field ports) $(field coflows) $(field flows)" \
        >>"$tmp/results"
}

# get NAME SPEC COLUMN: prints a noted value. Columns: 3 mean CCT, 4 CPU, 5 MB, 6 ports, 7 coflows,
# 8 flows.
: >"$tmp/results"
get() {
    awk -v name="$1" -v spec="$2" -v column="$3" \
        '$1 == name && $2 == spec { print $column }' "$tmp/results"
}

digits() {
    awk -v value="$1" 'BEGIN { printf "%.2f", value }'
}

machine() {
    local model
    model=$(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo 2>/dev/null || true)
    echo "Measured on one core of: ${model:-unknown processor}, $(uname -sm), $(rustc --version)."
    echo "Trace: \`$shown\`, ports of 1 Gbps. CPU is user and system time, reading the trace included:"
    echo "of the trace itself the least of ${RUNS:-5} runs, else of one."
}

policies() {
    local spec
    echo "| policy | mean CCT, s | over the bound | CPU, s | peak, MB |"
    echo "|---|--:|--:|--:|--:|"
    for spec in $specs; do
        awk -v spec="$spec" -v bound="$bound" '$1 == "x1" && $2 == spec {
            printf "| `%s` | %.2f | %.3f | %s | %s |\n", spec, $3, $3 / bound, $4, $5
        }' "$tmp/results"
    done
    echo
    echo "The lower bound itself: $(digits "$bound") s, in $bound_cpu_s s of CPU."
}

# growth NAME…: CPU and memory of each policy at each size.
growth() {
    local spec name
    echo "| ports | coflows | flows |$(for spec in $growing; do echo -n " \`$spec\` |"; done)"
    echo "|--:|--:|--:|$(for spec in $growing; do echo -n "--:|"; done)"
    for name in "$@"; do
        echo -n "| $(get "$name" fair 6) | $(get "$name" fair 7) | $(get "$name" fair 8) |"
        for spec in $growing; do
            echo -n " $(get "$name" "$spec" 4) / $(get "$name" "$spec" 5) |"
        done
        echo
    done
}

report() {
    machine
    echo
    policies
    echo
    echo "The trace side by side 1, 2, 4 and 6 times (\`covey trace replicate\`). CPU in s / peak in MB."
    echo
    growth $(for k in $copies; do echo "x$k"; done)
}

shown=${trace##*/}
for spec in $specs; do
    measure x1 "$trace" "$spec"
done

echo "the lower bound" >&2
run simulate "$trace" --policy fair --bound --json
bound=$(field lower_bound_mean_cct_s)
bound_cpu_s=$(awk -v with="$cpu_s" -v without="$(get x1 fair 4)" \
    'BEGIN { printf "%.1f", with - without }')

for k in $copies; do
    file=$trace
    if ((k > 1)); then
        file=$tmp/replica.jsonl
        run trace replicate "$trace" "$k" "$file"
    fi
    for spec in $growing; do
        measure "x$k" "$file" "$spec"
    done
done
rm -f "$tmp/replica.jsonl"

if [[ -z $update ]]; then
    report
else
    report >"$tmp/report"
    put_between bench "$tmp/report" docs/measurements/simulator.md
fi
