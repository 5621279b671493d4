#!/usr/bin/env bash
# Measures how cost grows with the coflows that are present, and prints two tables as Markdown:
#
# - n coflows of four flows each, all at time 0 on 150 ports: the CPU that each policy takes, and the
#   exponent of growth between the last two n that it ends with;
# - 100,000 coflows of one flow, all at time 0 on 900 ports: the most memory that each policy takes.
#
#     scripts/growth.sh [POLICY...]
#
# All policies that `covey policies` lists, unless some are named. COVEY names a ready binary; without it
# one is built. NUMBERS are the n (1000 2000 4000 8000 unless set); LIMIT is how many seconds of CPU a
# run may take (60 unless set). One that takes longer is stopped, and that is said.
set -euo pipefail
export LC_ALL=C

policies="$*"
set --
source "$(dirname "$0")/prepare.sh"
source scripts/measured.sh
numbers=${NUMBERS:-1000 2000 4000 8000}
export LIMIT=${LIMIT:-60}
[[ -n $policies ]] ||
    policies=$("$covey" policies | awk 'match($0, /^[^ ]+ \([^)]*\): /) { print $1 }')

# together N FLOWS PORTS FILE: writes N coflows of so many flows at time 0 to a file. Sizes are whole MB,
# 1 to 100; ports and sizes are pseudo-random, always the same.
together() {
    awk -v n="$1" -v flows="$2" -v ports="$3" '
        function random(below) { state = state * 16807 % 2147483647; return state % below }
        BEGIN {
            state = 1
            printf "{\"covey_trace\":1,\"ports\":%d,\"coflows\":%d}\n", ports, n
            for (c = 1; c <= n; c++) {
                printf "{\"id\":\"%d\",\"arrival_s\":0,\"flows\":[", c
                for (f = 0; f < flows; f++)
                    printf "%s{\"src\":%d,\"dst\":%d,\"bytes\":%d}", f ? "," : "", random(ports),
                        random(ports), 1000000 * (1 + random(100))
                print "]}"
            }
        }' >"$4"
}

for n in $numbers; do together "$n" 4 150 "$tmp/$n.jsonl"; done
together 100000 1 900 "$tmp/thin.jsonl"

echo "Seconds of CPU, reading included; a run may take $LIMIT."
echo
echo "| policy |$(printf ' %s coflows |' $numbers) exponent |"
echo "|---|$(printf -- '--:|%.0s' $numbers)--:|"
for policy in $policies; do
    row="| \`$policy\` |"
    before= exponent=
    for n in $numbers; do
        if [[ $before == stopped ]]; then
            row+=" |"
        elif run simulate "$tmp/$n.jsonl" --policy "$policy" --json; then
            row+=" $cpu_s |"
            [[ -z $before ]] || exponent=$(awk -v is="$cpu_s $n" -v was="$before" 'BEGIN {
                split(is, a, " "); split(was, b, " ")
                if (b[1] > 0.05) printf "%.1f", log(a[1] / b[1]) / log(a[2] / b[2])
            }')
            before="$cpu_s $n"
        elif (($(awk -v is="$cpu_s" -v most="$LIMIT" 'BEGIN { print (is >= 0.9 * most) }'))); then
            row+=" stopped |"
            before=stopped
        else
            cat "$tmp/pid.err" >&2
            exit 1
        fi
    done
    echo "$row $exponent |"
done
echo
echo "| policy | peak memory, MB | ended within $LIMIT s of CPU |"
echo "|---|--:|---|"
for policy in $policies; do
    if run simulate "$tmp/thin.jsonl" --policy "$policy" --json; then
        ended=yes
    elif (($(awk -v is="$cpu_s" -v most="$LIMIT" 'BEGIN { print (is >= 0.9 * most) }'))); then
        ended=no
    else
        cat "$tmp/pid.err" >&2
        exit 1
    fi
    echo "| \`$policy\` | $peak_mb | $ended |"
done
