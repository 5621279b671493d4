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
source scripts/lib/requirements.sh

# The specs that the requirements name, the defaults, and those of the tables of growth.
aalo=aalo:queues=strict,delta=0
philae=philae:queues=strict
matching=sebf:share=matching
required="$aalo $philae sebf $matching sincronia fair"
defaults="aalo philae fifo"
coflow_policies="$aalo $philae sebf $matching sincronia"
growing="fair fifo $coflow_policies"
copies="1 2 4 6"
coflows="263 526 1052 2104"

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

# most NAME COLUMN SPEC…: the largest value, and the spec that has it.
most() {
    local name=$1 column=$2
    shift 2
    for spec in "$@"; do
        echo "$(get "$name" "$spec" "$column") $spec"
    done | sort -g | tail -1
}

# row WHAT MIN MAX UNIT VALUE NOTE COMMAND: a line of the table of requirements, which hold for the
# Facebook trace.
row() {
    local must=– verdict=
    [[ -z $facebook ]] || judge "$2" "$3" "$4" "$5"
    echo "| $1 | $must | $5 $4$6$verdict | \`$7\` |"
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

requirements() {
    local spec value least
    echo "| what | must be | measured | command |"
    echo "|---|---|---|---|"
    mean_row() {
        row "mean CCT, \`$1\`" "$2" "$3" s "$(digits "$(get x1 "$1" 3)")" "" \
            "covey simulate TRACE --policy $1"
    }
    mean_row "$aalo" 40.5 42.8
    mean_row "$philae" "" 31.5
    mean_row sebf "" 29.5
    mean_row "$matching" "" 23.7
    mean_row sincronia "" 24.0
    mean_row fair 64.55 64.65
    least=$(for spec in $required $defaults; do get x1 "$spec" 3; done | sort -g | head -1)
    row "lower bound of the mean CCT" 18.0 "$(digits "$least")" s "$(digits "$bound")" "" \
        "covey simulate TRACE --policy fair --bound"
    read -r value spec < <(most x1 4 $required)
    row "CPU, the slowest of these six" "" 2 s "$value" " (\`$spec\`)" \
        "time covey simulate TRACE --policy …"
    read -r value spec < <(most x1 4 $defaults)
    row "CPU, the slowest of \`aalo\`, \`philae\`, \`fifo\` as they are by default" "" 2 s "$value" \
        " (\`$spec\`)" "time covey simulate TRACE --policy …"
    read -r value spec < <(most x1 5 $required $defaults)
    row "peak memory, the largest of all" "" 200 MB "$value" " (\`$spec\`)" "make bench TRACE=…"
    read -r value spec < <(most x6 4 $coflow_policies)
    row "six-fold replica, CPU, the slowest coflow policy" "" 20 s "$value" " (\`$spec\`)" \
        "covey trace replicate TRACE 6 OUT; time covey simulate OUT --policy …"
    read -r value spec < <(most x6 5 $coflow_policies)
    row "six-fold replica, peak memory" "" 1000 MB "$value" " (\`$spec\`)" "make bench TRACE=…"
}

policies() {
    local spec
    echo "| policy | mean CCT, s | over the bound | CPU, s | peak, MB |"
    echo "|---|--:|--:|--:|--:|"
    for spec in $required $defaults; do
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
    requirements
    echo
    echo "## Every policy on this trace"
    echo
    policies
    echo
    echo "## Growth with ports and flows"
    echo
    echo "The trace side by side 1, 2, 4 and 6 times (\`covey trace replicate\`). CPU in s / peak in MB."
    echo
    growth $(for k in $copies; do echo "x$k"; done)
    echo
    echo "## Growth with flows, ports as they are"
    echo
    echo "\`builtin:fb-like\` with more coflows in as much more time, so that the load stays. CPU in s /"
    echo "peak in MB."
    echo
    growth $(for n in $coflows; do echo "n$n"; done)
}

shown=${trace##*/}
for spec in $required $defaults; do
    measure x1 "$trace" "$spec"
done
facebook=
[[ $(get x1 fair 7) != 526 || $(get x1 fair 8) != 706397 ]] || facebook=yes

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

for n in $coflows; do
    for spec in $growing; do
        measure "n$n" "builtin:fb-like:coflows=$n,duration_s=$((n * 3630 / 526))" "$spec"
    done
done

if [[ -z $update ]]; then
    report
else
    report >"$tmp/report"
    put_between bench "$tmp/report" docs/measurements/simulator.md
fi
