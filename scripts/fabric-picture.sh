#!/usr/bin/env bash
# docs/images/fat-tree.svg, the picture in docs/fabrics.md: how busy the public Facebook trace keeps the links of a
# FatTree.
#
#   scripts/fabric-picture.sh [TRACE]   makes it; TRACE is the file with the trace
#   scripts/fabric-picture.sh --check   fails unless the picture is what the code draws now
#
# Not every machine has the trace. So docs/images/fat-tree.sha256 has two digests: of the picture, and of what the same
# code drew of builtin:fb-like. The check draws that, and the picture itself where the trace is. COVEY names the
# program; without it the script makes a release build.
set -euo pipefail
export LC_ALL=C

trace=../shared/data/FB2010-1Hr-150-0.txt
check=
case ${1:-} in
    --check) check=yes ;;
    -*) echo "usage: $0 [TRACE | --check]" >&2; exit 2 ;;
    '') ;;
    *) trace=$(realpath "$1") ;;
esac
cd "$(dirname "$0")/.."
if [[ -z ${COVEY:-} ]]; then
    cargo build --quiet --locked --release --package covey
    COVEY=${CARGO_TARGET_DIR:-target}/release/covey
fi
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT

# draw TRACE PICTURE
draw() {
    "$COVEY" trace info "$1" --fabric fat-tree:k=8,place=pack --per-link "$folder/links.csv" >/dev/null
    python3 scripts/fabric_picture.py "$folder/links.csv" >"$folder/$2"
}

differs() {
    echo 'docs/images/fat-tree.svg is not what the code draws now: run make fabric-picture' >&2
    exit 1
}

draw builtin:fb-like fb-like.svg
if [[ -n $check ]]; then
    cp docs/images/fat-tree.svg "$folder"
    (cd "$folder" && sha256sum --quiet --check) <docs/images/fat-tree.sha256 || differs
    if [[ -e $trace ]]; then
        draw "$trace" now.svg
        cmp "$folder/now.svg" docs/images/fat-tree.svg || differs
    fi
    exit
fi
draw "$trace" fat-tree.svg
(cd "$folder" && sha256sum fat-tree.svg fb-like.svg) >docs/images/fat-tree.sha256
cp "$folder/fat-tree.svg" docs/images/fat-tree.svg
