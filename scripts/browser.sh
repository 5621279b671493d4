#!/usr/bin/env bash
# scripts/browser.sh SCRIPT [ARGUMENT…]: runs a script that tries pages in headless Chromium, with puppeteer and axe from
# npm, which are kept in CARGO_TARGET_DIR.
set -euo pipefail
cd "$(dirname "$0")/.."
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
npm=$CARGO_TARGET_DIR/npm
if [[ ! -e $npm/ready ]]; then
    mkdir -p "$npm"
    npm install --silent --no-fund --no-audit --prefix "$npm" puppeteer-core@25.16.0 axe-core@4.14.1
    touch "$npm/ready"
fi
NODE_PATH=$npm/node_modules CHROMIUM=${CHROMIUM:-$(command -v chromium)} node "$@"
