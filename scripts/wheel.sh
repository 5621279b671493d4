#!/usr/bin/env bash
# scripts/wheel.sh FOLDER: builds the wheel, which has the Python package and the command `covey`, as pip does in an
# empty environment. It needs a Rust compiler; to install it needs none.
#
# PYTHON names the interpreter (python3). MATURIN_PEP517_ARGS has arguments for maturin, such as a profile. A wheel that
# is made without them is what users get, and has a limit of size.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
most_mb=15
export PIP_DISABLE_PIP_VERSION_CHECK=1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/builder"
"$work/builder/bin/pip" wheel --quiet --no-deps --wheel-dir "$work" .
wheel=$(echo "$work"/covey-*.whl)
bytes=$(stat --format %s "$wheel")
if [[ -z ${MATURIN_PEP517_ARGS:-} ]] && ((bytes > most_mb * 1000000)); then
    echo "the wheel has $bytes bytes; at most $most_mb MB are wanted" >&2
    exit 1
fi
mkdir -p "$folder"
rm -f "$folder"/covey-*.whl
mv "$wheel" "$folder"
echo "$folder/$(basename "$wheel"): $((bytes / 1000)) kB"
