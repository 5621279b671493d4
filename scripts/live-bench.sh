#!/bin/sh
# Loads a coordinator in a process of its own and prints the rows of the tables in
# docs/measurements/coordinator.md.
#
#     scripts/live-bench.sh [TRACE]
#
# TRACE is the public Facebook trace; without it nothing is replayed. LIVE_SECONDS (default 600) is
# the length of the replayed part, which takes half an hour for three policies.
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
cargo build --quiet --locked --release --package covey-load --example live_load
cargo build --quiet --locked --release --package covey
load() {
    "$target/release/examples/live_load" --covey "$target/release/covey" "$@"
}
ulimit -n 20000 2>/dev/null || true
echo '| clients | durable registrations | steady | median | p99 |'
load register
echo '| policy | present | ports | resident | registrations | DELETE median | p99 | decision p99 | answer median | p99 |'
for policy in fifo sebf aalo covey philae; do
    load many --policy "$policy"
done
echo '| agents | transport | memory each, joined | after the load | lost | decision p99, ms | push p99, ms | CPU, % | time |'
load agents
load agents --tls
echo 'The same with 10,000 coflows that are present, without and with ten who look at the page:'
load agents --agents 1000 --present 10000
load agents --agents 1000 --present 10000 --viewers 10
echo '| agents | transport | changed | pushes | decision thread median, ms | most, ms | whole process median, ms | most, ms |'
load push
load push --tls
if [ $# -gt 0 ]; then
    "$target/release/covey" reproduce philae --live --table 6 --trace "$1" --seconds "${LIVE_SECONDS:-600}"
fi
