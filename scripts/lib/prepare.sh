# For scripts that measure: reads `[TRACE] [--update]` into trace and update, goes to the top
# folder, finds the program to measure (COVEY, or a release build) as covey, and makes tmp, a folder
# that is removed at the end. put_between writes measurements into a page.

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

# put_between NAME TEXT FILE: replaces the part between the marks NAME of FILE with the file TEXT.
put_between() {
    awk -v end="<!-- $1: end -->" -v begin="<!-- $1: begin" -v text="$2" '
        $0 == end { inside = 0 }
        !inside { print }
        index($0, begin) == 1 {
            inside = 1
            print ""
            while ((getline line < text) > 0) print line
            print ""
        }' "$3" >"$tmp/page"
    cat "$tmp/page" >"$3"
    echo "$3 is up to date" >&2
}
