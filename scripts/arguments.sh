# For scripts that measure: reads `[TRACE] [--update]` into trace and update, and goes to the top folder.

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
