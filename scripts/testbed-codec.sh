#!/usr/bin/env bash
# Flows that compress to 48 %, between sixteen emulated hosts of 100 Mbit/s. Fails if FVDF's mean
# CCT is not 1.4 times better than SEBF's, or its bytes on the wire are more than 55 % of the
# flows'. Needs root, ip and tc.
#
# The sizes of TRACE are divided by 64, for the Facebook trace; those of the builtin trace, which
# are larger, by 1600. Both give about 2 GB.
#
#     scripts/testbed-codec.sh [TRACE]
set -euo pipefail
cd "$(dirname "$0")/.."
trace=${1:-builtin:fb-like}
size=1/64
[ $# -gt 0 ] || size=1/1600
cargo build --locked --release --package covey
covey=${CARGO_TARGET_DIR:-target}/release/covey
uptime >&2
out=$(mktemp)
trap 'rm -f "$out"' EXIT
"$covey" testbed "$trace" --every 10 --size "$size" --time 1/80 \
    --policies sebf,fvdf --ratio 0.48 | tee "$out"
awk '
    / % on the wire$/ { mean[$1] = $2; wire[$1] = $(NF - 4) }
    END {
        printf "\nfvdf is %.2f times better than sebf, with %.1f %% of the bytes on the wire\n",
            mean["sebf"] / mean["fvdf"], wire["fvdf"]
        exit !(mean["sebf"] >= 1.4 * mean["fvdf"] && wire["fvdf"] <= 55)
    }' "$out"
