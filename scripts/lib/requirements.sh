# For scripts that compare measurements with requirements.

# judge MIN MAX UNIT VALUE: sets must to the required range, and verdict to a remark if VALUE is not in it.
# MIN or MAX may be empty.
judge() {
    local unit=${3:+ $3}
    if [[ -n $1 && -n $2 ]]; then
        must="$1–$2$unit"
    elif [[ -n $1 ]]; then
        must="≥ $1$unit"
    else
        must="≤ $2$unit"
    fi
    verdict=$(awk -v min="$1" -v max="$2" -v value="$4" 'BEGIN {
        met = (min == "" || value + 0 >= min + 0) && (max == "" || value + 0 <= max + 0)
        if (!met) print " **not met**"
    }')
}
