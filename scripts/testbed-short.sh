#!/usr/bin/env bash
# A short trace over real sockets between sixteen emulated hosts: every tenth coflow, sizes / 64. Fails
# when bytes come wrong, when anything is left behind, or when Covey's policies are not faster than TCP
# alone. It needs root, ip and tc.
#
#     scripts/testbed-short.sh [TRACE]
set -euo pipefail
cd "$(dirname "$0")/.."
trace=${1:-builtin:fb-like}
cargo build --locked --release --package covey
covey=${CARGO_TARGET_DIR:-target}/release/covey
uptime >&2
"$covey" testbed "$trace" --every 10 --size 1/64 --time 1/330 --json >out.testbed.$$ || {
    rm -f out.testbed.$$
    exit 1
}
trap 'rm -f out.testbed.$$' EXIT
python3 - out.testbed.$$ <<'PYTHON'
import json, sys

results = json.load(open(sys.argv[1]))["results"]
mean = {it["label"]: it["cct_s"]["mean"] for it in results}
print("| contestant | mean CCT, s | simulated, s | ratio | times faster than tcp |")
print("|---|--:|--:|--:|--:|")
for name in [it["label"] for it in results[::2]]:
    real, simulated = mean[name], mean[f"{name} (simulated)"]
    print(f"| `{name}` | {real:.2f} | {simulated:.2f} | {real / simulated:.2f} | {mean['tcp'] / real:.2f} |")
for name in ("philae", "covey"):
    if mean[name] >= mean["tcp"]:
        sys.exit(f"{name} is not faster than tcp")
PYTHON
if ip netns list | grep '^covey-tb-'; then
    echo 'the testbed has left namespaces behind' >&2
    exit 1
fi
