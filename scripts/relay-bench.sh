#!/bin/sh
# Loads a coordinator with many agents behind relays, each in a process of its own, and prints the rows
# of the tables on relays in docs/measurements/coordinator.md.
#
#     scripts/relay-bench.sh [AGENTS, 40000 [RELAYS, 3]]
#
# A process needs a file for each of its agents: AGENTS / RELAYS must be below `ulimit -n`. Agents say
# something every 4 s: with 1 s, two cores are busy with heartbeats alone.
set -eu
cd "$(dirname "$0")/.."
agents=${1:-40000}
relays=${2:-3}
target=${CARGO_TARGET_DIR:-target}
cargo build --quiet --locked --release --package covey-load --example live_load
cargo build --quiet --locked --release --package covey
load() {
    "$target/release/examples/live_load" --covey "$target/release/covey" "$@" \
        --agents "$agents" --relays "$relays"
}
ulimit -n 20000 2>/dev/null || true
echo '| agents | transport | memory each, joined | after the load | lost | decision p99, ms | push p99, ms | CPU, % | time | relays | memory there | CPU there, % |'
load agents --heartbeat-s 4
load agents --heartbeat-s 4 --tls
echo '| agents | transport | changed | pushes | decision thread median, ms | most, ms | whole process median, ms | most, ms |'
load push --changed $((agents / 20))
load push --changed $((agents / 20)) --tls
