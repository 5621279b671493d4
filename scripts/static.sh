#!/usr/bin/env bash
# scripts/static.sh [FILE]: builds `covey` as one file that needs no library of the system (dist/covey), and beside it the
# example `shuffle`, with zig as compiler of C. TARGET names another target, such as aarch64-unknown-linux-musl.
set -euo pipefail
cd "$(dirname "$0")/.."
file=${1:-dist/covey}
target=${TARGET:-$(uname -m)-unknown-linux-musl}
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR

if command -v rustup >/dev/null; then
    rustup target add "$target" 2>/dev/null
fi
source scripts/lib/zig.sh
PATH=$zig/bin:$PATH cargo-zigbuild zigbuild --quiet --locked --release --target "$target" \
    --package covey --package covey-client --bin covey --example shuffle
mkdir -p "$(dirname "$file")"
install -m 755 "$CARGO_TARGET_DIR/$target/release/covey" "$file"
# The example of an application, for compose.yaml.
install -m 755 "$CARGO_TARGET_DIR/$target/release/examples/shuffle" "$(dirname "$file")/shuffle"
bytes=$(stat --format %s "$file")
echo "$file ($target): $((bytes / 1000)) kB"
