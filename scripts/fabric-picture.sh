#!/usr/bin/env bash
# docs/images/fat-tree.svg, the picture in docs/fabrics.md: how busy a trace keeps the links of a FatTree.
#
#     scripts/fabric-picture.sh [TRACE]
#
# TRACE is a file; the default is builtin:fb-like. COVEY names a ready binary; without it the script builds one.
set -euo pipefail
export LC_ALL=C

source "$(dirname "$0")/lib/prepare.sh"
[[ -z $update ]] || { echo "$0: it always writes the picture" >&2; exit 2; }
"$covey" trace info "$trace" --fabric fat-tree:k=8,place=pack --per-link "$tmp/links.csv"
python3 scripts/fabric_picture.py "$tmp/links.csv" >"$tmp/picture.svg"
cp "$tmp/picture.svg" docs/images/fat-tree.svg
