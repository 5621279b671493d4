#!/usr/bin/env bash
# Replays a short trace over real sockets between sixteen emulated hosts: every tenth coflow, about
# 2 GB for each contender. Fails if bytes arrive changed, if a part of the testbed remains, if
# Covey's policies are not faster than TCP alone, or if their order is not the simulator's. Needs
# root, ip and tc.
#
# The sizes of TRACE are divided by 64, for the Facebook trace; those of the builtin trace, which are larger, by
# 1600. COVEY names the program, POLICIES the contenders.
#
#     scripts/testbed-short.sh [TRACE]
set -euo pipefail
cd "$(dirname "$0")/.."
trace=${1:-builtin:fb-like}
size=1/64
[ $# -gt 0 ] || size=1/1600
if [ -z "${COVEY:-}" ]; then
    cargo build --locked --release --package covey
    COVEY=${CARGO_TARGET_DIR:-target}/release/covey
fi
uptime >&2
out=$(mktemp)
trap 'rm -f "$out"' EXIT
"$COVEY" testbed "$trace" --policies "${POLICIES:-tcp,aalo,philae,covey}" \
    --every 10 --size "$size" --time 1/330 --json >"$out"
python3 - "$out" <<'PYTHON'
import json, sys

results = json.load(open(sys.argv[1]))["results"]
mean = {it["label"]: it["cct_s"]["mean"] for it in results}
names = [it["label"] for it in results[::2]]
simulated = {name: mean[f"{name} (simulated)"] for name in names}
print("| contender | mean CCT, s | simulated, s | ratio | times faster than tcp |")
print("|---|--:|--:|--:|--:|")
for name in names:
    real, sim = mean[name], simulated[name]
    print(f"| `{name}` | {real:.2f} | {sim:.2f} | {real / sim:.2f} | {mean['tcp'] / real:.2f} |")
order = sorted(names, key=simulated.get)
found = sorted(names, key=mean.get)
if found != order:
    sys.exit(f"the order is {', '.join(found)}, the simulator's {', '.join(order)}")
if found[-1] != "tcp":
    sys.exit(f"{found[-1]} is not faster than tcp")
PYTHON
if ip netns list | grep '^covey-tb-'; then
    echo 'the testbed has left namespaces behind' >&2
    exit 1
fi
