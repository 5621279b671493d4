#!/usr/bin/env bash
# Compares the ends of flows under max-min fair sharing with those of SimGrid, on a topology file with explicit
# routes and three workloads. Ends with status 1 if a time differs in the first six digits.
#
#     scripts/simgrid-check.sh COVEY [POLICY...]
#
# COVEY is the program. The policies are fair and aalo unless given: fair shares among all flows, and aalo among the
# flows of a coflow, by code of its own. All flows are of one coflow, so both must be max-min fair.
#
# The Python package index has SimGrid only as source, so the script takes Debian's packages. It unpacks them in
# CARGO_TARGET_DIR and installs nothing.
set -euo pipefail
covey=$(realpath "$1")
shift
(($# > 0)) || set -- fair aalo
cd "$(dirname "$0")/.."
folder=$(realpath -m "${CARGO_TARGET_DIR:-target}")/simgrid
if [[ ! -e $folder/complete ]]; then
    mkdir -p "$folder/packages/partial"
    apt-get install --yes --quiet=2 --no-install-recommends --download-only \
        -o Dir::Cache::archives="$folder/packages" -o Debug::NoLocking=yes python3-simgrid
    for package in "$folder"/packages/*.deb; do
        dpkg-deb --extract "$package" "$folder/root"
    done
    touch "$folder/complete"
fi
libraries=$folder/root/usr/lib/$(dpkg-architecture -q DEB_HOST_MULTIARCH 2>/dev/null || echo x86_64-linux-gnu)
export PYTHONPATH=$folder/root/usr/lib/python3/dist-packages LD_LIBRARY_PATH=$libraries
/usr/bin/python3 scripts/simgrid_check.py "$covey" "$@"
