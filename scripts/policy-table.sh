#!/bin/sh
# The comparison of docs/covey-policy.md on any traces: files, or builtin:NAME. Prints a table each.
#     scripts/policy-table.sh trace.txt builtin:fb-like:seed=1
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- builtin:fb-like:seed=1 builtin:fb-like:seed=2 builtin:fb-like:seed=3 \
    builtin:fb-like:seed=4 builtin:fb-like:seed=5
for trace; do
    echo "== $trace"
    cargo run --quiet --locked --release --package covey -- compare "$trace" --baseline philae \
        --policies covey,philae,aalo,sincronia,sebf:share=matching-by-load
done
