#!/usr/bin/env bash
# Checks and tests the Python package in fresh environments: lints, types, the completeness of the
# source distribution, the wheel that pip builds in an empty environment, its command, the tests, and
# the tutorial. The tests of the live system use the command `covey` of the profile `dev`, which is
# compiled if it is absent.
#
# PYTHON names the interpreter (python3). If it is absent or older than 3.10, the script says so and
# does nothing; with SKIP_NOTHING set it fails. The wheel is of the profile `dev`, and its compiled
# dependencies are kept in CARGO_TARGET_DIR.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR PIP_DISABLE_PIP_VERSION_CHECK=1

works() {
    "$1" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}
if ! works "$python"; then
    echo "skipped: the Python package is not tested: '$python' is not Python 3.10 or newer with venv"
    [[ -z ${SKIP_NOTHING:-} ]]
    exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# environment NAME PYTHON: makes an empty environment.
environment() {
    "$2" -m venv "$work/$1"
}

environment full "$python"
bin=$work/full/bin
"$bin/pip" install --quiet --no-compile --requirement python/requirements.txt
"$bin/ruff" check
"$bin/ruff" format --check
"$bin/mypy"

# The source distribution is complete: it compiles elsewhere. It is unpacked outside of this folder;
# inside, Cargo would read its configuration twice, and compile everything again. The files are as new as this run
# (-m): the archive gives them a time of long ago, and Cargo would take what it made of earlier sources for theirs.
"$bin/maturin" sdist --out "$work/dist" 2>/dev/null
mkdir "$work/source"
tar -xmzf "$work"/dist/covey-*.tar.gz --strip-components 1 -C "$work/source"
# It has fewer crates than the lock file, so Cargo must not look for other versions.
cargo fetch --quiet --locked
(cd "$work/source" && PYO3_NO_PYTHON=1 PYO3_BUILD_EXTENSION_MODULE=1 \
    cargo check --quiet --offline --manifest-path python/Cargo.toml)

environment empty "$python"
PYTHON=$python MATURIN_PEP517_ARGS='--profile dev' scripts/wheel.sh "$work/dist"
"$work/empty/bin/pip" install --quiet "$work"/dist/covey-*.whl
"$work/empty/bin/python" -m doctest python/covey/__init__.py
"$work/empty/bin/covey" compare builtin:fb-like

# The client's tests need a coordinator, agents, and an example. With this selection Cargo compiles
# nothing beyond `make rust`.
cargo build --quiet --locked --workspace --bin covey --example shuffle
"$bin/pip" install --quiet --no-deps "$work"/dist/covey-*.whl
"$bin/pytest" -q -rs --nbmake python/tests docs/tutorial.ipynb

# The same wheel with the other installed interpreters, without the optional packages.
for version in 3.10 3.11 3.12 3.13 3.14; do
    other=python$version
    if works "$other" && [[ $("$bin/python" -V) != "$("$other" -V)" ]]; then
        echo "with Python $version:"
        environment "$version" "$other"
        "$work/$version/bin/pip" install --quiet --constraint python/requirements.txt \
            pytest "$work"/dist/covey-*.whl
        "$work/$version/bin/pytest" -q -rs python/tests
    fi
done
