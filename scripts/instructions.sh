#!/usr/bin/env bash
# Counts the instructions that six policies take on a small workload, on a big switch and on a FatTree, and compares
# them with scripts/instructions.txt. A count that differs by more than 5 % is an error. Counts do not depend on other
# work of the machine; those of the development build are compared, which the tests have built anyway.
#
#     scripts/instructions.sh [--update]
#
# With --update the script writes the counts into scripts/instructions.txt. COVEY names a ready binary; without it the
# script builds one. Valgrind counts; the script installs it from Debian's packages.
set -euo pipefail
export LC_ALL=C
[[ $* == '' || $* == --update ]] || { echo "usage: $0 [--update]" >&2; exit 2; }
cd "$(dirname "$0")/.."

if ! command -v valgrind >/dev/null; then
    install() { DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends valgrind >/dev/null 2>&1; }
    install || { apt-get update >/dev/null 2>&1 && install; } ||
        { echo "$0 needs valgrind: install the package, as root: apt-get install valgrind" >&2; exit 2; }
fi
if [[ -z ${COVEY:-} ]]; then
    # As .ci/run builds it.
    export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_OPT_LEVEL=2
    cargo build --locked --quiet --package covey --bin covey
    COVEY=${CARGO_TARGET_DIR:-target}/debug/covey
fi
export COVEY

# count POLICY FABRIC: a line with both and the number of instructions.
count() {
    local said
    said=$(env -i "$(command -v valgrind)" --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null \
        "$COVEY" simulate builtin:fb-like:coflows=30 --policy "$1" --fabric "$2" 2>&1 >/dev/null) ||
        { echo "$said" >&2; return 1; }
    awk -v of="$1 $2" '/I *refs:/ { gsub(",", "", $NF); print of, $NF }' <<<"$said"
}
export -f count
counts=$(for fabric in big-switch fat-tree:k=8,place=pack; do
    printf "%s $fabric\n" fair sebf aalo philae covey stream
done | xargs -P "$(nproc)" -L 1 bash -c 'count "$@"' count | sort)

known=scripts/instructions.txt
if [[ ${1:-} == --update ]]; then
    echo "$counts" >$known
    echo "$known is up to date" >&2
    exit
fi
awk '
    NR == FNR { known[$1, $2] = $3; next }
    {
        change = known[$1, $2] ? 100 * ($3 / known[$1, $2] - 1) : 100
        printf "%-7s %-24s %14.0f %+6.1f %%\n", $1, $2, $3, change
        if (change < -5 || change > 5) failed = failed sprintf("%s on %s: %+.1f %% instructions. ", $1, $2, change)
    }
    END { if (failed) { print failed "If that is meant, run `make instructions UPDATE=yes` and commit " \
        "scripts/instructions.txt with the reason." >"/dev/stderr"; exit 1 } }' $known - <<<"$counts"
