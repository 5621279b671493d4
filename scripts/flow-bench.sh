#!/usr/bin/env bash
# Measures docs/measurements/client-library.md: the client library beside plain TCP, pacing,
# reaction, an agent with a thousand flows. As root it runs in a network namespace of its own, where
# new rates take effect sooner (tcp_tso_rtt_log=0), and also compares with plain TCP under reno.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --locked --release --package covey-client --example flow_bench
bench=${CARGO_TARGET_DIR:-target}/release/examples/flow_bench
uptime >&2
if [ "$(id -u)" != 0 ]; then
    exec "$bench"
fi
name=covey-flow-bench-$$
trap 'ip netns del "$name"' EXIT
ip netns add "$name"
ip -n "$name" link set lo up
ip netns exec "$name" sh -c 'file=/proc/sys/net/ipv4/tcp_tso_rtt_log; [ ! -e $file ] || echo 0 > $file'
# Plain TCP differs by congestion control: bbr paces it, reno does not.
control=/proc/sys/net/ipv4/tcp_congestion_control
default=$(ip netns exec "$name" cat $control)
if [ "$default" != reno ]; then
    echo "With reno:"
    ip netns exec "$name" sh -c "echo reno > $control"
    ip netns exec "$name" "$bench" beside-tcp
    ip netns exec "$name" sh -c "echo $default > $control"
fi
echo "With $default:"
ip netns exec "$name" "$bench"
