#!/usr/bin/env bash
# scripts/slow.sh [NAME]: runs tests that `make test` leaves out because they take long. Without a name it lists them.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}

# live TEST…: tests of a coordinator and its agents.
live() {
    cargo test --locked --package covey --test live -- --nocapture "$@"
}

# dead MODULE…: kills, stops and hides processes, the example `shuffle` among them.
dead() {
    cargo build --locked --release --package covey-client --example shuffle
    cargo test --locked --release --package covey --test live -- --ignored --nocapture "$@"
}

case ${1:-} in
'')
    echo 'make slow WHAT=…'
    sed -n 's/^\([a-z-]*\)) # /\1|/p' scripts/slow.sh | while IFS='|' read -r name what; do
        printf '    %-16s  %s\n' "$name" "$what"
    done
    ;;
ignored) # all tests that are marked as slow; needs the Facebook trace and Debian's package prometheus
    # One after the other, because some are timed.
    cargo test --locked --workspace -- --ignored --test-threads 1
    ;;
kills) # kill the coordinator 200 times under load (COVEY_KILLS=200)
    COVEY_KILLS=${COVEY_KILLS:-200} live killed
    ;;
damage) # kill the coordinator 200 times and flip bits of its journal (COVEY_DAMAGES=200)
    COVEY_DAMAGES=${COVEY_DAMAGES:-200} live damaged_journal
    ;;
door) # hold 5,000 silent and slow connections, and measure who is served (COVEY_DOOR_SECONDS=60)
    COVEY_DOOR_SECONDS=${COVEY_DOOR_SECONDS:-60} live thousands_of_silent
    ;;
hostile) # clients, agents and applications say anything 100,000 times; kill the coordinator, start it (COVEY_HOSTILE=100000)
    COVEY_HOSTILE=${COVEY_HOSTILE:-100000} live whatever_is_said
    ;;
lists) # register beside readers of lists and large bodies, with 100,000 coflows present (COVEY_PRESENT=100000)
    COVEY_PRESENT=${COVEY_PRESENT:-100000} COVEY_P99_MS=50 cargo test --locked --release --package covey --test live -- \
        --nocapture readers_and_large_bodies
    ;;
restart) # stop, kill and start a coordinator: 1,000 agents come back, 99,000 coflows are read (COVEY_AGENTS, COVEY_PRESENT)
    COVEY_AGENTS=${COVEY_AGENTS:-1000} COVEY_BACK_MS=${COVEY_BACK_MS:-500} COVEY_PRESENT=${COVEY_PRESENT:-99000} \
        cargo test --locked --release --package covey --test live -- --nocapture --test-threads 1 \
        agents_are_back a_start_reads
    ;;
dead-holders) # kill, stop and cut off applications, and measure the rates of others; two cases need root
    dead dead_holders dead_hosts
    ;;
dead-coordinator) # stop, kill and hide the coordinator, and measure what applications lose
    dead dead_coordinator
    ;;
dead-soak) # kill applications, agents and the coordinator at random for an hour (SOAK_SECONDS=3600)
    SOAK_SECONDS=${SOAK_SECONDS:-3600} dead dead_soak
    ;;
live-fuzz) # send a coordinator valid and invalid requests, and garbage (LIVE_FUZZ_SECONDS=300 of each)
    scripts/live-fuzz.sh "${LIVE_FUZZ_SECONDS:-300}"
    ;;
attach) # schedule two shuffles of unmodified programs between network namespaces; needs root and BPF
    live --ignored --test-threads 1 attach::
    ;;
prometheus) # metrics, alert rules and dashboard against a real Prometheus; needs Debian's package prometheus
    live --ignored prometheus::
    ;;
simgrid) # completion times on topology files against SimGrid's, which comes from Debian's packages
    cargo test --locked --package covey --test command -- --ignored --nocapture simgrid::
    ;;
own-policy) # build a covey with a policy of another crate, from a folder outside, and compare it
    outside=$(mktemp -d)
    trap 'rm -rf "$outside"' EXIT
    cp -r examples/own-policy/. Cargo.lock "$outside"
    sed -i "s|path = \"../../|path = \"$PWD/|" "$outside/Cargo.toml"
    cargo run --quiet --manifest-path "$outside/Cargo.toml" --target-dir "$CARGO_TARGET_DIR/own-policy" -- \
        compare builtin:fb-like:coflows=60 --policies fair,aalo,least-served:step=4MB
    ;;
*)
    echo "there is no slow test '$1'; scripts/slow.sh lists them" >&2
    exit 2
    ;;
esac
