#!/usr/bin/env bash
# Installs the programs with which `make test` checks flow records, pages and units: nfdump, softflowd, iproute2,
# Chromium and systemd-analyze.
# Says what it left out where there is neither root nor apt-get; exit status 1 then.
set -euo pipefail

missing=()
for pair in nfdump:nfdump nfcapd:nfdump softflowd:softflowd ss:iproute2 chromium:chromium \
    systemd-analyze:systemd; do
    command -v "${pair%:*}" >/dev/null || missing+=("${pair#*:}")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0
leave_out() {
    echo "Flow records of real collectors and pages in a browser are left out: $1 (packages: ${missing[*]})"
    exit 1
}
[[ $(id -u) == 0 ]] || leave_out 'installing needs root'
command -v apt-get >/dev/null || leave_out 'there is no apt-get'
export DEBIAN_FRONTEND=noninteractive
install() {
    apt-get install --yes --no-install-recommends "$@" >/dev/null 2>&1
}
if ! install "${missing[@]}"; then
    apt-get update >/dev/null 2>&1 || true
    # Each by itself: not every system has each of them.
    failed=()
    for package in "${missing[@]}"; do
        install "$package" || failed+=("$package")
    done
    missing=(${failed[@]+"${failed[@]}"})
    [[ ${#missing[@]} -eq 0 ]] || leave_out 'apt-get failed'
fi
