# For scripts that measure, after prepare.sh: CPU time and peak memory of a run of covey.

# Writes the peak memory of the process in $tmp/pid, in KiB, to $tmp/peak.
watch_memory() {
    local pid key value
    until [[ -s $tmp/pid ]]; do sleep 0.005; done
    pid=$(<"$tmp/pid")
    while [[ -r /proc/$pid/status ]]; do
        while read -r key value _; do
            [[ $key != VmHWM: ]] || echo "$value" >"$tmp/peak"
        done 2>/dev/null <"/proc/$pid/status" || true
        sleep 0.02
    done 2>/dev/null
}

# Runs covey with the arguments, for at most LIMIT seconds of CPU if that is set. Its output goes to
# $tmp/out, its errors to $tmp/pid.err; sets cpu_s and peak_mb, and returns its status.
run() {
    local status=0 TIMEFORMAT='%U %S' watcher
    rm -f "$tmp/pid" "$tmp/peak"
    watch_memory &
    watcher=$!
    {
        time bash -c 'echo $$ >"$0"; ulimit -t "${LIMIT:-unlimited}"; exec "$@" 2>"$0.err"' \
            "$tmp/pid" "$covey" "$@" >"$tmp/out"
    } 2>"$tmp/time" || status=$?
    wait "$watcher"
    cpu_s=$(awk 'END { printf "%.2f", $1 + $2 }' "$tmp/time")
    peak_mb=?
    [[ ! -s $tmp/peak ]] || peak_mb=$((($(<"$tmp/peak") * 1024 + 999999) / 1000000))
    return "$status"
}
