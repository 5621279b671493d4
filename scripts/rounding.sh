#!/usr/bin/env bash
# Measures that rounding and other traffic do not change results, and prints two tables as Markdown:
#
# - the mean CCT of every policy that `covey policies` lists, and its change if all sizes
#   are multiplied by 1 + 1e-12, by 1 - 1e-12, or each flow by a random factor as near to 1;
# - six copies of the trace side by side, each on ports of its own: the difference of the copies' CCTs from
#   those of the trace alone.
#
#     scripts/rounding.sh [TRACE]
#
# TRACE is a file; the default is builtin:fb-like. COVEY names a ready binary; without it the script
# builds one. Ends with status 1 if a limit is not met.
set -euo pipefail
export LC_ALL=C

source "$(dirname "$0")/lib/prepare.sh"
[[ -z $update ]] || { echo "$0: there is no page to update" >&2; exit 2; }

# The maximum relative change of a mean, and of a CCT.
most_mean=1e-3
most_cct=1e-9

# mean TRACE SPEC: prints the mean CCT.
mean() {
    "$covey" simulate "$1" --policy "$2" --json | awk -F'[:, ]+' '
        $2 == "\"cct_s\"" { inside = 1 }
        inside && $2 == "\"mean\"" { print $3; exit }'
}

# ccts TRACE SPEC: prints a line for each coflow: its id and its CCT.
ccts() {
    "$covey" simulate "$1" --policy "$2" --per-coflow "$tmp/ccts.csv" >/dev/null
    awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) if ($k == "cct_s") column = k; next }
        { print $1, $column }' "$tmp/ccts.csv"
}

"$covey" trace scale "$trace" --size 1.000000000001 -o "$tmp/more.jsonl" 2>/dev/null
"$covey" trace scale "$trace" --size 0.999999999999 -o "$tmp/less.jsonl" 2>/dev/null
# The size of each coflow does not change.
"$covey" trace skew "$trace" --sigma 1e-12 --seed 1 -o "$tmp/random.jsonl" 2>/dev/null
"$covey" trace replicate "$trace" 6 "$tmp/copies.jsonl" 2>/dev/null

echo "| policy | mean CCT, s | sizes × (1 + 1e-12) | × (1 − 1e-12) | each flow at random | largest change, ≤ $most_mean |"
echo "|---|--:|--:|--:|--:|--:|"
"$covey" policies | awk 'match($0, /^[^ ]+ \([^)]*\): /) { print $1 }' | while read -r name; do
    {
        for workload in "$trace" "$tmp/more.jsonl" "$tmp/less.jsonl" "$tmp/random.jsonl"; do
            mean "$workload" "$name"
        done
    } | awk -v name="$name" -v most="$most_mean" '
        NR == 1 { mean = $1; row = sprintf("| `%s` | %.4f |", name, mean); next }
        {
            change = $1 / mean - 1
            row = row sprintf(" %+.1e |", change)
            if (change < 0) change = -change
            if (change > largest) largest = change
        }
        END { printf "%s %.1e%s |\n", row, largest, largest <= most ? "" : " **not met**" }'
done | tee "$tmp/tables"
echo
{
    echo "| policy | mean CCT, s | mean of six copies, s | CCTs that differ | largest difference, ≤ $most_cct |"
    echo "|---|--:|--:|--:|--:|"
    # philae's queues take turns in time slots for the whole network.
    for spec in sebf:share=matching-by-load aalo philae:queues=strict covey fair; do
        ccts "$trace" "$spec" >"$tmp/alone"
        ccts "$tmp/copies.jsonl" "$spec" >"$tmp/copies"
        awk -v spec="$spec" -v most="$most_cct" '
            NR == FNR { alone[$1] = $2; sum += $2; coflows++; next }
            {
                sub(/\.[0-9]+$/, "", $1)
                difference = $2 / alone[$1] - 1
                if (difference < 0) difference = -difference
                if (difference > largest) largest = difference
                differ += difference > most
                total += $2
                copies++
            }
            END {
                if (copies != 6 * coflows) exit 1
                printf "| `%s` | %.4f | %.4f | %d of %d | %.1e%s |\n", spec, sum / coflows,
                    total / copies, differ, copies, largest, largest <= most ? "" : " **not met**"
            }' "$tmp/alone" "$tmp/copies"
    done
} | tee -a "$tmp/tables"
! grep -q 'not met' "$tmp/tables"
