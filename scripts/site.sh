#!/usr/bin/env bash
# scripts/site.sh [FOLDER]: builds the documentation site, a static folder (dist/site): README.md, CONTRIBUTING.md,
# CHANGELOG.md, docs/ and the help of the program that COVEY names, with search; the API of Rust if `cargo doc` has made
# it, and the API of Python and the playground if dist has them. It ends with status 1 if a link leads nowhere, or if the
# search does not find a policy or an option.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-dist/site}
covey=$(realpath "${COVEY:?names the program covey}")
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")

tools=$CARGO_TARGET_DIR/site-tools
if [[ ! -e $tools/ready ]]; then
    rm -rf "$tools"
    "${PYTHON:-python3}" -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check zensical==0.0.73 nbconvert==7.17.2 ipykernel==7.4.0 pdoc==16.0.0
    touch "$tools/ready"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/docs"
cp scripts/site/mkdocs.yml "$work"
"$tools/bin/python" scripts/site/pages.py "$work/docs" "$covey"
(cd "$work" && "$tools/bin/zensical" build --strict >/dev/null)

mkdir -p "$folder"
rm -rf "${folder:?}"/*
cp -r "$work"/site/* "$folder"
left_out=()
if [[ -e $CARGO_TARGET_DIR/doc/covey_core/index.html ]]; then
    mkdir "$folder/rust"
    cp -r "$CARGO_TARGET_DIR"/doc/* "$folder/rust"
else
    left_out+=('the API of Rust (cargo doc --workspace --no-deps)')
fi
if compgen -G 'dist/covey-*.whl' >/dev/null; then
    # There may be wheels of other machines, too.
    "$tools/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps --no-index --find-links dist covey
    "$tools/bin/pip" install --quiet --disable-pip-version-check tqdm
    "$tools/bin/pdoc" --output-directory "$folder/python" covey >/dev/null
else
    left_out+=('the API of Python (make wheel)')
fi
if [[ -e dist/playground/covey.wasm.gz ]]; then
    cp -r dist/playground "$folder"
else
    left_out+=('the playground (make playground)')
fi
"$tools/bin/python" scripts/site/links.py "$folder"
"$tools/bin/python" scripts/site/search.py "$folder" "$covey"
for part in ${left_out[@]+"${left_out[@]}"}; do
    echo "Left out: $part"
done
echo "$folder: $(find "$folder" -name '*.html' | wc -l) pages. To read it: python3 -m http.server --directory $folder"
