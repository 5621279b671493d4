#!/usr/bin/env bash
# Makes docs/images/plots.png, the picture in README.md: the plots of the page that `make demo` writes,
# without its table, which README.md shows as text. Needs Chromium.
set -euo pipefail
cd "$(dirname "$0")/.."
page=$(mktemp --suffix .html)
trap 'rm -f "$page"' EXIT
sed 's#</head>#<style>main > section:first-of-type { display: none }</style></head>#' \
    out/demo.html >"$page"
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1100,1590 \
    --screenshot="$PWD/docs/images/plots.png" "file://$page" 2>/dev/null
