#!/usr/bin/env bash
# Fails if modules of a crate import each other in a circle. Without arguments it checks all crates,
# otherwise the named ones: scripts/circles.sh covey-core covey-sim
#
# cargo-modules lists which module uses which, and tsort finds an order if there is one.
# (`--acyclic` of cargo-modules does not help: it counts functions and types, too, and reports a
# type and its constructor as a circle.)
# A module uses another one if
# - it imports an item that the other one defines. An import through a re-export counts for the module that
#   defines the item: `use super::X` is an import of the parent only if the parent itself defines X;
# - it imports the other module by name, as in `use crate::alloc`;
# - a field, a parameter or a result has a type of the other module. Methods count for the module that
#   defines their type, in any file.
# Paths that are written out in the body of a function do not count. Modules of tests do not count either.
#
# So a `mod.rs` or `lib.rs` that only declares and re-exports is in no circle. It is in a circle if
# it defines an item that its children import, and uses its children.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.27.0 # the newest that builds with the compiler of rust-toolchain.toml
tools=${CARGO_TARGET_DIR:-$PWD/target}/tools
# cargo-modules reads the crate of the Python package without Python.
export PYO3_NO_PYTHON=1 PYO3_BUILD_EXTENSION_MODULE=1

# Prints the circles of a target, such as `covey-core --lib`.
circles() {
    local edges
    edges=$("$tools/bin/cargo-modules" modules dependencies --package "$@" --layout dot --no-owns \
        --no-externs --no-sysroot --no-fns --no-types --no-traits 2>&1) || {
        echo "$*: cargo-modules failed: $edges"
        return
    }
    sed -n 's/^ *"\([^"]*\)" -> "\([^"]*\)" \[label="uses".*/\1 \2/p' <<<"$edges" | tsort 2>&1 >/dev/null |
        sed "s/^tsort: -: .*/$1: these modules use each other:/; s/^tsort: /    /" || true
}

if [[ ${1:-} == --target ]]; then
    circles "${@:2}"
    exit
fi
# A compromise: with all of it optimised, the tool costs 10 minutes of CPU once; with none of it, a run over all crates
# costs 12 minutes. So the parts that a run does not use are not optimised, and no code is optimised across units
# (`lto`): 5.5 minutes once, and 3.5 for a run.
if ! "$tools/bin/cargo-modules" modules --version 2>/dev/null | grep -q " $version$"; then
    unused=()
    for part in ide ide_assists ide_completion ide_db ide_diagnostics ide_ssr; do
        unused+=(--config "profile.dev.package.ra_ap_$part.opt-level=0")
    done
    CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_DEV_LTO=off CARGO_INCREMENTAL=0 \
        cargo install cargo-modules --version "$version" --locked --debug --root "$tools" "${unused[@]}"
fi
targets=()
for folder in crates/* python; do
    name=covey-python
    [[ $folder == python ]] || name=$(basename "$folder")
    [[ $# == 0 || " $* " == *" $name "* ]] || continue
    [[ ! -e $folder/src/lib.rs ]] || targets+=("$name --lib")
    [[ ! -e $folder/src/main.rs ]] || targets+=("$name --bin $name")
done
found=$(printf '%s\n' "${targets[@]}" | xargs --max-procs="$(nproc)" --max-lines=1 "$0" --target)
if [[ -n $found ]]; then
    echo "$found"
    echo 'Import circles: move what both sides need into a module of its own, below both.'
    exit 1
fi
echo "No import circles between the modules of ${#targets[@]} crates."
