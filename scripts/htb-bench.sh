#!/usr/bin/env bash
# Measures docs/measurements/client-library.md, HTB and DSCP, between two network namespaces that it makes; needs root, ip
# and tc.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --locked --release --package covey-client --example htb_bench
bench=${CARGO_TARGET_DIR:-target}/release/examples/htb_bench
a=covey-htb-a-$$ b=covey-htb-b-$$
trap 'ip netns del "$a"; ip netns del "$b"' EXIT
ip netns add "$a"
ip netns add "$b"
ip link add v0 netns "$a" type veth peer name v0 netns "$b"
for n in 1 2; do
    name=$a
    [ $n = 1 ] || name=$b
    ip -n "$name" addr add 10.9.0.$n/24 dev v0
    ip -n "$name" link set lo up
    ip -n "$name" link set v0 up
    # New rates take effect sooner without the first. Not every system lets namespaces choose cubic;
    # on links as short as these, reno behaves like it.
    ip netns exec "$name" sh -c 'cd /proc/sys/net/ipv4
        [ ! -e tcp_tso_rtt_log ] || echo 0 > tcp_tso_rtt_log
        echo cubic > tcp_congestion_control || echo reno > tcp_congestion_control' 2>/dev/null
done
uptime >&2
ip netns exec "$a" "$bench" rates v0 10.9.0.2:9000 ip netns exec "$b" "$bench" sink 10.9.0.2:9000

# A link of 100 Mbit/s that gives priority by DSCP; each class is guaranteed a hundredth.
tc -n "$a" -batch - <<'TC'
qdisc add dev v0 root handle 1: htb default 10
class add dev v0 parent 1: classid 1:1 htb rate 100mbit ceil 100mbit quantum 60000
TC
for place in 0 1 2 3 4 5 6 7; do
    tc -n "$a" -batch - <<TC
class add dev v0 parent 1:1 classid 1:1$place htb rate 1mbit ceil 100mbit prio $((7 - place)) quantum 60000
qdisc add dev v0 parent 1:1$place bfifo limit 262144
filter add dev v0 parent 1: protocol ip prio 1 u32 match ip tos $((place << 5)) 0xe0 flowid 1:1$place
TC
done
echo
ip netns exec "$a" "$bench" marks 10.9.0.2:9001 ip netns exec "$b" "$bench" sink 10.9.0.2:9001
