# Sourced. Sets `zig` to a folder with compilers of C for other targets: cc-wasi, ar, and a Python with ziglang and
# cargo-zigbuild. They are kept in CARGO_TARGET_DIR.
zig=$CARGO_TARGET_DIR/zig
if [[ ! -e $zig/ready ]]; then
    rm -rf "$zig"
    "${PYTHON:-python3}" -m venv "$zig"
    "$zig/bin/pip" install --quiet --disable-pip-version-check ziglang==0.17.1 cargo-zigbuild==0.24.1
    cat >"$zig/cc-wasi" <<'CC'
#!/usr/bin/env bash
# Rust's name of the target is not zig's.
arguments=()
for argument in "$@"; do
    [[ $argument == --target=* ]] || arguments+=("$argument")
done
exec "$(dirname "$0")/bin/python" -m ziglang cc --target=wasm32-wasi "${arguments[@]}"
CC
    cat >"$zig/ar" <<'AR'
#!/usr/bin/env bash
exec "$(dirname "$0")/bin/python" -m ziglang ar "$@"
AR
    chmod +x "$zig/cc-wasi" "$zig/ar"
    touch "$zig/ready"
fi
