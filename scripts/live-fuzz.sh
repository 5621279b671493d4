#!/usr/bin/env bash
# Sends a coordinator requests that its OpenAPI description allows, many that it does not allow, and
# garbage to its port for agents. The coordinator must not panic or answer 5xx, and must keep its
# memory bounded.
#
#     scripts/live-fuzz.sh [SECONDS of each, 300]
#
# PYTHON names the interpreter (python3), 3.10 or newer with venv.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-300}
python=${PYTHON:-python3}
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export PIP_DISABLE_PIP_VERSION_CHECK=1
here=$PWD/scripts/live-fuzz
tools=$target/live-fuzz
# With overflow checks and debug assertions.
cargo build --quiet --locked --package covey
cargo build --quiet --locked --package covey-load --example live_load
[[ -x $tools/bin/python ]] || "$python" -m venv "$tools"
"$tools/bin/pip" install --quiet --requirement "$here/requirements.txt"

work=$(mktemp -d)
coordinator=
finish() {
    if [[ -n $coordinator ]]; then
        kill "$coordinator" 2>/dev/null || true
        # It writes to its folder until it has ended.
        wait "$coordinator" || true
    fi
    rm -rf "$work"
}
trap finish EXIT

# start POLICY
start() {
    : >"$work/addresses"
    "$target/debug/covey" serve --data "$work/data" --policy "$1" --max-coflows 1000 --log warn \
        --audit-log "$work/audit" --clients 127.0.0.1:0 --agents 127.0.0.1:0 >"$work/addresses" 2>>"$work/log" &
    coordinator=$!
    until grep -q agents "$work/addresses"; do
        kill -0 "$coordinator"
        sleep 0.1
    done
    clients=$(sed -n 's/^clients //p' "$work/addresses")
    agents=$(sed -n 's/^agents //p' "$work/addresses")
}

# alive WHAT: prints its peak memory.
alive() {
    if ! kill -0 "$coordinator" || grep -n 'a bug, please report it' "$work/log"; then
        tail -n 20 "$work/log"
        echo "the coordinator has not survived $1"
        exit 1
    fi
    local most
    most=$(sed -n 's/^VmHWM:\s*\([0-9]*\) kB/\1/p' "/proc/$coordinator/status")
    echo "$1: the coordinator needed at most $((most / 1024)) MiB"
    if ((most > 512 * 1024)); then
        echo 'that is more than 512 MiB'
        exit 1
    fi
}

stop() {
    kill "$coordinator"
    wait "$coordinator"
    coordinator=
}

# requests SECONDS
# /v1/events is left out, because it has no end. One check is left out, because a deregistered
# coflow can still be read.
requests() {
    (cd "$work" && "$tools/bin/schemathesis" --config-file "$here/schemathesis.toml" --no-color \
        run "http://$clients/openapi.json" --max-time "$1" --exclude-path /v1/events \
        --header "Authorization: Bearer $(cat "$work/data/token")" --continue-on-failure \
        --exclude-checks use_after_free) || { alive 'its clients'; exit 1; }
    alive 'its clients'
}

# A policy that finds coflows by itself refuses those of applications, and others have no use for communities.
start coda:labels=told
requests "$((seconds / 5))"
stop
start philae
requests "$seconds"

"$target/debug/examples/live_load" garbage --coordinator "$agents" --clients "$clients" \
    --data "$work/data" --seconds "$seconds"
alive 'garbage'

# Whatever clients have sent, every line of the audit log is JSON.
"$tools/bin/python" -c 'import json, sys
with open(sys.argv[1]) as log:
    print(len([json.loads(line) for line in log]), "lines in the audit log")' "$work/audit"
