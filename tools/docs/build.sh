#!/usr/bin/env bash
# Makes the documentation as a site: every page of the repository under its own path, so that links between pages hold,
# and pages of reference made of the protocol, the Python package and the server's flags (reference.py).
#
# Usage: tools/docs/build.sh [serve]. Needs a build of axiond; the site is in build/docs/site.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

work=build/docs
venv="$work/venv"
mkdir -p "$work"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check 'mkdocs>=1.6,<2' 'mkdocs-material>=9.5,<10' \
  'mkdocstrings[python]<2' 'ruff<1' 'grpcio-tools>=1.72,<2' './clients/python[gym,dm-env-rpc,view]'

rm -rf "$work/pages"
git ls-files -z -- '*.md' '*.svg' '*.png' | while IFS= read -r -d '' page; do
  mkdir -p "$work/pages/$(dirname "$page")"
  cp "$page" "$work/pages/$page"
done
"$venv/bin/python" tools/docs/reference.py proto build/release/bin/axiond "$work/pages/reference"
cp tools/docs/iframe-worker.js "$work/pages/"
cp tools/docs/mkdocs.yml "$work/mkdocs.yml"
"$venv/bin/mkdocs" "${1:-build}" --strict --config-file "$work/mkdocs.yml"
