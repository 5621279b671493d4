#!/usr/bin/env bash
# Compares completion times under max-min fair sharing with those of SimGrid, on a topology file with
# explicit routes and three workloads. Ends with status 1 if a time differs in the first six digits.
#
#     scripts/simgrid-check.sh COVEY
#
# COVEY is the program. The script installs SimGrid from the Python package index into an environment that
# it keeps in CARGO_TARGET_DIR. PYTHON names the interpreter (python3).
set -euo pipefail
covey=$(realpath "$1")
cd "$(dirname "$0")/.."
environment=$(realpath -m "${CARGO_TARGET_DIR:-target}")/simgrid
if [[ ! -e $environment/installed ]]; then
    "${PYTHON:-python3}" -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check simgrid==4.1
    touch "$environment/installed"
fi
"$environment/bin/python" scripts/simgrid_check.py "$covey"
