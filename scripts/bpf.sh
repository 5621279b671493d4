#!/usr/bin/env bash
# Builds the BPF objects of the crates from their sources; with --check it compares them with those that are there.
#
#     scripts/bpf.sh [--check]
#
# Needs clang, llvm-strip and the headers of the kernel's interface (Debian: clang, llvm, linux-libc-dev). Other
# versions of clang make other objects, so --check fails under another one than the objects were built with, which
# the file CLANG beside them names.
set -euo pipefail
cd "$(dirname "$0")/../crates"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

version=$(clang --version | head -1)
for folder in */bpf; do
    if [[ ${1:-} == --check && $version != "$(cat "$folder/CLANG")" ]]; then
        echo "$0: the objects were built with $(cat "$folder/CLANG"), and this is $version" >&2
        exit 1
    fi
    for source in "$folder"/*.bpf.c; do
        object=${source%.c}.o
        # -g for the types of maps, which the loader reads.
        (cd "$folder" && clang -O2 -g -Wall -Werror -target bpf -mcpu=v3 -I"/usr/include/$(uname -m)-linux-gnu" \
            -ffile-prefix-map="$PWD=." -fdebug-compilation-dir=. -c "${source##*/}" -o "$tmp/object")
        llvm-strip --strip-debug "$tmp/object"
        if [[ ${1:-} == --check ]]; then
            cmp "$tmp/object" "$object"
            echo "$object is what $source gives."
        else
            cp "$tmp/object" "$object"
            echo "$version" >"$folder/CLANG"
        fi
    done
done
