#!/usr/bin/env bash
# Replays a short trace over real sockets between sixteen emulated hosts, while parts break: the
# coordinator is killed for ten seconds, an agent for two, and a link carries nothing for five. In a
# second run a host dies for good. Fails if bytes that could be delivered do not arrive, or arrive
# changed. Needs root, ip and tc.
#
#     scripts/testbed-faults.sh [TRACE]
set -euo pipefail
cd "$(dirname "$0")/.."
trace=${1:-builtin:fb-like}
size=1/64
[ $# -gt 0 ] || size=1/1600
cargo build --locked --release --package covey
covey=${CARGO_TARGET_DIR:-target}/release/covey
short=(testbed "$trace" --every 10 --size "$size" --time 1/330 --policies "${POLICIES:-philae}")
"$covey" "${short[@]}" --fault coordinator@4s+10s --fault agent:3@2s+2s --fault link:6@8s+5s
"$covey" "${short[@]}" --fault host:9@5s
