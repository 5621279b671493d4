#!/usr/bin/env bash
# Measures what ECMP collisions cost, and prints a table as Markdown: the mean CCT on a FatTree if flows are
# sprayed, with hashes of flows, and with hashes of pairs of hosts, over several seeds.
#
#     scripts/ecmp-seeds.sh [TRACE]
#
# TRACE is a file; the default is builtin:fb-like. COVEY names a ready binary; without it the script builds
# one. POLICY (fair), FABRIC (fat-tree:k=8,place=pack) and SEEDS ("1 2 3 4 5") change what is measured.
set -euo pipefail
export LC_ALL=C

source "$(dirname "$0")/lib/prepare.sh"
[[ -z $update ]] || { echo "$0: there is no page to update" >&2; exit 2; }
policy=${POLICY:-fair}
fabric=${FABRIC:-fat-tree:k=8,place=pack}
read -ra seeds <<<"${SEEDS:-1 2 3 4 5}"

# mean PARAMETERS: prints the mean CCT with these parameters of the fabric.
mean() {
    "$covey" simulate "$trace" --policy "$policy" --fabric "$fabric,$1" --json 2>/dev/null | awk -F'[:, ]+' '
        $2 == "\"cct_s\"" { inside = 1 }
        inside && $2 == "\"mean\"" { print $3; exit }'
}

spray=$(mean ecmp=spray)
echo "Mean CCT of \`$policy\` on \`$fabric\`, in seconds; sprayed: $spray."
echo
echo '| `ecmp=` | lowest | mean | highest | highest over sprayed |'
echo '|---|---|---|---|---|'
for mode in flow pair; do
    for seed in "${seeds[@]}"; do mean "ecmp=$mode,seed=$seed"; done | sort -g | awk -v mode="$mode" -v spray="$spray" '
        { sum += $1; value[NR] = $1 }
        END { printf "| `%s` | %.3f | %.3f | %.3f | %.4f |\n", mode, value[1], sum / NR, value[NR], value[NR] / spray }'
done
