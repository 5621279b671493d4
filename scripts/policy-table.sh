#!/usr/bin/env bash
# Measures the table of docs/covey-policy.md and prints it as Markdown.
#
#     scripts/policy-table.sh [TRACE] [--update]
#
# TRACE is a file, or builtin:fb-like if none is given. The workloads are made of it by `covey trace`,
# in a temporary folder. With --update the part of docs/covey-policy.md between the two marks is
# replaced. COVEY names a ready binary; without it one is built. One simulation runs at a time.
set -euo pipefail
export LC_ALL=C

source "$(dirname "$0")/arguments.sh"

covey=${COVEY:-}
if [[ -z $covey ]]; then
    cargo build --locked --release --quiet --package covey
    covey=${CARGO_TARGET_DIR:-target}/release/covey
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Aalo without an interval: its default takes longer, for the same mean within 1 %.
policies=covey,philae,aalo:queues=strict,delta=0,sincronia,sebf:share=matching-by-load

# row NAME TRACE: compares the policies on the trace and notes a line of the table. The last number is
# the bound.
row() {
    "$covey" compare "$2" --policies "$policies" --baseline covey --jobs 1 --json >"$tmp/out"
    awk -F'[:, ]+' -v name="$1" '
        $2 == "\"cct_s\"" { inside = 1 }
        inside && $2 == "\"mean\"" { line = line sprintf(" %.2f |", $3); inside = 0 }
        $2 == "\"lower_bound_mean_cct_s\"" { bound = $3 }
        END { printf "| %s |%s %.2f |\n", name, line, bound }' "$tmp/out" | tee -a "$tmp/rows" >&2
}

# derived NAME COMMAND ARGUMENT…: the same for what `covey trace COMMAND TRACE ARGUMENT…` makes.
derived() {
    local name=$1 command=$2
    shift 2
    "$covey" trace "$command" "$trace" "$@" -o "$tmp/workload.jsonl" 2>/dev/null
    row "$name" "$tmp/workload.jsonl"
    rm "$tmp/workload.jsonl"
}

row "\`${trace##*/}\`" "$trace"
derived "\`filter --min-width 8\`" filter --min-width 8
derived "\`mantri\`" mantri
for sigma in 0.3 1; do
    for seed in 1 2 3; do
        derived "\`skew --sigma $sigma --seed $seed\`" skew --sigma "$sigma" --seed "$seed"
    done
done
derived "\`burst\`" burst
derived "\`scale --time 2\` (load × 0.5)" scale --time 2
derived "\`scale --time 2/3\` (load × 1.5)" scale --time 2/3
for seed in 1 2 3 4 5; do
    row "\`builtin:fb-like:seed=$seed\`" "builtin:fb-like:seed=$seed"
done
"$covey" trace replicate "$trace" 6 "$tmp/workload.jsonl" 2>/dev/null
row "\`replicate 6\`" "$tmp/workload.jsonl"

{
    echo "| workload | \`covey\` | \`philae\` | \`aalo\` | \`sincronia\` | \`sebf\` | bound |"
    echo "|---|--:|--:|--:|--:|--:|--:|"
    cat "$tmp/rows"
} >"$tmp/table"
if [[ -z $update ]]; then
    cat "$tmp/table"
    exit
fi
awk -v table="$tmp/table" '
    /^<!-- policy-table: end -->$/ { inside = 0 }
    !inside { print }
    /^<!-- policy-table: begin/ {
        inside = 1
        print ""
        while ((getline line < table) > 0) print line
        print ""
    }' docs/covey-policy.md >"$tmp/page.md"
cat "$tmp/page.md" >docs/covey-policy.md
echo "docs/covey-policy.md is up to date" >&2
