#!/usr/bin/env bash
# docs/images/plots.png, the picture in README.md: the plots of the page that `make demo` writes, without its
# tables, which README.md shows as text.
#
#   scripts/picture.sh           makes it; needs Chromium
#   scripts/picture.sh --check   fails unless the picture is of the plots that the code makes now
#
# docs/images/plots.sha256 has the digests of the plots and of their picture. COVEY names the
# program; without it the script makes a release build.
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ -z ${COVEY:-} ]]; then
    cargo build --quiet --locked --release --package covey
    COVEY=${CARGO_TARGET_DIR:-target}/release/covey
fi
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT

"$COVEY" compare builtin:fb-like --report "$folder/page.html" >/dev/null
# The picture leaves out details of this machine and version, and tables that README.md shows as
# text.
sed --regexp-extended \
    -e 's#<meta name="generator"[^>]*>##' -e 's#<section id="results">.*</section>(<div class="pair">)#\1#' \
    -e 's#<section id="coflows".*</footer>#</main>#' -e 's#<script.*</script>##' "$folder/page.html" >"$folder/plots.html"

if [[ ${1:-} == --check ]]; then
    cp docs/images/plots.png "$folder"
    if ! (cd "$folder" && sha256sum --quiet --check) <docs/images/plots.sha256; then
        echo 'docs/images/plots.png is not of the plots that the code makes now: run make picture' >&2
        exit 1
    fi
    exit
fi
chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --user-data-dir="$folder/profile" --hide-scrollbars \
    --window-size=1100,1810 --screenshot="$folder/plots.png" "file://$folder/plots.html" 2>/dev/null
(cd "$folder" && sha256sum plots.html plots.png) >docs/images/plots.sha256
cp "$folder/plots.png" docs/images/plots.png
