#!/usr/bin/env bash
# Measures how well and how fast coflows are identified, and prints it as Markdown.
#
#     scripts/identification.sh [TRACE] [--update]
#
# TRACE is a file; the default is builtin:fb-like. With --update the script replaces the part of
# docs/identify.md between the two marks; otherwise it prints to standard output.
set -euo pipefail
export LC_ALL=C

export COVEY=none # the measurement is an example, not the program
source "$(dirname "$0")/lib/prepare.sh"
cargo build --locked --release --quiet --package covey-trace --example ladder
ladder=${CARGO_TARGET_DIR:-target}/release/examples/ladder

report() {
    echo "Trace: \`$(basename "$trace")\`. Each cell has F1 per flow, then F1 per coflow."
    echo
    "$ladder" accuracy "$trace" 2>"$tmp/metrics"
    echo
    "$ladder" speed
}

if [[ -z $update ]]; then
    report
    cat "$tmp/metrics" >&2
else
    report >"$tmp/report"
    put_between identification "$tmp/report" docs/identify.md
fi
