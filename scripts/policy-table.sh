#!/usr/bin/env bash
# Measures the tables of docs/covey-policy.md and prints them as Markdown: policies on several
# workloads, and covey beside the clairvoyant sebf on more seeds.
#
#     scripts/policy-table.sh [TRACE] [--update]
#
# TRACE is a file; the default is builtin:fb-like. `covey trace` makes the workloads from it, in a
# temporary folder. With --update the script replaces the part of docs/covey-policy.md
# between the two marks. COVEY names a ready binary; without it the script builds one. One
# simulation runs at a time.
set -euo pipefail
export LC_ALL=C

source "$(dirname "$0")/lib/prepare.sh"

# Aalo without an interval: the default takes longer, and its mean differs by less than 1 %.
policies=covey,philae,aalo:queues=strict,delta=0,sincronia,sebf:share=matching-by-load

# means TRACE POLICIES: the mean CCT of each policy on the trace, the first of which is covey, and the
# bound.
means() {
    "$covey" compare "$1" --policies "$2" --baseline covey --jobs 1 --json | awk -F'[:, ]+' '
        $2 == "\"cct_s\"" { inside = 1 }
        inside && $2 == "\"mean\"" { printf "%s ", $3; inside = 0 }
        $2 == "\"lower_bound_mean_cct_s\"" { bound = $3 }
        END { print bound }'
}

# row NAME TRACE: notes a line of the first table. sebf is the last policy before the bound.
row() {
    means "$2" "$policies" | awk -v name="$1" '{
        printf "| %s |", name
        for (k = 1; k <= NF; k++) printf " %.2f |", $k
        printf " %.3f |\n", $1 / $(NF - 1)
    }' | tee -a "$tmp/rows" >&2
}

# pair NAME TRACE: notes the ratio of covey and sebf.
pair() {
    means "$2" covey,sebf:share=matching-by-load | awk '{ print $1 / $2 }' | tee -a "$tmp/ratios" >&2
}

# ratios NAME: notes a line of the second table for the ratios since the last one.
ratios() {
    awk -v name="$1" '
        { sum += $1; if ($1 > largest) largest = $1 }
        END { printf "| %s | %d | %.3f | %.3f |\n", name, NR, sum / NR, largest }' "$tmp/ratios" |
        tee -a "$tmp/pairs" >&2
    rm "$tmp/ratios"
}

# derived LINE NAME COMMAND ARGUMENT…: a row or pair for the output of
# `covey trace COMMAND TRACE ARGUMENT…`.
derived() {
    local line=$1 name=$2 command=$3
    shift 3
    "$covey" trace "$command" "$trace" "$@" -o "$tmp/workload.jsonl" 2>/dev/null
    "$line" "$name" "$tmp/workload.jsonl"
    rm "$tmp/workload.jsonl"
}

row "\`${trace##*/}\`" "$trace"
derived row "\`filter --min-width 8\`" filter --min-width 8
derived row "\`mantri\`" mantri
for sigma in 0.3 1; do
    for seed in 1 2 3; do
        derived row "\`skew --sigma $sigma --seed $seed\`" skew --sigma "$sigma" --seed "$seed"
    done
done
derived row "\`burst\`" burst
derived row "\`scale --time 2\` (load × 0.5)" scale --time 2
derived row "\`scale --time 2/3\` (load × 1.5)" scale --time 2/3
for seed in 1 2 3 4 5; do
    row "\`builtin:fb-like:seed=$seed\`" "builtin:fb-like:seed=$seed"
done
"$covey" trace replicate "$trace" 6 "$tmp/workload.jsonl" 2>/dev/null
row "\`replicate 6\`" "$tmp/workload.jsonl"
rm "$tmp/workload.jsonl"

for seed in 1 2 3 4 5; do
    derived pair "\`mantri --seed $seed\`" mantri --seed "$seed"
done
ratios "\`mantri\`"
for seed in 1 2 3 4 5 6 7 8 9; do
    derived pair "\`skew --sigma 1 --seed $seed\`" skew --sigma 1 --seed "$seed"
done
ratios "\`skew --sigma 1\`"
for seed in 1 2 3 4 5 6 7 8 9 10; do
    pair "\`builtin:fb-like:seed=$seed\`" "builtin:fb-like:seed=$seed"
done
ratios "\`builtin:fb-like\`"

{
    echo "| workload | \`covey\` | \`philae\` | \`aalo\` | \`sincronia\` | \`sebf\` | bound | \`covey\` / \`sebf\` |"
    echo "|---|--:|--:|--:|--:|--:|--:|--:|"
    cat "$tmp/rows"
    echo
    echo "| \`covey\` / \`sebf\` | seeds | mean | largest |"
    echo "|---|--:|--:|--:|"
    cat "$tmp/pairs"
} >"$tmp/table"
if [[ -z $update ]]; then
    cat "$tmp/table"
    exit
fi
put_between policy-table "$tmp/table" docs/covey-policy.md
