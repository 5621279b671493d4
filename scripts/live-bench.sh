#!/bin/sh
# Loads a coordinator in a process of its own and prints the rows of the tables in docs/live.md.
#
#     scripts/live-bench.sh [TRACE]
#
# TRACE is the public Facebook trace; without it the trace is not replayed. LIVE_SECONDS says how much
# of it is, 600 unless set.
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
cargo build --quiet --locked --release --package covey --example live_load
cargo build --quiet --locked --release --package covey
load() {
    "$target/release/examples/live_load" --covey "$target/release/covey" "$@"
}
ulimit -n 20000 2>/dev/null || true
echo '| clients | durable registrations | steady | median | p99 |'
load register
echo '| agents | memory each, joined | after the load | lost | decision p99, ms | push p99, ms | CPU, % | time |'
load agents
if [ $# -gt 0 ]; then
    seconds=${LIVE_SECONDS:-600}
    echo '| policy | calculate, ms | send, ms | receive, ms | all, ms | messages an interval | missed | without flush | decision p99, ms | push p99, ms | CPU, % | lost |'
    for policy in philae aalo; do
        load trace "$1" --policy "$policy" --replicate 6 --interval-ms 48 --seconds "$seconds"
    done
fi
