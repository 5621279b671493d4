#!/usr/bin/env bash
# scripts/deb.sh [FOLDER]: makes a Debian package of the static binary (scripts/static.sh), with units of systemd,
# completions and man pages. Needs dpkg-deb. BINARY names a binary that is there; ARCHITECTURE says for which machine.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-dist}
binary=${BINARY:-dist/covey}
[[ -n ${BINARY:-} ]] || scripts/static.sh "$binary"
architecture=${ARCHITECTURE:-$(dpkg --print-architecture)}
version=$(sed -n '0,/^version = "\(.*\)"/s//\1/p' Cargo.toml)

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
install -D -m 755 "$binary" "$root/usr/bin/covey"
mkdir -p "$root/usr/lib/systemd/system" "$root/usr/share/man/man1"
for unit in scripts/systemd/*.service; do
    sed 's,/usr/local/bin/,/usr/bin/,' "$unit" >"$root/usr/lib/systemd/system/$(basename "$unit")"
done
"$binary" man "$root/usr/share/man/man1"
gzip --best --no-name "$root"/usr/share/man/man1/*
while read -r shell file; do
    mkdir -p "$root/$(dirname "$file")"
    "$binary" completions "$shell" >"$root/$file"
done <<'FILES'
bash usr/share/bash-completion/completions/covey
zsh usr/share/zsh/vendor-completions/_covey
fish usr/share/fish/vendor_completions.d/covey.fish
FILES
install -D -m 644 LICENSE "$root/usr/share/doc/covey/copyright"
install -D -m 644 CHANGELOG.md "$root/usr/share/doc/covey/CHANGELOG.md"
mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<CONTROL
Package: covey
Version: $version
Architecture: $architecture
Maintainer: The Covey contributors <covey@localhost>
Section: net
Priority: optional
Installed-Size: $(du --summarize --block-size=1K "$root" | cut -f1)
Description: coflow scheduling, simulated and live
 Compares published coflow schedulers in one exact simulator, and runs them on
 real hosts: a coordinator, agents, and what paces sockets of other programs.
CONTROL
mkdir -p "$folder"
dpkg-deb --root-owner-group --build "$root" "$folder/covey_${version}_$architecture.deb"
