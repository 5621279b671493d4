# For scripts that measure: reads `[TRACE] [--update]` into trace and update, goes to the top folder, finds
# the program to measure (COVEY, or a release build) as covey, and makes tmp, a folder that goes at the end.

trace=builtin:fb-like
update=
for argument in "$@"; do
    case $argument in
        --update) update=yes ;;
        -*) echo "usage: $0 [TRACE] [--update]" >&2; exit 2 ;;
        *) trace=$argument ;;
    esac
done
[[ $trace == builtin:* ]] || trace=$(realpath "$trace")
cd "$(dirname "$0")/.."
covey=${COVEY:-}
if [[ -z $covey ]]; then
    cargo build --locked --release --quiet --package covey
    covey=${CARGO_TARGET_DIR:-target}/release/covey
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
