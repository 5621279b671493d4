#!/usr/bin/env bash
# scripts/playground.sh [FOLDER]: builds the playground, a static folder (dist/playground): the program `covey` without
# the live system, compiled for WASI, and a page that runs it. Any web server shows it:
#
#     python3 -m http.server --directory dist/playground
#
# Needs Python 3 and npm, which fetch a C compiler for WebAssembly (zig) and a WASI for browsers.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-dist/playground}
most_mb=3
shim=@bjorn3/browser_wasi_shim@0.4.2
target=wasm32-wasip1
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR

if command -v rustup >/dev/null; then
    rustup target add "$target" 2>/dev/null
fi
source scripts/lib/zig.sh
export CC_wasm32_wasip1="$zig/cc-wasi" AR_wasm32_wasip1="$zig/ar"
cargo build --quiet --locked --release --package covey --no-default-features --target "$target"

mkdir -p "$folder/wasi"
cp playground/* LICENSE "$folder"
gzip --best --no-name --stdout "$CARGO_TARGET_DIR/$target/release/covey.wasm" >"$folder/covey.wasm.gz"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && npm pack --silent "$shim" >/dev/null && tar -xzf ./*.tgz)
cp "$work"/package/dist/*.js "$work"/package/LICENSE* "$folder/wasi"

bytes=$(find "$folder" -type f -exec gzip --best --stdout {} + | wc -c)
echo "$folder: $((bytes / 1000)) kB compressed"
if ((bytes > most_mb * 1000000)); then
    echo "at most $most_mb MB are wanted" >&2
    exit 1
fi
