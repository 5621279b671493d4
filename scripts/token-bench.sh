#!/usr/bin/env bash
# Measures docs/measurements/client-library.md: flows without tokens, with tokens, and with tokens and TLS, by turns. Four
# coordinators have two agents each, so that two rows show what differs anyway.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --locked --release --package covey --bins
cargo build --locked --release --package covey-client --example token_bench
release=${CARGO_TARGET_DIR:-target}/release
folder=$(mktemp -d)
processes=()
end() {
    kill "${processes[@]}" 2>/dev/null || true
    wait
    rm -rf "$folder"
}
trap end EXIT

# Starts a coordinator of a name with --flow-tokens MODE, and two agents, and sets `hosts`.
start() {
    local name=$1 mode=$2 data=$folder/$1 clients agents
    "$release/covey" serve --data "$data" --ports 2 --port-rate 100gbps --policy fair --flow-tokens "$mode" \
        --clients 127.0.0.1:0 --agents 127.0.0.1:0 --log warn >"$folder/$name.out" &
    processes+=($!)
    until grep -qs "^agents" "$folder/$name.out"; do sleep 0.05; done
    clients=$(sed -n 's/^clients //p' "$folder/$name.out")
    agents=$(sed -n 's/^agents //p' "$folder/$name.out")
    for port in 0 1; do
        "$release/covey" agent --port "$port" --coordinator "$agents" --credentials "$data" \
            --socket "$data/$port.sock" --log warn &
        processes+=($!)
    done
    until [ -S "$data/0.sock" ] && [ -S "$data/1.sock" ]; do sleep 0.05; done
    hosts=$name=$clients=$data
}

uptime >&2
all=()
for name in off off-again on on-again; do
    start "$name" "${name%-again}"
    all+=("$hosts")
done
"$release/covey" serve --init --data "$folder/ca" >/dev/null
"$release/examples/token_bench" "${all[@]}" "tls${hosts#on-again}=$folder/ca"
