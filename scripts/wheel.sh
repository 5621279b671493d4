#!/usr/bin/env bash
# scripts/wheel.sh FOLDER [TARGET]: builds the wheel, which has the Python package and the command `covey`, as pip does in
# an empty environment. It needs a Rust compiler; to install it needs none. With TARGET, such as
# aarch64-unknown-linux-gnu or x86_64-unknown-linux-musl, it is for other machines, with zig as compiler of C.
#
# PYTHON names the interpreter (python3). MATURIN_PEP517_ARGS has arguments for maturin, such as a profile. A wheel that
# is made without them is what users get, and has a limit of size.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1 target=${2:-}
most_mb=15
export PIP_DISABLE_PIP_VERSION_CHECK=1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [[ -z $target ]]; then
    "${PYTHON:-python3}" -m venv "$work/builder"
    "$work/builder/bin/pip" wheel --quiet --no-deps --wheel-dir "$work" .
else
    CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
    export CARGO_TARGET_DIR
    if command -v rustup >/dev/null; then
        rustup target add "$target" 2>/dev/null
    fi
    source scripts/lib/zig.sh
    maturin=$(sed -n 's/^requires = \["\(maturin==[0-9.]*\)"\]$/\1/p' pyproject.toml)
    "$zig/bin/pip" install --quiet "$maturin"
    PATH=$zig/bin:$PATH maturin build --quiet --release --locked --zig --target "$target" --out "$work"
fi
wheel=$(echo "$work"/covey-*.whl)
bytes=$(stat --format %s "$wheel")
if [[ -z ${MATURIN_PEP517_ARGS:-} ]] && ((bytes > most_mb * 1000000)); then
    echo "the wheel has $bytes bytes; at most $most_mb MB are wanted" >&2
    exit 1
fi
mkdir -p "$folder"
if [[ -z $target ]]; then
    rm -f "$folder"/covey-*.whl
fi
mv "$wheel" "$folder"
echo "$folder/$(basename "$wheel"): $((bytes / 1000)) kB"
